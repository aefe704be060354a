"""Every sentence that people read, by key and language.

A second language is another table with the same keys. What it lacks is said in English.
"""

from collections.abc import Mapping

from bot.core.messages.en import EN

TABLES: Mapping[str, Mapping[str, str]] = {"en": EN}


class Messages:
    """Says sentences in one language; values go in as they are, so they must be safe already."""

    def __init__(self, language: str = "en", tables: Mapping[str, Mapping[str, str]] = TABLES):
        self._table = {**tables["en"], **tables.get(language, {})}

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the sentence ``key`` with its ``{placeholders}`` filled in."""
        return self._table[key].format(**values)

    def has(self, key: str) -> bool:
        """Tell whether there is a sentence of that name."""
        return key in self._table
