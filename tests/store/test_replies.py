"""Replies: one a comment, posted once, edited when a run it lists ends."""

from dataclasses import replace

import pytest

from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run
from bot.core.model.views import Reply
from bot.core.planning.plan import Plan
from bot.store import Store
from bot.store.published import NotShown
from bot.store.replies import DueReply
from bot.store.runs import SaveRun
from tests.store.building import NOW, REPO, after, claimant, done, put, run

REPLY = Reply(REPO.id, 77, 1, "`/ascend-e2e ppo` on 9f8e7d6")


async def claims(store: Store, at: float = 0, owner: str = "me") -> tuple[DueReply, ...]:
    return await store.replies.claim(owner, after(at), lease_s=30, limit=9)


async def claim(store: Store, at: float = 0, owner: str = "me") -> DueReply:
    (due,) = await claims(store, at, owner)
    return due


async def say(store: Store, reply: Reply = REPLY) -> None:
    assert await store.commit(Plan(repo=REPO, replies=(reply,)), NOW, done=None)


async def show(store: Store, due: DueReply) -> None:
    await store.replies.shown(due.lease, github_id=9, version=due.want_version, now=NOW)


async def fail(store: Store, due: DueReply, failure: NotShown) -> None:
    await store.replies.failed(due.lease, failure, version=due.want_version, now=NOW)


async def end(store: Store, row: Run, retry: Run | None = None) -> None:
    (claimed,) = await store.runs.claim("runner", NOW, lease_s=30, limit=1)
    save = SaveRun(done(row, outcome=Outcome.FAILURE), due=None, retry=retry)
    assert await store.runs.save(claimed.lease, save, NOW)


@pytest.mark.both_databases
async def test_a_reply_is_due_with_its_runs_and_where_they_are_shown(store: Store) -> None:
    one, two = run("a"), run("b")
    await put(store, one, two)
    for check in await store.checks.claim("me", NOW, lease_s=30, limit=1):
        await store.checks.shown(check.lease, github_id=3, version=1, ended=False, now=NOW)
    said = replace(REPLY, run_ids=(two.id, one.id))
    await say(store, said)
    due = await claim(store)
    assert (due.repo, due.reply, due.github_id, due.create_tried) == (REPO, said, None, False)
    assert due.runs == (two, one)
    assert due.check_ids == {one.id: 3}


@pytest.mark.both_databases
async def test_a_reply_that_was_first_is_edited_once_its_check_run_is_there(store: Store) -> None:
    made = run()
    await put(store, made)
    await say(store, replace(REPLY, run_ids=(made.id,)))
    await show(store, await claim(store))
    for _ in range(2):  # only the first time is news
        (check,) = await store.checks.claim("me", NOW, lease_s=30, limit=1)
        await store.checks.shown(check.lease, github_id=3, version=0, ended=False, now=NOW)
        if claimed := await claims(store):
            (due,) = claimed
            assert (due.github_id, due.check_ids) == (9, {made.id: 3})
            await show(store, due)
    assert (due.want_version, await claims(store)) == (2, ())


async def test_a_reply_is_posted_once(store: Store) -> None:
    await say(store)
    due = await claim(store)
    assert await store.replies.creating(due.lease, NOW)
    await show(store, due)
    assert await claims(store, 99) == ()


@pytest.mark.both_databases
async def test_a_try_to_post_is_remembered_when_its_answer_is_lost(store: Store) -> None:
    await say(store)
    due = await claim(store)
    assert await store.replies.creating(due.lease, NOW)
    again = await claim(store, 30, "other")
    assert again.create_tried
    assert not await store.replies.creating(due.lease, NOW)


async def test_a_reply_said_anew_is_edited(store: Store) -> None:
    await say(store)
    await show(store, await claim(store))
    await say(store, replace(REPLY, head="changed"))
    due = await claim(store)
    assert (due.reply.head, due.github_id, due.want_version) == ("changed", 9, 2)


async def test_what_is_said_while_it_is_posted_is_due_at_once(store: Store) -> None:
    await say(store)
    due = await claim(store)
    await say(store, replace(REPLY, head="changed"))
    await show(store, due)
    assert (await claim(store)).reply.head == "changed"


async def test_the_end_of_a_run_edits_the_replies_that_list_it(store: Store) -> None:
    made = run()
    await put(store, made)
    await say(store, replace(REPLY, run_ids=(made.id,)))
    await say(store, replace(REPLY, comment_id=78))
    for due in await claims(store):
        await show(store, due)
    await end(store, made)
    due = await claim(store)
    assert due.reply.comment_id == REPLY.comment_id
    assert [item.outcome for item in due.runs] == [Outcome.FAILURE]


@pytest.mark.both_databases
async def test_the_next_attempt_takes_the_row_of_the_one_before(store: Store) -> None:
    made, retry = run(), run(attempt=2)
    await put(store, made)
    await say(store, replace(REPLY, run_ids=(made.id,)))
    await show(store, await claim(store))
    await end(store, made, retry)
    assert (await claim(store)).runs == (retry,)


async def test_a_reply_lists_the_open_run_that_took_the_claimant(store: Store) -> None:
    made, again = run(), run()
    await put(store, made)
    reply = replace(REPLY, run_ids=(again.id, RunId("pruned")))
    changes = Plan(new_runs=((again, (claimant(again, "pin:77"),)),), replies=(reply,))
    assert await store.commit(changes, NOW, done=None)
    assert (await claim(store)).runs == (made,)


@pytest.mark.both_databases
async def test_a_refused_reply_waits_and_the_end_of_a_run_tries_it_at_once(store: Store) -> None:
    made = run()
    await put(store, made)
    await say(store, replace(REPLY, run_ids=(made.id,)))
    await fail(store, await claim(store), NotShown(after(60), "it is locked", refused=True))
    assert await claims(store, 59) == ()
    await end(store, made)
    due = await claim(store)
    assert due.refusals == 1
    await store.replies.shown(
        due.lease, github_id=9, version=2, now=NOW, receipt_missing=due.reply.receipt_missing
    )
    await say(store, replace(REPLY, receipt_missing=True))
    due = await claim(store)
    assert (due.refusals, due.reply.receipt_missing) == (0, True)


async def test_a_reply_that_failed_for_now_is_due_later(store: Store) -> None:
    await say(store)
    await fail(store, await claim(store), NotShown(after(60), "502"))
    assert await claims(store, 59) == ()
    assert len(await claims(store, 60)) == 1


@pytest.mark.both_databases
async def test_a_comment_with_a_reply_row_is_answered(store: Store) -> None:
    assert not await store.replies.exists(77)
    reply = Reply(REPO.id, comment_id=77, number=1, head="hello", run_ids=())
    await store.commit(Plan(repo=REPO, replies=(reply,)), NOW, done=None)
    assert await store.replies.exists(77)
    assert not await store.replies.exists(78)
