"""Deliveries, and what GitHub said of repositories and pull requests."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text

from bot.core.model.levels import Level
from bot.core.model.selections import SelectionDetails
from bot.store.columns import Packed, Plain, Time, Word, Zipped
from bot.store.tables.base import Counter, lease, metadata, partial_index

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
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("default_branch", Text, nullable=False),
    Column("installation_id", BigInteger),
    Column("active", Boolean, nullable=False),
)

pulls = Table(
    "pulls",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
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
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("sha", Text, primary_key=True),
    Column("pusher", Text),
    Column("seen_at", Time, nullable=False),
)

policies = Table(
    "policies",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ref", Text, primary_key=True),
    Column("blob_sha", Text, nullable=False),
    Column("text", Plain),
    Column("read_at", Time, nullable=False),
)

selections = Table(
    "selections",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("sha", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("policy_sha", Text, nullable=False),
    Column("data", Packed(SelectionDetails), nullable=False),
)

approvals = Table(
    "approvals",
    metadata,
    Column("repo_id", BigInteger, primary_key=True, autoincrement=False),
    Column("sha", Text, primary_key=True),
    Column("by", Text, primary_key=True),
    Column("level", Word(Level), nullable=False),
    Column("via", Text, nullable=False),
    Column("at", Time, nullable=False),
)
