"""Check runs and replies that GitHub should show."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, false

from bot.core.messages import Message
from bot.core.model.views import Proposal
from bot.store.columns import Packed, Plain, Sentence, Time
from bot.store.tables.base import due_index, lease, metadata, partial_index

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
    Column("comment_id", BigInteger, primary_key=True, autoincrement=False),
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
