"""Followers that die, stop, lose their lease, or their file: no line lost or doubled."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from copy import copy
from dataclasses import replace
from datetime import datetime
from io import FileIO
from pathlib import Path

import pytest
from sqlalchemy import literal_column, update

from bot.adapters.clock import SystemClock
from bot.adapters.logs import StoredLog, StoredLogs
from bot.core.model.ids import RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import State
from bot.ports.errors import Transient
from bot.services.rayjobs.digesters import Digesters
from bot.services.rayjobs.follower import SAVE_S
from bot.services.rayjobs.log import RayJobLog
from bot.services.workers import LEASE_S
from bot.store import Store
from bot.store.leases import Lease
from bot.store.rayjobs import RayJobs, SaveRayJob
from bot.store.runs import SaveRun
from bot.store.tables import rayjobs
from tests.databases import SqliteTemplate
from tests.services.rayjobs.following import HANG_S, JOB, SHIPPED, World, digest_of, following
from tests.services.scripted_sandbox import ScriptedSandbox
from tests.store.building import run
from tests.submitter.faulty_submitter import Event, Watch, final, log, status

STEP = "step:{} - actor/loss:0.5 - timing_s/step:2.0"
EVENTS: list[Event] = [
    log("starting"),
    status("RUNNING", "Running"),
    *[log(STEP.format(n)) for n in range(1, 6)],
    log("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 61.28 GiB total)"),
    final("FAILED", "exit 1"),
]
ALL = "\n".join(
    [
        "starting",
        "[rayjob status] status=RUNNING rayjob_status= deployment_status=Running",
        *[STEP.format(n) for n in range(1, 6)],
        "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 61.28 GiB total)",
        "[rayjob final] FAILED exit 1",
        "",
    ]
).encode()
PLANS = [
    pytest.param(Watch(), id="by number"),
    pytest.param(Watch(start="first"), id="all again"),
    pytest.param(Watch(start="first", numbered=False), id="all again, unnumbered"),
]


class Mortal(RayJobs):
    """The real rows, as a follower sees them that dies, hangs or has no database for a while."""

    def __init__(self, store: Store, *, failures: int = 0) -> None:
        super().__init__(store._db, store._wake, store._new_id)
        self.store = copy(store)
        self.store.rayjobs = self
        self.dead = self.mute = False
        self._failures = failures

    async def save(self, lease: Lease, save: SaveRayJob, now: datetime) -> bool:
        if self.dead:
            return False
        if self.mute or self._failures:
            self._failures = max(0, self._failures - 1)
            reason = "database: away"
            raise Transient(reason)
        return await super().save(lease, save, now)


class Endless(StoredLog):
    """A real file with more to read than anybody waits for."""

    def __init__(self, path: Path) -> None:
        super().__init__(FileIO(path, "w+"), 0)
        self.reading = asyncio.Event()

    async def read(self) -> AsyncGenerator[bytes, None]:
        yield b"step:1\n"
        self.reading.set()
        await asyncio.Event().wait()


class EndlessFiles(StoredLogs):
    """Opens such a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = Endless(folder / "endless")

    async def open(self, run_id: RunId, job_id: str, *, keep: int) -> StoredLog:
        return self.file


