"""Runs and the rows that belong to one."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text, UniqueConstraint

from bot.core.model.digests import Digest, Progress
from bot.core.model.queue import QueuePosition
from bot.core.model.rayjobs import ResumeState
from bot.core.model.run_events import Source, What
from bot.core.model.runs import Outcome, State, StopRequest
from bot.core.model.snapshot import Snapshot
from bot.store.columns import Packed, Plain, Sentence, Time, Word
from bot.store.tables.base import due_index, lease, metadata, partial_index, run_key

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("sha", Text, nullable=False),
    Column("suite", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("snapshot", Packed(Snapshot, kept=512), nullable=False),
    Column("created_at", Time, nullable=False),
    Column("state", Word(State), nullable=False),
    Column("outcome", Word(Outcome)),
    Column("why", Sentence, nullable=False),
    Column("cause", Plain, nullable=False, server_default=""),
    Column("origin", Sentence, nullable=False),
    Column("number", BigInteger),
    Column("not_before", Time),
    Column("dispatch_id", Text, unique=True),
    Column("retries", Integer, nullable=False, server_default="0"),
    Column("retry", Sentence, nullable=False, server_default=""),
    Column("rerun_of", BigInteger),
    Column("label", Text),
    Column("npus", Integer, nullable=False, server_default="0"),  # of all nodes, on that label
    Column("forced", Text, nullable=False, server_default=""),  # who overrode the limits
    Column("actions_run_id", BigInteger),
    Column("actions_attempt", Integer, nullable=False),
    Column("actions_url", Text, nullable=False),
    Column("stop_request", Packed(StopRequest)),
    Column("queue_position", Packed(QueuePosition)),
    Column("dispatched_at", Time),
    Column("started_at", Time),
    Column("ended_at", Time),
    Column("due", Time),  # None: nothing to do until poked
    Column("pokes", Integer, nullable=False, server_default="0"),
    *lease(),
    UniqueConstraint("repo_id", "sha", "suite", "attempt", name="runs_attempt"),
    partial_index("runs_open", "repo_id", "sha", "suite", where="state <> 'done'", unique=True),
    due_index("runs"),
    Index("runs_of_actions", "repo_id", "actions_run_id"),
    Index("runs_ended", "ended_at"),
    postgresql_with={"fillfactor": 70},  # rows change often: room for an update on their page
)

claimants = Table(
    "claimants",
    metadata,
    run_key(),
    Column("source", Text, primary_key=True),
    Column("auto", Boolean, nullable=False),
    Column("by", Text, nullable=False),
    Column("rank", Integer, nullable=False, server_default="3"),
    Index("claimants_source", "source"),
)

run_events = Table(
    "run_events",
    metadata,
    run_key(),
    Column("source", Word(Source), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("at", Time, nullable=False),
    Column("data", Packed(What), key="what", nullable=False),
)

rayjobs = Table(
    "rayjobs",
    metadata,
    run_key(),
    Column("job_id", Text, primary_key=True),
    Column("seen", Text, nullable=False),
    Column("confirmed", Boolean, nullable=False),
    Column("status", Plain, nullable=False),
    Column("deployment", Plain, nullable=False),
    Column("message", Plain, nullable=False),
    Column("final", Text),
    Column("final_from", Text, nullable=False),
    Column("silent_since", Time),
    Column("last_line_at", Time),
    Column("lines", BigInteger, nullable=False),
    Column("progress", Packed(Progress)),
    Column("digest", Packed(Digest)),
    Column("resume", Packed(ResumeState, forgiving=True)),
    Column("log_bytes", BigInteger, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("due", Time),  # None: nothing more to read
    *lease(),
    due_index("rayjobs"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("jti", Text, primary_key=True),
    Column("until", Time, nullable=False),
)
