"""The audit."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Text

from bot.store.columns import Plain, Time
from bot.store.tables.base import Counter, metadata

audit = Table(
    "audit",
    metadata,
    Column("seq", Counter, primary_key=True, autoincrement=True),
    Column("at", Time, nullable=False),
    Column("who", Plain, nullable=False),
    Column("what", Plain, nullable=False),
    Column("allowed", Boolean, nullable=False),
    Column("rule", Plain, nullable=False),
    Column("repo_id", BigInteger),
    Column("number", BigInteger),
    Column("sha", Text),
    Column("delivery", Text),
    Index("audit_at", "at"),
    Index("audit_who", "who", "at"),
    Index("audit_commit", "repo_id", "sha"),
)
