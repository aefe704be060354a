"""Suites that GitHub starts by its own filters are followed, gated and run again as others are."""

import pytest

from bot.sim.model import Run
from tests.e2e.call_budget import Budget
from tests.e2e.native_suites import (
    FILE,
    NATIVE_POLICY,
    SUITE,
    check,
    ended,
    natives,
    pushed,
    stands,
    started,
)
from tests.e2e.people import say
from tests.e2e.world import World

TRACEBACK = """\
Traceback (most recent call last):
  File "/verl/npu/a.py", line 1, in <module>
    raise ValueError("x")
ValueError: x
"""
LIST = "GET /repos/{owner}/{repo}/actions/runs"
GATE_CALLS = 3  # it is made, and says twice or less how it stands


@pytest.fixture
async def githubs(world: World) -> World:
    return await natives(world)


def dispatched(world: World) -> list[Run]:
    return [run for run in world.github.runs() if run.event == "workflow_dispatch"]


async def test_one_is_adopted_followed_and_gated(githubs: World) -> None:
    world = githubs
    pull = pushed(world)
    await world.settle()
    assert check(world, pull).title == "Queued: waiting for GitHub to start it"
    assert stands(world, pull) == ("in_progress", None, f"{SUITE} is not finished")
    run = await started(world, pull)
    await world.pass_time(60)
    assert check(world, pull).status == "in_progress"
    await ended(world, run)
    shown = check(world, pull)
    assert (shown.conclusion, shown.title) == ("success", "Passed in 1 min 30 s")
    assert stands(world, pull) == ("completed", "success", f"{SUITE} passed")
    assert dispatched(world) == []
    assert f"actions/runs/{run.id}" in (shown.summary or "")


async def test_a_run_that_is_told_before_its_pull_request_is_adopted_within_seconds(
    githubs: World,
) -> None:
    pull = pushed(githubs)
    githubs.github.actions.native(pull, FILE)
    await githubs.settle()
    await githubs.pass_time(5)
    await githubs.pass_time(61)  # no list is asked for
    assert "Waiting for a runner" in (check(githubs, pull).title or "")


