"""What the tables share: one metadata, the columns of a lease, keys and indexes."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Text, text

from bot.store.columns import Time

metadata = MetaData()

# SQLite numbers rows by itself only in a column that is exactly INTEGER.
Counter = BigInteger().with_variant(Integer(), "sqlite")


def lease() -> tuple[Column[object], ...]:
    """Return a claim's columns; ``lease_until`` 1970 means free."""
    return (
        Column("lease_owner", Text, nullable=False, server_default=""),
        Column("lease_number", Integer, nullable=False, server_default="0"),
        Column("lease_until", Time, nullable=False, server_default="0"),
    )


def run_key() -> Column[str]:
    """Return the column that ties a row to its run; the row is deleted with the run."""
    return Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """Return an index of the few rows that meet a condition."""
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def due_index(table: str) -> Index:
    """Return the index of the rows that a loop has something to do for."""
    return partial_index(f"{table}_due", "due", where="due IS NOT NULL")
