"""Attacks through a second pull request with the same head as another one."""

import pytest

from bot.core.model.ids import RepoId, Sha
from bot.sim import NewPull
from bot.sim.model import Pull
from tests.e2e.native_suites import FILE, check, ended, natives
from tests.e2e.native_suites import started as started_by_github
from tests.e2e.people import press, say, stands, started, unharmed, waits
from tests.e2e.test_attacks_on_gates import GREEN, RED, gate, weak_base, workflows
from tests.e2e.world import World

RUNS = ("in_progress", None)


def decoy(world: World, base: str | None = None, author: str = "stranger") -> Pull:
    """Open a pull request that selects nothing; its head becomes another one's later."""
    fork = author == "stranger"
    return world.github.people.open_pull(author, {"docs/d.md": "1"}, NewPull(base=base, fork=fork))


async def takes_over(world: World, mine: Pull, other: Pull) -> None:
    """Let a pull request get the head of another one."""
    world.github.people.force_push(mine, other.head_sha)
    await stands(world)


def says(world: World, pull: Pull) -> str:
    """Return what the gate at the head says."""
    return world.gate(pull.head_sha).summary or ""


async def old_base(world: World) -> None:
    """Leave a branch behind the default branch, which gets changes that select a suite."""
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    world.github.people.push_branch("maintainer", {"verl/new.py": "1"})
    await world.settle()


async def test_a_strangers_pull_request_of_the_same_commit_does_not_block_a_gate(
    world: World,
) -> None:
    await old_base(world)
    theirs = [decoy(world), decoy(world, "old")]
    await world.settle()
    tested, plain = world.open_pull("writer"), world.open_pull("writer", "docs/a.md")
    await world.settle()
    await world.finish("failure", "ValueError: x\n")
    await world.pass_time(10)
    for pull, stands_so in ((tested, RED), (plain, GREEN)):
        assert gate(world, pull) == stands_so
        for mine in theirs:
            await takes_over(world, mine, pull)
            assert gate(world, pull) == stands_so
            assert f"#{mine.number}" in says(world, pull).partition("Not counted")[2]
    for mine in theirs:
        await takes_over(world, mine, tested)
    world.github.people.rerun_check(world.check("unit", tested.head_sha).id, "writer")
    await stands(world)
    await world.finish()
    await world.pass_time(10)
    assert gate(world, tested) == GREEN
    await unharmed(world)


async def test_a_trusted_pull_request_against_another_base_does_not_open_a_strangers_gate(
    world: World,
) -> None:
    stranger = world.github.people.open_pull("stranger", {"verl/evil.py": "1"}, NewPull(fork=True))
    git, evil = stranger.repo.git, stranger.head_sha
    world.github.people.push(stranger, {"docs/b.md": "1"})
    await stands(world)
    git.set_ref("refs/heads/easy", evil)  # to this base only the document is new
    mine = decoy(world, "easy", "writer")
    await takes_over(world, mine, stranger)
    await waits(world, stranger)
    assert f"To go on with #{mine.number} alone, push a new commit" in says(world, stranger)
    world.github.people.push(mine, {"docs/c.md": "1"})
    await stands(world)
    assert gate(world, mine) == GREEN
    await waits(world, stranger)
    assert f"#{mine.number}" not in says(world, stranger)


async def test_a_gate_does_not_stay_red_because_of_a_pull_request_that_is_gone(
    world: World,
) -> None:
    await old_base(world)
    plain = world.open_pull("writer", "docs/a.md")
    for leave in (world.github.people.close, world.github.people.force_push):
        await stands(world)
        assert gate(world, plain) == GREEN
        second = decoy(world, "old", "maintainer")
        await takes_over(world, second, plain)
        await world.finish("failure", "ValueError: x\n")
        await world.pass_time(10)
        assert gate(world, plain) == RED
        leave(second)
        await stands(world)
        assert gate(world, plain) == GREEN
        world.github.people.push(plain, {f"docs/{second.number}.md": "1"})


async def test_a_stranger_does_not_cancel_the_run_of_anothers_pull_request(world: World) -> None:
    await natives(world)
    theirs = decoy(world)
    pull = world.open_pull("writer", "npu/a.py")
    await stands(world)
    await takes_over(world, theirs, pull)
    run = await started_by_github(world, pull)
    said = await say(world, theirs, "stranger", "/ascend-e2e cancel")
    assert f"It goes on for #{pull.number}" in said
    await world.pass_time(10)
    assert not run.cancelled
    assert check(world, pull).status == "in_progress"
    await ended(world, run)
    assert gate(world, pull) == GREEN
    run = await started_by_github(world, pull)
    await world.pass_time(10)
    await say(world, pull, "writer", "/ascend-e2e cancel")
    assert run.cancelled


