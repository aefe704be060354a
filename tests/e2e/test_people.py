"""How people drive it: commands, approvals, re-runs and cancels, seen on GitHub."""

import pytest

from tests.e2e.people import say, stranger
from tests.e2e.world import World


async def test_a_command_runs_a_heavy_suite_on_the_head(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    reply = await say(world, pull, "writer", "please\n/ascend-e2e nightly-grpo\n谢谢")
    run = world.only_run()
    assert run.inputs["sha"] == pull.head_sha
    assert "nightly-grpo" in reply
    await world.finish("success")
    await world.pass_time(10)
    assert "passed" in world.github.comments(pull)[-1]
    check = world.check("nightly-grpo", pull.head_sha)
    assert check.conclusion == "success"
    assert "Started by writer." in (check.summary or "")


async def test_a_refusal_says_who_may_and_what_to_type(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    reply = await say(world, pull, "triager", "/ascend-e2e nightly-grpo")
    assert "needs write permission" in reply
    assert f"/ascend-e2e nightly-grpo --sha {pull.head_sha[:12]}" in reply
    assert world.github.runs() == []


async def test_a_word_that_is_no_suite_gets_a_guess_and_starts_nothing(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    reply = await say(world, pull, "writer", "/ascend-e2e nightly-grp")
    assert "Did you mean `nightly-grpo`" in reply
    assert world.github.runs() == []


async def test_approving_by_command_starts_what_waits_for_this_commit_only(world: World) -> None:
    pull = await stranger(world)
    reply = await say(world, pull, "writer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    assert "approved" in reply
    assert world.only_run().inputs["sha"] == pull.head_sha
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    assert world.gate(pull.head_sha).conclusion == "action_required"


async def test_the_button_approves_the_commit_it_names(world: World) -> None:
    pull = await stranger(world)
    world.github.people.press(world.gate(pull.head_sha).id, "approve", "writer")
    await world.pass_time(10)
    assert world.only_run().inputs["sha"] == pull.head_sha
    assert world.gate(pull.head_sha).status == "in_progress"
    started = world.check("unit", pull.head_sha).summary or ""
    assert "Started by the approval of writer." in started


@pytest.mark.parametrize("who", ["stranger", "reader", "triager"])
async def test_nobody_without_the_right_approves_by_button(world: World, who: str) -> None:
    pull = await stranger(world)
    first = world.gate(pull.head_sha)
    world.github.people.press(first.id, "approve", who)
    await world.pass_time(10)
    assert world.github.runs() == []
    again = world.gate(pull.head_sha)
    assert (again.id != first.id, again.conclusion) == (True, "action_required")
    assert "needs write permission" in (again.summary or "")


async def test_rerunning_a_failed_check_makes_a_new_attempt(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "ValueError: x")
    failed = world.check("unit", pull.head_sha)
    await world.pass_time(120)
    world.github.people.rerun_check(failed.id, "writer")
    await world.pass_time(10)
    assert len(world.github.runs()) == 2
    again = world.check("unit", pull.head_sha)
    assert again.id != failed.id
    assert world.gate(pull.head_sha).status == "in_progress"
    await world.finish("success")
    await world.pass_time(10)
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_a_click_without_the_right_starts_nothing_and_is_answered(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "ValueError: x")
    failed = world.check("unit", pull.head_sha)
    await world.pass_time(120)
    world.github.people.rerun_check(failed.id, "reader")
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    again = world.check("unit", pull.head_sha)
    assert (again.id != failed.id, again.conclusion) == (True, "failure")
    assert "needs triage permission" in (again.summary or "")


async def test_cancel_stops_the_run_and_says_who(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    run = world.only_run()
    world.github.actions.start(run)
    await world.settle()
    await say(world, pull, "maintainer", "/ascend-e2e cancel")
    assert run.cancelled
    world.github.actions.finish(run, "cancelled")
    await world.pass_time(10)
    check = world.check("unit", pull.head_sha)
    assert check.conclusion == "cancelled"
    assert "maintainer" in (check.title or "")
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_rerun_in_the_actions_tab_is_adopted(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "ValueError: x")
    run = world.only_run()
    world.github.people.rerun_actions(run, "writer", failed_only=True)
    world.github.actions.start(run)  # GitHub tells of a re-run only by its first job
    await world.pass_time(10)
    assert "in the Actions tab" in (world.check("unit", pull.head_sha).summary or "")
    world.github.actions.finish(run, "success")
    await world.pass_time(10)
    assert world.check("unit", pull.head_sha).conclusion == "success"
    assert world.gate(pull.head_sha).conclusion == "success"


@pytest.mark.parametrize("verb", ["explain", "status", "help"])
async def test_questions_are_answered_and_start_nothing(world: World, verb: str) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    assert len(await say(world, pull, "reader", f"/ascend-e2e {verb}")) > 40
    assert world.github.runs() == []
