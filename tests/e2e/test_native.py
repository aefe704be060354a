"""Suites that GitHub starts by its own filters are followed, gated and run again as others are."""

import pytest

from bot.core.model.ids import RepoId
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


async def test_one_is_adopted_followed_gated_and_costs_few_calls(githubs: World) -> None:
    await one_is_adopted_followed_and_gated(githubs)
    await a_failure_is_digested_and_points_into_the_diff(githubs)
    await a_run_told_before_its_pull_request_is_adopted_within_seconds(githubs)
    await one_that_our_filters_do_not_select_is_not_required(githubs)
    await one_that_runs_as_the_base_has_it_is_followed_too(githubs)


async def one_is_adopted_followed_and_gated(world: World) -> None:
    pull = pushed(world, path="npu/adopted.py")
    await world.settle()
    assert check(world, pull).title == "Queued: waiting for GitHub to start it"
    assert stands(world, pull) == ("in_progress", None, f"Waiting for GitHub to start {SUITE}")
    budget = Budget(world)
    run = await started(world, pull)
    await world.pass_time(60)
    assert check(world, pull).status == "in_progress"
    await ended(world, run)
    shown = check(world, pull)
    assert (shown.conclusion, shown.title) == ("success", "Passed in 1 min 30 s")
    assert stands(world, pull) == ("completed", "success", f"{SUITE} passed")
    assert dispatched(world) == []
    spent = await world.bot.parts.store.queue.spent(RepoId(pull.repo.id), world.clock.now())
    assert spent.total == 2 * 8 * 90 / 3600  # its two jobs ran at once
    assert f"actions/runs/{run.id}" in (shown.summary or "")
    budget.assert_at_most(6)


async def a_failure_is_digested_and_points_into_the_diff(world: World) -> None:
    pull = pushed(world, path="npu/digested.py")
    await world.settle()
    run = await started(world, pull)
    budget = Budget(world)
    await ended(world, run, "failure", TRACEBACK.replace("a.py", "digested.py"))
    shown = check(world, pull)
    assert shown.conclusion == "failure"
    assert "ValueError" in (shown.title or "")
    assert [(item["path"], item["start_line"]) for item in shown.annotations] == [
        ("npu/digested.py", 1)
    ]
    assert stands(world, pull) == ("completed", "failure", f"{SUITE} failed: x")
    assert dispatched(world) == []
    budget.assert_at_most(6 + GATE_CALLS)


async def a_run_told_before_its_pull_request_is_adopted_within_seconds(world: World) -> None:
    pull = pushed(world, path="npu/early.py")
    world.github.actions.native(pull, FILE)
    await world.settle()
    await world.pass_time(5)
    await world.pass_time(61)  # no list is asked for
    assert "Waiting for a runner" in (check(world, pull).title or "")


async def one_that_our_filters_do_not_select_is_not_required(world: World) -> None:
    pull = pushed(world, path="README.md")
    await world.settle()
    assert stands(world, pull)[:2] == ("completed", "success")
    run = await started(world, pull)
    assert check(world, pull).status == "in_progress"
    await ended(world, run, "failure", TRACEBACK)
    assert check(world, pull).conclusion == "failure"
    assert "Started by GitHub, on pull_request" in (check(world, pull).summary or "")
    assert stands(world, pull)[:2] == ("completed", "success")


async def one_that_runs_as_the_base_has_it_is_followed_too(world: World) -> None:
    pull = pushed(world, "stranger", "npu/target.py", fork=True)
    await world.settle()
    run = world.github.actions.native(pull, FILE, event="pull_request_target")
    world.github.actions.start(run)
    await world.settle()
    assert stands(world, pull)[0] == "in_progress"
    await ended(world, run)
    assert check(world, pull).conclusion == "success"
    assert stands(world, pull)[1] == "success"


async def test_one_is_run_again_by_clicks_commands_the_actions_tab_and_for_the_infrastructure(
    githubs: World,
) -> None:
    await a_click_by_who_may_start_its_tier_runs_all_jobs_again(githubs)
    await a_click_runs_the_failed_job_again_and_the_actions_tab_the_next_attempt(githubs)
    await a_failure_of_the_infrastructure_and_then_a_command_run_it_again_whole(githubs)


