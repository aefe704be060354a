"""A follower over real HTTP, real files and a real database, under a clock that never waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot import resources
from bot.adapters.logs import StoredLogs
from bot.adapters.rayjobs import HttpLimits, open_rayjobs
from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest
from bot.core.digest.signatures import load_signatures
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import DispatchStarted, LogRead, RunEvent, Source
from bot.core.model.runs import Run, State
from bot.core.planning.plan import Plan
from bot.core.runs.observed import Observed
from bot.core.runs.timeline import line_of
from bot.core.runs.verdict import Decided, Pending, judge
from bot.ports.logs import LogFiles
from bot.ports.rayjobs import Submitter
from bot.services.rayjobs.digesters import Digesters
from bot.services.rayjobs.follower import SAVE_S, JobFollower
from bot.services.workers import Deps, Worker
from bot.store import Store
from bot.store.ids import ulid
from bot.store.rows import load_all
from bot.store.runs import SaveRun
from bot.store.tables import rayjobs as rayjobs_table
from bot.store.tables import run_events as facts_table
from bot.store.wake import LocalWake
from bot.telemetry import Metrics
from tests.services.scripted_sandbox import ScriptedSandbox
from tests.store.building import NOW, put, run, snapshot
from tests.submitter.faulty_submitter import FaultySubmitter

JOB = "rj-1"
SHIPPED = resources.text("signatures.yml")
# Far above what a loopback server needs, far below a person's patience with a hanging test.
HANG_S = 60.0


class LeapClock:
    """Back-offs pass at once and take the time with them; regular saves wait for that time.

    After `leaps` of them the next one stays, and `at_rest` is set: so ends a test of a reader that
    would look for ever.
    """

    def __init__(self, leaps: int = 1000) -> None:
        self.time = NOW
        self.slept: list[float] = []
        self.at_rest = asyncio.Event()
        self._leaps = leaps
        self._go_on = asyncio.Event()
        self._savers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        if seconds == SAVE_S:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._savers.append((self.time + timedelta(seconds=seconds), future))
            await future
            return
        if self._leaps == 0:
            self.at_rest.set()
            await self._go_on.wait()
        self._leaps -= 1
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def allow(self, leaps: int) -> None:
        """Let the one that stays, and so many more, go on."""
        self._leaps = leaps
        self.at_rest.clear()
        self._go_on.set()
        self._go_on = asyncio.Event()

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        due = [future for at, future in self._savers if at <= self.time]
        self._savers = [item for item in self._savers if item[0] > self.time]
        for future in due:
            if not future.done():
                future.set_result(None)


@dataclass
class World:
    """What the followers of a test share."""

    server: FaultySubmitter
    store: Store
    clock: LeapClock
    folder: Path
    rayjobs: Submitter
    run: Run
    logs: LogFiles

    def follower(self, owner: str = "one", *, store: Store | None = None) -> JobFollower:
        unasked: Any = None
        deps = Deps(
            store=store or self.store,
            github=unasked,
            clock=self.clock,
            wake=LocalWake(),
            worker=Worker(owner, Metrics(), strict=True),
            new_id=lambda: ulid(self.clock.now()),
            policies=unasked,
            long_lists=unasked,
            strangers=unasked,
            job_lists=unasked,
        )
        digesters = Digesters(SHIPPED, ScriptedSandbox(), self.clock)
        return JobFollower(deps, self.rayjobs, self.logs, digesters)

    async def seen(self, **fields: Any) -> None:
        """Let the runner see the RayJob."""
        job = replace(RayJob(JOB, self.run.id, "workflow", confirmed=True), **fields)
        [claimed] = await self.store.runs.claim("runner", self.clock.now(), lease_s=30, limit=1)
        self.run = replace(self.run, state=State.RUNNING)
        save = SaveRun(self.run, None, rayjobs=(job,))
        assert await self.store.runs.save(claimed.lease, save, self.clock.now())

    async def follow(self) -> RayJob:
        """Follow to the end."""
        async with self.follower() as follower:
            assert await follower.step()
            async with asyncio.timeout(HANG_S):
                await follower.idle()
        return await self.row()

    async def follow_until_rest(self) -> RayJob:
        """Follow until the clock lets nobody go on, and look at the row at that moment."""
        async with self.follower() as follower:
            assert await follower.step()
            async with asyncio.timeout(HANG_S):
                await self.clock.at_rest.wait()
            return await self.row()

    async def row(self) -> RayJob:
        [job] = await self.store._db.read(lambda conn: load_all(conn, RayJob, rayjobs_table))
        return job

    async def run_events(self) -> list[RunEvent]:
        found = await self.store._db.read(lambda conn: load_all(conn, RunEvent, facts_table))
        return list(found)

    async def texts(self) -> list[str]:
        return [line_of(run_event.what) for run_event in await self.run_events()]

    async def poke(self) -> None:
        """Make the run due, as any event does."""
        told = RunEvent(self.run.id, Source.RUNNER, self.clock.now(), DispatchStarted(99))
        assert await self.store.commit(Plan(run_events=(told,)), self.clock.now(), done=None)

    async def is_poked(self) -> bool:
        return bool(await self.store.runs.claim("look", self.clock.now(), lease_s=0, limit=1))

    async def log_text(self) -> bytes:
        """Return what the row says is kept of the log."""
        row = await self.row()
        pieces = StoredLogs(self.folder).read(self.run.id, JOB, upto=row.log_bytes)
        return b"".join([piece async for piece in pieces])

    def verdict(self, row: RayJob, log: LogRead | None = None) -> Pending | Decided:
        """Judge a run whose workflow was green."""
        observed = Observed(
            ended=True, conclusion="success", log=log or LogRead(1), rayjobs_listed=True
        )
        return judge(self.run, observed, (row,), self.clock.now())


@asynccontextmanager
async def following(url: str, folder: Path, *, leaps: int = 1000) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(FaultySubmitter())
        store = await Store.open(url)
        stack.push_async_callback(store.close)
        limits = HttpLimits(silence_s=0.2, wait_s=0.001)
        rayjobs = await stack.enter_async_context(open_rayjobs(server.url, limits=limits))
        it = run(actions_run_id=1, snapshot=snapshot("ppo", rayjob=True))
        clock = LeapClock(leaps)
        await put(store, it)
        yield World(server, store, clock, folder, rayjobs, it, StoredLogs(folder))


def digest_of(text: bytes, *, passed: bool = False) -> Digest:
    """Return the digest of a whole log, read at once."""
    digester = Digester(load_signatures(SHIPPED))
    digester.feed(text)
    return digester.end(passed=passed)
