"""Attacks on the trust in a commit: own approvals, other bases, rights that are gone."""

from bot.sim import NewPull
from tests.e2e.people import paste, press, say, stands, started, stranger, waits
from tests.e2e.test_retries import HCCL
from tests.e2e.world import World


async def test_a_push_is_not_approved_by_its_pusher_before_its_webhook_came(world: World) -> None:
    pull = await stranger(world)
    for number, verb in enumerate(("approve", "unit")):
        world.github.deliveries.hold()
        sha = world.github.people.push(pull, {"verl/a.py": f"evil {number}"}, by="writer")
        world.github.people.comment(pull, "writer", f"/ascend-e2e {verb} --sha {sha[:12]}")
        world.github.deliveries.pending.reverse()
        world.github.deliveries.release()
        await stands(world)
        reply = world.github.comments(pull)[-1]
        assert "your own commit" in reply
        assert paste(verb, sha) in reply
        await waits(world, pull)
    assert "your own commit" in await say(world, pull, "writer", "/ascend-e2e approve")
    assert world.github.runs() == []
    await say(world, pull, "maintainer", "/ascend-e2e approve")
    assert started(world) == [pull.head_sha]


async def test_ones_own_commit_is_not_approved_through_anothers_pull_request(
    world: World,
) -> None:
    first = await stranger(world)
    files = {".github/actions/x/action.yml": "runs: {}", "verl/a.py": "evil"}
    mine = world.github.people.open_pull("writer", files)
    await stands(world)
    world.github.people.force_push(first, mine.head_sha, by="stranger")
    await stands(world)
    assert "your own commit" in await press(world, mine.head_sha, "writer")
    for pull in (first, mine):
        for verb in ("approve", "unit"):
            assert "your own commit" in await say(world, pull, "writer", f"/ascend-e2e {verb}")
    assert world.github.runs() == []
    await press(world, mine.head_sha, "maintainer")
    assert started(world) == [mine.head_sha]


HIDDEN = ".github/actions/x/action.yml"
EDIT = {HIDDEN: "runs: {}", "verl/a.py": "evil"}


async def test_an_edit_of_the_workflows_is_not_hidden_by_a_base_that_has_it(world: World) -> None:
    people = world.github.people
    people.push_branch("writer", {HIDDEN: "runs: {}"}, "weak")
    based = people.open_pull("writer", {"verl/a.py": "evil"}, NewPull(base="weak"))
    moved = people.open_pull("writer", EDIT)
    for base in ("main", "weak", "main"):
        await stands(world)
        for pull in (based, moved):
            await waits(world, pull)
            people.retarget(pull, base)
    await stands(world)
    assert f"`{HIDDEN}`" in (world.gate(based.head_sha).summary or "")
    assert world.github.runs() == []
    await press(world, based.head_sha, "maintainer")
    assert started(world) == [based.head_sha]


async def test_an_edit_hidden_while_its_files_were_listed_is_seen_before_the_dispatch(
    world: World,
) -> None:
    people, deliveries = world.github.people, world.github.deliveries
    people.push_branch("writer", {HIDDEN: "runs: {}"}, "weak")
    await world.settle()
    deliveries.hold()
    pull = people.open_pull("writer", {"verl/a.py": "evil"}, NewPull(base="weak"))
    people.retarget(pull, "main")
    told = deliveries.pending[-1]
    people.retarget(pull, "weak")
    deliveries.pending[:] = [told]
    deliveries.release()
    await deliveries.idle()
    await world.bot.step("inbox")()  # the payload names main, the list of files is weak's
    await world.clock.advance(2)
    deliveries.drop_if(lambda one: one.event == "pull_request")
    people.retarget(pull, "main")
    await stands(world)
    assert world.github.runs() == []
    await waits(world, pull)


async def test_rights_that_are_lost_while_a_run_waits_start_nothing(world: World) -> None:
    people = world.github.people
    for login in ("author", "pusher", "approver"):
        world.github.grant(login, "write")
    going = [world.open_pull(path=f"verl/{number}.py") for number in range(2)]
    await stands(world)
    authored = people.open_pull("author", {"verl/a.py": "1"})
    pushed = world.open_pull(path="docs/a.md")
    people.push(pushed, {"verl/b.py": "1"}, by="pusher")
    approved = await stranger(world)
    await press(world, approved.head_sha, "approver")
    kept = world.open_pull(path="verl/k.py")
    await stands(world)
    for login in ("author", "pusher", "approver"):
        world.github.grant(login, "read")
    for run in world.github.runs():
        world.github.actions.start(run)
        world.github.actions.finish(run, "success")
    await stands(world)
    expected = {*(pull.head_sha for pull in going), kept.head_sha}
    assert set(started(world)) == expected
    for pull in (authored, pushed, approved):
        await waits(world, pull)
        told = world.check("unit", pull.head_sha).summary or ""
        assert "The check run `ascend-ci` says how to go on." in told
    await press(world, authored.head_sha, "maintainer")
    assert started(world)[-1] == authored.head_sha


async def test_what_somebody_asked_for_is_not_tried_again_once_they_lost_their_right(
    world: World,
) -> None:
    pull = world.open_pull("writer", "docs/a.md")
    await stands(world)
    await say(world, pull, "triager", "/ascend-e2e unit")
    assert started(world) == [pull.head_sha]
    world.github.grant("triager", "read")
    await stands(world)
    await world.finish("failure", HCCL)
    await stands(world)
    assert started(world) == [pull.head_sha]
    kept = world.open_pull("writer")
    await stands(world)
    world.github.grant("triager", "triage")
    await say(world, kept, "triager", "/ascend-e2e unit")
    world.github.grant("triager", "read")
    await stands(world)
    await world.finish("failure", HCCL)
    await stands(world)
    assert started(world)[-2:] == [kept.head_sha] * 2  # it needs nobody to ask for it
