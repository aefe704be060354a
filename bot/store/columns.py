"""Columns: how values are stored, the same on both databases, and what tables share."""

import json
import zlib
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec
from pydantic import BaseModel
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    false,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from bot.core.messages import NOTHING, Message, from_plain, quote, to_plain
from bot.core.policy.values import STORED

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# The door answers within milliseconds: level 1 costs a third of level 6 and stores 1.2 x as much.
_ZLIB_LEVEL = 1


def microseconds(at: datetime) -> int:
    """Return a time as a column has it, for sums in SQL."""
    return (at - EPOCH) // _MICROSECOND


class Time(TypeDecorator[datetime]):
    """An aware UTC time as whole microseconds since 1970: exact, ordered, no time zone to lose."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Return microseconds; a naive time raises ``TypeError``."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Return the aware time."""
        return None if value is None else EPOCH + timedelta(microseconds=value)


class Word(TypeDecorator[StrEnum]):
    """A member of a closed set, by its value."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: StrEnum | str | None, dialect: Dialect) -> str | None:
        """Return the plain word."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        """Return the member; an unknown word raises ``ValueError``."""
        return None if value is None else self.kind(value)


class Plain(TypeDecorator[str]):
    """Text from outside. NUL and half a surrogate are replaced: no database can hold them."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return text that can be stored."""
        if value is None:
            return None
        return value.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Return it as stored."""
        return value


class Packed(TypeDecorator[Any]):
    """A value of ``kind`` (a dataclass, a tuple, a dict) as JSON text."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: Any, *, forgiving: bool = False, kept: int = 0) -> None:
        """With ``forgiving`` a value of another version is read as None.

        ``kept`` decoded values are remembered; a kind that is remembered must be frozen.
        """
        super().__init__()
        self.kind = kind
        self.forgiving = forgiving
        self.kept = kept
        decode = msgspec.json.Decoder(kind, dec_hook=_decoded).decode
        self._decode = lru_cache(maxsize=kept)(decode) if kept else decode

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return JSON."""
        if value is None:
            return None
        return msgspec.json.encode(value, enc_hook=_encoded).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value; one that is not of ``kind`` raises ``msgspec.ValidationError``."""
        if value is None:
            return None
        try:
            return self._decode(value)
        except msgspec.ValidationError:
            if self.forgiving:
                return None
            raise


def _encoded(value: object) -> object:
    """Return a message as its key and fields, a part of the policy as it is written."""
    if isinstance(value, Message):
        return to_plain(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"no JSON for {type(value)}")


def _decoded(kind: type[Any], data: Any) -> Any:
    """Return a message, or a part of the policy without keys that only a later version knows."""
    if kind is Message:
        return from_plain(data)
    if issubclass(kind, BaseModel):
        return kind.model_validate(data, extra="ignore", context=STORED)
    raise TypeError(f"no {kind} in JSON")


class Sentence(TypeDecorator[Message]):
    """A message by its key and fields; "" for none."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return JSON; a text that is no message is kept as words from outside."""
        if not value:
            return value
        plain = json.dumps(to_plain(quote(value)), ensure_ascii=False)
        return plain.encode("utf-8", "replace").decode()  # no database holds half a surrogate

    def process_result_value(self, value: str | None, dialect: Dialect) -> Message | None:
        """Return the message; a sentence that is no more raises ``KeyError``."""
        if value is None:
            return None
        return from_plain(json.loads(value)) if value else NOTHING


class Zipped(TypeDecorator[bytes]):
    """Bytes, compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Compress."""
        return None if value is None else zlib.compress(value, _ZLIB_LEVEL)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """Decompress."""
        return None if value is None else zlib.decompress(value)


# SQLite numbers rows by itself only in a column that is exactly INTEGER.
Counter = BigInteger().with_variant(Integer(), "sqlite")


def lease() -> tuple[Column[object], ...]:
    """Return a claim's columns; ``lease_until`` 1970 means free."""
    return (
        Column("lease_owner", Text, nullable=False, server_default=""),
        Column("lease_number", Integer, nullable=False, server_default="0"),
        Column("lease_until", Time, nullable=False, server_default="0"),
    )


def published() -> tuple[Column[object], ...]:
    """Return the columns that say what GitHub should show and what it shows."""
    return (
        Column("github_id", BigInteger),
        Column("create_tried", Boolean, nullable=False, server_default=false()),
        Column("refusals", Integer, nullable=False, server_default="0"),  # since it was shown
        Column("note", Plain, nullable=False, server_default=""),
        Column("want_version", Integer, nullable=False, server_default="1"),
        Column("shown_version", Integer, nullable=False, server_default="0"),
        Column("due", Time),  # None: nothing newer to show
        *lease(),
    )


def github_id(name: str, *of: ForeignKey) -> Column[int]:
    """Return a column of the primary key that holds a number of GitHub's."""
    return Column(name, BigInteger, *of, primary_key=True, autoincrement=False)


def account(name: str, *, key: bool = False) -> tuple[Column[Any], Column[int]]:
    """Return the columns of an account: its login, which is for show, and its number."""
    number = Column(f"{name}_id", BigInteger, primary_key=key, autoincrement=False, nullable=False)
    return Column(name, Plain, nullable=False), number


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
