"""Schedules, their firings, and polls."""

from sqlalchemy import BigInteger, Column, Table, Text

from bot.core.planning.schedule import FiringState
from bot.store.columns import Plain, Time, Word
from bot.store.tables.base import metadata

schedules = Table(
    "schedules",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("cron", Text, nullable=False),
    Column("next", Time, nullable=False),
)

firings = Table(
    "firings",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("at", Time, primary_key=True),  # the planned time
    Column("state", Word(FiringState), nullable=False),
    Column("sha", Text, nullable=False),
    Column("note", Plain, nullable=False),
)

polls = Table(
    "polls",
    metadata,
    Column("name", Text, primary_key=True),
    Column("next_at", Time, nullable=False),
)
