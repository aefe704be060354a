"""Attacks by timing and by commit: what is approved is one SHA that its approver has seen."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from bot.app import Parts
from bot.core.model.people import Account
from bot.sim import NewPull
from bot.sim.model import Pull
from tests.e2e.people import all_say, paste, press, say, stands, started, stranger, unharmed, waits
from tests.e2e.world import POLICY, World

POLICY_FILE = ".github/ascend-ci.yml"


async def one_for_each(world: World, verbs: tuple[str, ...]) -> dict[str, Pull]:
    """Open a stranger's pull request for each verb, and let them stand."""
    fork = NewPull(fork=True)
    pulls = {
        verb: world.github.people.open_pull("stranger", {f"verl/{number}.py": "1"}, fork)
        for number, verb in enumerate(verbs)
    }
    await stands(world)
    return pulls


async def test_a_push_between_a_comment_and_its_handling_starts_nothing(world: World) -> None:
    rows = {"comment first": ("approve", "run multinode"), "push first": ("unit", "rerun unit")}
    pulls = await one_for_each(world, (*rows["comment first"], *rows["push first"]))
    people, deliveries = world.github.people, world.github.deliveries
    for order, verbs in rows.items():
        deliveries.hold()
        for verb in verbs:
            people.comment(pulls[verb], "writer", f"/ascend-e2e {verb}")
        await world.clock.advance(2)
        for verb in verbs:
            people.push(pulls[verb], {"verl/a.py": "evil"})
        if order == "push first":
            deliveries.pending.reverse()
        deliveries.release()
        await world.settle()
    await world.pass_time(10)
    for verb, pull in pulls.items():
        reply = world.github.comments(pull)[-1]
        assert "after your comment was written" in reply, verb
        assert paste(verb, pull.head_sha) in reply
        await waits(world, pull)
    assert world.github.runs() == []


async def test_a_push_after_an_approval_starts_nothing(world: World) -> None:
    await before_the_dispatch(world, await stranger(world))
    await right_after_the_click(world, await stranger(world, "verl/b.py"))
    await on_an_old_gate(world, await stranger(world, "verl/c.py"))
    assert world.github.runs() == []


async def before_the_dispatch(world: World, pull: Pull) -> None:
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


async def right_after_the_click(world: World, pull: Pull) -> None:
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


async def on_an_old_gate(world: World, pull: Pull) -> None:
    old, gate = pull.head_sha, world.gate(pull.head_sha)
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.pass_time(10)
    world.github.people.press(gate.id, "approve", "writer")
    await world.pass_time(10)
    answer = world.gate(old)
    now = f"is no longer the head of #{pull.number}, which is `{pull.head_sha[:7]}` now."
    assert now in (answer.summary or "")
    assert paste("approve", pull.head_sha) in (answer.summary or "")
    assert (answer.id != gate.id, answer.conclusion) == (True, "action_required")
    await waits(world, pull)


async def test_an_approving_comment_names_a_head_that_is_younger_than_60_s(world: World) -> None:
    people = world.github.people
    pulls = await one_for_each(world, ("approve", "unit"))
    for pull in pulls.values():
        people.push(pull, {"verl/a.py": "evil"})
    await stands(world, 5)
    for age in (5, 58):
        replies = await all_say(
            world, [(pull, "writer", f"/ascend-e2e {verb}") for verb, pull in pulls.items()]
        )
        for (verb, pull), reply in zip(pulls.items(), replies, strict=True):
            assert paste(verb, pull.head_sha) in reply, age
            await waits(world, pull)
        await world.pass_time(58 - 5 - 10)
    assert world.github.runs() == []
    pull = pulls["approve"]
    people.push(pull, {"verl/a.py": "named"})
    await stands(world, 5)
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    assert started(world) == [pull.head_sha]


class Meanwhile:
    """GitHub's port, in whose first answer on a person something else happens."""

    def __init__(self, port: object, deed: Callable[[], Awaitable[object]]) -> None:
        self._port, self._deed = port, deed
        self._done = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def permission(self, repo: Any, account: Account) -> Any:
        if account.login == "writer" and not self._done:
            self._done = True
            await self._deed()
        port: Any = self._port
        return await port.permission(repo, account)


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
    people, deliveries = world.github.people, world.github.deliveries
    verbs = ("nightly-grpo", "approve", "rerun")
    pulls = {verb: world.open_pull(path=f"docs/{verb}.md") for verb in verbs}
    await stands(world)
    deliveries.hold()
    for verb, pull in pulls.items():
        people.comment(pull, "maintainer", f"/ascend-e2e {verb}")
    late = deliveries.pending[:]
    deliveries.pending.clear()
    deliveries.release()
    await world.pass_time(60)
    for pull in pulls.values():
        people.push(pull, {"docs/a.md": "2"})
    await stands(world)
    deliveries.pending += late
    await deliveries.flush()
    await world.pass_time(10)
    for verb, pull in pulls.items():
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
    verbs = ("unit", "approve", "rerun unit")
    for sha in (foreign.head_sha, main[:12], "ab" * 20):
        lines = "\n".join(f"/ascend-e2e {verb} --sha {sha}" for verb in verbs)
        reply = await say(world, pull, "maintainer", lines)
        assert reply.count("is not known as a head of this pull request") == len(verbs), sha
        for verb in verbs:
            assert paste(verb, pull.head_sha) in reply
    short = await say(world, pull, "maintainer", f"/ascend-e2e unit --sha {pull.head_sha[:11]}")
    assert "at least 12 hex digits" in short
    assert world.github.runs() == []
    await waits(world, foreign)
    await a_former_head_runs_only_by_who_may_approve_it(world, foreign)


