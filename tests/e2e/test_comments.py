"""The one comment of a pull request: made at the first red, edited in place, never repeated."""

from bot.core.report.comment import COMMENT_MARKER
from bot.sim.model import Comment, Pull
from tests.e2e.test_pull_events import new_policy, runs_of
from tests.e2e.world import POLICY, World, start_bot


def ours(world: World, pull: Pull) -> list[Comment]:
    """Return the comments of a pull request that tell of its suites."""
    return [one for one in world.github.state.comments_of(pull) if COMMENT_MARKER in one.body]


def only(world: World, pull: Pull) -> Comment:
    (comment,) = ours(world, pull)
    return comment


async def fail(world: World, pull: Pull) -> None:
    """Let the newest run of a pull request fail."""
    await world.settle()
    world.github.actions.finish(runs_of(world, pull)[-1], "failure", log="ValueError: x\n")
    await world.settle()


async def rerun(world: World, pull: Pull, conclusion: str) -> None:
    """Run the suite again at the same head."""
    world.github.people.comment(pull, "maintainer", "/ascend-e2e rerun")
    await world.settle()
    await world.pass_time(5)
    world.github.actions.finish(runs_of(world, pull)[-1], conclusion, log="ValueError: x\n")
    await world.pass_time(61)


async def test_the_first_red_makes_one_comment_that_green_folds_to_a_line(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    assert ours(world, pull) == []
    await fail(world, pull)
    comment = only(world, pull)
    check = world.check("unit", pull.head_sha)
    assert "| `unit` | failed | ValueError: x |" in comment.body
    assert f"/runs/{check.id}>" in comment.body
    await rerun(world, pull, "success")
    assert only(world, pull) is comment
    assert comment.body == f"All suites passed at `{pull.head_sha[:7]}`.\n\n{COMMENT_MARKER}"


async def test_a_new_head_edits_the_same_comment(
    world: World,
) -> None:
    pull = world.open_pull()
    await fail(world, pull)
    comment = only(world, pull)
    sha = world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    await world.pass_time(61)
    assert only(world, pull) is comment
    assert comment.body.startswith(f"**0 of 1 suite passed so far** at `{sha[:7]}`")
    await fail(world, pull)
    assert f"**1 of 1 suite did not pass** at `{sha[:7]}`" in only(world, pull).body


async def test_a_pull_request_that_is_green_or_selects_nothing_gets_no_comment(
    world: World,
) -> None:
    pull, docs = world.open_pull(), world.open_pull(path="docs/a.md")
    await world.settle()
    await world.finish()
    await world.pass_time(61)
    assert world.github.comments(pull) == world.github.comments(docs) == []


async def test_progress_and_waiting_edit_nothing(world: World) -> None:
    pull = world.open_pull()
    await fail(world, pull)
    edits = world.github.fault("403", "PATCH", "*/issues/comments/*")
    for _ in range(3):
        await world.sweep()
        await world.pass_time(61)
    assert not edits.hits
    await rerun(world, pull, "success")
    assert edits.hits


async def test_a_lost_answer_and_a_second_bot_make_no_second_comment(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    world.bots.append(await start_bot(world))
    world.github.fault("lost", "POST", "*/issues/*/comments")
    await fail(world, pull)
    await world.restart()
    for seconds in (11, 31, 61):
        await world.pass_time(seconds)
    assert "ValueError: x" in only(world, pull).body


async def test_a_refused_comment_comes_later(world: World) -> None:
    pull = world.open_pull()
    world.github.fault("403", "POST", "*/issues/*/comments", times=2)
    await fail(world, pull)
    assert ours(world, pull) == []
    for seconds in (11, 21):
        await world.pass_time(seconds)
    assert "ValueError: x" in only(world, pull).body


async def test_a_comment_that_a_person_deleted_is_not_made_again_for_that_head(
    world: World,
) -> None:
    pull = world.open_pull()
    await fail(world, pull)
    world.github.people.delete_comment(only(world, pull), "maintainer")
    await rerun(world, pull, "failure")
    await rerun(world, pull, "failure")
    assert ours(world, pull) == []
    world.github.people.push(pull, {"verl/a.py": "2"})
    await fail(world, pull)
    await world.pass_time(61)
    assert len(ours(world, pull)) == 1


async def test_nothing_that_people_write_nor_a_reply_that_quotes_it_is_taken_for_the_comment(
    world: World,
) -> None:
    pull = world.open_pull()
    await world.settle()
    for text in (f"All suites passed.\n\n{COMMENT_MARKER}", f"/ascend-e2e {COMMENT_MARKER}"):
        world.github.people.comment(pull, "stranger", text)
    await world.settle()
    before = world.github.comments(pull)
    await fail(world, pull)
    made = world.github.comments(pull)
    assert made[: len(before)] == before
    assert len(made) == len(before) + 1
    assert made[-1].endswith(COMMENT_MARKER)


async def test_never_leaves_a_comment_as_it_is_and_always_comments_from_the_first_run(
    world: World,
) -> None:
    old = world.open_pull()
    await fail(world, old)
    before = only(world, old).body
    await new_policy(world, POLICY.replace("version: 1", "version: 1\nreport: {comment: never}"))
    pull = world.open_pull(path="verl/b.py")
    await fail(world, pull)
    world.github.people.push(old, {"verl/a.py": "2"})
    await world.settle()
    await world.pass_time(61)
    assert ours(world, pull) == []
    assert only(world, old).body == before
    await new_policy(world, POLICY.replace("version: 1", "version: 1\nreport: {comment: always}"))
    third = world.open_pull(path="verl/c.py")
    await world.settle()
    assert "| `unit` | queued" in only(world, third).body
    world.github.actions.finish(runs_of(world, third)[-1], "success")
    await world.pass_time(61)
    assert "| `unit` | passed |" in only(world, third).body


async def test_a_comment_is_in_the_language_of_the_policy(world: World) -> None:
    await new_policy(world, POLICY.replace("version: 1", "version: 1\nreport: {language: zh}"))
    pull = world.open_pull()
    await fail(world, pull)
    assert "未通过" in only(world, pull).body


async def test_what_waits_for_an_approval_makes_no_comment(world: World) -> None:
    pull = world.open_pull("stranger")
    await world.settle()
    await world.pass_time(61)
    assert world.github.comments(pull) == []
