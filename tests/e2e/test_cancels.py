"""Cancels in every state, by whom they may be, and limits that stop a run."""

import pytest

from bot.sim.model import Pull, Run
from tests.e2e.people import say, stranger
from tests.e2e.test_pull_events import DISPATCH, ONE_TRY, begun, end, new_policy, runs_of, shown
from tests.e2e.world import POLICY, World

CANCEL = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/cancel"
FORCE = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/force-cancel"
READ_RUN = "/repos/{owner}/{repo}/actions/runs/{run_id}"
HOUR = 3600


def lose_workflow_events(world: World) -> None:
    world.github.deliveries.drop_if(lambda one: one.event.startswith("workflow_"))


async def test_before_its_dispatch_a_run_is_cancelled_at_once(world: World) -> None:
    waiting = await stranger(world)
    verbs = ("cancel", "cancel un*", "status", "cancel nightly-grpo")
    text = "\n".join(f"/ascend-e2e {verb}" for verb in verbs)
    reply = await say(world, waiting, "maintainer", text)
    yet = f"Nothing has started: `{waiting.head_sha[:7]}` waits for an approval (the author may not"
    assert reply.count(yet) == 3
    assert reply.count("Nothing of this pull request runs or waits") == 1
    assert world.gate(waiting.head_sha).conclusion == "action_required"  # nothing was to stop
    pulls = [await begun(world, f"verl/{number}.py") for number in range(3)]
    await say(world, pulls[2], "maintainer", "/ascend-e2e cancel")
    assert shown(world, pulls[2]) == ("cancelled", "failure")
    assert world.gate(pulls[2].head_sha).title == "unit was cancelled by maintainer"
    await end(world, world.github.runs()[0])
    assert world.writes(DISPATCH) == 2  # a free slot starts it no more


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("fault", ["lost", "drop"])
async def test_a_cancel_waits_for_what_became_of_a_lost_dispatch(
    world: World, fault: str, *, restart: bool
) -> None:
    world.github.fault(fault, "POST", "*/dispatches")
    pull = world.open_pull()
    await world.settle()
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    for seconds in (11, 26):
        if restart:
            await world.restart()
        await world.pass_time(seconds)
    assert [run.cancelled for run in world.github.runs()] == [True] * (fault == "lost")
    assert shown(world, pull) == ("cancelled", "failure")
    await world.pass_time(601)
    assert len(world.github.runs()) == (1 if fault == "lost" else 0)


