"""Attacks by number: what people without rights do without end leaves GitHub's calls for others."""

from dataclasses import replace

from bot.app import Parts
from bot.core.model.ids import RepoId
from bot.services.events.allowance import Allowance
from bot.services.events.strangers import Strangers
from bot.sim import NewPull
from bot.sim.model import Pull
from bot.store.audit import AuditQuery
from tests.e2e.native_suites import natives
from tests.e2e.native_suites import started as started_by_github
from tests.e2e.people import say, stands, started, unharmed
from tests.e2e.world import GATE, World

FEW, ALL = Allowance(4, 60), Allowance(6, 120)


async def allowing(world: World, of_one: Allowance = FEW, of_all: Allowance = ALL) -> None:
    """Restart the bot with small allowances."""

    def inside(parts: Parts) -> Parts:
        return replace(parts, strangers=Strangers(parts.github, parts.clock, of_one, of_all))

    world.wrap = inside
    await world.restart()


def told(world: World, pull: Pull) -> int:
    """Return how often somebody is told that they did too much."""
    texts = world.github.comments(pull)
    return sum("gave many commands here lately" in text for text in texts)


async def storm(world: World, pull: Pull, *people: str) -> int:
    """Let people comment, one after the other; return the calls that it cost."""
    world.github.calls.clear()
    for number, login in enumerate(people):
        world.github.people.comment(pull, login, f"/ascend-e2e status\n\n{number}")
        await world.settle()
    return len(world.github.calls.counted())


async def test_comments_of_a_stranger_without_end_cost_nothing_and_are_told_once(
    world: World,
) -> None:
    await allowing(world)
    pull = world.github.people.open_pull("stranger", {"docs/a.md": "1"}, NewPull(fork=True))
    await stands(world)
    await storm(world, pull, *["stranger"] * 5)
    assert told(world, pull) == 1
    assert await storm(world, pull, *["stranger"] * 20) == 0
    assert "Nothing has run" in await say(world, pull, "writer", "/ascend-e2e status")
    audit = await world.bot.parts.store.audit.search(AuditQuery(who="stranger", limit=100))
    assert sum(item.entry.rule == "often" for item in audit) == 21
    await world.pass_time(120)
    assert "Nothing has run" in await say(world, pull, "stranger", "/ascend-e2e status")
    await unharmed(world)


async def test_comments_of_many_strangers_leave_calls_for_others_and_a_word_for_each(
    world: World,
) -> None:
    await allowing(world)
    crowd = [f"stranger-{number}" for number in range(6)]
    for login in crowd:
        world.github.grant(login, "none")
    pull = world.open_pull("writer", "docs/a.md")
    await stands(world)
    await storm(world, pull, *crowd * 3)
    assert await storm(world, pull, *crowd * 3) <= len(crowd)
    assert told(world, pull) == len(crowd), "each once"
    world.github.grant("newcomer", "read")
    assert "Nothing has run" in await say(world, pull, "newcomer", "/ascend-e2e status")
    assert "Nothing has run" in await say(world, pull, "triager", "/ascend-e2e status")
    await unharmed(world)


async def test_pushes_of_a_stranger_without_end_wait_and_their_last_one_counts(
    world: World,
) -> None:
    await allowing(world)
    pulls = [
        world.github.people.open_pull("stranger", {f"verl/{n}.py": "1"}, NewPull(fork=True))
        for n in range(2)
    ]
    await stands(world)
    world.github.calls.clear()
    for number in range(30):
        for pull in pulls:
            world.github.people.push(pull, {"verl/x.py": f"{number}"}, by="stranger")
        await world.settle()
    assert len(world.github.calls.counted()) <= 40
    good = world.open_pull("writer")
    await world.settle()
    assert started(world) == [good.head_sha]
    await world.pass_time(10)
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert health.deliveries_waiting <= len(pulls), "the older ones are dropped"
    for _ in range(12):
        await world.pass_time(10)
    assert [world.gate(pull.head_sha).conclusion for pull in pulls] == ["action_required"] * 2
    await unharmed(world)


async def test_a_stranger_who_reopens_one_of_a_branch_here_without_end_costs_calls_no_longer(
    world: World,
) -> None:
    await allowing(world)
    world.github.people.push_branch("writer", {"verl/x.py": "1"}, "feature")
    pull = world.github.people.open_pull("stranger", {}, NewPull(branch="feature"))
    await stands(world)
    world.github.calls.clear()
    for _ in range(30):
        world.github.people.close(pull)
        await world.settle()
        world.github.people.reopen(pull)
        await world.pass_time(1)
    assert len(world.github.calls.counted()) <= 15
    for _ in range(12):
        await world.pass_time(10)
    await unharmed(world)


async def test_heads_of_a_stranger_that_are_found_by_looking_wait_too(world: World) -> None:
    await allowing(world)
    world.open_pull("writer", "docs/a.md")  # the repository is known
    await world.settle()
    await world.sweep()
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    for number in range(12):
        files = {f"verl/{number}.py": "1"}
        world.github.people.open_pull("stranger", files, NewPull(fork=True))
    good = world.open_pull("writer")
    world.github.deliveries.drop_if(None)
    world.github.deliveries.sent.clear()  # so old that GitHub lists them no more
    await world.clock.advance(3601)
    world.github.calls.clear()
    await world.sweep()
    asked = sum(call.route.endswith("/files") for call in world.github.calls)
    assert asked == FEW.at_once + 1
    assert started(world) == [good.head_sha]
    theirs = [pull for pull in world.github.state.pulls_of(good.repo) if pull.is_fork]
    gates = [world.github.check(GATE, pull.head_sha) for pull in theirs]
    assert sum(one is None for one in gates) == 0, "each head has a gate that says what it is"
    waiting = [one for one in gates if one and "has not been looked at" in (one.title or "")]
    assert len(waiting) == 12 - FEW.at_once
    for _ in range(3):
        await world.clock.advance(301)
        await world.sweep()
    assert {world.gate(pull.head_sha).conclusion for pull in theirs} == {"action_required"}
    await unharmed(world)


