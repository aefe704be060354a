"""The comment of a pull request: one row each, due with its gate, deleted by people for a head."""

from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import select

from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull
from bot.core.model.views import GateDue, PullComment
from bot.core.planning.plan import Plan
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.checks import Written
from bot.store.database import all_rows
from bot.store.published import NotShown
from bot.store.pull_comments import DueComment
from bot.store.report_tables import pull_comments
from tests.accounts import account
from tests.store.building import NOW, REPO, SHA, after

PULL = Pull(REPO.id, 1, SHA, REPO.id, "main", account("ann"))
RED = PullComment(REPO.id, 1, SHA, "red", make=True)
GREEN = replace(RED, body="green", make=False)
NEXT = Sha("b" * 40)


async def say(store: Store, *comments: PullComment, pull: Pull = PULL) -> None:
    """Show the gate of a head, and what the comments should say."""
    gate = GateDue(REPO.id, pull.head_sha, pull.number)
    await store.commit(Plan(repo=REPO, pull=pull, gates=(gate,)), NOW, done=None)
    (due,) = await store.checks.claim("me", NOW, lease_s=30, limit=9)
    await store.checks.shown(
        due.lease,
        github_id=1,
        version=due.want_version,
        ended=False,
        now=NOW,
        written=Written("", comments),
    )


async def claims(store: Store, at: float = 0, owner: str = "me") -> tuple[DueComment, ...]:
    return await store.pull_comments.claim(owner, after(at), lease_s=30, limit=9)


async def claim(store: Store, at: float = 0) -> DueComment:
    (due,) = await claims(store, at)
    return due


async def show(store: Store, due: DueComment) -> None:
    await store.pull_comments.shown(due.lease, github_id=9, version=due.want_version, now=NOW)


@pytest.mark.both_databases
async def test_a_comment_is_due_once_its_gate_is_shown_and_one_process_takes_it(
    store: Store,
) -> None:
    await say(store, RED)
    assert await store.due(NOW) == (Topic.REPORTER,)
    due = await claim(store)
    assert (due.repo, due.number, due.body) == (REPO, 1, "red")
    assert (due.github_id, due.create_tried) == (None, False)
    assert await claims(store, owner="other") == ()
    await show(store, due)
    assert await claims(store, 60) == ()


@pytest.mark.both_databases
async def test_a_state_that_makes_no_comment_edits_the_one_that_is_there(store: Store) -> None:
    await say(store, GREEN)
    assert await claims(store) == ()
    await say(store, RED)
    await show(store, await claim(store))
    await say(store, GREEN)
    due = await claim(store)
    assert (due.github_id, due.body) == (9, "green")


async def test_the_same_text_is_not_due_again(store: Store) -> None:
    await say(store, RED)
    await show(store, await claim(store))
    await say(store, RED)
    await say(store, replace(RED, make=False))
    assert await claims(store) == ()


async def test_a_text_that_changes_while_it_is_written_is_due_at_once(store: Store) -> None:
    await say(store, RED)
    due = await claim(store)
    await say(store, GREEN)
    await show(store, due)
    assert (await claim(store)).body == "green"


@pytest.mark.both_databases
async def test_a_lost_answer_is_waited_for_whatever_the_gate_says_meanwhile(store: Store) -> None:
    await say(store, RED)
    due = await claim(store)
    assert await store.pull_comments.creating(due.lease, NOW)
    reason = NotShown(after(10), "lost")
    await store.pull_comments.failed(due.lease, reason, version=1, now=NOW)
    await say(store, GREEN)
    assert await claims(store, 9) == ()
    again = await claim(store, 10)
    assert (again.create_tried, again.body) == (True, "green")


@pytest.mark.both_databases
async def test_a_deleted_comment_is_made_again_only_by_the_red_of_another_head(
    store: Store,
) -> None:
    await say(store, RED)
    due = await claim(store)
    await say(store, GREEN)  # while the edit is under way
    await store.pull_comments.deleted(due.lease)
    await say(store, replace(RED, body="redder"))
    assert await claims(store, 60) == ()
    moved = replace(PULL, head_sha=NEXT)
    await say(store, replace(GREEN, sha=NEXT), pull=moved)
    assert await claims(store, 60) == ()
    await say(store, replace(RED, sha=NEXT), pull=moved)
    due = await claim(store, 60)
    assert (due.github_id, due.create_tried, due.body) == (None, False, "red")


async def test_the_gate_of_a_former_head_does_not_change_the_comment(store: Store) -> None:
    await say(store, RED)
    await show(store, await claim(store))
    old = replace(RED, sha=NEXT, body="old")
    await say(store, old)
    assert await claims(store) == ()


async def test_a_settled_comment_is_pruned_with_its_pull_request(store: Store) -> None:
    await say(store, RED)
    await show(store, await claim(store))
    await store.prune(after(1), limit=9)
    await say(store, GREEN)
    assert (await claim(store)).github_id == 9  # it was kept
    await show(store, (await claims(store, 60))[0])
    await store.commit(Plan(repo=REPO, pull=replace(PULL, open=False)), NOW, done=None)
    await store.prune(after(1), limit=9)
    query = partial(all_rows, query=select(pull_comments))
    assert await store._db.read(query) == ()