async def test_one_that_passes_costs_few_calls(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    budget = Budget(githubs)
    await ended(githubs, await started(githubs, pull))
    assert check(githubs, pull).conclusion == "success"
    budget.assert_at_most(6)


async def test_a_failure_is_digested_and_points_into_the_diff(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    run = await started(githubs, pull)
    budget = Budget(githubs)
    await ended(githubs, run, "failure", TRACEBACK)
    shown = check(githubs, pull)
    assert shown.conclusion == "failure"
    assert "ValueError" in (shown.title or "")
    assert [(item["path"], item["start_line"]) for item in shown.annotations] == [("npu/a.py", 1)]
    assert stands(githubs, pull) == ("completed", "failure", f"{SUITE} failed")
    assert dispatched(githubs) == []
    budget.assert_at_most(6 + GATE_CALLS)


async def test_a_click_runs_the_failed_jobs_again_else_all(githubs: World) -> None:
    one: dict[str, str] = {"first": "failure", "second": "success"}
    all_jobs: dict[str, str] = {}
    rows = {"one job": (one, ["first"]), "all jobs": (all_jobs, ["first", "second"])}
    found = {}
    for number, (row, (jobs, _)) in enumerate(rows.items(), 1):
        pull = pushed(githubs, path=f"npu/{number}.py")
        await githubs.settle()
        run = await started(githubs, pull)
        githubs.github.actions.finish(run, "failure", log=TRACEBACK, jobs=jobs)
        await githubs.pass_time(120)
        before = check(githubs, pull)
        githubs.github.people.rerun_check(before.id, "triager")
        await githubs.settle()
        await githubs.pass_time(10)
        again_at = run.attempt, len(githubs.github.runs()) - number
        keys = [job.key for job in run.of_attempt(2)]
        await ended(githubs, run)
        again = check(githubs, pull)
        ends = again.id != before.id, again.conclusion, stands(githubs, pull)[1]
        found[row] = again_at, keys, ends
    expected = {
        row: ((2, 0), keys, (True, "success", "success")) for row, (_, keys) in rows.items()
    }
    assert found == expected


async def test_a_command_runs_a_green_one_again_whole(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    run = await started(githubs, pull)
    await ended(githubs, run)
    await say(githubs, pull, "maintainer", f"/ascend-e2e rerun {SUITE}")
    assert (run.attempt, len(run.of_attempt(2))) == (2, 2)
    await ended(githubs, run)
    assert stands(githubs, pull)[1] == "success"


async def test_a_strangers_is_run_again_by_whoever_may_start_its_tier(githubs: World) -> None:
    pull = pushed(githubs, "stranger", fork=True)
    await githubs.settle()
    run = await started(githubs, pull)
    await ended(githubs, run, "failure", TRACEBACK)
    await githubs.pass_time(120)
    githubs.github.people.rerun_check(check(githubs, pull).id, "stranger")
    await githubs.pass_time(10)
    assert run.attempt == 1
    assert "triage permission" in (check(githubs, pull).summary or "")
    githubs.github.people.rerun_check(check(githubs, pull).id, "triager")
    await githubs.pass_time(10)
    assert run.attempt == 2


async def test_a_rerun_in_the_actions_tab_is_the_next_attempt(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    run = await started(githubs, pull)
    await ended(githubs, run, "failure", TRACEBACK)
    githubs.github.people.rerun_actions(run, "writer", failed_only=False)
    githubs.github.actions.start(run)
    await githubs.settle()
    assert stands(githubs, pull)[0] == "in_progress"
    await ended(githubs, run)
    assert "writer in the Actions tab" in (check(githubs, pull).summary or "")
    assert stands(githubs, pull)[1] == "success"


async def test_one_that_our_filters_do_not_select_is_followed_and_not_required(
    githubs: World,
) -> None:
    pull = pushed(githubs, path="README.md")
    await githubs.settle()
    assert stands(githubs, pull)[:2] == ("completed", "success")
    run = await started(githubs, pull)
    assert check(githubs, pull).status == "in_progress"
    await ended(githubs, run, "failure", TRACEBACK)
    assert check(githubs, pull).conclusion == "failure"
    assert "GitHub started it by its own filters" in (check(githubs, pull).summary or "")
    assert stands(githubs, pull)[:2] == ("completed", "success")


async def test_a_new_push_lets_go_of_the_old_run_and_leaves_it_alone(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    old, old_sha = githubs.github.actions.native(pull, FILE), pull.head_sha
    await githubs.settle()
    githubs.github.people.push(pull, {"npu/a.py": "2"})
    await githubs.settle()
    await githubs.pass_time(60)
    left = githubs.check(SUITE, old_sha)
    assert left.conclusion == "cancelled"
    assert (left.title or "").startswith("Superseded by")
    githubs.github.actions.start(old)
    await githubs.settle()
    new = await started(githubs, pull)
    await ended(githubs, old, "failure", TRACEBACK)
    assert not old.cancelled
    await ended(githubs, new)
    assert stands(githubs, pull)[1] == "success"
    assert githubs.check(SUITE, old_sha).id == left.id


async def test_a_head_pushed_back_is_followed_in_the_run_that_github_starts_anew(
    githubs: World,
) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    first, sha = await started(githubs, pull), pull.head_sha
    githubs.github.people.push(pull, {"npu/a.py": "2"})
    await githubs.pass_time(5)
    githubs.github.people.force_push(pull, sha)
    await githubs.pass_time(5)
    assert stands(githubs, pull)[0] == "in_progress"
    again = await started(githubs, pull)
    await ended(githubs, first, "cancelled")
    await ended(githubs, again)
    assert check(githubs, pull).conclusion == "success"
    assert stands(githubs, pull)[1] == "success"


async def test_two_pull_requests_with_one_head_share_the_run(githubs: World) -> None:
    one = pushed(githubs)
    two = pushed(githubs, path="npu/b.py")
    githubs.github.people.force_push(two, one.head_sha)
    await githubs.settle()
    run = await started(githubs, one)
    await githubs.pass_time(5)
    githubs.github.people.close(one)
    await githubs.settle()
    assert check(githubs, two).status != "completed"
    await ended(githubs, run)
    assert check(githubs, two).conclusion == "success"
    assert stands(githubs, two)[1] == "success"


async def test_a_command_cancels_it(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    run = await started(githubs, pull)
    reply = await say(githubs, pull, "maintainer", f"/ascend-e2e cancel {SUITE}")
    assert run.cancelled
    await ended(githubs, run, "cancelled")
    assert SUITE in reply
    assert check(githubs, pull).title == "Cancelled by maintainer"
    assert stands(githubs, pull)[1] == "failure"


async def test_a_lost_start_and_a_lost_end_are_found_by_the_lists(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    githubs.github.deliveries.drop_if(lambda delivery: delivery.event.startswith("workflow_"))
    run = await started(githubs, pull)
    await githubs.pass_time(61)
    await githubs.sweep()
    await githubs.pass_time(61)
    assert check(githubs, pull).status == "in_progress"
    githubs.github.actions.finish(run)
    githubs.github.deliveries.drop_if(None)
    await githubs.pass_time(61)
    await githubs.sweep()
    assert check(githubs, pull).conclusion == "success"
    assert stands(githubs, pull)[1] == "success"


async def test_no_list_is_asked_for_where_no_native_suite_runs(githubs: World) -> None:
    githubs.open_pull()
    assert await listed(githubs) == 1
    pushed(githubs)
    assert await listed(githubs) > 1


async def listed(world: World) -> int:
    """Let the sweeper look; return how many lists of runs it asked for."""
    await world.settle()
    await world.pass_time(61)
    before = world.writes(LIST)
    await world.sweep()
    return world.writes(LIST) - before


async def test_one_that_github_never_starts_is_not_green_and_says_why(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    await githubs.pass_time(9 * 60 + 50)
    assert stands(githubs, pull)[0] == "in_progress"
    await githubs.pass_time(60)
    assert stands(githubs, pull)[1] == "failure"
    gate = githubs.gate(pull.head_sha)
    assert "GitHub has not started it" in (gate.summary or "")
    assert "GitHub has not started it" in (check(githubs, pull).title or "")
    githubs.github.people.rerun_check(check(githubs, pull).id, "maintainer")
    await githubs.pass_time(10)
    assert "nothing to run again" in (check(githubs, pull).summary or "")
    late = await started(githubs, pull)  # somebody has enabled the workflow
    await ended(githubs, late)
    assert stands(githubs, pull)[1] == "success"


async def test_a_run_that_waits_for_githubs_own_approval_says_so_on_the_gate(
    githubs: World,
) -> None:
    pull = pushed(githubs, "stranger", fork=True)
    run = githubs.github.actions.native(pull, FILE, held=True)
    await githubs.settle()
    await githubs.pass_time(10)
    gate = githubs.gate(pull.head_sha)
    assert gate.conclusion == "action_required"
    assert gate.title == f"Waiting for an approval on GitHub: {SUITE}"
    assert f"actions/runs/{run.id}" in (gate.summary or "")
    assert gate.actions == []  # ours would not do
    await githubs.pass_time(3600)
    assert check(githubs, pull).status == "queued"
    githubs.github.actions.approve(run)
    await githubs.pass_time(61)
    assert "Waiting for a runner" in (check(githubs, pull).title or "")
    githubs.github.actions.start(run)
    await githubs.pass_time(61)
    assert stands(githubs, pull)[0] == "in_progress"
    await ended(githubs, run)
    assert stands(githubs, pull)[1] == "success"


async def test_drafts_and_strangers_wait_for_github_and_dry_runs_do_not(githubs: World) -> None:
    pull = pushed(githubs, "stranger", fork=True)
    githubs.github.people.draft(pull)
    await githubs.settle()
    assert check(githubs, pull).title == "Queued: waiting for GitHub to start it"
    dry = NATIVE_POLICY.replace("version: 1", "version: 1\nmode: dry_run")
    await natives(githubs, dry)
    other = pushed(githubs, path="npu/c.py")
    await githubs.settle()
    await started(githubs, other)
    assert githubs.github.check(f"Ascend / {SUITE}", other.head_sha) is None


async def test_a_failure_of_the_infrastructure_is_run_again_on_github(githubs: World) -> None:
    pull = pushed(githubs)
    await githubs.settle()
    run = await started(githubs, pull)
    log = "RuntimeError: HCCL function error, error code is 9\nEI0002: notify wait timeout\n"
    await ended(githubs, run, "failure", log)
    await githubs.pass_time(30)
    assert (run.attempt, len(githubs.github.runs())) == (2, 1)
    await ended(githubs, run)
    assert stands(githubs, pull)[1] == "success"