async def test_another_base_is_not_forgotten_while_a_strangers_pushes_wait(world: World) -> None:
    await allowing(world, Allowance(2, 60))
    pull = world.github.people.open_pull("stranger", {"verl/a.py": "1"}, NewPull(fork=True))
    await stands(world)
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    for base in ("main", "old", "main"):  # and back: no later event tells of it
        if base != pull.base_ref:
            world.github.people.retarget(pull, base)
        for number in range(3):
            world.github.people.push(pull, {f"verl/{base}.py": f"{number}"}, by="stranger")
    await world.settle()
    for _ in range(24):
        await world.pass_time(10)
    known = await world.bot.parts.store.pulls.get(RepoId(world.github.state.repo().id), pull.number)
    assert known is not None
    assert (known.head_sha, known.base_ref, known.based_at is not None) == (
        pull.head_sha,
        "main",
        True,
    )
    await unharmed(world)


async def test_a_branch_with_a_pull_request_into_each_base_does_not_cost_a_call_for_each_pair(
    world: World,
) -> None:
    await natives(world)
    new = NewPull(fork=True, branch="wide")
    pulls = [world.github.people.open_pull("stranger", {"npu/a.py": "1"}, new)]
    for number in range(7):
        world.github.people.push_branch("maintainer", {"docs/o.md": f"{number}"}, f"old-{number}")
        other = replace(new, base=f"old-{number}")
        pulls.append(world.github.people.open_pull("stranger", {}, other))
    await stands(world)
    assert len({pull.head_sha for pull in pulls}) == 1
    world.github.calls.clear()
    for pull in pulls:
        await started_by_github(world, pull)
    asked = sum(call.route.endswith("/pulls/{pull_number}") for call in world.github.calls)
    assert asked <= len(pulls)
    await unharmed(world)


async def test_a_gate_is_not_green_for_another_base_while_what_a_stranger_did_waits(
    world: World,
) -> None:
    world.github.people.push_branch("maintainer", {"verl/a.py": "1"}, "old")
    await allowing(world, Allowance(2, 60))
    people = world.github.people
    pulls = [
        people.open_pull("stranger", {"docs/a.md": f"{number}"}, NewPull(fork=True, base="old"))
        for number in range(2)
    ]
    await world.settle()
    for pull in pulls:
        assert world.gate(pull.head_sha).conclusion == "success"
    people.retarget(pulls[0], "main")
    twin = NewPull(fork=True, branch=pulls[1].head_ref)
    assert people.open_pull("stranger", {}, twin).head_sha == pulls[1].head_sha
    await world.settle()
    for pull in pulls:
        assert world.gate(pull.head_sha).status == "in_progress"
    for _ in range(24):
        await world.pass_time(10)
    for pull in pulls:
        assert world.gate(pull.head_sha).conclusion == "action_required"
    await unharmed(world)


async def test_a_strangers_waiting_push_holds_no_gate_of_a_member_and_anothers_only_until_it_goes(
    world: World,
) -> None:
    await allowing(world, Allowance(2, 1))
    people, docs = world.github.people, {"docs/a.md": "1"}
    world.github.grant("newcomer", "read")
    member = people.open_pull("writer", {"docs/w.md": "1"}, NewPull(fork=True))
    newcomer = people.open_pull("newcomer", docs, NewPull(fork=True))
    mine = people.open_pull("stranger", {"docs/s.md": "1"}, NewPull(fork=True))
    own = people.push(mine, {"docs/s.md": "2"}, by="stranger")
    await stands(world, 20)
    for theirs, status in ((member, "completed"), (newcomer, "in_progress")):
        people.force_push(mine, theirs.head_sha)
        await stands(world, 20)
        assert world.gate(theirs.head_sha).status == status
    people.force_push(mine, own)
    await stands(world, 20)
    for theirs in (member, newcomer):
        assert world.gate(theirs.head_sha).conclusion == "success"


async def test_a_close_does_not_wait_for_a_list_of_files_that_github_never_makes(
    world: World,
) -> None:
    pull = world.open_pull()
    await stands(world)
    world.github.fault("500", "GET", f"*/pulls/{pull.number}/files", times=1000)
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    world.github.people.close(pull)
    for _ in range(8):
        await world.pass_time(10)
    assert world.only_run().cancelled
    for _ in range(4):
        await world.pass_time(60)
    assert world.only_run()
    await unharmed(world)


async def test_a_maintainers_word_does_not_wait_for_a_strangers_pushes(world: World) -> None:
    await allowing(world, Allowance(2, 1))
    pull = world.github.people.open_pull("stranger", {"verl/a.py": "0"}, NewPull(fork=True))
    for number in range(1, 4):
        await stands(world, 20)
        world.github.people.push(pull, {"verl/a.py": f"{number}"}, by="stranger")
    await world.settle()
    approves = f"/ascend-e2e approve --sha {pull.head_sha[:12]}"
    world.github.people.comment(pull, "maintainer", approves)
    for _ in range(8):
        await world.pass_time(10)
    assert started(world) == [pull.head_sha]
