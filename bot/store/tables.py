"""The tables. Columns are named like the fields of the values that they hold."""

import sqlalchemy as sa

from bot.core.digest.result import Digest, Progress
from bot.core.model.queue import Alternatives, QueuePosition
from bot.core.model.rayjobs import ResumeState
from bot.core.model.run_events import Source, What
from bot.core.model.runs import Outcome, State, StopRequest
from bot.core.model.selections import SelectionDetails
from bot.core.model.snapshot import Snapshot
from bot.core.planning.schedule import FiringState
from bot.core.policy.levels import Level
from bot.core.policy.models import Language
from bot.core.queue.state import RunLimits
from bot.store import columns, report_tables

metadata = report_tables.metadata
_USED = ("repo_id", "ended_at", "started_at", "npus", "number")  # all that NPU-hours need

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("seq", columns.Counter, primary_key=True, autoincrement=True),  # order of insertion
    sa.Column("guid", sa.Text, nullable=False, unique=True),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("repo_id", sa.BigInteger),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("received_at", columns.Time, nullable=False),
    sa.Column("body", columns.Zipped),
    sa.Column("state", sa.Text, nullable=False),  # new | done | ignored | parked
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
    sa.Column("due", columns.Time, nullable=False),
    sa.Column("note", columns.Plain, nullable=False, server_default=""),
    *columns.lease(),
    sa.Index("deliveries_received", "received_at"),
    columns.partial_index("deliveries_new", "subject", "received_at", "seq", where="state = 'new'"),
    columns.partial_index("deliveries_next", "received_at", "seq", where="state = 'new'"),
    columns.partial_index(
        "deliveries_leased", "lease_until", where="state = 'new' AND lease_until > 0"
    ),
    columns.partial_index("deliveries_parked", "received_at", where="state = 'parked'"),
)

repos = sa.Table(
    "repos",
    metadata,
    columns.github_id("id"),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("default_branch", sa.Text, nullable=False),
    sa.Column("installation_id", sa.BigInteger),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("public", sa.Boolean, nullable=False),
)

pulls = sa.Table(
    "pulls",
    metadata,
    columns.github_id("repo_id"),
    columns.github_id("number"),
    sa.Column("head_sha", sa.Text, nullable=False),
    sa.Column("head_repo_id", sa.BigInteger),
    sa.Column("base_ref", sa.Text, nullable=False),
    *columns.account("author"),
    sa.Column("open", sa.Boolean, nullable=False),
    sa.Column("draft", sa.Boolean, nullable=False),
    sa.Column("changed_files", sa.Integer, nullable=False),
    sa.Column("updated_at", columns.Time),
    sa.Column("head_ref", columns.Plain, nullable=False),
    *columns.account("head_owner"),
    sa.Column("head_name", columns.Plain, nullable=False),
    sa.Column("based_at", columns.Time),
    sa.Column("created_at", columns.Time),
    sa.Index("pulls_at", "repo_id", "head_sha", "number"),
)

heads = sa.Table(
    "heads",
    metadata,
    columns.github_id("repo_id"),
    columns.github_id("number"),
    sa.Column("sha", sa.Text, primary_key=True),
    *columns.account("pusher"),
    sa.Column("seen_at", columns.Time, nullable=False),
    sa.Column("since", columns.Time),
    sa.Index("heads_at", "repo_id", "sha", "number"),
)

pushes = sa.Table(
    "pushes",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("sha", sa.Text, primary_key=True),
    sa.Column("branch", sa.Text, primary_key=True),
    *columns.account("by"),
    sa.Column("at", columns.Time, nullable=False),
)

policies = sa.Table(
    "policies",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("blob_sha", sa.Text, nullable=False),
    sa.Column("text", columns.Plain),
    sa.Column("read_at", columns.Time, nullable=False),
    sa.Column("language", columns.Word(Language), nullable=False, server_default=Language.EN),
)

selections = sa.Table(
    "selections",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("sha", sa.Text, primary_key=True),
    columns.github_id("number"),
    sa.Column("policy_sha", sa.Text, nullable=False),
    sa.Column("data", columns.Packed(SelectionDetails), nullable=False),
)

