"""One read says which loops would claim something, and it is right for every table."""

from typing import Any

import pytest

from bot.core.model.rayjobs import RayJob
from bot.core.model.views import Reply
from bot.core.planning.plan import Plan
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.runs import SaveRun
from tests.store.building import NOW, REPO, after, delivery, put, run

ME: dict[str, Any] = {"owner": "me", "now": NOW, "lease_s": 30, "limit": 9}


@pytest.mark.both_databases
async def test_a_topic_is_due_until_its_rows_are_claimed(store: Store) -> None:
    assert await store.due(NOW) == ()
    for guid in ("first", "second"):
        await store.deliveries.put(delivery(guid))
    assert await store.due(NOW) == (Topic.INBOX,)
    assert len(await store.deliveries.claim(**ME)) == 1
    assert await store.due(NOW) == ()  # the second is of the same subject
    assert await store.due(after(30)) == (Topic.INBOX,)  # the lease is over
    made = run()
    await put(store, made)
    assert await store.due(NOW) == (Topic.RUNNER, Topic.REPORTER)
    [claimed] = await store.runs.claim(**ME)
    assert await store.due(NOW) == (Topic.REPORTER,)  # the check of the run
    await store.checks.claim(**ME)
    assert await store.due(NOW) == ()
    reply = Reply(REPO.id, 77, 1, "`/ascend-e2e ppo`")
    await store.commit(Plan(replies=(reply,)), NOW, done=None)
    assert await store.due(NOW) == (Topic.REPORTER,)
    await store.replies.claim(**ME)
    job = RayJob("one", made.id, "workflow", confirmed=True)
    saved = SaveRun(made, due=after(5), rayjobs=(job,))
    assert await store.runs.save(claimed.lease, saved, NOW)
    assert await store.due(NOW) == (Topic.FOLLOWER,)
    await store.rayjobs.claim(**ME)
    assert await store.due(NOW) == ()
    assert await store.due(after(5)) == (Topic.RUNNER,)
