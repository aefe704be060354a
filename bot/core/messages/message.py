"""A sentence as a value: rows keep which one it is, a report says it in the reader's language."""

import re
from collections.abc import Mapping
from datetime import datetime
from string import Formatter
from typing import Any, Self

from bot.core.messages.en import EN

Field = str | int | float | datetime | tuple[str, ...]
"""What a sentence can hold; a `Message` is a `str`, so one may stand inside another."""

HAN = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile("[A-Za-z0-9]")
_LATIN_START = re.compile(r"[A-Za-z0-9`#\[(<&@/\-+$*~]")  # of a field
_LATIN_END = re.compile(r"[A-Za-z0-9`\])>;%*]")
_MORE = " | "  # between the form for one and the form for more
_JOINED = re.compile(r"\{(\w+)\}(?=[;:,.)；：，。）])")  # fields after which a sentence goes on


class Message(str):
    """A sentence in English that knows its key and its fields.

    Logs, the command line and the API use it as the text that it is. An operation on it, such as
    joining, returns a plain text that is English for ever: make another message of it instead.
    """

    __slots__ = ("fields", "key")
    key: str
    fields: Mapping[str, Field]

    def __new__(cls, key: str, /, **fields: Field) -> Self:
        """Return the sentence ``key`` of the tables with its placeholders filled in."""
        self = super().__new__(cls, fill(EN, key, fields))
        self.key, self.fields = key, fields
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made."""
        return from_plain, (to_plain(self),)


def quote(text: str) -> Message:
    """Return words from outside, which are the same in every language."""
    return text if isinstance(text, Message) else Message("quote", text=text)


def fill(table: Mapping[str, str], key: str, fields: Mapping[str, Field]) -> str:
    """Return a sentence of a table with its placeholders filled in."""
    text = table[key]
    if _MORE in text:
        one, more = text.split(_MORE)
        text = one if fields["n"] == 1 else more
    joined = set(_JOINED.findall(text))
    said = {name: _said(table, value) for name, value in fields.items()}
    said = {name: _open(it) if name in joined else it for name, it in said.items()}
    whole = text.format(**said)
    return whole if whole.isascii() else _spaced(text, said)


def _spaced(text: str, fields: Mapping[str, Field]) -> str:
    """Fill in a sentence with a space wherever Chinese and other letters meet at a field.

    What stands inside a field or beside it in the sentence stays as it is.
    """
    out, of_field = "", False
    for literal, name, spec, _ in Formatter().parse(text):
        values = [] if name is None else [(format(fields[name], spec or ""), True)]
        for piece, is_field in [(literal, False), *values]:
            if out and piece:
                ends = _LATIN_END if of_field else _LETTER
                starts = _LATIN_START if is_field else _LETTER
                han, latin = HAN.match(out[-1]), ends.match(out[-1])
                if (han and starts.match(piece[0])) or (latin and HAN.match(piece[0])):
                    out += " "
            if piece:
                out, of_field = out + piece, is_field
    return out


def _open(value: Field) -> Field:
    """Return a text without its full stop: the sentence that holds it goes on."""
    return value.rstrip(".。") if isinstance(value, str) else value


def _said(table: Mapping[str, str], value: Field) -> Field:
    if isinstance(value, Message):
        return fill(table, value.key, value.fields)
    if isinstance(value, tuple):
        return table["list_joint"].join(str(_said(table, item)) for item in value)
    return value


def to_plain(message: Message) -> list[Any]:
    """Return a message as JSON can hold it: its key, then its fields."""
    return [message.key, {name: _to_plain(value) for name, value in message.fields.items()}]


def _to_plain(value: Field) -> object:
    if isinstance(value, Message):
        return to_plain(value)
    if isinstance(value, tuple):
        return {"items": [_to_plain(item) for item in value]}
    if isinstance(value, datetime):
        return {"at": value.isoformat()}
    return value


def from_plain(data: Any) -> Message:
    """Return the message that JSON holds; a sentence that is no more raises ``KeyError``."""
    key, fields = data
    return Message(key, **{name: _from_plain(value) for name, value in fields.items()})


def _from_plain(value: Any) -> Any:
    match value:
        case list():
            return from_plain(value)
        case {"items": items}:
            return tuple(map(_from_plain, items))
        case {"at": at}:
            return datetime.fromisoformat(at)
    return value


NOTHING = Message("nothing")
"""The empty text, where there is no reason."""
