"""Cancels in every state, by whom they may be, and limits that stop a run."""

from tests.e2e.people import all_say, say, stranger
from tests.e2e.test_pull_events import DISPATCH, ONE_TRY, begun, end, new_policy, runs_of, shown
from tests.e2e.world import POLICY, World

CANCEL = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/cancel"
FORCE = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/force-cancel"
READ_RUN = "/repos/{owner}/{repo}/actions/runs/{run_id}"
HOUR = 3600
WIDE = POLICY.replace("slots: 2", "slots: 9").replace("slots: 1}", "slots: 9}")


def lose_workflow_events(world: World) -> None:
    world.github.deliveries.drop_if(lambda one: one.event.startswith("workflow_"))


async def test_before_its_dispatch_a_run_is_cancelled_at_once(world: World) -> None:
    waiting = await stranger(world)
    verbs = ("cancel", "cancel un*", "status", "cancel nightly-grpo")
    text = "\n".join(f"/ascend-e2e {verb}" for verb in verbs)
    reply = await say(world, waiting, "maintainer", text)
    yet = f"Nothing has started: `{waiting.head_sha[:7]}` waits for an approval (the author may not"
    assert reply.count(yet) == 1
    assert reply.count("Neither queued nor running") == 1
    assert world.gate(waiting.head_sha).conclusion == "action_required"  # nothing was to stop
    pulls = [await begun(world, f"verl/{number}.py") for number in range(3)]
    await say(world, pulls[2], "maintainer", "/ascend-e2e cancel")
    assert shown(world, pulls[2]) == ("cancelled", "failure")
    assert world.gate(pulls[2].head_sha).title == "unit was cancelled by maintainer"
    await end(world, world.github.runs()[0])
    assert world.writes(DISPATCH) == 2  # a free slot starts it no more


async def test_a_cancel_waits_for_what_became_of_a_lost_dispatch(world: World) -> None:
    pulls = {}
    for fault in ("lost", "drop"):
        world.github.fault(fault, "POST", "*/dispatches")
        pulls[fault] = world.open_pull(path=f"verl/{fault}.py")
        await world.settle()
    await all_say(world, [(pull, "maintainer", "/ascend-e2e cancel") for pull in pulls.values()])
    for seconds in (11, 26):
        await world.restart()
        await world.pass_time(seconds)
    assert runs_of(world, pulls["drop"]) == []
    assert [run.cancelled for run in runs_of(world, pulls["lost"])] == [True]
    for fault, pull in pulls.items():
        assert shown(world, pull) == ("cancelled", "failure"), fault
    await world.pass_time(601)
    assert len(world.github.runs()) == 1


async def test_a_cancel_that_meets_an_end_leaves_it_and_one_that_nobody_took_or_kept_ends(
    world: World,
) -> None:
    await new_policy(world, WIDE)
    passed, failed, untaken, deleted = pulls = [
        world.open_pull(path=f"verl/{number}.py") for number in range(4)
    ]
    await world.settle()
    runs = {pull.number: runs_of(world, pull)[0] for pull in pulls}
    for pull in (passed, failed, deleted):
        world.github.actions.start(runs[pull.number])
    await world.settle()
    lose_workflow_events(world)
    world.github.actions.finish(runs[passed.number])
    world.github.actions.finish(runs[failed.number], "failure", log="ValueError: x")
    await world.settle()
    world.github.deliveries.drop_if(None)
    del world.github.state.runs[runs[deleted.number].id]
    await all_say(world, [(pull, "maintainer", "/ascend-e2e cancel") for pull in pulls])
    assert shown(world, passed) == ("success", "success")  # answered 409: read again
    assert shown(world, failed) == ("failure", "failure")
    assert runs[untaken.number].conclusion == "cancelled"
    assert shown(world, untaken) == ("cancelled", "failure")
    assert "maintainer" in (world.check("unit", untaken.head_sha).title or "")
    assert world.writes(CANCEL) == len(pulls) - 1  # none for the deleted one
    check, gate = shown(world, deleted)
    assert check is not None
    assert gate == "failure"


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
    for _ in range(20):
        await world.pass_time(30)
    reads = [call for call in world.github.calls if call.route == READ_RUN]
    assert 5 <= len(reads) <= 11  # ten minutes
    assert (world.writes(CANCEL), world.writes(FORCE)) == (0, 0)
    lose_workflow_events(world)
    world.github.actions.finish(run, "cancelled")
    await world.pass_time(61)
    assert shown(world, pull) == ("cancelled", "failure")


