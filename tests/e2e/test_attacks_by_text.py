"""Attacks by comments and clicks: what is no command, who has no say, replays and storms."""

import json

from sqlalchemy import select

from bot.core.model.ids import RepoId
from bot.core.model.people import Account
from bot.sim.model import Pull, User
from bot.store.database import all_scalars
from bot.store.report_tables import checks
from bot.store.tables import deliveries
from tests.e2e.people import (
    last_sent,
    paste,
    press,
    replay,
    say,
    stands,
    started,
    stranger,
    unharmed,
    waits,
)
from tests.e2e.world import GATE, POLICY, World

QUIET = [
    "hello",
    "please run /ascend-e2e unit",
    "`/ascend-e2e unit`",
    "> /ascend-e2e unit",
    "> quoted\n/ascend-e2e unit",
    "```\n/ascend-e2e unit\n```",
    "~~~sh\n/ascend-e2e unit\n```\n/ascend-e2e approve\n~~~",
    "    /ascend-e2e unit",
    "\t/ascend-e2e unit",
    "<!-- a template\n\n/ascend-e2e unit\n\n-->",
    "<details>\n/ascend-e2e unit\n</details>",
    "- item\n/ascend-e2e unit",
    "| a |\n|---|\n/ascend-e2e unit",
    "/ascend-e2eunit",
    "**/ascend-e2e unit**",
    "- item\n\n  /ascend-e2e unit",
]


