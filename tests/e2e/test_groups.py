"""The merge queue: its commits run what their pull request's files select, and are never silent."""

from typing import Any

import pytest

from bot.sim.deliveries import Delivery
from bot.sim.model import Pull
from tests.e2e.people import replay
from tests.e2e.world import POLICY, World

MISTAKES = (
    "Not your change: the policy of main has 2 errors (the first is "
    "line 1, runners, runners is required)"
)
UNANSWERED = "Waiting for GitHub: which suites this change needs is not known yet"
PLAIN = POLICY.replace("rayjob: true", "rayjob: false").replace("slots: 2", "slots: 4")


@pytest.fixture
async def queue(world: World) -> World:
    """Return a world whose second suite needs no submitter."""
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": PLAIN})
    await world.settle()
    world.github.calls.clear()
    return world


async def passed(world: World, files: dict[str, str]) -> Pull:
    """Open a pull request and let its suites pass."""
    pull = world.github.people.open_pull("maintainer", files)
    await world.settle()
    await end_all(world, "success")
    assert world.gate(pull.head_sha).conclusion == "success"
    return pull


async def end_all(world: World, conclusion: str) -> None:
    for run in world.github.runs():
        if run.status != "completed":
            world.github.actions.start(run)
            world.github.actions.finish(run, conclusion, log="ValueError: x")
    await world.pass_time(10)


async def enqueue(world: World, pull: Pull) -> dict[str, Any]:
    """Put it into the queue behind another change, so that the group has files of its own."""
    world.github.people.push_branch("maintainer", {f"docs/{world.github.state.new_id()}.md": "x"})
    group = world.github.people.merge_group(pull, "writer")
    await world.settle()
    return group


def seen(world: World, sha: str) -> tuple[str | None, str | None]:
    gate = world.gate(sha)
    return gate.conclusion, gate.title


async def test_a_group_takes_the_results_of_its_very_files_over_and_else_runs_its_suites(
    queue: World,
) -> None:
    people = queue.github.people
    pull = await passed(queue, {"verl/a.py": "1", "multi/b.py": "1"})
    before = len(queue.github.runs())
    group = people.merge_group(pull, "writer")
    await queue.settle()
    sha = group["head_sha"]
    title = f"Same files as {pull.head_sha[:7]}: 2 suites passed there"
    assert seen(queue, sha) == ("success", title)
    assert "passed on `" in (queue.gate(sha).summary or "")
    assert len(queue.github.runs()) == before
    people.destroy_group(group, "writer", "dequeued")
    await queue.pass_time(120)
    people.rerun_check(queue.check("multinode", pull.head_sha).id, "writer")
    await queue.settle()
    group = people.merge_group(pull, "writer")
    await queue.settle()
    sha = group["head_sha"]
    assert seen(queue, sha) == (None, "Queued: multinode, 1 passed")
    assert queue.github.check("Ascend / unit", sha) is None
    await end_all(queue, "success")
    assert seen(queue, sha) == ("success", "2 suites passed")
    people.destroy_group(group, "writer", "dequeued")
    await it_runs_its_suites(queue, pull)


async def it_runs_its_suites(queue: World, pull: Pull) -> None:
    group = await enqueue(queue, pull)
    sha = group["head_sha"]
    assert queue.gate(sha).status == "in_progress"
    run = queue.github.runs()[-1]
    assert (run.inputs["sha"], run.inputs["pr"]) == (sha, "")
    assert "Started by the merge group of #" in (queue.check("unit", sha).summary or "")
    assert "/ascend-e2e" not in (queue.check("unit", sha).summary or "")
    await end_all(queue, "success")
    assert seen(queue, sha) == ("success", "2 suites passed")
    queue.github.people.destroy_group(group, "writer", "merged")
    await queue.settle()
    assert seen(queue, sha) == ("success", "2 suites passed")


async def test_a_groups_runs_are_run_again_by_who_may_and_stopped_when_it_is_given_up(
    queue: World,
) -> None:
    pull = queue.github.people.open_pull("maintainer", {"verl/a.py": "1"})
    await queue.settle()
    await an_end_that_overtakes_its_beginning(queue, pull)
    await one_given_up_in_mid_run_before_another(queue, pull)
    await what_fails_may_be_run_again(queue, pull)


