"""The tables. Columns are named like the fields of the values that they hold."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from bot.core.messages import Message
from bot.core.model.digests import Digest, Progress
from bot.core.model.levels import Level
from bot.core.model.queue import Alternatives, QueuePosition
from bot.core.model.rayjobs import ResumeState
from bot.core.model.run_events import Source, What
from bot.core.model.runs import Outcome, State, StopRequest
from bot.core.model.selections import SelectionDetails
from bot.core.model.snapshot import Snapshot
from bot.core.model.views import Proposal
from bot.core.planning.schedule import FiringState
from bot.core.queue.state import RunLimits
from bot.store.columns import (
    Counter,
    Packed,
    Plain,
    Sentence,
    Time,
    Word,
    Zipped,
    due_index,
    github_id,
    lease,
    partial_index,
    run_key,
)

metadata = MetaData()

deliveries = Table(
    "deliveries",
    metadata,
    Column("seq", Counter, primary_key=True, autoincrement=True),  # order of insertion
    Column("guid", Text, nullable=False, unique=True),
    Column("event", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("repo_id", BigInteger),
    Column("subject", Text, nullable=False),
    Column("received_at", Time, nullable=False),
    Column("body", Zipped),
    Column("state", Text, nullable=False),  # new | done | ignored | parked
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("due", Time, nullable=False),
    Column("note", Plain, nullable=False, server_default=""),
    *lease(),
    Index("deliveries_received", "received_at"),
    partial_index("deliveries_new", "subject", "received_at", "seq", where="state = 'new'"),
    partial_index("deliveries_next", "received_at", "seq", where="state = 'new'"),
    partial_index("deliveries_leased", "lease_until", where="state = 'new' AND lease_until > 0"),
    partial_index("deliveries_parked", "received_at", where="state = 'parked'"),
)

repos = Table(
    "repos",
    metadata,
    github_id("id"),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("default_branch", Text, nullable=False),
    Column("installation_id", BigInteger),
    Column("active", Boolean, nullable=False),
)

pulls = Table(
    "pulls",
    metadata,
    github_id("repo_id"),
    github_id("number"),
    Column("head_sha", Text, nullable=False),
    Column("head_repo_id", BigInteger),
    Column("base_ref", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("draft", Boolean, nullable=False),
    Column("changed_files", Integer, nullable=False),
    Column("updated_at", Time),
    Index("pulls_at", "repo_id", "head_sha"),
)

heads = Table(
    "heads",
    metadata,
    github_id("repo_id"),
    github_id("number"),
    Column("sha", Text, primary_key=True),
    Column("pusher", Text),
    Column("seen_at", Time, nullable=False),
)

policies = Table(
    "policies",
    metadata,
    github_id("repo_id"),
    Column("ref", Text, primary_key=True),
    Column("blob_sha", Text, nullable=False),
    Column("text", Plain),
    Column("read_at", Time, nullable=False),
)

selections = Table(
    "selections",
    metadata,
    github_id("repo_id"),
    Column("sha", Text, primary_key=True),
    github_id("number"),
    Column("policy_sha", Text, nullable=False),
    Column("data", Packed(SelectionDetails), nullable=False),
)

approvals = Table(
    "approvals",
    metadata,
    github_id("repo_id"),
    Column("sha", Text, primary_key=True),
    Column("by", Text, primary_key=True),
    Column("level", Word(Level), nullable=False),
    Column("via", Text, nullable=False),
    Column("at", Time, nullable=False),
)

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
queue_locks = Table("queue_locks", metadata, github_id("repo_id"))

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
    github_id("job_id"),
    Column("label", Text, primary_key=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("actions_run_id", BigInteger, nullable=False),
    Column("state", Text, nullable=False),  # queued | in_progress | completed
    Column("at", Time, nullable=False),  # of the state
    Index("workflow_jobs_label", "repo_id", "label", "state"),
    Index("workflow_jobs_at", "at"),
)

_IS_GATE = "run_id IS NULL AND proposal IS NULL AND retired_at IS NULL"


def _published() -> tuple[Column[object], ...]:
    """Return the columns that say what GitHub should show and what it shows."""
    return (
        Column("github_id", BigInteger),
        Column("create_tried", Boolean, nullable=False, server_default=false()),
        Column("given_up", Boolean, nullable=False, server_default=false()),
        Column("note", Plain, nullable=False, server_default=""),
        Column("want_version", Integer, nullable=False, server_default="1"),
        Column("shown_version", Integer, nullable=False, server_default="0"),
        Column("due", Time),  # None: nothing newer to show
        *lease(),
    )


checks = Table(
    "checks",
    metadata,
    Column("external_id", Text, primary_key=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("sha", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE")),  # None: the gate
    Column("number", BigInteger, nullable=False, server_default="0"),
    Column("policy_errors", Packed(tuple[Message, ...]), nullable=False, server_default="[]"),
    Column("closed", Sentence, nullable=False, server_default=""),
    Column("proposal", Packed(Proposal)),  # of a policy; None: a run's check or the gate
    Column("remark", Plain, nullable=False, server_default=""),
    Column("ended", Boolean, nullable=False, server_default=false()),
    Column("urgent_version", Integer, nullable=False, server_default="1"),
    Column("progress_from", Time),  # mere progress is not shown before
    Column("touched_at", Time, nullable=False),
    Column("retired_at", Time),  # None: current
    *_published(),
    partial_index("checks_gate", "repo_id", "sha", where=_IS_GATE, unique=True),
    Index("checks_run", "run_id"),
    Index("checks_touched", "touched_at"),
    due_index("checks"),
    partial_index("checks_given_up", "given_up", where="given_up"),
)

replies = Table(
    "replies",
    metadata,
    github_id("comment_id"),
    Column("repo_id", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("head", Plain, nullable=False),
    *_published(),
    due_index("replies"),
)

reply_runs = Table(
    "reply_runs",
    metadata,
    Column(
        "comment_id",
        BigInteger,
        ForeignKey("replies.comment_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),  # in the reply
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Index("reply_runs_run", "run_id"),
)

schedules = Table(
    "schedules",
    metadata,
    github_id("repo_id"),
    Column("name", Text, primary_key=True),
    Column("cron", Text, nullable=False),
    Column("next", Time, nullable=False),
)

firings = Table(
    "firings",
    metadata,
    github_id("repo_id"),
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
