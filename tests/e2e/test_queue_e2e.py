"""Who starts first on a label with two slots, seen on GitHub."""

import asyncio
from copy import copy
from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy import func, select

from bot.app import Parts
from bot.core.model.ids import RepoId
from bot.core.planning.plan import AuditEntry
from bot.core.queue.state import Acquired, Pause
from bot.ports.errors import Transient
from bot.services.runs.runner import needs_of
from bot.services.workers import LEASE_S
from bot.sim.model import Pull, Run
from bot.store.audit import AuditQuery
from bot.store.leases import Lease
from bot.store.runs import Runs, SaveRun
from bot.store.tables import holds
from tests.e2e.people import say
from tests.e2e.world import GATE, LABEL, World, start_bot


async def pulls(world: World, count: int) -> list[Pull]:
    """Open pull requests, each seen before the next one; the first two take the slots."""
    opened = []
    for number in range(count):
        opened.append(world.open_pull(path=f"verl/{number}.py", text=str(number)))
        await world.pass_time(1)
    return opened


def started(world: World) -> list[str]:
    """Return the commits that were dispatched, in order."""
    return [str(run.inputs["sha"]) for run in world.github.runs()]


async def ends(world: World, run: Run) -> None:
    """Let a run start and end."""
    world.github.actions.start(run)
    await world.settle()
    world.github.actions.finish(run, "success")
    await world.settle()


async def test_who_is_asked_for_moves_up_and_the_others_keep_their_order(world: World) -> None:
    one, two, third, fourth = await pulls(world, 4)
    assert started(world) == [one.head_sha, two.head_sha]
    first, second = world.github.runs()
    await say(world, fourth, "writer", "/ascend-e2e unit")
    await ends(world, first)
    assert started(world)[2:] == [fourth.head_sha]  # no time passed: its turn came by a poke
    await ends(world, second)
    assert started(world)[3:] == [third.head_sha]


async def test_places_that_shift_are_written_once_an_interval(world: World) -> None:
    *_, last = await pulls(world, 5)
    await world.pass_time(61)
    before, at = updates(world), world.clock.now()
    for run in world.github.runs():  # two end within a minute, and so the last place shifts twice
        await ends(world, run)
        await world.pass_time(5)
    assert (world.clock.now() - at).total_seconds() < 60
    assert len(started(world)) == 4
    key = world.check("unit", last.head_sha).id
    assert updates(world).get(key, 0) - before.get(key, 0) <= 1


def updates(world: World) -> dict[int, int]:
    """Count the updates of each check run."""
    found: dict[int, int] = {}
    for call in world.github.calls:
        if call.method == "PATCH" and "/check-runs/" in call.path:
            key = int(call.path.rsplit("/", 1)[1])
            found[key] = found.get(key, 0) + 1
    return found


async def test_a_place_taken_by_a_bot_that_died_is_used_once(world: World) -> None:
    store = world.bot.parts.store
    pull = world.open_pull()
    claimed = None
    while claimed is None:  # only the inbox works, and who claims the run dies soon
        await world.github.deliveries.idle()
        await world.bot.step("inbox")()
        found = await store.runs.claim("dead", world.clock.now(), lease_s=LEASE_S, limit=9)
        claimed = next(iter(found), None)
    assert await store.queue.acquire(
        claimed.run, needs_of(claimed.run), world.clock.now()
    ) == Acquired(0)
    await world.restart()
    await world.pass_time(LEASE_S + 1)
    assert started(world) == [pull.head_sha]
    assert await held(world) == 1


@pytest.mark.both_databases
async def test_two_replicas_at_once_take_no_slot_twice_and_show_each_check_once(
    world: World,
) -> None:
    world.bots.append(await start_bot(world))
    opened = [world.open_pull(path=f"verl/{n}.py", text=str(n)) for n in range(3)]
    for _ in range(12):
        await world.github.deliveries.idle()
        names = ("inbox", "runner", "reporter")
        await asyncio.gather(*(bot.step(name)() for bot in world.bots for name in names))
    await world.settle()
    assert len(started(world)) == 2
    for run in world.github.runs():
        await ends(world, run)
    await ends(world, world.github.runs()[-1])
    assert sorted(started(world)) == sorted(pull.head_sha for pull in opened)
    app = world.github.state.the_app()
    for pull in opened:
        checks = [c for c in world.github.check_runs(pull.head_sha) if c.suite.app is app]
        assert sorted((check.name, check.conclusion) for check in checks) == [
            ("Ascend / unit", "success"),
            (GATE, "success"),
        ]


