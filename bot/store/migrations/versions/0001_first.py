"""The first schema."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# SQLite numbers rows by itself only in a column that is exactly INTEGER.
_COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _lease() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("lease_owner", sa.Text(), server_default="", nullable=False),
        sa.Column("lease_number", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", sa.BigInteger(), server_default="0", nullable=False),
    )


def _partial(name: str, columns: str, condition: str, *, unique: bool = False) -> None:
    """Index the few rows of a table (the name's first word) that meet a condition."""
    op.create_index(
        name,
        name.partition("_")[0],
        columns.split(),
        unique=unique,
        sqlite_where=sa.text(condition),
        postgresql_where=sa.text(condition),
    )


def _runs_key() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE")


def upgrade() -> None:
    """Make every table."""
    # A table follows those that it refers to.
    _approvals()
    _audit()
    _deliveries()
    _heads()
    _policies()
    _polls()
    _pulls()
    _replies()
    _repos()
    _resources()
    _runs()
    _selections()
    _checks()
    _facts()
    _rayjobs()
    _reply_runs()
    _wants()


def downgrade() -> None:
    """Drop every table."""
    tables = (
        "claimants reply_runs rayjobs run_events checks selections runs resources "
        "repos replies pulls polls policies heads deliveries audit approvals"
    )
    for table in tables.split():
        op.drop_table(table)


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("repo_id", "sha", "by"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", _COUNTER, autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("allowed", sa.Boolean(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger()),
        sa.Column("number", sa.BigInteger()),
        sa.Column("sha", sa.Text()),
        sa.Column("delivery", sa.Text()),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("audit_at", "audit", ["at"])
    op.create_index("audit_who", "audit", ["who", "at"])


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("seq", _COUNTER, autoincrement=True, nullable=False),
        sa.Column("guid", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger()),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        *_lease(),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("guid"),
    )
    _partial("deliveries_leased", "lease_until", "state = 'new' AND lease_until > 0")
    _partial("deliveries_new", "subject received_at seq", "state = 'new'")
    _partial("deliveries_next", "received_at seq", "state = 'new'")
    _partial("deliveries_parked", "received_at", "state = 'parked'")
    op.create_index("deliveries_received", "deliveries", ["received_at"])


def _heads() -> None:
    op.create_table(
        "heads",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("pusher", sa.Text()),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("repo_id", "number", "sha"),
    )


def _policies() -> None:
    op.create_table(
        "policies",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("blob_sha", sa.Text(), nullable=False),
        sa.Column("text", sa.Text()),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("repo_id", "ref"),
    )


def _polls() -> None:
    op.create_table(
        "polls",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _pulls() -> None:
    op.create_table(
        "pulls",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.Text(), nullable=False),
        sa.Column("head_repo_id", sa.BigInteger()),
        sa.Column("base_ref", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("draft", sa.Boolean(), nullable=False),
        sa.Column("changed_files", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("repo_id", "number"),
    )
    op.create_index("pulls_at", "pulls", ["repo_id", "head_sha"])


def _replies() -> None:
    op.create_table(
        "replies",
        sa.Column("comment_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("github_id", sa.BigInteger()),
        sa.Column("create_tried", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("given_up", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("want_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("shown_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("due", sa.BigInteger()),
        *_lease(),
        sa.PrimaryKeyConstraint("comment_id"),
    )
    _partial("replies_due", "due", "due IS NOT NULL")


def _repos() -> None:
    op.create_table(
        "repos",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("default_branch", sa.Text(), nullable=False),
        sa.Column("installation_id", sa.BigInteger()),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _resources() -> None:
    op.create_table(
        "resources", sa.Column("name", sa.Text(), nullable=False), sa.PrimaryKeyConstraint("name")
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text()),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger()),
        sa.Column("not_before", sa.BigInteger()),
        sa.Column("dispatch_id", sa.Text()),
        sa.Column("retries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("retry", sa.Text(), server_default="", nullable=False),
        sa.Column("rerun_of", sa.BigInteger()),
        sa.Column("label", sa.Text()),
        sa.Column("npus", sa.Integer(), server_default="0", nullable=False),
        sa.Column("forced", sa.Text(), server_default="", nullable=False),
        sa.Column("actions_run_id", sa.BigInteger()),
        sa.Column("actions_attempt", sa.Integer(), nullable=False),
        sa.Column("actions_url", sa.Text(), nullable=False),
        sa.Column("stop_request", sa.Text()),
        sa.Column("place", sa.Text()),
        sa.Column("dispatched_at", sa.BigInteger()),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("due", sa.BigInteger()),
        sa.Column("pokes", sa.Integer(), server_default="0", nullable=False),
        *_lease(),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dispatch_id"),
        sa.UniqueConstraint("repo_id", "sha", "suite", "attempt", name="runs_attempt"),
        postgresql_with={"fillfactor": 70},
    )
    _partial("runs_due", "due", "due IS NOT NULL")
    op.create_index("runs_ended", "runs", ["ended_at"])
    op.create_index("runs_of_actions", "runs", ["repo_id", "actions_run_id"])
    _partial("runs_open", "repo_id sha suite", "state <> 'done'", unique=True)


def _selections() -> None:
    op.create_table(
        "selections",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("policy_sha", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("repo_id", "sha", "number"),
    )


def _checks() -> None:
    op.create_table(
        "checks",
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text()),
        sa.Column("number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("policy_errors", sa.Text(), server_default="[]", nullable=False),
        sa.Column("closed", sa.Text(), server_default="", nullable=False),
        sa.Column("proposal", sa.Text()),
        sa.Column("remark", sa.Text(), server_default="", nullable=False),
        sa.Column("ended", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("urgent_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("progress_from", sa.BigInteger()),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger()),
        sa.Column("github_id", sa.BigInteger()),
        sa.Column("create_tried", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("given_up", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("want_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("shown_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("due", sa.BigInteger()),
        *_lease(),
        _runs_key(),
        sa.PrimaryKeyConstraint("external_id"),
    )
    _partial("checks_due", "due", "due IS NOT NULL")
    gate = "run_id IS NULL AND proposal IS NULL AND retired_at IS NULL"
    _partial("checks_gate", "repo_id sha", gate, unique=True)
    _partial("checks_given_up", "given_up", "given_up")
    op.create_index("checks_run", "checks", ["run_id"])
    op.create_index("checks_touched", "checks", ["touched_at"])


def _facts() -> None:
    op.create_table(
        "run_events",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        _runs_key(),
        sa.PrimaryKeyConstraint("run_id", "source", "key"),
    )


def _rayjobs() -> None:
    op.create_table(
        "rayjobs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("deployment", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("final", sa.Text()),
        sa.Column("final_from", sa.Text(), nullable=False),
        sa.Column("silent_since", sa.BigInteger()),
        sa.Column("last_line_at", sa.BigInteger()),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("progress", sa.Text()),
        sa.Column("digest", sa.Text()),
        sa.Column("resume", sa.Text()),
        sa.Column("log_bytes", sa.BigInteger(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("due", sa.BigInteger()),
        *_lease(),
        _runs_key(),
        sa.PrimaryKeyConstraint("run_id", "job_id"),
    )
    _partial("rayjobs_due", "due", "due IS NOT NULL")


def _reply_runs() -> None:
    op.create_table(
        "reply_runs",
        sa.Column("comment_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["comment_id"], ["replies.comment_id"], ondelete="CASCADE"),
        _runs_key(),
        sa.PrimaryKeyConstraint("comment_id", "place"),
    )
    op.create_index("reply_runs_run", "reply_runs", ["run_id"])


def _wants() -> None:
    op.create_table(
        "claimants",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("auto", sa.Boolean(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), server_default="3", nullable=False),
        _runs_key(),
        sa.PrimaryKeyConstraint("run_id", "source"),
    )
    op.create_index("wants_source", "claimants", ["source"])