async def an_end_that_overtakes_its_beginning(queue: World, pull: Pull) -> None:
    before = len(queue.github.runs())
    late: list[Delivery] = []

    def overtaken(one: Delivery) -> bool:
        if one.event == "merge_group" and one.action == "checks_requested":
            late.append(one)
        return one in late

    queue.github.deliveries.drop_if(overtaken)
    group = await enqueue(queue, pull)
    queue.github.people.destroy_group(group, "writer", "dequeued")
    await queue.settle()
    queue.github.deliveries.drop_if(None)
    replay(queue, late[0], "late")
    await queue.settle()
    assert len(queue.github.runs()) == before
    assert queue.github.check("ascend-ci", group["head_sha"]) is None


async def one_given_up_in_mid_run_before_another(queue: World, pull: Pull) -> None:
    one, two = await enqueue(queue, pull), await enqueue(queue, pull)
    sha, (run, other) = one["head_sha"], queue.github.runs()[-2:]
    assert [run.inputs["sha"], other.inputs["sha"]] == [sha, two["head_sha"]]
    queue.github.actions.start(run)
    await queue.settle()
    queue.github.people.destroy_group(one, "writer", "dequeued")
    await queue.settle()
    assert (run.cancelled, other.cancelled) == (True, False)
    queue.github.actions.finish(run, "cancelled")
    await queue.pass_time(10)
    assert queue.check("unit", sha).conclusion == "cancelled"
    assert seen(queue, sha) == ("cancelled", "The pull request left the merge queue")
    assert "Nothing more runs for this merge group." in (queue.gate(sha).summary or "")
    await queue.pass_time(120)
    before = len(queue.github.runs())
    queue.github.people.rerun_check(queue.check("unit", sha).id, "writer")
    await queue.pass_time(10)
    assert len(queue.github.runs()) == before
    assert "is not the head of an open pull request" in (queue.check("unit", sha).summary or "")
    queue.github.actions.finish(other, "success")
    await queue.pass_time(10)
    assert seen(queue, two["head_sha"]) == ("success", "unit passed")


async def what_fails_may_be_run_again(queue: World, pull: Pull) -> None:
    sha = (await enqueue(queue, pull))["head_sha"]
    await end_all(queue, "failure")
    assert seen(queue, sha) == ("failure", "unit failed: ValueError: x")
    assert "Re-run what is not green: button above." in (queue.gate(sha).summary or "")
    await queue.pass_time(120)
    before = len(queue.github.runs())
    queue.github.people.rerun_check(queue.check("unit", sha).id, "reader")
    await queue.pass_time(10)
    assert len(queue.github.runs()) == before
    assert "needs triage permission" in (queue.check("unit", sha).summary or "")
    queue.github.people.rerun_check(queue.check("unit", sha).id, "writer")
    await queue.pass_time(10)
    assert queue.gate(sha).status == "in_progress"
    await end_all(queue, "success")
    assert seen(queue, sha) == ("success", "unit passed")
    await queue.pass_time(120)
    queue.github.people.rerun_check(queue.gate(sha).id, "writer")
    await queue.pass_time(10)
    assert "There is nothing to run again" in (queue.gate(sha).summary or "")


async def test_a_groups_gate_is_never_silent(queue: World) -> None:
    heavy = PLAIN.replace("tier: heavy", "tier: heavy\n    required: true")
    for policy, path, conclusion, title in (
        (PLAIN, "README.md", "success", "No Ascend suite needed"),
        ("version: 1\nsuites: 3\n", "verl/a.py", "failure", MISTAKES),
        (f"{PLAIN}mode: dry_run\n", "verl/a.py", "neutral", "Dry run: would run unit"),
        (heavy, "nightly/a.py", None, "Queued: nightly-grpo"),
    ):
        queue.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy})
        await queue.settle()
        pull = queue.github.people.open_pull("maintainer", {path: title})
        group = await enqueue(queue, pull)
        assert seen(queue, group["head_sha"]) == (conclusion, title)
    refused = queue.github.fault("403", "GET", "*/pulls/*/files", times=99)
    pull = queue.github.people.open_pull("maintainer", {"README.md": "unread"})
    group = await enqueue(queue, pull)
    assert refused.hits
    assert seen(queue, group["head_sha"]) == (
        None,
        UNANSWERED,
    )
    queue.github.faults.clear()
    await queue.pass_time(10)
    assert seen(queue, group["head_sha"])[0] == "success"
