"""Attacks by timing and by commit: what is approved is one SHA that its approver has seen."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.app import Parts
from bot.sim import NewPull
from tests.e2e.people import paste, press, say, stands, started, stranger, unharmed, waits
from tests.e2e.world import POLICY, World

POLICY_FILE = ".github/ascend-ci.yml"


@pytest.mark.parametrize("push_first", [False, True])
async def test_a_push_between_a_comment_and_its_handling_starts_nothing(
    world: World, *, push_first: bool
) -> None:
    pull = await stranger(world)
    for number, verb in enumerate(("approve", "unit", "run multinode", "rerun unit")):
        world.github.deliveries.hold()
        world.github.people.comment(pull, "writer", f"/ascend-e2e {verb}")
        await world.clock.advance(2)
        world.github.people.push(pull, {"verl/a.py": f"evil {number}"})
        if push_first:
            world.github.deliveries.pending.reverse()
        world.github.deliveries.release()
        await world.pass_time(10)
        reply = world.github.comments(pull)[-1]
        assert "after your comment was written" in reply
        assert paste(verb, pull.head_sha) in reply
        await waits(world, pull)
        await stands(world)
    assert world.github.runs() == []


async def test_a_push_between_an_approval_and_the_dispatch_starts_nothing(world: World) -> None:
    pull = await stranger(world)
    old = pull.head_sha
    world.github.people.press(world.gate(old).id, "approve", "writer")
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()  # approved and queued, not yet dispatched
    world.github.deliveries.hold()
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.pass_time(10)
    assert world.github.runs() == []
    world.github.deliveries.release()
    await world.pass_time(10)
    await waits(world, pull)
    assert world.gate(old).conclusion == "cancelled"
    assert world.check("unit", old).conclusion == "cancelled"
    assert world.github.runs() == []


async def test_an_approving_comment_names_a_head_that_is_younger_than_60_s(world: World) -> None:
    pull = await stranger(world)
    for age in (5, 58):
        for verb in ("approve", "unit"):
            world.github.people.push(pull, {"verl/a.py": f"{age} {verb}"})
            await stands(world, age)
            reply = await say(world, pull, "writer", f"/ascend-e2e {verb}")
            assert paste(verb, pull.head_sha) in reply
            await waits(world, pull)
            await stands(world)
    assert world.github.runs() == []
    world.github.people.push(pull, {"verl/a.py": "named"})
    await stands(world, 5)
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    assert started(world) == [pull.head_sha]


async def test_an_old_gates_button_starts_nothing_after_a_push(world: World) -> None:
    pull = await stranger(world)
    old, gate = pull.head_sha, world.gate(pull.head_sha)
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.pass_time(10)
    world.github.people.press(gate.id, "approve", "writer")
    await world.pass_time(10)
    answer = world.gate(old)
    assert "is not the head of an open pull request any more" in (answer.summary or "")
    assert f"`/ascend-e2e --sha {old[:12]}`" in (answer.summary or "")
    assert (answer.id != gate.id, answer.conclusion) == (True, "action_required")
    await waits(world, pull)
    assert world.github.runs() == []


async def test_a_push_handled_right_after_a_click_starts_nothing(world: World) -> None:
    pull = await stranger(world)
    old = pull.head_sha
    world.github.people.press(world.gate(old).id, "approve", "writer")
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()  # the reporter has shown nothing of the approval yet
    await world.pass_time(10)
    await waits(world, pull)
    assert world.gate(old).status == "completed"
    assert world.github.runs() == []


class Meanwhile:
    """GitHub's port, in whose first answer on a person something else happens."""

    def __init__(self, port: object, deed: Callable[[], Awaitable[object]]) -> None:
        self._port, self._deed = port, deed
        self._done = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def permission(self, repo: Any, login: str) -> Any:
        if login == "writer" and not self._done:
            self._done = True
            await self._deed()
        port: Any = self._port
        return await port.permission(repo, login)


