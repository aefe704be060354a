"""Attacks on whose a native run is: GitHub does not say into which base it merges."""

from dataclasses import replace

from bot.core.model.ids import RepoId, Sha
from bot.core.planning.plan import Plan
from bot.sim import NewPull
from bot.sim.model import Pull, Run
from tests.e2e.native_suites import FILE, check, ended, natives
from tests.e2e.native_suites import started as started_by_github
from tests.e2e.people import stands, unharmed
from tests.e2e.test_attacks_on_gates import GREEN, RED, gate
from tests.e2e.test_attacks_on_shared_commits import RUNS, says
from tests.e2e.world import World

UNCLEAR = "GitHub does not say into which base"
QUIET = 11 * 60  # then what GitHub starts can't be of an earlier change


async def two_bases(world: World) -> World:
    """Give the repository native suites, and a second base."""
    await natives(world)
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    await world.settle()
    return world


def opened(world: World, path: str, base: str = "main", branch: str | None = None) -> Pull:
    return world.github.people.open_pull("writer", {path: "1"}, NewPull(base=base, branch=branch))


def second(world: World, pull: Pull) -> Pull:
    """Open another pull request of the same branch, against another base."""
    return world.github.people.open_pull("writer", {}, NewPull(base="old", branch=pull.head_ref))


def runs_before_it_is_told(world: World, pull: Pull) -> Run:
    """Let GitHub run the workflow to a green end, and its webhooks overtake all others."""
    deliveries = world.github.deliveries
    run = world.github.actions.native(pull, FILE)
    world.github.actions.start(run)
    world.github.actions.finish(run, "success")
    deliveries.pending.sort(key=lambda one: one.event == "pull_request")
    return run


async def deliver_runs_first(world: World) -> None:
    """Deliver what tells of workflow runs, let a minute pass, then deliver the rest."""
    deliveries = world.github.deliveries
    late = [one for one in deliveries.pending if one.event == "pull_request"]
    deliveries.pending[:] = [one for one in deliveries.pending if one not in late]
    deliveries.release()
    await world.settle()
    await world.pass_time(10)
    deliveries.hold()
    deliveries.pending += late
    deliveries.release()
    await stands(world)


async def test_a_run_that_is_told_before_its_pull_request_is_given_up(world: World) -> None:
    await two_bases(world)
    mine = opened(world, "npu/opened.py")
    await stands(world, QUIET)
    world.github.deliveries.hold()
    theirs = second(world, mine)
    run = runs_before_it_is_told(world, theirs)
    await deliver_runs_first(world)
    assert gate(world, mine) != GREEN
    world.github.actions.rerun(run, mine.author)
    world.github.actions.start(run)
    await ended(world, run)
    assert await followed(world, run) == ["old"]
    assert gate(world, mine) != GREEN
    world.github.people.close(theirs)
    await stands(world)
    await world.sweep()
    assert gate(world, mine) != GREEN
    await ended(world, await started_by_github(world, mine))
    assert gate(world, mine) == GREEN
    await unharmed(world)


async def followed(world: World, run: Run) -> list[str]:
    """Return the bases that the run's result counts for."""
    runs = await world.bot.parts.store.runs.at(RepoId(run.repo.id), Sha(run.head_sha))
    its = [item.run for item in runs if item.run.actions_run_id == run.id]
    return [one.snapshot.ref for one in its if not one.mistaken]


async def test_a_run_is_judged_again_at_its_end(world: World) -> None:
    await two_bases(world)
    mine = opened(world, "npu/end.py")
    await world.settle()
    run = await started_by_github(world, mine)
    assert await followed(world, run) == ["main"]
    known = await world.bot.parts.store.pulls.get(RepoId(run.repo.id), mine.number)
    assert known is not None
    # Both were stored at one moment, and neither knew of the other.
    other = replace(known, number=99, base_ref="old")
    await world.bot.parts.store.commit(Plan(pull=other), world.clock.now(), done=None)
    await ended(world, run)
    assert gate(world, mine) != GREEN
    assert await followed(world, run) == []
    await unharmed(world)


async def test_a_run_that_is_told_before_the_new_base_is_given_up(world: World) -> None:
    await two_bases(world)
    mine = opened(world, "npu/edited.py")
    await stands(world)
    world.github.deliveries.hold()
    world.github.people.retarget(mine, "old")
    await world.clock.advance(2)
    runs_before_it_is_told(world, mine)
    await deliver_runs_first(world)
    world.github.people.retarget(mine, "main")
    await stands(world)
    assert gate(world, mine) == RUNS
    await ended(world, await started_by_github(world, mine))
    assert gate(world, mine) == GREEN
    await unharmed(world)


async def test_a_second_pull_request_of_the_branch_does_not_block_the_first(world: World) -> None:
    await two_bases(world)
    mine = opened(world, "npu/first.py")
    first = await started_by_github(world, mine)
    await stands(world)
    theirs = second(world, mine)
    await stands(world)
    await ended(world, first)  # it began when the second one was not there
    assert "| passed" in says(world, mine)
    assert gate(world, mine) == RUNS  # for the other base
    world.github.people.close(theirs)
    await stands(world, QUIET)
    assert gate(world, mine) == GREEN
    world.github.people.reopen(theirs)
    await stands(world)
    assert gate(world, mine) == RUNS
    theirs_run = await started_by_github(world, theirs)
    world.github.people.label(mine, "later")
    await ended(world, theirs_run)
    assert gate(world, mine) == GREEN  # nothing happened to the first one that could start it
    await unharmed(world)


async def test_a_run_that_can_be_of_two_bases_is_neither_green_nor_waited_for(world: World) -> None:
    await two_bases(world)
    mine = opened(world, "npu/both.py")
    theirs = second(world, mine)
    await stands(world)
    for pull in (mine, theirs):
        await ended(world, await started_by_github(world, pull))
    await stands(world)
    assert gate(world, mine) == RED
    assert UNCLEAR in says(world, mine)
    assert "Not counted" not in says(world, mine)
    said = check(world, mine).title or ""
    assert f"it can be of #{mine.number} into main, #{theirs.number} into old. Close" in said
    world.github.people.close(theirs)
    await stands(world)
    assert gate(world, mine) == RED
    world.github.people.push(mine, {"npu/both.py": "2"})
    await stands(world)
    await ended(world, await started_by_github(world, mine))
    assert gate(world, mine) == GREEN
    await unharmed(world)
