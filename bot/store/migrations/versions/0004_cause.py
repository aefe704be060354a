"""A failed run's row names the cause: lists show it without reading logs or facts."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column."""
    op.add_column("runs", sa.Column("cause", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("runs", "cause")
