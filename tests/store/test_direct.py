"""A statement that SQLite's driver gets directly answers as SQLAlchemy does."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    Connection,
    Executable,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, InvalidRequestError

from bot.store.columns import Time
from bot.store.sqlite import SqliteConnection

NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)
things = Table(
    "things",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("data", Text, key="what"),
    Column("at", Time()),
    Column("open", Boolean),
    Column("seen", Integer, server_default="7"),
)
made_by_python = Table("made", MetaData(), Column("id", Integer), Column("n", Integer, default=5))
OTHER = things.alias("other")
OF_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
READS: list[tuple[Executable, dict[str, Any]]] = [
    (select(things).order_by(things.c.id), {}),
    (select(things.c.what, things.c.open).where(things.c.id == bindparam("it")), {"it": 2}),
    (select(things.c.at).where(things.c.at >= bindparam("since")), {"since": NOON}),
    *(
        (select(things.c.id).where(things.c.id.in_(OF_IDS), things.c.open), {"ids": ids})
        for ids in ([], [1], [1, 2, 3])
    ),
    (select(things.c.id, OTHER.c.id).join(OTHER, things.c.id == OTHER.c.id), {}),
    (
        select(func.count(), things.c.open).group_by(things.c.open).limit(bindparam("most")),
        {"most": 1},
    ),
    (select(exists().where(things.c.what == "a").label("there"), things.c.open | False), {}),
    (select(things.c.id).union_all(select(things.c.seen)), {}),
    (text("SELECT id AS it, data FROM things"), {}),
]


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as made:
        things.metadata.create_all(made)
        made_by_python.metadata.create_all(made)
        rows = [(1, "a", NOON, True), (2, None, None, False), (3, "c", NOON, None)]
        made.execute(
            insert(things),
            [dict(zip(("id", "what", "at", "open"), row, strict=True)) for row in rows],
        )
        yield made


async def both(connection: Connection, statement: Executable, given: Any) -> tuple[Any, Any]:
    """Return what a statement answers for the first time and the second time."""
    asked = SqliteConnection(connection)
    first = await asked.execute(statement, given)
    return first, await asked.execute(statement, given)


@pytest.mark.parametrize(("statement", "given"), READS)
async def test_a_statement_finds_the_same_rows_again(
    connection: Connection, statement: Executable, given: dict[str, Any]
) -> None:
    first, second = await both(connection, statement, given)
    assert first is not second
    rows = second.all()
    assert rows == first.all()
    again = await SqliteConnection(connection).execute(statement, given)
    assert [list(row.values()) for row in again.mappings()] == [list(row) for row in rows]


async def test_a_column_is_found_by_its_key_and_by_its_name(connection: Connection) -> None:
    for found in await both(connection, select(things).where(things.c.id == 1), None):
        row = found.mappings().one()
        assert (row["what"], row["data"], row["at"], row["open"]) == ("a", "a", NOON, True)


async def test_a_change_says_how_many_rows_it_changed(connection: Connection) -> None:
    change = update(things).where(things.c.id >= bindparam("least")).values(seen=things.c.seen + 1)
    assert [found.rowcount for found in await both(connection, change, {"least": 2})] == [2, 2]
    assert connection.scalar(select(func.sum(things.c.seen))) == 7 + 9 + 9
    gone = delete(things).where(things.c.open)
    assert [found.rowcount for found in await both(connection, gone, None)] == [1, 0]


async def test_rows_are_written_one_by_one_and_many_at_once(connection: Connection) -> None:
    asked, put = SqliteConnection(connection), insert(things)
    await asked.execute(put, {"id": 4, "what": "d", "at": NOON, "open": True})
    await asked.execute(put, {"id": 5, "what": "e"})
    await asked.execute(put, [{"id": n, "what": "f", "at": NOON} for n in (6, 7)])
    rows = connection.execute(select(things).where(things.c.id > 3)).all()
    assert rows == [
        (4, "d", NOON, True, 7),
        (5, "e", None, None, 7),
        (6, "f", NOON, None, 7),
        (7, "f", NOON, None, 7),
    ]
    returning = delete(things).where(things.c.id == bindparam("it")).returning(things.c.what)
    assert [await asked.scalar(returning, {"it": n}) for n in (4, 5, 9)] == ["d", "e", None]


async def test_what_is_made_from_a_statement_returns_its_own_rows(connection: Connection) -> None:
    asked, put = SqliteConnection(connection), insert(things)
    for n in (4, 5):
        await asked.execute(put, {"id": n})
    returning = put.returning(things.c.id)
    assert [await asked.scalar(returning, {"id": n}) for n in (6, 7)] == [6, 7]


async def test_a_value_that_python_makes_is_made_each_time(connection: Connection) -> None:
    put = insert(made_by_python)
    await both(connection, put, {"id": 1})
    assert connection.execute(select(made_by_python)).all() == [(1, 5), (1, 5)]


async def test_an_error_is_sqlalchemys_and_names_no_value(connection: Connection) -> None:
    put, asked = insert(things), SqliteConnection(connection)
    await asked.execute(put, {"id": 8, "what": "hidden"})
    with pytest.raises(IntegrityError) as caught:
        await asked.execute(put, {"id": 8, "what": "hidden"})
    assert "hidden" not in str(caught.value)


async def test_a_parameter_that_is_not_given_is_missed(connection: Connection) -> None:
    query, asked = (
        select(things).where(things.c.id == bindparam("it")),
        SqliteConnection(connection),
    )
    await asked.execute(query, {"it": 1})
    with pytest.raises(InvalidRequestError, match="it"):
        await asked.execute(query, {})
