"""What is scarce and who asks for it: places, queues, pauses, nights, tokens that were used."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _runs_key() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE")


def upgrade() -> None:
    """Make the tables."""
    _holds()
    _queue()
    _jobs_seen()
    _pauses()
    _schedules()
    _firings()
    _tokens()


def downgrade() -> None:
    """Drop the tables."""
    for table in ["tokens", "firings", "schedules", "pauses", "jobs_seen", "queue", "holds"]:
        op.drop_table(table)


def _holds() -> None:
    op.create_table(
        "holds",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        _runs_key(),
        sa.PrimaryKeyConstraint("run_id", "resource"),
    )
    op.create_index("holds_of", "holds", ["repo_id"])


def _queue() -> None:
    op.create_table(
        "queue",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("needs", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger()),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("per_pull", sa.Integer()),
        sa.Column("hours", sa.Float()),
        _runs_key(),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_index("queue_of", "queue", ["repo_id"])


def _jobs_seen() -> None:
    op.create_table(
        "jobs_seen",
        sa.Column("job_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("actions_run_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "label"),
    )
    op.create_index("jobs_seen_label", "jobs_seen", ["repo_id", "label", "state"])
    op.create_index("jobs_seen_at", "jobs_seen", ["at"])


def _pauses() -> None:
    op.create_table(
        "pauses",
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("resource"),
    )


def _schedules() -> None:
    op.create_table(
        "schedules",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("next", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("repo_id", "name"),
    )


def _firings() -> None:
    op.create_table(
        "firings",
        sa.Column("repo_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("repo_id", "name", "at"),
    )


def _tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("jti", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("jti"),
    )