async def test_a_run_that_no_runner_took_is_cancelled(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    assert world.only_run().conclusion == "cancelled"
    assert shown(world, pull) == ("cancelled", "failure")
    assert world.writes(CANCEL) == 1


async def test_a_cancel_that_comes_after_the_end_leaves_the_end_as_it_is(world: World) -> None:
    for conclusion in ("success", "failure"):
        pull = await begun(world, f"verl/{conclusion}.py")
        (run,) = runs_of(world, pull)
        lose_workflow_events(world)
        world.github.actions.finish(run, conclusion, log="ValueError: x")
        await world.settle()
        world.github.deliveries.drop_if(None)
        await say(world, pull, "maintainer", "/ascend-e2e cancel")  # answered 409: read again
        assert shown(world, pull) == (conclusion, conclusion)


async def test_a_cancel_while_the_log_is_read_changes_nothing(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    world.github.fault("503", "GET", "*/logs", times=9)
    world.github.actions.finish(world.only_run(), "failure", log="ValueError: x")
    await world.settle()
    assert world.check("unit", pull.head_sha).status == "in_progress"
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    assert world.check("unit", pull.head_sha).status == "in_progress"
    world.github.faults.clear()
    await world.pass_time(11)
    assert shown(world, pull) == ("failure", "failure")
    assert world.writes(CANCEL) == 0


async def test_a_run_that_goes_on_is_cancelled_by_force_and_then_seldom_looked_at(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    run = world.only_run()
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    await world.pass_time(300)
    assert (run.cancelled, run.forced) == (True, False)
    await world.restart()
    await world.pass_time(61)
    assert run.forced
    await world.restart()
    await world.pass_time(361)
    world.github.calls.clear()
    for _ in range(60):
        await world.pass_time(10)
    reads = [call for call in world.github.calls if call.route == READ_RUN]
    assert 5 <= len(reads) <= 11  # ten minutes
    assert (world.writes(CANCEL), world.writes(FORCE)) == (0, 0)
    lose_workflow_events(world)
    world.github.actions.finish(run, "cancelled")
    await world.pass_time(61)
    assert shown(world, pull) == ("cancelled", "failure")


async def test_a_run_that_was_deleted_on_github_ends_all_the_same(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    del world.github.state.runs[world.only_run().id]
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    check, gate = shown(world, pull)
    assert check is not None
    assert gate == "failure"


async def test_who_may_cancel(world: World) -> None:
    pull = await stranger(world)
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    run = world.only_run()
    reply = await say(world, pull, "reader", "/ascend-e2e cancel")
    assert "Cancelling `unit` needs triage permission here, and you have read." in reply
    assert not run.cancelled
    await say(world, pull, "stranger", "/ascend-e2e cancel")  # the author
    assert run.cancelled
    assert world.gate(pull.head_sha).title == "unit was cancelled by stranger"
    other = await begun(world, "nightly/a.py")
    await say(world, other, "writer", "/ascend-e2e nightly-grpo")
    heavy: Run = runs_of(world, other)[-1]
    await say(world, other, "triager", "/ascend-e2e cancel nightly-grpo")
    assert not heavy.cancelled
    await say(world, other, "writer", "/ascend-e2e cancel nightly-*")
    assert heavy.cancelled


async def test_what_runs_can_be_cancelled_though_its_suite_has_left_the_policy(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    await new_policy(world, POLICY.replace("  unit:", "  other:"))
    reply = await say(world, pull, "writer", "/ascend-e2e rerun unit")
    assert "No suite `unit`" in reply
    await say(world, pull, "writer", "/ascend-e2e cancel unit")
    assert world.only_run().cancelled


async def test_what_a_command_pinned_can_be_cancelled_too(world: World) -> None:
    pull = await begun(world, "docs/a.md")
    old = pull.head_sha
    world.github.people.push(pull, {"docs/a.md": "2"})
    await world.pass_time(120)
    await say(world, pull, "writer", f"/ascend-e2e nightly-grpo --sha {old[:12]}")
    run = world.only_run()
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    assert run.cancelled
    assert world.check("nightly-grpo", old).conclusion == "cancelled"


async def test_no_runner_within_a_day_is_not_the_changes_fault(world: World) -> None:
    await new_policy(world, ONE_TRY)
    pull = world.open_pull()
    await world.settle()
    await world.pass_time(24 * HOUR - 60)
    assert not world.only_run().cancelled
    await world.pass_time(70)
    assert world.only_run().cancelled
    check = world.check("unit", pull.head_sha)
    assert check.conclusion == "failure"
    assert "Not your change: no runner took the job" in str(check.title)


async def test_the_time_limit_stops_a_run_whatever_happens_to_the_bot(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    run = world.only_run()
    await world.pass_time(HOUR - 60)
    assert not run.cancelled
    await world.restart()
    await world.pass_time(61)
    assert run.cancelled
    await world.restart()
    await end(world, run, "cancelled")
    assert shown(world, pull) == ("timed_out", "failure")
    assert "time limit" in str(world.check("unit", pull.head_sha).title)


async def wanted_again(world: World) -> Pull:
    """Return a running pull request that was closed and opened before its run could stop."""
    pull = await begun(world, "verl/a.py")
    world.github.people.close(pull)
    world.github.people.reopen(pull)
    await world.github.deliveries.idle()
    while await world.bot.step("inbox")():
        pass
    await world.settle()
    assert not world.only_run().cancelled
    return pull


async def test_what_is_wanted_again_in_time_still_has_its_limit(world: World) -> None:
    pull = await wanted_again(world)
    await world.pass_time(HOUR)
    assert world.only_run().cancelled
    await end(world, world.only_run(), "cancelled")
    assert shown(world, pull) == ("timed_out", "failure")


async def test_what_is_wanted_again_in_time_can_still_be_cancelled(world: World) -> None:
    pull = await wanted_again(world)
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    await end(world, world.only_run(), "cancelled")
    assert len(world.github.runs()) == 1
    assert world.gate(pull.head_sha).title == "unit was cancelled by maintainer"
