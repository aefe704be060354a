"""Decisions of one commit are found at once: the bot writes each of its own only once."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the index."""
    op.create_index("audit_commit", "audit", ["repo_id", "sha"])


def downgrade() -> None:
    """Drop the index."""
    op.drop_index("audit_commit", table_name="audit")
