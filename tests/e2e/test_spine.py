"""A pull request becomes a dispatched workflow and a check run: what GitHub shows, at what cost."""

import re
from pathlib import Path

import pytest

from bot.sim import NewPull
from tests.e2e.world import FILES, LABEL, POLICY, World

UNIT_WORKFLOW = ".github/workflows/unit.yml"
DISPATCH = "POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches"
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
    world.github.calls.assert_at_most(13)  # two for the log of the green job


async def test_a_failure_costs_16_calls_what_is_not_ours_two_and_a_stranger_waits(
    world: World,
) -> None:
    failing = world.open_pull()
    await world.settle()
    await world.finish("failure", LOG_WITH_TRACEBACK)
    check = world.check("unit", failing.head_sha)
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert "the rollout buffer is empty" in f"{check.title} {check.text}"
    assert [(item["path"], item["start_line"]) for item in check.annotations] == [("verl/a.py", 1)]
    assert world.gate(failing.head_sha).conclusion == "failure"
    world.github.calls.assert_at_most(16)
    world.github.calls.clear()
    not_ours = world.open_pull(path="docs/second.md")
    await world.settle()
    gate = world.gate(not_ours.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "success")
    world.github.calls.assert_at_most(2)
    theirs = world.github.people.open_pull("stranger", {"verl/a.py": "1"}, NewPull(fork=True))
    await world.settle()
    gate = world.gate(theirs.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "action_required")
    assert theirs.head_sha[:12] in (gate.summary or "")
    assert world.github.check("Ascend / unit", theirs.head_sha) is None
    assert len(world.github.runs()) == 1


async def test_a_lost_answer_is_searched_for_and_a_lost_end_is_found_by_the_list_poll(
    world: World,
) -> None:
    world.github.fault("lost", "POST", "*/dispatches")
    pull = world.open_pull()
    await world.settle()
    for seconds in (3, 3, 11, 26):
        await world.pass_time(seconds)
    run = world.only_run()
    assert world.writes(DISPATCH) == 1
    world.github.deliveries.drop_if(lambda delivery: delivery.event.startswith("workflow_"))
    world.github.actions.start(run)
    world.github.actions.finish(run, "success")
    await world.settle()
    assert world.check("unit", pull.head_sha).status != "completed"
    await world.clock.advance(61)
    await world.sweep()
    assert world.check("unit", pull.head_sha).conclusion == "success"
    assert world.writes(DISPATCH) == 1


async def test_a_refused_dispatch_and_a_broken_policy_say_what_a_maintainer_should_do(
    world: World,
) -> None:
    files = {".github/workflows/unit.yml": "on: push\njobs: {}\n"}
    world.github.people.push_branch("maintainer", files)
    refused = world.open_pull()
    await world.settle()
    check = world.check("unit", refused.head_sha)
    assert check.conclusion == "failure"
    assert "workflow_dispatch" in f"{check.title} {check.summary}"
    assert world.gate(refused.head_sha).conclusion == "failure"
    broken = POLICY.replace("rayjob: true", "rayjobs: true")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": broken})
    await world.settle()
    pull = world.open_pull(path="verl/b.py")
    await world.settle()
    gate = world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "failure")
    assert "did you mean `rayjob`" in f"{gate.summary} {gate.text}"
    assert world.github.runs() == []


async def test_an_accepted_dispatch_is_never_sent_again(world: World) -> None:
    nameless = FILES[UNIT_WORKFLOW].replace("run-name: Unit ${{ inputs.ascend_ci }}\n", "")
    world.github.people.push_branch("maintainer", {UNIT_WORKFLOW: nameless})
    world.github.fault("says", "POST", "*/dispatches", times=99, change=lambda _: None)
    pull = world.open_pull()
    for wait in (0, 2, 5, 15, 40, *[60] * 10):
        await world.pass_time(wait)
    assert len(world.github.runs()) == 1
    check = world.check("unit", pull.head_sha)
    assert check.conclusion == "failure"
    assert "run-name may lack" in f"{check.title} {check.summary}"
    assert world.gate(pull.head_sha).conclusion == "failure"


@pytest.mark.parametrize(
    ("end", "says"), [("skipped", "no job ran on"), ("failure", "The job run failed, though")]
)
async def test_a_green_run_without_a_job_that_passed_is_not_green(
    world: World, end: str, says: str
) -> None:
    once = POLICY.replace("timeout_minutes: 60", "timeout_minutes: 60\n    infra_retries: 0")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": once})
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    world.github.actions.finish(world.only_run(), "success", jobs={"run": end})
    await world.pass_time(10)
    check = world.check("unit", pull.head_sha)
    assert check.conclusion == "failure"
    assert says.lower() in f"{check.title} {check.summary}".lower()
    assert world.gate(pull.head_sha).conclusion == "failure"


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


async def test_credentials_of_a_netrc_file_do_not_stand_in_the_way_of_the_apps_token(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "netrc"
    kept.write_text("default login somebody password of-other-calls")
    monkeypatch.setenv("NETRC", str(kept))
    world.open_pull()
    await world.settle()
    assert world.writes(DISPATCH) == 1