async def test_an_author_does_not_cancel_what_another_pull_request_pinned(world: World) -> None:
    theirs = world.github.people.open_pull("reader", {"verl/a.py": "1"}, NewPull(fork=True))
    mine = decoy(world, author="writer")
    await stands(world)
    await press(world, theirs.head_sha, "maintainer")
    await world.finish("failure", "ValueError: x\n")
    await takes_over(world, mine, theirs)
    sha = theirs.head_sha
    for pull in (mine, theirs):
        world.github.people.push(pull, {"docs/n.md": "1"})
    await stands(world)
    before = len(started(world))
    await say(world, theirs, "maintainer", f"/ascend-e2e rerun unit --sha {sha[:12]}")
    await say(world, mine, "maintainer", f"/ascend-e2e rerun unit --sha {sha[:12]}")
    assert len(started(world)) == before + 1
    run = world.github.runs()[-1]
    said = await say(world, theirs, "reader", "/ascend-e2e cancel")
    assert f"It goes on for #{mine.number}" in said
    assert not run.cancelled
    await say(world, mine, "writer", "/ascend-e2e cancel")
    assert run.cancelled


async def test_a_pull_request_of_a_merge_groups_commit_does_not_hold_up_the_queue(
    world: World,
) -> None:
    await old_base(world)
    pull, theirs = world.open_pull("writer", "docs/a.md"), decoy(world, "old")
    await stands(world)
    group = world.github.people.merge_group(pull, "writer")
    await world.settle()
    world.github.people.force_push(theirs, group["head_sha"])
    await stands(world)
    shown = world.gate(group["head_sha"])
    assert (shown.status, shown.conclusion) == GREEN


async def test_a_native_run_of_another_base_does_not_turn_the_gate_green(world: World) -> None:
    await natives(world)
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    pull, theirs = world.open_pull("writer", "npu/a.py"), decoy(world, "old")
    await stands(world)
    await takes_over(world, theirs, pull)
    await ended(world, await started_by_github(world, theirs))
    assert gate(world, pull) == RUNS
    await ended(world, await started_by_github(world, pull), "failure", "ValueError: x\n")
    assert gate(world, pull) == RED
    mine = world.github.people.open_pull("writer", {"npu/b.py": "1"})
    second = decoy(world, "old", "writer")
    await stands(world)
    await takes_over(world, second, mine)
    await ended(world, await started_by_github(world, second))  # GitHub does not say of which
    assert gate(world, mine) == RUNS


async def test_a_native_run_from_before_a_retarget_does_not_turn_the_gate_green(
    world: World,
) -> None:
    await natives(world)
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    await world.settle()
    deliveries = world.github.deliveries
    deliveries.hold()
    pull = world.github.people.open_pull("writer", {"npu/a.py": "1"}, NewPull(base="old"))
    run = world.github.actions.native(pull, FILE)
    await world.clock.advance(2)
    world.github.people.retarget(pull, "main")
    deliveries.pending.sort(key=lambda one: one.event == "workflow_run")  # those come last
    deliveries.release()
    await world.settle()
    world.github.actions.start(run)
    await ended(world, run)
    await world.sweep()
    assert gate(world, pull) == RUNS


async def test_a_retarget_that_is_told_late_is_not_forgotten(world: World) -> None:
    await natives(world)
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    pull = world.github.people.open_pull("writer", {"npu/a.py": "1"})
    await stands(world)
    deliveries = world.github.deliveries
    deliveries.hold()
    world.github.people.retarget(pull, "old")
    run = world.github.actions.native(pull, FILE)
    await world.clock.advance(2)
    world.github.people.retarget(pull, "main")
    for change in (world.github.people.draft, world.github.people.ready):
        await world.clock.advance(2)
        change(pull)
    deliveries.pending.sort(key=lambda one: one.action == "edited")
    late = [one for one in deliveries.pending if one.event == "workflow_run"]
    deliveries.pending[:] = [one for one in deliveries.pending if one not in late]
    deliveries.release()
    await world.settle()
    deliveries.hold()
    deliveries.pending += late
    deliveries.release()
    await world.settle()
    world.github.actions.start(run)
    await ended(world, run)
    await world.sweep()
    assert gate(world, pull) == RUNS


