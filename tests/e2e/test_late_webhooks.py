"""A webhook that comes late, or once more, changes nothing that was decided meanwhile."""

from dataclasses import replace
from typing import Any

import pytest

from bot.sim.deliveries import Delivery
from bot.sim.model import Pull
from tests.e2e.people import say
from tests.e2e.test_pull_events import begun, end, runs_of
from tests.e2e.world import World

CANCEL = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/cancel"


def state(world: World) -> list[Any]:
    """Return all that a person or a runner can see."""
    runs = [(run.id, run.attempt, run.status, run.cancelled) for run in world.github.runs()]
    checks = [
        (check.id, check.name, check.status, check.conclusion)  # an estimate goes on
        for check in world.github.state.checks.values()
    ]
    comments = [
        world.github.comments(pull)
        for pull in world.github.state.pulls_of(world.github.state.repo())
    ]
    return [runs, checks, comments]


async def again(world: World, sent: list[Delivery]) -> None:
    """Deliver what was delivered once more, as if nobody remembered it."""
    for number, delivery in enumerate(sent):
        world.github.deliveries.emit(
            replace(delivery, guid=f"again-{number}-{delivery.guid}", status_code=None)
        )
        await world.settle()
    await world.pass_time(70)


async def test_every_webhook_of_a_story_delivered_again_changes_nothing(world: World) -> None:
    cancelled = await begun(world, "verl/cancelled.py")
    await say(world, cancelled, "maintainer", "/ascend-e2e cancel unit")
    await end(world, runs_of(world, cancelled)[0], "cancelled")
    failed = await begun(world, "verl/failed.py")
    await end(world, runs_of(world, failed)[0], "failure", "ValueError: x")
    world.github.people.rerun_check(world.check("unit", failed.head_sha).id, "maintainer")
    await world.settle()
    await end(world, runs_of(world, failed)[-1])
    pushed = await begun(world, "verl/pushed.py")
    world.github.people.push(pushed, {"verl/pushed.py": "2"})
    await world.settle()
    closed = await begun(world, "verl/closed.py")
    world.github.people.close(closed)
    await world.pass_time(100)
    before = state(world)
    # A second click on a check run that has ended is one more wish, and looks the same.
    sent = [one for one in world.github.deliveries.sent if one.action != "rerequested"]
    await again(world, sent[::-1])
    assert state(world) == before


async def test_a_lost_opened_that_comes_late_starts_no_cancelled_run_again(world: World) -> None:
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    pull = world.open_pull()
    await world.settle()
    world.github.deliveries.drop_if(None)
    lost = world.github.deliveries.dropped[-1]
    world.github.deliveries.sent.remove(lost)
    await world.pass_time(301)
    await world.sweep()
    await say(world, pull, "maintainer", "/ascend-e2e cancel unit")
    await end(world, runs_of(world, pull)[0], "cancelled")
    await again(world, [lost])
    assert len(runs_of(world, pull)) == 1
    assert world.check("unit", pull.head_sha).conclusion == "cancelled"


async def test_an_old_webhook_never_cancels_a_persons_re_run(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    run = runs_of(world, pull)[0]
    began = [one for one in world.github.deliveries.sent if one.event == "workflow_run"]
    await end(world, run, "failure", "ValueError: x")
    world.github.deliveries.drop_if(lambda one: one.event.startswith("workflow"))
    rerun(world, pull)
    world.github.actions.start(run)
    await world.settle()
    world.github.deliveries.drop_if(None)
    await again(world, began)
    assert world.writes(CANCEL) == 0
    assert world.check("unit", pull.head_sha).status == "in_progress"
    await end(world, run)
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_a_cancel_never_hits_a_re_run_that_is_not_known_yet(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    run = runs_of(world, pull)[0]
    world.github.deliveries.drop_if(lambda one: one.event.startswith("workflow"))
    world.github.actions.finish(run, "failure", log="ValueError: x")
    rerun(world, pull)
    world.github.actions.start(run)
    world.github.deliveries.drop_if(None)
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    assert world.writes(CANCEL) == 0
    assert not run.cancelled


async def test_a_cancel_that_comes_after_a_push_does_not_stop_the_run_of_the_new_head(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    world.github.deliveries.drop_if(lambda one: one.event == "issue_comment")
    world.github.people.comment(pull, "maintainer", "/ascend-e2e cancel")
    world.github.deliveries.drop_if(None)
    late = world.github.deliveries.dropped[-1]
    await world.pass_time(15)
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    await again(world, [late])
    await end(world, runs_of(world, pull)[-1])
    assert world.gate(pull.head_sha).conclusion == "success"


@pytest.mark.parametrize("text", ["/ascend-e2e cancel", "/ascend-e2e unit"])
@pytest.mark.parametrize("lost", [("opened",), ("opened", "synchronize")])
async def test_a_command_that_comes_after_a_push_is_not_followed_on_the_first_head_that_is_known(
    world: World, lost: tuple[str, ...], text: str
) -> None:
    deliveries = world.github.deliveries
    deliveries.drop_if(lambda one: one.action in {*lost, "created"})
    pull = world.open_pull()
    world.github.people.comment(pull, "maintainer", text)
    await world.clock.advance(2)
    world.github.people.push(pull, {"verl/a.py": "2"})
    deliveries.drop_if(None)
    late = {one.action: one for one in deliveries.dropped}
    await world.settle()
    if "synchronize" in lost:
        await again(world, [late["opened"]])
    (run,) = runs_of(world, pull)
    assert run.inputs["sha"] == pull.head_sha
    if text.endswith("unit"):
        await end(world, run)
    await again(world, [late["created"]])
    assert runs_of(world, pull) == [run]
    assert not run.cancelled


async def test_a_close_that_comes_after_the_reopening_of_the_same_second_stops_nothing(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    deliveries = world.github.deliveries
    deliveries.hold()
    world.github.people.close(pull)
    world.github.people.reopen(pull)
    deliveries.pending.reverse()
    deliveries.release()
    await world.settle()
    await world.finish()
    assert len(runs_of(world, pull)) == 1
    assert world.gate(pull.head_sha).conclusion == "success"


def rerun(world: World, pull: Pull) -> None:
    """Press *Re-run jobs* in the Actions tab."""
    world.github.people.rerun_actions(runs_of(world, pull)[0], "maintainer")
