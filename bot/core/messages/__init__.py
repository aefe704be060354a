"""Every sentence that people read, by key and language.

A second language is another table with the same keys. What it lacks is said in English.
"""

import re
from collections.abc import Mapping

from bot.core.messages.en import EN
from bot.core.messages.message import NOTHING, Field, Message, fill, from_plain, quote, to_plain
from bot.core.messages.zh import SIGNS, ZH

TABLES: Mapping[str, Mapping[str, str]] = {"en": EN, "zh": ZH}
_SIGNS: Mapping[str, Mapping[str, str]] = {"zh": SIGNS}
_PLACED = re.compile(r"([\w.]+) in (\S+:\d+): (.+)")  # an exception with its place

__all__ = ["NOTHING", "TABLES", "Field", "Message", "Messages", "from_plain", "quote", "to_plain"]


class Messages:
    """Says sentences in one language; values go in as they are, so they must be safe already."""

    def __init__(self, language: str = "en", tables: Mapping[str, Mapping[str, str]] = TABLES):
        self._table = {**tables["en"], **tables.get(language, {})}
        self._signs = _SIGNS.get(language, {})

    def __call__(self, key: str, /, **fields: Field) -> str:
        """Return the sentence ``key`` with its ``{placeholders}`` filled in."""
        return fill(self._table, key, fields)

    def render(self, text: str) -> str:
        """Return a message, or what a signature says, in this language; any other text as it is."""
        if isinstance(text, Message) and text.key != "quote":
            return fill(self._table, text.key, text.fields)
        return self._sign(str(text))

    def _sign(self, text: str) -> str:
        found = _PLACED.fullmatch(text)
        if found is None:
            return self._signs.get(text, text)
        name, place, detail = found.groups()
        said = self._signs.get(detail, detail)
        return self("sign_placed", name=name, place=place, detail=said)

    def has(self, key: str) -> bool:
        """Return True if there is a sentence of that name."""
        return key in self._table
