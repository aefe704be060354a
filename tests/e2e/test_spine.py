"""A pull request becomes a dispatched workflow and a check run: what GitHub shows, at what cost."""

import re

import pytest

from bot.sim import NewPull
from tests.e2e.world import LABEL, POLICY, World

LOG_WITH_TRACEBACK = """
Traceback (most recent call last):
  File "/verl/verl/a.py", line 1, in <module>
    main()
RuntimeError: the rollout buffer is empty
"""


@pytest.mark.both_databases
async def test_a_passing_suite_is_dispatched_followed_and_reported(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    check = world.check("unit", pull.head_sha)
    assert check.status == "queued"
    assert world.gate(pull.head_sha).status == "in_progress"
    run = world.only_run()
    assert run.inputs["sha"] == pull.head_sha
    assert run.inputs["pr"] == str(pull.number)
    assert run.inputs["runner"] == LABEL
    assert run.inputs["timeout_minutes"] == "60"
    assert run.inputs["ascend_ci"] in run.title
    await world.finish("success")
    check = world.check("unit", pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "success")
    gate = world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "success")
    world.github.calls.assert_at_most(11)


async def test_a_failing_suite_shows_the_cause_and_the_line(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", LOG_WITH_TRACEBACK)
    check = world.check("unit", pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert "the rollout buffer is empty" in f"{check.title} {check.text}"
    assert [(item["path"], item["start_line"]) for item in check.annotations] == [("verl/a.py", 1)]
    assert world.gate(pull.head_sha).conclusion == "failure"
    world.github.calls.assert_at_most(14)


async def test_a_pull_request_that_touches_nothing_of_ours_costs_two_calls(world: World) -> None:
    world.open_pull(path="docs/first.md")
    await world.settle()  # warms the policy
    world.github.calls.clear()
    pull = world.open_pull(path="docs/second.md")
    await world.settle()
    gate = world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "success")
    assert world.github.runs() == []
    world.github.calls.assert_at_most(2)


async def test_a_strangers_pull_request_waits_and_starts_nothing(world: World) -> None:
    pull = world.github.people.open_pull("stranger", {"verl/a.py": "1"}, NewPull(fork=True))
    await world.settle()
    gate = world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "action_required")
    assert pull.head_sha[:12] in (gate.summary or "")
    assert world.github.runs() == []
    assert world.github.check("Ascend / unit", pull.head_sha) is None


async def test_a_newer_push_supersedes_what_runs(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    old = pull.head_sha
    first = world.only_run()
    world.github.actions.start(first)
    await world.settle()
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    assert first.cancelled
    world.github.actions.finish(first, "cancelled")
    await world.settle()
    check = world.check("unit", old)
    assert (check.status, check.conclusion) == ("completed", "cancelled")
    assert pull.head_sha[:7] in (check.title or "")
    assert world.gate(old).conclusion == "cancelled"
    assert len(world.github.runs()) == 2
    await world.finish("success")
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_closing_a_pull_request_cancels_what_runs(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    run = world.only_run()
    world.github.actions.start(run)
    await world.settle()
    world.github.people.close(pull)
    await world.settle()
    assert run.cancelled
    world.github.actions.finish(run, "cancelled")
    await world.settle()
    assert world.check("unit", pull.head_sha).conclusion == "cancelled"
    assert world.gate(pull.head_sha).conclusion == "cancelled"


async def test_a_lost_dispatch_answer_is_found_and_never_dispatched_twice(world: World) -> None:
    world.github.fault("lost", "POST", "*/dispatches")
    pull = world.open_pull()
    await world.settle()
    for seconds in (3, 3, 11, 26):
        await world.pass_time(seconds)
    assert len(world.github.runs()) == 1
    await world.finish("success")
    assert world.check("unit", pull.head_sha).conclusion == "success"
    assert (
        world.writes("POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches") == 1
    )


async def test_a_refused_dispatch_says_what_a_maintainer_should_do(world: World) -> None:
    world.github.people.push_branch(
        "maintainer", {".github/workflows/unit.yml": "on: push\njobs: {}\n"}
    )
    pull = world.open_pull()
    await world.settle()
    check = world.check("unit", pull.head_sha)
    assert check.conclusion == "failure"
    assert "workflow_dispatch" in f"{check.title} {check.summary}"
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_broken_policy_lists_its_errors_and_starts_nothing(world: World) -> None:
    broken = POLICY.replace("rayjob: true", "rayjobs: true")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": broken})
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    gate = world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "failure")
    assert "did you mean `rayjob`" in f"{gate.summary} {gate.text}"
    assert world.github.runs() == []


async def test_lost_workflow_webhooks_are_made_good_by_the_list_poll(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    run = world.only_run()
    world.github.deliveries.drop_if(lambda delivery: delivery.event.startswith("workflow_"))
    world.github.actions.start(run)
    world.github.actions.finish(run, "success")
    await world.settle()
    assert world.check("unit", pull.head_sha).status != "completed"
    await world.clock.advance(61)
    await world.sweep()
    assert world.check("unit", pull.head_sha).conclusion == "success"


async def test_a_full_label_queues_and_says_the_place(world: World) -> None:
    pulls = []
    for number in range(4):
        pulls.append(world.open_pull(path=f"verl/{number}.py"))
        await world.pass_time(1)
    assert len(world.github.runs()) == 2
    assert world.check("unit", pulls[2].head_sha).title == f"Queued: 3rd for {LABEL}"
    await world.finish("success")
    await world.pass_time(10)  # a place is progress: it gives way to what ends and begins
    assert [run.inputs["sha"] for run in world.github.runs()][2:] == [pulls[2].head_sha]
    titles = []
    for _ in range(3):  # an estimate is rounded up to a whole five minutes, which may be over now
        await world.pass_time(60)
        titles.append(world.check("unit", pulls[3].head_sha).title)
    # Now that a suite's time is known; rounded up to a whole five minutes from some moment on.
    about = re.compile(rf"Queued: 3rd for {LABEL}, about [1-5] min")
    assert any(about.fullmatch(str(title)) for title in titles), titles
