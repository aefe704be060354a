"""Attacks by name: logins change hands, and others open the pull request of one's branch."""

import pytest

from bot.sim import NewPull
from tests.e2e.people import press, say, stands, started, stranger, waits
from tests.e2e.world import LABEL, POLICY, World


async def test_a_pusher_with_a_new_login_does_not_approve_their_own_push(world: World) -> None:
    pull = await stranger(world)
    world.github.people.push(pull, {"verl/a.py": "evil"}, by="writer")
    await stands(world)
    world.github.rename_user("writer", "innocent")
    for verb in ("approve", "unit"):
        assert "your own commit" in await say(world, pull, "innocent", f"/ascend-e2e {verb}")
    assert "your own commit" in await press(world, pull.head_sha, "innocent")
    await waits(world, pull)
    assert world.github.runs() == []


async def test_who_takes_the_login_of_a_writer_gains_nothing(world: World) -> None:
    pull, other = await stranger(world), await stranger(world, "verl/b.py")
    await say(world, pull, "writer", f"/ascend-e2e unit --sha {pull.head_sha[:12]}")
    assert started(world) == [pull.head_sha]
    world.github.rename_user("writer", "innocent")
    world.github.user("writer")  # somebody else's, while our answers on people are kept
    reply = await say(world, other, "writer", "/ascend-e2e approve")
    assert "needs write permission here" in reply
    assert "needs write permission" in await press(world, other.head_sha, "writer")
    await waits(world, other)
    await say(world, other, "innocent", "/ascend-e2e approve")
    assert started(world) == [pull.head_sha, other.head_sha]


async def test_an_approval_is_a_persons_whatever_their_login_is_at_the_dispatch(
    world: World,
) -> None:
    going = [world.open_pull(path=f"verl/{number}.py") for number in range(2)]
    world.github.grant("other", "write")
    kept, lost = await stranger(world), await stranger(world, "verl/b.py")
    await press(world, kept.head_sha, "writer")
    await press(world, lost.head_sha, "other")
    world.github.rename_user("writer", "innocent")
    world.github.grant("other", "none")
    world.github.rename_user("other", "gone")
    world.github.grant("other", "write")  # another account, which has approved nothing
    await stands(world)
    for run in world.github.runs():
        world.github.actions.start(run)
        world.github.actions.finish(run, "success")
    await stands(world)
    assert set(started(world)) == {kept.head_sha, *(pull.head_sha for pull in going)}
    await waits(world, lost)


async def test_who_takes_a_login_that_the_policy_lists_is_refused_with_an_alarm(
    world: World,
) -> None:
    listed = POLICY.replace("version: 1", "version: 1\ntrust: {users: [Helper, nobody-yet]}")
    world.github.grant("helper", "none")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": listed})
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    assert "`unit`" in await say(world, pull, "helper", "/ascend-e2e unit")
    assert started(world) == [pull.head_sha]
    alarms = world.bot.parts.metrics.other_accounts
    assert alarms._value.get() == 0
    world.github.rename_user("helper", "helper-2")
    for login in ("helper", "nobody-yet"):
        world.github.user(login)
        await world.pass_time(61)
        reply = await say(world, pull, login, "/ascend-e2e nightly-grpo")
        assert "needs write permission here" in reply
    assert alarms._value.get() == 2
    await say(world, pull, "helper-2", "/ascend-e2e nightly-grpo")
    assert started(world) == [pull.head_sha] * 2
    # A maintainer who means the new one takes the login out, and puts it in again.
    world.github.grant("helper", "none")
    for policy in (POLICY, listed):
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy})
        await stands(world)
        await say(world, pull, "reader", "/ascend-e2e status")
    assert "`multinode`" in await say(world, pull, "helper", "/ascend-e2e multinode")
    assert "needs triage" in await say(world, pull, "helper-2", "/ascend-e2e rerun unit")


async def test_who_takes_a_listed_login_does_not_bind_it_at_another_branch(world: World) -> None:
    both = "version: 1\nbranches: [release]\ntrust: {users: [Helper]}"
    listed = {".github/ascend-ci.yml": POLICY.replace("version: 1", both)}
    world.github.grant("helper", "none")
    world.github.people.protect("release")
    world.github.people.push_branch("maintainer", listed)
    world.github.people.push_branch("maintainer", listed, "release")
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    await say(world, pull, "helper", "/ascend-e2e unit")
    assert started(world) == [pull.head_sha]
    world.github.rename_user("helper", "helper-2")
    world.github.user("helper")
    for number, author in enumerate(("helper", "helper-2")):
        new = NewPull(base="release", fork=True)
        other = world.github.people.open_pull(author, {f"verl/{number}.py": "1"}, new)
        await stands(world)
        assert started(world)[1:] == [other.head_sha] * number
    # Where no other branch lists it any more, it is bound anew.
    nobody = "version: 1\nbranches: [release]"
    plain = {".github/ascend-ci.yml": POLICY.replace("version: 1", nobody)}
    world.github.people.push_branch("maintainer", plain)
    world.github.people.push_branch("maintainer", plain, "release")
    await stands(world)
    world.github.people.push_branch("maintainer", listed)
    await stands(world)
    await say(world, pull, "reader", "/ascend-e2e status")
    assert "`multinode`" in await say(world, pull, "helper", "/ascend-e2e multinode")


