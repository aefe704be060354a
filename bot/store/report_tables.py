"""The tables of what is written to GitHub: check runs, replies, comments of pull requests."""

import sqlalchemy as sa

from bot.core.model.views import Proposal
from bot.core.policy.models import Language
from bot.store import columns

metadata = sa.MetaData()

_IS_GATE = "run_id IS NULL AND proposal IS NULL AND retired_at IS NULL"
IS_PROPOSAL = "proposal IS NOT NULL"

checks = sa.Table(
    "checks",
    metadata,
    sa.Column("external_id", sa.Text, primary_key=True),
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("sha", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id", ondelete="CASCADE")),  # None: the gate
    sa.Column("number", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("closed", columns.Sentence, nullable=False, server_default=""),
    sa.Column("proposal", columns.Packed(Proposal)),  # of a policy; None: a run's check or the gate
    sa.Column("remark", columns.Plain, nullable=False, server_default=""),
    sa.Column("ended", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("shown", columns.Plain, nullable=False, server_default=""),  # see `Checks.shown`
    sa.Column("urgent_version", sa.Integer, nullable=False, server_default="1"),
    sa.Column("progress_from", columns.Time),  # mere progress is not shown before
    sa.Column("touched_at", columns.Time, nullable=False),
    sa.Column("retired_at", columns.Time),  # None: current
    *columns.published(),
    columns.partial_index("checks_gate", "repo_id", "sha", where=_IS_GATE, unique=True),
    sa.Index("checks_run", "run_id"),
    sa.Index("checks_touched", "touched_at"),
    columns.due_index("checks"),
    columns.partial_index("checks_proposal", "repo_id", "number", where=IS_PROPOSAL),
    columns.partial_index("checks_refused", "refusals", where="refusals > 0"),
)

unjudged = sa.Table(
    "unjudged",  # pull requests that could not be judged at a commit; 0: its merge group
    metadata,
    columns.github_id("repo_id"),
    sa.Column("sha", sa.Text, primary_key=True),
    columns.github_id("number"),
    sa.Column("why", columns.Sentence, nullable=False),
    sa.Index("unjudged_number", "repo_id", "number"),
)

replies = sa.Table(
    "replies",
    metadata,
    columns.github_id("comment_id"),
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("head", columns.Plain, nullable=False),
    sa.Column("made_at", columns.Time, nullable=False),
    sa.Column("receipt_missing", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("language", columns.Word(Language), nullable=False, server_default=Language.EN),
    *columns.published(),
    columns.due_index("replies"),
)

reply_runs = sa.Table(
    "reply_runs",
    metadata,
    columns.github_id("comment_id", sa.ForeignKey("replies.comment_id", ondelete="CASCADE")),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # in the reply
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    sa.Index("reply_runs_run", "run_id"),
)

pull_comments = sa.Table(
    "pull_comments",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),  # repository/number
    sa.Column("repo_id", sa.BigInteger, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("sha", sa.Text, nullable=False),  # the head that it tells of
    sa.Column("body", columns.Plain, nullable=False),
    sa.Column("deleted_at_sha", sa.Text, nullable=False, server_default=""),  # by a person
    sa.Column("touched_at", columns.Time, nullable=False),
    *columns.published(),
    columns.due_index("pull_comments"),
)