async def test_who_may_cancel_and_what(world: World) -> None:
    await new_policy(world, WIDE)
    left, heavy, pinned = (
        world.open_pull(path=path) for path in ("verl/left.py", "nightly/a.py", "docs/a.md")
    )
    old = pinned.head_sha
    await world.settle()
    world.github.people.push(pinned, {"docs/a.md": "2"})
    theirs = await stranger(world)
    asked = [
        (theirs, "writer", f"/ascend-e2e approve --sha {theirs.head_sha[:12]}"),
        (heavy, "writer", "/ascend-e2e nightly-grpo"),
        (pinned, "writer", f"/ascend-e2e nightly-grpo --sha {old[:12]}"),
    ]
    await all_say(world, asked)
    runs = [runs_of(world, pull)[-1] for pull in (left, theirs, heavy, pinned)]
    refused = [
        (theirs, "reader", "/ascend-e2e cancel"),
        (heavy, "triager", "/ascend-e2e cancel nightly-grpo"),
    ]
    replies = await all_say(world, refused)
    assert (
        "`unit` was not cancelled: that needs triage permission here, and you have read."
        in replies[0]
    )
    assert "needs write permission here, and you have triage." in replies[1]
    assert not any(run.cancelled for run in runs)
    allowed = [
        (theirs, "stranger", "/ascend-e2e cancel"),  # the author
        (heavy, "writer", "/ascend-e2e cancel nightly-*"),
        (pinned, "maintainer", "/ascend-e2e cancel"),  # what a command pinned as well
    ]
    await all_say(world, allowed)
    assert [run.cancelled for run in runs] == [False, True, True, True]
    assert world.gate(theirs.head_sha).title == "unit was cancelled by stranger"
    assert world.check("nightly-grpo", old).conclusion == "cancelled"
    await new_policy(world, WIDE.replace("  unit:", "  other:"))
    assert "no suite is called `unit`" in await say(world, left, "writer", "/ascend-e2e rerun unit")
    await say(world, left, "writer", "/ascend-e2e cancel unit")  # it has left the policy
    assert runs[0].cancelled


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


async def test_the_time_limit_stops_a_run_that_was_wanted_again_and_one_whose_bot_died(
    world: World,
) -> None:
    late, again = [await begun(world, f"verl/{name}.py") for name in "ab"]
    for pull in (late, again):  # closed and opened before its run could stop
        world.github.people.close(pull)
        world.github.people.reopen(pull)
    await world.github.deliveries.idle()
    while await world.bot.step("inbox")():
        pass
    await world.settle()
    assert [run.cancelled for run in world.github.runs()] == [False, False]
    await say(world, again, "maintainer", "/ascend-e2e cancel")
    await end(world, runs_of(world, again)[0], "cancelled")
    assert len(runs_of(world, again)) == 1
    assert world.gate(again.head_sha).title == "unit was cancelled by maintainer"
    plain = await begun(world, "verl/c.py")
    (run,) = runs_of(world, plain)
    await world.pass_time(HOUR - 60)
    assert not run.cancelled
    await world.restart()
    await world.pass_time(61)
    await world.restart()
    for pull in (late, plain):
        (run,) = runs_of(world, pull)
        assert run.cancelled
        await end(world, run, "cancelled")
        assert shown(world, pull) == ("timed_out", "failure")
        assert "time limit" in str(world.check("unit", pull.head_sha).title)
