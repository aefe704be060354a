"""The tables of what is scarce: pauses, occupancy by others, nights, tokens that were used."""

from sqlalchemy import BigInteger, Column, Index, Table, Text

from bot.core.planning.schedule import FiringState
from bot.store.columns import Plain, Time, Word
from bot.store.tables import metadata

# One row a repository, to be locked: who goes next depends on everybody who waits.
resources = Table("resources", metadata, Column("name", Text, primary_key=True))

jobs_seen = Table(
    "jobs_seen",
    metadata,
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("label", Text, primary_key=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("actions_run_id", BigInteger, nullable=False),
    Column("state", Text, nullable=False),  # queued | in_progress | completed
    Column("at", Time, nullable=False),  # of the state
    Index("jobs_seen_label", "repo_id", "label", "state"),
    Index("jobs_seen_at", "at"),
)

pauses = Table(
    "pauses",
    metadata,
    Column("resource", Text, primary_key=True),  # "label:NAME" | "pool:NAME" | "all"
    Column("by", Plain, nullable=False),
    Column("reason", Plain, nullable=False),
    Column("until", Time),  # None: until somebody resumes
    Column("at", Time, nullable=False),
)

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

tokens = Table(
    "tokens",
    metadata,
    Column("jti", Text, primary_key=True),
    Column("until", Time, nullable=False),
)