@pytest.mark.parametrize("leaves", ["by closing", "for another base", "for a commit", "later"])
async def test_a_native_run_of_a_pull_request_that_has_left_does_not_turn_the_gate_green(
    world: World, leaves: str
) -> None:
    await natives(world)
    world.github.people.push_branch("maintainer", {"docs/o.md": "1"}, "old")
    mine = world.github.people.open_pull("writer", {"npu/b.py": "1"})
    branch = None if leaves == "for a commit" else mine.head_ref
    new = NewPull(base="old", branch=branch)
    second = world.github.people.open_pull("writer", {"docs/d.md": "1"}, new)
    await stands(world)
    await takes_over(world, second, mine)
    run = await started_by_github(world, second)
    if leaves == "by closing":
        world.github.people.close(second)
    elif leaves == "for another base":
        world.github.people.retarget(second, "main")
    elif leaves == "for a commit":
        world.github.people.push(second, {"docs/z.md": "1"})
    await stands(world)
    await ended(world, run)
    if leaves == "later":
        world.github.people.close(second)
        await stands(world)
        world.github.actions.rerun(run, mine.author)
        world.github.actions.start(run)
        await ended(world, run)
    await world.sweep()
    assert gate(world, mine) != GREEN
    await ended(world, await started_by_github(world, mine))
    assert gate(world, mine) == GREEN


async def test_an_open_run_of_another_policy_is_not_taken_for_ones_own(world: World) -> None:
    await weak_base(world)
    second = decoy(world, "weak", "maintainer")
    pull = world.open_pull("maintainer")
    await stands(world)
    world.github.people.close(pull)
    await takes_over(world, second, pull)
    world.github.people.reopen(pull)
    await stands(world)
    assert workflows(world) == ["unit.yml", "easy.yml", "unit.yml"]
    world.github.actions.start(world.github.runs()[1])
    world.github.actions.finish(world.github.runs()[1], "success")
    await stands(world)
    assert gate(world, pull) == RUNS
    world.github.people.close(second)
    world.github.people.retarget(pull, "weak")
    await stands(world)
    assert world.github.runs()[2].cancelled


async def never_listed(world: World, base: str, other: Pull) -> Pull:
    """Open a stranger's pull request of another one's commit, whose files GitHub never lists."""
    people = world.github.people
    mine = people.open_pull("stranger", {"docs/m.md": "1"}, NewPull(fork=True, base=base))
    await world.settle()
    world.github.fault("500", "GET", f"*/pulls/{mine.number}/files", times=1000)
    people.force_push(mine, other.head_sha)
    await stands(world, 600)  # so long that GitHub is asked every 5 minutes
    return mine


async def test_another_pull_request_does_not_turn_green_what_github_did_not_let_us_judge(
    world: World,
) -> None:
    people = world.github.people
    people.push_branch("maintainer", {"verl/a.py": "1"}, "old")
    easy = people.open_pull("stranger", {"docs/a.md": "1"}, NewPull(fork=True, base="old"))
    await world.settle()
    assert gate(world, easy) == GREEN
    mine = await never_listed(world, "main", easy)
    assert gate(world, easy) == RUNS
    people.close(easy)
    await world.settle()
    people.reopen(easy)
    await world.settle()
    assert gate(world, easy) == RUNS
    world.github.faults.clear()
    people.close(mine)
    await stands(world, 320)
    assert gate(world, easy) == GREEN


async def test_one_pull_request_that_is_judged_does_not_speak_for_another_that_is_not(
    world: World,
) -> None:
    world.github.people.push_branch("maintainer", {"verl/a.py": "1"}, "old")
    new = NewPull(fork=True, base="old")
    easy = world.github.people.open_pull("stranger", {"docs/a.md": "1"}, new)
    await world.settle()
    soon, never = [await never_listed(world, base, easy) for base in ("old", "main")]
    world.github.faults.clear()
    world.github.fault("500", "GET", f"*/pulls/{never.number}/files", times=1000)
    seen = []
    for _ in range(32):
        await world.pass_time(10)
        seen.append(gate(world, easy))
    rows = await world.bot.parts.store.pulls.selections(RepoId(soon.repo.id), Sha(soon.head_sha))
    assert soon.number in {row.number for row in rows}, "it was judged meanwhile"
    assert set(seen) == {RUNS}
    world.github.people.close(never)
    await stands(world, 320)
    assert gate(world, easy) == GREEN


async def test_a_strangers_pull_request_that_github_never_lists_does_not_hold_a_members_gate(
    world: World,
) -> None:
    world.github.people.push_branch("maintainer", {"verl/a.py": "1"}, "old")
    pull = world.open_pull("writer", "docs/a.md")
    await world.settle()
    await never_listed(world, "old", pull)
    assert gate(world, pull) == GREEN