async def held(world: World) -> int:
    """Count the places that are held."""
    query = select(func.count()).select_from(holds)
    return int(await world.bot.parts.store._db.read(lambda conn: conn.scalar(query)))


async def test_who_cannot_start_now_holds_no_place_and_heeds_a_pause(world: World) -> None:
    store = world.bot.parts.store
    fault = world.github.fault("503", "GET", "*/pulls/1", times=99)
    pull = world.open_pull()
    await world.pass_time(1)
    assert fault.hits > 0
    assert (started(world), await held(world)) == ([], 0)
    now = world.clock.now()
    entry = AuditEntry(at=now, who="kim", what="pause", allowed=True, rule="operator")
    await store.pauses.start(Pause(f"label:{LABEL}", "kim", "upgrade", None, now), entry)
    fault.times = fault.hits
    for _ in range(5):
        await world.pass_time(60)
    assert (started(world), await held(world)) == ([], 0)
    await store.pauses.end(f"label:{LABEL}", entry)
    await world.settle()
    assert started(world) == [pull.head_sha]


async def test_the_run_of_a_pull_request_that_is_gone_ends(world: World) -> None:
    pull = world.open_pull()
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()
    world.github.state.pulls.clear()  # its author was found to be a spammer
    await world.pass_time(1)
    assert (started(world), await held(world)) == ([], 0)
    assert world.check("unit", pull.head_sha).status == "queued"  # it may be GitHub's slip
    await world.pass_time(300)
    assert (started(world), await held(world)) == ([], 0)
    check = world.check("unit", pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "cancelled")


async def test_a_pull_request_that_github_does_not_show_counts_as_gone_after_three_looks(
    world: World,
) -> None:
    *_, slipped, gone = await pulls(world, 4)
    await world.pass_time(100)
    for pull, times in ((slipped, 2), (gone, 3)):
        world.github.fault("404", "GET", f"*/pulls/{pull.number}", times=times)
    for run in world.github.runs():
        await ends(world, run)
    assert [pull.head_sha in started(world) for pull in (slipped, gone)] == [True, False]
    assert world.gate(gone.head_sha).conclusion == "cancelled"
    await world.clock.advance(3601)
    await world.sweep()  # its pull request is shown again
    await ends(world, world.github.runs()[2])
    assert gone.head_sha in started(world)


class Stumbling(Runs):
    """The runs of a store, which fails once to keep what a dispatch was answered."""

    stumbled = False

    async def save(self, lease: Lease, save: SaveRun, now: datetime) -> bool:
        if save.run.actions_run_id and not self.stumbled:
            self.stumbled = True
            reason = "database: it restarts"
            raise Transient(reason)
        return await super().save(lease, save, now)


def stumbling(parts: Parts) -> Parts:
    """Return parts with a store that fails once."""
    store = copy(parts.store)
    store.runs = Stumbling(store._db, store._wake, store._new_id)
    return replace(parts, store=store)


async def test_a_dispatch_whose_answer_was_not_kept_keeps_its_place_and_its_id(
    world: World,
) -> None:
    world.wrap = stumbling
    await world.restart()
    world.open_pull()
    await world.pass_time(1)
    assert await held(world) == 1
    for _ in range(5):
        await world.pass_time(10)
    actions = world.only_run()
    run = await world.bot.parts.store.runs.of_actions_run(RepoId(actions.repo.id), actions.id)
    assert run is not None
    assert (run.dispatch_id, run.label) == (actions.inputs["ascend_ci"], LABEL)
    assert await held(world) == 1


async def test_the_audit_tells_of_each_attempt_what_a_rule_did_to_it(world: World) -> None:
    store, now = world.bot.parts.store, world.clock.now()
    entry = AuditEntry(at=now, who="kim", what="pause", allowed=True, rule="operator")
    await store.pauses.start(Pause("all", "kim", "upgrade", None, now), entry)
    pull = world.open_pull()
    await world.pass_time(10)
    await say(world, pull, "writer", "/ascend-e2e cancel")
    await world.pass_time(100)  # looked at twice more: no further row
    await say(world, pull, "writer", "/ascend-e2e rerun")
    await world.pass_time(100)
    audit = await store.audit.search(AuditQuery())
    told = [item.entry.what for item in audit if item.entry.rule == "pause"]
    assert told == ["start unit (attempt 2)", "start unit"]
