"""Scarce resources: holds, the queue, pauses, and jobs that occupy runner labels."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from bot.core.model.queue import Alternatives
from bot.core.queue.state import RunLimits
from bot.store.columns import Packed, Plain, Time
from bot.store.tables.base import metadata, run_key

holds = Table(
    "holds",
    metadata,
    run_key(),
    Column("repo_id", BigInteger, nullable=False),
    Column("resource", Text, primary_key=True),
    Column("amount", Integer, nullable=False),
    Column("since", Time, nullable=False),
    Index("holds_repo", "repo_id"),
)

queue = Table(
    "queue",
    metadata,
    run_key(),
    Column("repo_id", BigInteger, nullable=False),
    Column("suite", Text, nullable=False),
    Column("since", Time, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("needs", Packed(Alternatives), nullable=False),
    Column("number", BigInteger),
    Column("author", Text, nullable=False),
    Column("limits", Packed(RunLimits), nullable=False),
    Index("queue_repo", "repo_id"),
)

# One row a repository, to be locked: who is next depends on everybody who waits.
queue_locks = Table(
    "queue_locks",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
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

workflow_jobs = Table(
    "workflow_jobs",
    metadata,
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("label", Text, primary_key=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("actions_run_id", BigInteger, nullable=False),
    Column("state", Text, nullable=False),  # queued | in_progress | completed
    Column("at", Time, nullable=False),  # of the state
    Index("workflow_jobs_label", "repo_id", "label", "state"),
    Index("workflow_jobs_at", "at"),
)