async def test_a_push_handled_in_the_midst_of_a_click_is_not_undone_by_it(world: World) -> None:
    pull = await stranger(world)
    old = pull.head_sha

    async def push() -> None:
        world.github.people.push(pull, {"verl/a.py": "evil"})
        await world.github.deliveries.idle()
        await world.bot.step("inbox")()

    def wrap(parts: Parts) -> Parts:
        github: Any = Meanwhile(parts.github, push)
        return replace(parts, github=github)

    world.wrap = wrap
    await world.restart()
    world.github.people.press(world.gate(old).id, "approve", "writer")
    await stands(world, 40)  # a lease is over
    await waits(world, pull)
    assert world.gate(old).status == "completed"
    await press(world, pull.head_sha, "maintainer")
    assert started(world) == [pull.head_sha]


async def test_a_command_that_comes_late_does_not_run_on_the_head_that_moved(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    for verb in ("nightly-grpo", "approve", "rerun"):
        world.github.deliveries.hold()
        world.github.people.comment(pull, "maintainer", f"/ascend-e2e {verb}")
        late = world.github.deliveries.pending[:]
        world.github.deliveries.pending.clear()
        world.github.deliveries.release()
        await world.pass_time(60)
        world.github.people.push(pull, {"docs/a.md": verb})
        await stands(world)
        world.github.deliveries.pending += late
        await world.github.deliveries.flush()
        await world.pass_time(10)
        reply = world.github.comments(pull)[-1]
        assert "after your comment was written" in reply
        assert paste(verb, pull.head_sha) in reply
    assert world.github.runs() == []
    await unharmed(world)


async def test_a_named_commit_is_one_that_was_a_head_of_this_pull_request(world: World) -> None:
    foreign = await stranger(world, "verl/foreign.py")
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    main = world.github.state.repo().git.tip("refs/heads/main") or ""
    for sha in (foreign.head_sha, foreign.head_sha[:12], main, "ab" * 20, "ab" * 6):
        for verb in ("unit", "approve", "rerun unit"):
            reply = await say(world, pull, "maintainer", f"/ascend-e2e {verb} --sha {sha}")
            assert "is no commit of this pull request that was its head" in reply
            assert paste(verb, pull.head_sha) in reply
        await world.pass_time(61)  # below the commands of a minute
    short = await say(world, pull, "maintainer", f"/ascend-e2e unit --sha {pull.head_sha[:11]}")
    assert "at least 12 hex digits" in short
    assert world.github.runs() == []
    await waits(world, foreign)


async def test_a_former_head_runs_only_by_who_may_approve_it(world: World) -> None:
    pull = await stranger(world)
    old = pull.head_sha
    world.github.people.push(pull, {"verl/a.py": "2"})
    await stands(world)
    reply = await say(world, pull, "triager", f"/ascend-e2e unit --sha {old[:12]}")
    assert "needs write permission" in reply
    reply = await say(world, pull, "writer", f"/ascend-e2e approve --sha {old[:12]}")
    assert paste("approve", pull.head_sha) in reply
    assert world.github.runs() == []
    await say(world, pull, "writer", f"/ascend-e2e unit --sha {old[:12]}")
    assert started(world) == [old]
    await waits(world, pull)  # the head itself has no approval


async def test_a_fork_that_edits_the_policy_does_not_trust_itself(world: World) -> None:
    policy = POLICY.replace("version: 1", "version: 1\ntrust: {auto: none, users: [stranger]}")
    evil = policy.replace("workflow: unit.yml", "workflow: evil.yml")
    files = {POLICY_FILE: evil, "verl/a.py": "1"}
    pull = world.github.people.open_pull("stranger", files, NewPull(fork=True))
    await stands(world)
    await waits(world, pull)
    assert "Policy: `main`" in (world.gate(pull.head_sha).summary or "")
    reply = await say(world, pull, "stranger", "/ascend-e2e unit")
    assert "needs triage permission" in reply
    assert world.github.runs() == []
    await press(world, pull.head_sha, "writer")
    assert world.only_run().workflow.path.endswith("/unit.yml")


async def test_a_weaker_base_brings_no_policy_of_its_own(world: World) -> None:
    weak = POLICY.replace("version: 1", "version: 1\ntrust: {auto: none, approve: none}")
    world.github.people.push_branch("maintainer", {POLICY_FILE: weak}, "weak")
    await world.settle()
    pull = world.github.people.open_pull(
        "stranger", {"verl/a.py": "1"}, NewPull(fork=True, base="weak")
    )
    await stands(world)
    await waits(world, pull)
    moved = await stranger(world, "verl/b.py")
    world.github.people.retarget(moved, "weak")
    await stands(world)
    await waits(world, moved)
    for one in (pull, moved):
        assert "Policy: `main`" in (world.gate(one.head_sha).summary or "")
        assert "needs write" in await say(world, one, "stranger", "/ascend-e2e approve")
    assert world.github.runs() == []


async def test_an_edit_of_the_workflows_by_write_waits_for_somebody_else(world: World) -> None:
    files = {".github/actions/x/action.yml": "runs: {}\n", "verl/a.py": "1"}
    pull = world.github.people.open_pull("writer", files)
    await stands(world)
    await waits(world, pull)
    assert "`.github/actions/x/action.yml`" in (world.gate(pull.head_sha).summary or "")
    for text in ("approve", f"approve --sha {pull.head_sha[:12]}", "unit", "rerun unit"):
        assert "your own commit" in await say(world, pull, "writer", f"/ascend-e2e {text}")
    assert "your own commit" in await press(world, pull.head_sha, "writer")
    await waits(world, pull)
    assert world.github.runs() == []
    await press(world, pull.head_sha, "maintainer")
    assert started(world) == [pull.head_sha]


async def test_who_pushed_to_anothers_pull_request_does_not_approve_it(world: World) -> None:
    pull = await stranger(world)
    world.github.people.push(pull, {"verl/a.py": "mine"}, by="writer")
    await stands(world)
    for verb in ("approve", "unit"):
        assert "your own commit" in await say(world, pull, "writer", f"/ascend-e2e {verb}")
    assert "your own commit" in await press(world, pull.head_sha, "writer")
    await waits(world, pull)
    await say(world, pull, "maintainer", "/ascend-e2e approve")
    assert started(world) == [pull.head_sha]


async def test_who_starts_one_suite_of_a_strangers_commit_leaves_none_hanging(
    world: World,
) -> None:
    files = {"verl/a.py": "1", "multi/a.py": "1"}
    pull = world.github.people.open_pull("stranger", files, NewPull(fork=True))
    await stands(world)
    reply = await say(world, pull, "writer", "/ascend-e2e unit")
    assert "`unit`" in reply
    assert "`multinode`" in reply  # approved with it: it starts by itself, once
    assert started(world) == [pull.head_sha] * 2
    assert "2 not finished" in (world.gate(pull.head_sha).title or "")


@pytest.mark.parametrize("lost", [False, True])
async def test_a_command_that_overtakes_its_push_hides_nothing_of_it(
    world: World, *, lost: bool
) -> None:
    pull = world.open_pull()
    await stands(world)
    old = pull.head_sha
    world.github.deliveries.hold()
    world.github.people.push(pull, {"verl/a.py": "2"})
    world.github.people.comment(pull, "maintainer", "/ascend-e2e status")
    world.github.deliveries.pending.reverse()
    if lost:
        del world.github.deliveries.pending[1:]
    world.github.deliveries.release()
    await stands(world)
    if lost:
        await world.clock.advance(3601)
        await world.sweep()
        await stands(world)
    assert started(world) == [old, pull.head_sha]
    assert world.github.runs()[0].cancelled
    assert world.gate(old).conclusion == "cancelled"
    assert world.gate(pull.head_sha).status == "in_progress"


async def test_an_approval_that_overtakes_its_push_closes_the_gate_before(world: World) -> None:
    pull = world.open_pull()
    await stands(world)
    old = pull.head_sha
    world.github.deliveries.drop_if(lambda one: one.event in {"pull_request", "push"})
    world.github.people.push(pull, {"verl/a.py": "2"}, by="stranger")
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {old[:12]}")
    assert started(world) == [old]
    world.github.grant("admin", "admin")  # nobody knows who pushed: that needs maintain
    await say(world, pull, "admin", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    await stands(world)
    assert started(world) == [old, pull.head_sha]
    assert world.gate(old).conclusion == "cancelled"
    assert world.gate(pull.head_sha).status == "in_progress"