async def a_click_by_who_may_start_its_tier_runs_all_jobs_again(world: World) -> None:
    pull = pushed(world, "stranger", "npu/all.py", fork=True)
    await world.settle()
    run, before = await started(world, pull), len(world.github.runs())
    await ended(world, run, "failure", TRACEBACK)
    await world.pass_time(120)
    world.github.people.rerun_check(check(world, pull).id, "stranger")
    await world.pass_time(10)
    assert run.attempt == 1
    refused = check(world, pull)
    assert "triage permission" in (refused.summary or "")
    world.github.people.rerun_check(refused.id, "triager")
    await world.pass_time(10)
    assert (run.attempt, len(world.github.runs())) == (2, before)
    assert [job.key for job in run.of_attempt(2)] == ["first", "second"]
    await ended(world, run)
    assert check(world, pull).id != refused.id
    assert (check(world, pull).conclusion, stands(world, pull)[1]) == ("success", "success")


async def a_click_runs_the_failed_job_again_and_the_actions_tab_the_next_attempt(
    world: World,
) -> None:
    pull = pushed(world, path="npu/one.py")
    await world.settle()
    run = await started(world, pull)
    jobs = {"first": "failure", "second": "success"}
    world.github.actions.finish(run, "failure", log=TRACEBACK, jobs=jobs)
    await world.pass_time(120)
    world.github.people.rerun_check(check(world, pull).id, "triager")
    await world.pass_time(10)
    assert [job.key for job in run.of_attempt(2)] == ["first"]
    await ended(world, run, "failure", TRACEBACK)
    assert stands(world, pull)[1] == "failure"
    world.github.people.rerun_actions(run, "writer", failed_only=False)
    world.github.actions.start(run)
    await world.settle()
    assert stands(world, pull)[0] == "in_progress"
    await ended(world, run)
    assert "writer in the Actions tab" in (check(world, pull).summary or "")
    assert stands(world, pull)[1] == "success"


async def a_failure_of_the_infrastructure_and_then_a_command_run_it_again_whole(
    world: World,
) -> None:
    pull = pushed(world, path="npu/infra.py")
    await world.settle()
    run, before = await started(world, pull), len(world.github.runs())
    log = "RuntimeError: HCCL function error, error code is 9\nEI0002: notify wait timeout\n"
    await ended(world, run, "failure", log)
    await world.pass_time(30)
    assert (run.attempt, len(world.github.runs())) == (2, before)
    await ended(world, run)
    assert stands(world, pull)[1] == "success"
    await say(world, pull, "maintainer", f"/ascend-e2e rerun {SUITE}")
    assert (run.attempt, len(run.of_attempt(3))) == (3, 2)
    await ended(world, run)
    assert stands(world, pull)[1] == "success"


async def test_pushes_cancels_and_shared_heads(githubs: World) -> None:
    await a_new_push_lets_go_of_the_old_run_and_leaves_it_alone(githubs)
    await a_head_pushed_back_is_followed_in_the_run_that_github_starts_anew(githubs)
    await two_pull_requests_with_one_head_share_the_run(githubs)
    await a_command_cancels_it(githubs)


async def a_new_push_lets_go_of_the_old_run_and_leaves_it_alone(world: World) -> None:
    pull = pushed(world, path="npu/push.py")
    await world.settle()
    old, old_sha = world.github.actions.native(pull, FILE), pull.head_sha
    await world.settle()
    world.github.people.push(pull, {"npu/push.py": "2"})
    await world.settle()
    await world.pass_time(60)
    left = world.check(SUITE, old_sha)
    assert left.conclusion == "cancelled"
    assert (left.title or "").startswith("Superseded by")
    world.github.actions.start(old)
    await world.settle()
    new = await started(world, pull)
    await ended(world, old, "failure", TRACEBACK)
    assert not old.cancelled
    await ended(world, new)
    assert stands(world, pull)[1] == "success"
    assert world.check(SUITE, old_sha).id == left.id


async def a_head_pushed_back_is_followed_in_the_run_that_github_starts_anew(world: World) -> None:
    pull = pushed(world, path="npu/back.py")
    await world.settle()
    first, sha = await started(world, pull), pull.head_sha
    world.github.people.push(pull, {"npu/back.py": "2"})
    await world.pass_time(5)
    world.github.people.force_push(pull, sha)
    await world.pass_time(5)
    assert stands(world, pull)[0] == "in_progress"
    again = await started(world, pull)
    await ended(world, first, "cancelled")
    await ended(world, again)
    assert check(world, pull).conclusion == "success"
    assert stands(world, pull)[1] == "success"