async def test_what_is_no_command_starts_nothing_and_gets_no_reply(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    for text in QUIET:
        world.github.people.comment(pull, "maintainer", text)
    await stands(world, 10)
    replies = [text for text in world.github.comments(pull) if text not in QUIET]
    assert replies == []
    assert world.github.runs() == []
    await unharmed(world)
    await a_comment_edited_into_a_command_or_deleted(world)


async def a_comment_edited_into_a_command_or_deleted(world: World) -> None:
    pull = await stranger(world)
    comment = world.github.people.comment(pull, "writer", "hello")
    await world.settle()
    world.github.people.edit_comment(comment, "/ascend-e2e approve", "writer")
    await world.settle()
    world.github.people.delete_comment(comment, "writer")
    await stands(world, 10)
    assert world.github.comments(pull) == []
    await waits(world, pull)
    assert world.github.runs() == []


async def test_no_bot_app_or_issue_gives_commands_nor_has_anothers_check_run_a_say(
    world: World,
) -> None:
    pull = await stranger(world)
    await another_apps_check_run_is_none_of_ours(world, pull)
    app = world.github.state.the_app()
    robot = world.github.user("robot[bot]", kind="Bot")
    world.github.grant("robot[bot]", "admin")
    people = world.github.people
    for user, via in ((app.bot, app), (robot, None), (world.github.user("maintainer"), app)):
        assert isinstance(user, User)
        people.write_comment(pull, user, "/ascend-e2e approve", via)
        await stands(world, 10)
    people.comment(pull, "maintainer", "hello")
    await world.settle()
    comment = last_sent(world, "issue_comment", "maintainer")
    on_issue = comment.payload()
    del on_issue["issue"]["pull_request"]
    on_issue["comment"]["body"] = "/ascend-e2e approve"
    replay(world, comment, "on-an-issue", json.dumps(on_issue).encode())
    await stands(world, 10)
    assert len(world.github.comments(pull)) == 4  # theirs alone
    await waits(world, pull)
    assert world.github.runs() == []


async def another_apps_check_run_is_none_of_ours(world: World, pull: Pull) -> None:
    app = world.github.state.actions_app
    assert app is not None
    ours = world.gate(pull.head_sha)
    body = {
        "name": GATE,
        "head_sha": pull.head_sha,
        "external_id": ours.external_id,
        "status": "completed",
        "conclusion": "success",
        "output": {"title": "t", "summary": "s"},
        "actions": [{"label": "x", "description": "x", "identifier": "approve"}],
    }
    theirs = world.github.checks.create(world.github.state.repo(), app, body, app.owner)
    world.github.checks.single_sends_suite = False
    world.github.people.rerun_check(theirs, "writer")
    world.github.people.rerun_suite(theirs, "writer")
    world.github.people.press(theirs, "approve", "writer")
    await stands(world, 10)
    assert world.gate(pull.head_sha) is ours
    await waits(world, pull)
    assert world.github.runs() == []


async def test_nobody_below_write_approves_or_starts_and_each_is_told_who_may(world: World) -> None:
    pull = await stranger(world)
    repo = RepoId(world.github.state.repo().id)
    named = f"approve --sha {pull.head_sha[:12]}"
    start = world.clock.now()
    for who in ("stranger", "reader", "triager"):
        account = Account(world.github.user(who).id)
        before = world.gate(pull.head_sha)
        answers = [await press(world, pull.head_sha, who)]
        assert world.gate(pull.head_sha).id != before.id  # GitHub has set the suite to queued
        answers.append(await say(world, pull, who, f"/ascend-e2e approve\n/ascend-e2e {named}"))
        for answer in answers:
            assert "needs write permission here" in answer
            assert paste("approve", pull.head_sha) in answer
        await waits(world, pull)
        written = await world.bot.parts.store.audit.since(repo, account, start)
        assert [item.allowed for item in written if item.what == "approve"] == [False] * 3
    await world.pass_time(61)  # below the commands of a minute
    await a_triage_member_starts_nothing(world, pull)
    assert world.github.runs() == []


async def a_triage_member_starts_nothing(world: World, pull: Pull) -> None:
    verbs = ("", "unit", "run multinode", "rerun unit")
    text = "\n".join(f"/ascend-e2e {verb}".strip() for verb in verbs)
    reply = await say(world, pull, "triager", text)
    assert "needs write permission" in reply
    for verb in ("rerun unit", "unit", "multinode"):
        assert paste(verb, pull.head_sha) in reply
    people = world.github.people
    for click in (people.rerun_check, people.rerun_suite):
        click(world.gate(pull.head_sha), "triager")
        await stands(world, 10)
        assert paste("approve", pull.head_sha) in (world.gate(pull.head_sha).summary or "")
    await waits(world, pull)
    assert world.github.runs() == []


async def test_nobody_below_triage_runs_again_what_failed(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "ValueError: x")
    await stands(world)
    people, sha = world.github.people, pull.head_sha
    people.rerun_check(world.check("unit", sha), "reader")
    await stands(world, 10)
    assert "needs triage permission" in (world.check("unit", sha).summary or "")
    people.press(world.check("unit", sha).id, "rerun", "stranger")
    await stands(world, 10)
    assert "needs triage permission" in (world.check("unit", sha).summary or "")
    assert "needs triage permission" in await press(world, sha, "reader", "rerun_failed")
    people.rerun_suite(world.gate(sha), "stranger")
    await stands(world, 10)
    assert "needs triage permission" in (world.gate(sha).summary or "")
    assert len(world.github.runs()) == 1
    assert world.gate(sha).conclusion == world.check("unit", sha).conclusion == "failure"
    await unharmed(world)


async def test_a_replayed_comment_counts_once_and_for_its_commit(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    await say(world, pull, "writer", "/ascend-e2e unit")
    comment = last_sent(world, "issue_comment", "writer")
    await world.finish("success")
    await stands(world)
    world.github.deliveries.redeliver(comment.id)  # under its own GUID
    await stands(world)
    for number in range(2):
        replay(world, comment, f"another-guid-{number}")
        await stands(world)
    assert len(world.github.runs()) == 1
    assert len(world.github.comments(pull)) == 2
    assert "passed" in world.github.comments(pull)[-1]
    await unharmed(world)
    await a_replayed_approval(world)


async def a_replayed_approval(world: World) -> None:
    """Replay it after a push, which it does not reach."""
    pull = await stranger(world)
    await say(world, pull, "writer", "/ascend-e2e approve")
    comment = last_sent(world, "issue_comment", "writer")
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await stands(world)
    replay(world, comment, "another-guid")
    await stands(world)
    await waits(world, pull)
    assert len(started(world)) == 2  # one of each story


async def storm(world: World, pull: Pull, count: int) -> None:
    for number in range(count):
        world.github.people.comment(pull, "writer", f"/ascend-e2e status\n\n{number}")
    await world.settle()
    await world.pass_time(30)  # replies are paced


async def test_a_storm_of_comments_is_told_once_and_dropped(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await stands(world)
    await storm(world, pull, 12)
    told = [text for text in world.github.comments(pull) if "10 commands a minute" in text]
    assert len(world.github.comments(pull)) == 12 + 11
    assert len(told) == 1
    world.github.calls.clear()
    await storm(world, pull, 2)
    assert len(world.github.comments(pull)) == 12 + 11 + 2
    assert [call.method for call in world.github.calls.counted()] == [
        "GET"
    ]  # the others are answered 304
    reply = await say(world, pull, "triager", "/ascend-e2e status")  # another person's count
    assert "Nothing has run" in reply
    await world.pass_time(61)
    assert "Nothing has run" in await say(world, pull, "writer", "/ascend-e2e status")
    await unharmed(world)


async def stored(world: World) -> list[bytes]:
    query = select(deliveries.c.body)
    found = await world.bot.parts.store._db.read(lambda conn: all_scalars(conn, query))
    return [body for body in found if body]


async def test_what_people_write_beside_commands_is_stored_nowhere(world: World) -> None:
    pull = await stranger(world)
    text = "what I think\n\n/ascend-e2e status\n> what you think\n\n/ascend-e2e help"
    world.github.people.edit_title(pull, "what it is", "stranger")
    for said in (text, "what I think"):
        world.github.people.comment(pull, "reader", said)
    await world.github.deliveries.idle()
    bodies = b"".join(await stored(world))
    assert b"/ascend-e2e status" in bodies
    assert b"what " not in bodies
    await world.settle()
    await world.pass_time(10)
    assert await stored(world) == []
    [_, _, reply] = world.github.comments(pull)
    assert "The commands are" in reply or "/ascend-e2e approve" in reply


async def test_of_the_policies_that_a_stranger_pushes_only_the_last_is_stored(world: World) -> None:
    path = ".github/ascend-ci.yml"
    pull = await stranger(world, path, f"{POLICY}# 1\n")
    other = await stranger(world, path, f"{POLICY}# other\n")
    for number in (2, 3):
        world.github.people.push(pull, {path: f"{POLICY}# {number}\n"}, by="stranger")
        await stands(world)
    query = select(checks.c.sha).where(checks.c.proposal.is_not(None))
    found = await world.bot.parts.store._db.read(lambda conn: all_scalars(conn, query))
    assert sorted(found) == sorted([pull.head_sha, other.head_sha])
    check = world.github.check("ascend-ci policy", pull.head_sha)
    assert check is not None
    assert check.status == "completed"
