"""One read of what is due: an idle process asks this, and claims only what is there."""

from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, select

from bot.ports.wake import Topic
from bot.store.checks import due_checks
from bot.store.database import DbConnection
from bot.store.deliveries import due_deliveries
from bot.store.leases import AT
from bot.store.pull_comments import due_comments
from bot.store.rayjobs import due_rayjobs
from bot.store.replies import due_replies
from bot.store.runs import due_runs


@cache
def _statement() -> Select[Any]:
    def some(query: Select[Any]) -> Any:
        return query.order_by(None).exists()

    found = {
        Topic.INBOX: some(due_deliveries()),
        Topic.RUNNER: some(due_runs()),
        Topic.REPORTER: some(due_checks()) | some(due_replies()) | some(due_comments()),
        Topic.FOLLOWER: some(due_rayjobs()),
    }
    return select(*(there.label(topic) for topic, there in found.items()))


async def read_due(conn: DbConnection, now: datetime) -> tuple[Topic, ...]:
    """Return the topics whose loops would claim something now."""
    row = (await conn.execute(_statement(), {AT.key: now})).mappings().one()
    return tuple(topic for topic in Topic if row[topic])