approvals = sa.Table(
    "approvals",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("sha", sa.Text, primary_key=True),
    *columns.account("by", key=True),
    sa.Column("level", columns.Word(Level), nullable=False),
    sa.Column("via", sa.Text, nullable=False),
    sa.Column("at", columns.Time, nullable=False),
)

listed_logins = sa.Table(
    "listed_logins",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("login", sa.Text, primary_key=True),
    sa.Column("account_id", sa.BigInteger, nullable=False),  # 0: nobody had this login
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("sha", sa.Text, nullable=False),
    sa.Column("suite", sa.Text, nullable=False),
    sa.Column("essence", sa.Text, nullable=False),  # the snapshot's; the id if mistaken
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("snapshot", columns.Packed(Snapshot, kept=512), nullable=False),
    sa.Column("created_at", columns.Time, nullable=False),
    sa.Column("state", columns.Word(State), nullable=False),
    sa.Column("outcome", columns.Word(Outcome)),
    sa.Column("why", columns.Sentence, nullable=False),
    sa.Column("cause", columns.Plain, nullable=False, server_default=""),
    sa.Column("infra", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("failed_tests", columns.Packed(tuple[str, ...]), nullable=False, server_default="[]"),
    sa.Column("origin", columns.Sentence, nullable=False),
    sa.Column("number", sa.BigInteger),
    sa.Column("not_before", columns.Time),
    sa.Column("dispatch_id", sa.Text, unique=True),
    sa.Column("retries", sa.Integer, nullable=False, server_default="0"),
    sa.Column("retry", columns.Sentence, nullable=False, server_default=""),
    sa.Column("rerun_of", sa.BigInteger),
    sa.Column("label", sa.Text),
    sa.Column("npus", sa.Integer, nullable=False, server_default="0"),  # all nodes', on that label
    sa.Column("forced", sa.Text, nullable=False, server_default=""),  # who overrode the limits
    sa.Column("actions_run_id", sa.BigInteger),
    sa.Column("actions_attempt", sa.Integer, nullable=False),
    sa.Column("actions_url", sa.Text, nullable=False),
    sa.Column("mistaken", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("native", sa.Boolean, nullable=False, server_default=sa.false()),  # the snapshot's
    sa.Column("stop_request", columns.Packed(StopRequest)),
    sa.Column("queue_position", columns.Packed(QueuePosition)),
    sa.Column("dispatched_at", columns.Time),
    sa.Column("started_at", columns.Time),
    sa.Column("ended_at", columns.Time),
    sa.Column("due", columns.Time),  # None: nothing to do until poked
    sa.Column("pokes", sa.Integer, nullable=False, server_default="0"),
    *columns.lease(),
    sa.UniqueConstraint("repo_id", "sha", "suite", "attempt", name="runs_attempt"),
    columns.partial_index(
        "runs_open", "repo_id", "sha", "suite", "essence", where="state <> 'done'", unique=True
    ),
    columns.due_index("runs"),
    sa.Index("runs_of_actions", "repo_id", "actions_run_id"),
    sa.Index("runs_ended", "ended_at"),
    columns.partial_index("runs_of_pull", "repo_id", "number", where="state <> 'done'"),
    columns.partial_index("runs_native", "repo_id", where="native AND NOT state = 'done'"),
    columns.partial_index("runs_used", *_USED, where="npus > 0"),
    columns.partial_index("runs_usual", "repo_id", "ended_at", where="outcome = 'success'"),
    postgresql_with={"fillfactor": 70},  # rows change often: room for an update on their page
)

claimants = sa.Table(
    "claimants",
    metadata,
    columns.run_key(),
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("auto", sa.Boolean, nullable=False),
    *columns.account("by"),
    sa.Column("rank", sa.Integer, nullable=False, server_default="3"),
    sa.Index("claimants_source", "source"),
)

run_events = sa.Table(
    "run_events",
    metadata,
    columns.run_key(),
    sa.Column("source", columns.Word(Source), primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("at", columns.Time, nullable=False),
    sa.Column("data", columns.Packed(What), key="what", nullable=False),
)

rayjobs = sa.Table(
    "rayjobs",
    metadata,
    columns.run_key(),
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("seen", sa.Text, nullable=False),
    sa.Column("confirmed", sa.Boolean, nullable=False),
    sa.Column("status", columns.Plain, nullable=False),
    sa.Column("deployment", columns.Plain, nullable=False),
    sa.Column("message", columns.Plain, nullable=False),
    sa.Column("final", sa.Text),
    sa.Column("final_from", sa.Text, nullable=False),
    sa.Column("silent_since", columns.Time),
    sa.Column("last_line_at", columns.Time),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("progress", columns.Packed(Progress)),
    sa.Column("digest", columns.Packed(Digest)),
    sa.Column("resume", columns.Packed(ResumeState, forgiving=True)),
    sa.Column("log_bytes", sa.BigInteger, nullable=False),
    sa.Column("complete", sa.Boolean, nullable=False),
    sa.Column("due", columns.Time),  # None: nothing more to read
    *columns.lease(),
    columns.due_index("rayjobs"),
    sa.Index("rayjobs_job", "job_id"),
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("jti", sa.Text, primary_key=True),
    sa.Column("until", columns.Time, nullable=False),
)

holds = sa.Table(
    "holds",
    metadata,
    columns.run_key(),
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("amount", sa.Integer, nullable=False),
    sa.Column("since", columns.Time, nullable=False),
    sa.Index("holds_sums", "repo_id", "resource", "amount"),
)

queue = sa.Table(
    "queue",
    metadata,
    columns.run_key(),
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("suite", sa.Text, nullable=False),
    sa.Column("since", columns.Time, nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("needs", columns.Packed(Alternatives), nullable=False),
    sa.Column("number", sa.BigInteger),
    sa.Column("author", sa.BigInteger, nullable=False),
    sa.Column("limits", columns.Packed(RunLimits), nullable=False),
    sa.Index("queue_repo", "repo_id"),
)

queue_locks = sa.Table("queue_locks", metadata, columns.github_id("repo_id"))  # rows to lock

pauses = sa.Table(
    "pauses",
    metadata,
    sa.Column("resource", sa.Text, primary_key=True),  # "label:NAME" | "pool:NAME" | "all"
    sa.Column("by", columns.Plain, nullable=False),
    sa.Column("reason", columns.Plain, nullable=False),
    sa.Column("until", columns.Time),  # None: until somebody resumes
    sa.Column("at", columns.Time, nullable=False),
)

workflow_jobs = sa.Table(
    "workflow_jobs",
    metadata,
    columns.github_id("job_id"),
    sa.Column("label", sa.Text, primary_key=True),
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("actions_run_id", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # queued | in_progress | completed
    sa.Column("at", columns.Time, nullable=False),  # of the state
    sa.Index("workflow_jobs_label", "repo_id", "label", "state"),
    sa.Index("workflow_jobs_at", "at"),
)

schedules = sa.Table(
    "schedules",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("cron", sa.Text, nullable=False),
    sa.Column("next", columns.Time, nullable=False),
)

firings = sa.Table(
    "firings",
    metadata,
    columns.github_id("repo_id"),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("at", columns.Time, primary_key=True),  # the planned time
    sa.Column("state", columns.Word(FiringState), nullable=False),
    sa.Column("sha", sa.Text, nullable=False),
    sa.Column("note", columns.Plain, nullable=False),
)

probes = sa.Table(
    "probes",  # rows that are deleted at once: can they be written?
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("filler", sa.LargeBinary, nullable=False),
)

polls = sa.Table(
    "polls",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("next_at", columns.Time, nullable=False),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("seq", columns.Counter, primary_key=True, autoincrement=True),
    sa.Column("at", columns.Time, nullable=False),
    sa.Column("who", columns.Plain, nullable=False),
    sa.Column("what", columns.Plain, nullable=False),
    sa.Column("allowed", sa.Boolean, nullable=False),
    sa.Column("rule", columns.Plain, nullable=False),
    sa.Column("repo_id", sa.BigInteger),
    sa.Column("number", sa.BigInteger),
    sa.Column("sha", sa.Text),
    sa.Column("delivery", sa.Text),
    sa.Column("who_id", sa.BigInteger, nullable=False),
    sa.Index("audit_at", "at"),
    sa.Index("audit_who", "who_id", "at"),
    sa.Index("audit_commit", "repo_id", "sha"),
)