@pytest.fixture
async def world(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[World]:
    async with following(sqlite_template.fresh(tmp_path), tmp_path) as made:
        yield made


async def is_read_whole(world: World) -> None:
    row = await world.row()
    assert (row.final, row.complete) == ("FAILED", True)
    assert await world.log_text() == ALL
    assert row.lines == ALL.count(b"\n")
    assert row.digest == digest_of(ALL)
    assert await world.texts() == [f"RayJob `{JOB}` Running"]


async def until_saved(world: World, lines: int) -> None:
    """Let the regular saves happen until so many lines are kept."""
    async with asyncio.timeout(HANG_S):
        while (await world.row()).lines < lines:
            world.clock.advance(SAVE_S)
            await asyncio.sleep(0)


async def finish(world: World, owner: str) -> None:
    async with world.follower(owner) as follower, asyncio.timeout(HANG_S):
        assert await follower.step()
        await follower.idle()


@pytest.mark.parametrize("plan", PLANS)
async def test_what_a_killed_follower_read_is_taken_up_where_its_row_says(
    world: World, plan: Watch
) -> None:
    hanging = replace(plan, events=5, end="hang")
    world.server.add(EVENTS).watches = [hanging, plan]
    await world.seen()
    mortal = Mortal(world.store)
    async with world.follower("killed", store=mortal.store) as killed:
        await killed.step()
        await until_saved(world, 5)
        mortal.dead = True
    assert (await world.row()).lines == 5
    world.clock.advance(LEASE_S + 1)
    await finish(world, "next")
    await is_read_whole(world)


KEY = [f"{n:02}{'bG9uZyBsaW5lIG9mIGEga2V5' * 3}"[:64] for n in range(8)]
WIDE = "x" * 50
SECRET_EVENTS: list[Event] = [
    *[log(line) for line in ("starting", "-----BEGIN RSA PRIVATE KEY-----", *KEY)],
    log("-----END RSA PRIVATE KEY-----"),
    log(f"{WIDE} ghp_aB3aB3aB3"),
    log("aB3" * 9 + " and more"),
    log("RuntimeError: boom"),
    final("FAILED", "exit 1"),
]


@pytest.mark.parametrize(
    "torn",
    [
        Watch(events=5, end="hang"),  # within a key
        Watch(events=12, end="hang"),  # within a token
        Watch(events=5, end="cut", torn=60, numbered=False),  # within a line of a key
    ],
)
async def test_what_is_stored_of_a_secret_when_a_follower_is_killed_within_is_not_raw(
    world: World, torn: Watch
) -> None:
    world.server.add(SECRET_EVENTS).watches = [torn, Watch(events=0, end="hang"), Watch()]
    await world.seen()
    mortal = Mortal(world.store)
    async with world.follower("killed", store=mortal.store) as killed:
        await killed.step()
        await until_saved(world, torn.events or 0)
        mortal.dead = True
        stored = str(await world.row()).encode() + await world.log_text()
    world.clock.advance(LEASE_S + 1)
    world.server.release.set()
    await finish(world, "next")
    row, text = await world.row(), await world.log_text()
    shown = stored + str(row).encode() + text
    assert not [piece for piece in (*KEY, KEY[4][:20], "aB3aB3") if piece.encode() in shown]
    assert (row.final, row.complete) == ("FAILED", True)
    assert f"{WIDE} ***\n*** and more\nRuntimeError: boom\n".encode() in text
    assert row.digest is not None
    assert row.digest.cause == "RuntimeError: boom"


@pytest.mark.parametrize("plan", PLANS)
async def test_a_follower_that_hangs_can_not_harm_the_one_that_takes_over(
    world: World, plan: Watch
) -> None:
    hanging = replace(plan, events=5, end="hang")
    world.server.add(EVENTS).watches = [hanging, plan]
    await world.seen()
    mortal = Mortal(world.store)
    async with world.follower("hung", store=mortal.store) as hung:
        await hung.step()
        await until_saved(world, 5)
        mortal.mute = True
        world.clock.advance(LEASE_S + 1)
        await finish(world, "next")
        mortal.mute = False
        async with asyncio.timeout(HANG_S):
            idle = asyncio.create_task(hung.idle())
            while not idle.done():  # it may be anywhere when its database comes back
                world.clock.advance(SAVE_S)
                await asyncio.sleep(0)
    await is_read_whole(world)


async def test_a_follower_that_stops_keeps_what_it_read_and_gives_its_lease_back(
    world: World,
) -> None:
    plan = Watch(events=5, end="hang", numbered=False)
    world.server.add(EVENTS).watches = [plan, Watch(start="now", numbered=False)]
    await world.seen()
    async with world.follower("stopped") as stopped:
        await stopped.step()
        await until_saved(world, 5)
    await finish(world, "next")
    await is_read_whole(world)


async def test_a_follower_stopped_while_it_reads_its_file_gives_that_back(tmp_path: Path) -> None:
    files, item = EndlessFiles(tmp_path), run("unit")
    job = RayJob(JOB, item.id, "log", confirmed=True)
    opening = asyncio.create_task(
        RayJobLog.restore(files, Digesters(SHIPPED, ScriptedSandbox(), SystemClock()), item, job)
    )
    await files.file.reading.wait()
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    assert files.file._file.closed


async def test_progress_is_shown_when_the_step_changed(world: World) -> None:
    world.server.add(EVENTS).watches = [Watch(events=5, end="hang")]
    await world.seen()
    async with world.follower() as follower:
        await follower.step()
        await until_saved(world, 5)
        row = await world.row()
    assert row.progress is not None
    assert (row.progress.step, row.last_line_at is not None) == (3, True)


async def test_a_run_that_is_done_is_read_no_further(world: World) -> None:
    silent = Watch(events=0, end="hang")
    world.server.add(EVENTS).watches = [Watch(events=3, end="hang"), silent]
    await world.seen()
    async with world.follower() as follower:
        await follower.step()
        await until_saved(world, 3)
        await world.poke()
        [claimed] = await world.store.runs.claim("r", world.clock.now(), lease_s=30, limit=1)
        done = SaveRun(replace(world.run, state=State.DONE), None)
        assert await world.store.runs.save(claimed.lease, done, world.clock.now())
        world.clock.advance(LEASE_S)
        async with asyncio.timeout(HANG_S):
            await follower.idle()
    assert not (await world.row()).complete


async def test_a_lost_file_is_read_anew_from_the_submitter(world: World) -> None:
    await stopped_half_way(world)
    await StoredLogs(world.folder).remove(world.run.id)
    await finish(world, "next")
    await is_read_whole(world)
    assert world.server.named("watch")[1].query.get("after") is None


async def test_a_damaged_file_is_read_anew_from_the_submitter(world: World) -> None:
    await stopped_half_way(world)
    [path] = world.folder.rglob("*.log.gz")
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    await finish(world, "next")
    await is_read_whole(world)


async def test_a_resume_state_of_another_version_is_no_trap(world: World) -> None:
    await stopped_half_way(world)
    other = update(rayjobs).values(resume=literal_column('\'{"lines": "many"}\''))
    await world.store._db.write(lambda conn: conn.execute(other))
    await finish(world, "next")
    await is_read_whole(world)


async def test_a_database_that_is_away_delays_the_end_only(world: World) -> None:
    world.server.add(EVENTS)
    await world.seen()
    mortal = Mortal(world.store, failures=4)
    async with world.follower(store=mortal.store) as follower, asyncio.timeout(HANG_S):
        await follower.step()
        await follower.idle()
    await is_read_whole(world)


async def test_a_job_that_is_being_read_is_not_claimed_again(world: World) -> None:
    world.server.add(EVENTS).watches = [Watch(events=3, end="hang")]
    await world.seen()
    async with world.follower() as follower:
        assert await follower.step()
        assert not await follower.step()


async def test_a_follower_that_lost_its_lease_to_itself_reads_once(world: World) -> None:
    world.server.add(EVENTS).watches = [Watch(events=5, end="hang"), Watch()]
    await world.seen()
    mortal = Mortal(world.store)
    async with world.follower(store=mortal.store) as follower, asyncio.timeout(HANG_S):
        await follower.step()
        await until_saved(world, 5)
        mortal.mute = True
        world.clock.advance(LEASE_S + 1)
        assert await follower.step()
        mortal.mute = False
        await follower.idle()
    await is_read_whole(world)


async def stopped_half_way(world: World) -> None:
    world.server.add(EVENTS).watches = [Watch(events=5, end="hang"), Watch()]
    await world.seen()
    async with world.follower("stopped") as stopped:
        await stopped.step()
        await until_saved(world, 5)


class SlowToOpen(StoredLogs):
    """Opens a file, and takes its time to say so."""

    opened: StoredLog

    async def open(self, run_id: RunId, job_id: str, *, keep: int) -> StoredLog:
        self.opened = await super().open(run_id, job_id, keep=keep)
        await asyncio.sleep(0.05)
        return self.opened


async def test_a_file_whose_opening_is_cancelled_is_closed(tmp_path: Path) -> None:
    logs, it = SlowToOpen(tmp_path), run()
    digesters = Digesters(SHIPPED, ScriptedSandbox(), SystemClock())
    opening = asyncio.create_task(
        RayJobLog.restore(logs, digesters, it, RayJob(JOB, it.id, "workflow", confirmed=True))
    )
    async with asyncio.timeout(HANG_S):
        while not hasattr(logs, "opened"):  # noqa: ASYNC110  the port tells nobody
            await asyncio.sleep(0.001)
    opening.cancel()
    await asyncio.wait({opening})
    with pytest.raises(ValueError, match="closed"):
        await logs.opened.append(b"x")