async def a_former_head_runs_only_by_who_may_approve_it(world: World, pull: Pull) -> None:
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


async def test_a_fork_and_a_weaker_base_bring_no_policy_of_their_own(world: World) -> None:
    await a_fork_that_edits_the_policy(world)
    await a_weaker_base(world)


async def a_fork_that_edits_the_policy(world: World) -> None:
    policy = POLICY.replace("version: 1", "version: 1\ntrust: {auto: none, users: [stranger]}")
    evil = policy.replace("workflow: unit.yml", "workflow: evil.yml")
    files = {POLICY_FILE: evil, "verl/a.py": "1"}
    pull = world.github.people.open_pull("stranger", files, NewPull(fork=True))
    await stands(world)
    await waits(world, pull)
    assert "Policy: `main`" in (world.gate(pull.head_sha).summary or "")
    reply = await say(world, pull, "stranger", "/ascend-e2e unit")
    assert "needs write permission" in reply
    assert world.github.runs() == []
    await press(world, pull.head_sha, "writer")
    assert world.only_run().workflow.path.endswith("/unit.yml")


async def a_weaker_base(world: World) -> None:
    before = started(world)
    weak = POLICY.replace("version: 1", "version: 1\ntrust: {auto: none, approve: none}")
    world.github.people.push_branch("maintainer", {POLICY_FILE: weak}, "weak")
    await world.settle()
    pull = world.github.people.open_pull(
        "stranger", {"verl/w.py": "1"}, NewPull(fork=True, base="weak")
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
    assert started(world) == before


async def test_ones_own_push_and_edit_of_the_workflows_wait_for_somebody_else(
    world: World,
) -> None:
    await an_edit_of_the_workflows(world)
    await a_push_to_anothers_pull_request(world)


async def an_edit_of_the_workflows(world: World) -> None:
    files = {".github/actions/x/action.yml": "runs: {}\n", "verl/a.py": "1"}
    pull = world.github.people.open_pull("writer", files)
    await stands(world)
    await waits(world, pull)
    assert "`.github/actions/x/action.yml`" in (world.gate(pull.head_sha).summary or "")
    named = f"/ascend-e2e approve --sha {pull.head_sha[:12]}"
    text = f"/ascend-e2e approve\n{named}\n/ascend-e2e unit\n/ascend-e2e rerun unit"
    assert "your own commit" in await say(world, pull, "writer", text)  # said once
    assert "your own commit" in await press(world, pull.head_sha, "writer")
    await waits(world, pull)
    assert world.github.runs() == []
    await press(world, pull.head_sha, "maintainer")
    assert started(world) == [pull.head_sha]


async def a_push_to_anothers_pull_request(world: World) -> None:
    pull = await stranger(world)
    world.github.people.push(pull, {"verl/a.py": "mine"}, by="writer")
    await stands(world)
    reply = await say(world, pull, "writer", "/ascend-e2e approve\n/ascend-e2e unit")
    assert "your own commit" in reply
    assert "your own commit" in await press(world, pull.head_sha, "writer")
    await waits(world, pull)
    await say(world, pull, "maintainer", "/ascend-e2e approve")
    assert started(world)[1:] == [pull.head_sha]


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
    assert world.gate(pull.head_sha).title == "Waiting for a runner: unit and multinode"


async def test_what_overtakes_its_push_hides_nothing_of_it(world: World) -> None:
    world.github.people.push_branch("maintainer", {POLICY_FILE: POLICY.replace(": 2}", ": 9}")})
    await world.settle()
    for lost in (False, True):
        await a_command_that_overtakes(world, lost=lost)
    await an_approval_that_overtakes(world)


async def a_command_that_overtakes(world: World, *, lost: bool) -> None:
    pull = world.open_pull(path=f"verl/{lost}.py")
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
    *_, first, second = world.github.runs()
    assert (first.inputs["sha"], second.inputs["sha"]) == (old, pull.head_sha)
    assert first.cancelled
    assert world.gate(old).conclusion == "cancelled"
    assert world.gate(pull.head_sha).status == "in_progress"


async def an_approval_that_overtakes(world: World) -> None:
    """Lose the push: the gate of the head before it closes all the same."""
    pull = world.open_pull()
    await stands(world)
    old, before = pull.head_sha, started(world)
    assert before[-1] == old
    world.github.deliveries.drop_if(lambda one: one.event in {"pull_request", "push"})
    world.github.people.push(pull, {"verl/a.py": "2"}, by="stranger")
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {old[:12]}")
    assert started(world) == before
    world.github.grant("admin", "admin")  # nobody knows who pushed: that needs maintain
    await say(world, pull, "admin", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    await stands(world)
    assert started(world) == [*before, pull.head_sha]
    assert world.gate(old).conclusion == "cancelled"
    assert world.gate(pull.head_sha).status == "in_progress"