async def two_pull_requests_with_one_head_share_the_run(world: World) -> None:
    one = pushed(world, path="npu/shared.py")
    two = pushed(world, path="npu/b.py")
    await world.settle()
    await world.clock.advance(1)
    world.github.people.force_push(two, one.head_sha)
    await world.settle()
    run = await started(world, one)
    await world.pass_time(5)
    world.github.people.close(one)
    await world.settle()
    assert check(world, two).status != "completed"
    await ended(world, run)
    assert check(world, two).conclusion == "success"
    assert stands(world, two)[1] == "success"


async def a_command_cancels_it(world: World) -> None:
    pull = pushed(world, path="npu/cancels.py")
    await world.settle()
    run = await started(world, pull)
    reply = await say(world, pull, "maintainer", f"/ascend-e2e cancel {SUITE}")
    assert run.cancelled
    await ended(world, run, "cancelled")
    assert SUITE in reply
    assert check(world, pull).title == "Cancelled by maintainer"
    assert stands(world, pull)[1] == "failure"


async def test_lists_find_what_is_lost_and_are_not_asked_for_where_nothing_runs(
    githubs: World,
) -> None:
    await no_list_is_asked_for_where_no_native_suite_runs(githubs)
    await a_lost_start_and_a_lost_end_are_found_by_the_lists(githubs)


async def no_list_is_asked_for_where_no_native_suite_runs(world: World) -> None:
    world.open_pull()
    assert await listed(world) == 1
    pushed(world, path="npu/lists.py")
    assert await listed(world) > 1


async def listed(world: World) -> int:
    """Let the sweeper look; return how many lists of runs it asked for."""
    await world.settle()
    await world.pass_time(61)
    before = world.writes(LIST)
    await world.sweep()
    return world.writes(LIST) - before


async def a_lost_start_and_a_lost_end_are_found_by_the_lists(world: World) -> None:
    pull = pushed(world, path="npu/lost.py")
    await world.settle()
    world.github.deliveries.drop_if(lambda delivery: delivery.event.startswith("workflow_"))
    run = await started(world, pull)
    await world.pass_time(61)
    await world.sweep()
    await world.pass_time(61)
    assert check(world, pull).status == "in_progress"
    world.github.actions.finish(run)
    world.github.deliveries.drop_if(None)
    await world.pass_time(61)
    await world.sweep()
    assert check(world, pull).conclusion == "success"
    assert stands(world, pull)[1] == "success"


async def test_a_run_that_was_deleted_is_missed_in_the_list(githubs: World) -> None:
    pull = pushed(githubs, path="npu/deleted.py")
    await githubs.settle()
    run = await started(githubs, pull)
    await githubs.pass_time(200)
    del githubs.github.state.runs[run.id]
    for _ in range(2):
        await githubs.sweep()
        await githubs.pass_time(61)
    assert "deleted" in (check(githubs, pull).summary or "")
    assert stands(githubs, pull)[1] == "failure"


async def test_one_that_github_does_not_start_is_not_green_and_says_why(githubs: World) -> None:
    await a_run_that_waits_for_githubs_own_approval_says_so_on_the_gate(githubs)
    await drafts_and_strangers_wait_for_github_and_dry_runs_do_not(githubs)


async def a_run_that_waits_for_githubs_own_approval_says_so_on_the_gate(world: World) -> None:
    pull = pushed(world, "stranger", "npu/held.py", fork=True)
    run = world.github.actions.native(pull, FILE, held=True)
    await world.settle()
    await world.pass_time(10)
    gate = world.gate(pull.head_sha)
    assert gate.conclusion == "action_required"
    assert gate.title == f"Waiting for an approval on GitHub: {SUITE}"
    assert f"actions/runs/{run.id}" in (gate.summary or "")
    assert gate.actions == []  # ours would not do
    await world.pass_time(3600)
    assert check(world, pull).status == "queued"
    world.github.actions.approve(run)
    await world.pass_time(61)
    assert "Waiting for a runner" in (check(world, pull).title or "")
    world.github.actions.start(run)
    await world.pass_time(61)
    assert stands(world, pull)[0] == "in_progress"
    await ended(world, run)
    assert stands(world, pull)[1] == "success"


async def drafts_and_strangers_wait_for_github_and_dry_runs_do_not(world: World) -> None:
    pull = pushed(world, "stranger", "npu/draft.py", fork=True)
    world.github.people.draft(pull)
    await world.settle()
    assert check(world, pull).title == "Queued: waiting for GitHub to start it"
    dry = NATIVE_POLICY.replace("version: 1", "version: 1\nmode: dry_run")
    await natives(world, dry)
    other = pushed(world, path="npu/c.py")
    await world.settle()
    await started(world, other)
    assert world.github.check(f"Ascend / {SUITE}", other.head_sha) is None