PROTECTED = {".github/actions/x/action.yml": "runs: {}", "verl/a.py": "evil"}


async def test_who_pushed_a_branch_does_not_approve_the_pull_request_that_another_opened(
    world: World,
) -> None:
    world.github.grant("opener", "write")
    lost = NewPull(pusher="writer")
    told = world.github.people.open_pull("opener", PROTECTED, NewPull(pusher="writer"))
    world.github.deliveries.drop_if(lambda one: one.event == "push")
    silent = world.github.people.open_pull("opener", PROTECTED, lost)
    forked = NewPull(fork=True, pusher="writer")
    fork = world.github.people.open_pull("opener", PROTECTED, forked)
    await stands(world)
    for pull in (told, silent, fork):
        for verb in ("approve", "unit"):
            for who in ("writer", "opener"):
                text = f"/ascend-e2e {verb} --sha {pull.head_sha[:12]}"
                assert "your own commit" in await say(world, pull, who, text)
        assert "your own commit" in await press(world, pull.head_sha, "writer")
        await waits(world, pull)
        await world.pass_time(61)  # below the commands of a minute
    assert world.github.runs() == []
    world.github.grant("third", "write")
    await press(world, told.head_sha, "third")
    assert started(world) == [told.head_sha]


async def test_who_owns_a_fork_does_not_approve_what_somebody_else_pushed_there(
    world: World,
) -> None:
    for login in ("opener", "third", "fourth"):
        world.github.grant(login, "write")
    pull = world.github.people.open_pull("opener", PROTECTED, NewPull(fork=True))
    assert pull.head_repo is not None
    pull.head_repo.owner = world.github.state.user("writer")
    world.github.people.push(pull, {"verl/a.py": "more"}, by="third")
    await stands(world)
    assert "your own commit" in await press(world, pull.head_sha, "writer")
    await waits(world, pull)
    await press(world, pull.head_sha, "fourth")
    assert started(world) == [pull.head_sha]


async def test_a_fork_without_a_trace_of_its_pusher_is_approved_by_who_maintains(
    world: World,
) -> None:
    pull = world.github.people.open_pull(
        "stranger", {"verl/a.py": "1"}, NewPull(fork=True, pusher="writer")
    )
    world.github.people.delete_fork(pull)
    await stands(world)
    reply = await say(world, pull, "writer", "/ascend-e2e approve")
    assert "GitHub does not show who pushed" in reply
    await waits(world, pull)
    await say(world, pull, "maintainer", "/ascend-e2e approve")
    assert started(world) == [pull.head_sha]


async def test_a_maintainer_who_opens_a_pull_request_of_anothers_push_does_not_trust_it(
    world: World,
) -> None:
    pull = world.github.people.open_pull("maintainer", PROTECTED, NewPull(pusher="writer"))
    own = world.github.people.open_pull("maintainer", PROTECTED)
    await stands(world)
    await waits(world, pull)
    assert started(world) == [own.head_sha]
    assert world.github.runs()[0].inputs["runner"] == LABEL


@pytest.mark.parametrize("fork", [False, True])
async def test_who_pushed_is_known_whatever_comes_late_twice_or_after_a_kill(
    world: World, *, fork: bool
) -> None:
    world.github.grant("opener", "write")
    people, deliveries = world.github.people, world.github.deliveries
    deliveries.hold()
    pull = people.open_pull("opener", PROTECTED, NewPull(pusher="writer", fork=fork))
    people.push(pull, {"verl/a.py": "more"}, by="writer")
    people.comment(pull, "writer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    deliveries.pending += list(deliveries.pending)
    deliveries.shuffle(int(fork))
    deliveries.release()
    await deliveries.idle()
    await world.bot.step("inbox")()
    await world.restart()
    await world.pass_time(31)  # a lease is over
    await stands(world)
    assert "your own commit" in world.github.comments(pull)[1]
    for who in ("writer", "opener"):
        text = f"/ascend-e2e unit --sha {pull.head_sha[:12]}"
        assert "your own commit" in await say(world, pull, who, text)
    await waits(world, pull)
    assert world.github.runs() == []
