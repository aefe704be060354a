"""Every sentence that people read, by key and language.

A second language is another table with the same keys. What it lacks is said in English.
"""

from collections.abc import Mapping

from bot.core.messages.en import EN
from bot.core.messages.message import NOTHING, Field, Message, fill, from_plain, quote, to_plain

TABLES: Mapping[str, Mapping[str, str]] = {"en": EN}

__all__ = ["NOTHING", "TABLES", "Field", "Message", "Messages", "from_plain", "quote", "to_plain"]


class Messages:
    """Says sentences in one language; values go in as they are, so they must be safe already."""

    def __init__(self, language: str = "en", tables: Mapping[str, Mapping[str, str]] = TABLES):
        self._table = {**tables["en"], **tables.get(language, {})}

    def __call__(self, key: str, /, **fields: Field) -> str:
        """Return the sentence ``key`` with its ``{placeholders}`` filled in."""
        return fill(self._table, key, fields)

    def render(self, text: str) -> str:
        """Return a message in this language, and any other text as it is."""
        return fill(self._table, text.key, text.fields) if isinstance(text, Message) else text

    def has(self, key: str) -> bool:
        """Return True if there is a sentence of that name."""
        return key in self._table
