"""Read the report of pre-commit: a hook's `Failed` line is the wrapper of what the hook found."""

import re
from enum import StrEnum

_RESULT = re.compile(r"^\S.{0,160}?\.{3,} ?(?:\(.{1,80}\) ?)?(Passed|Failed|Skipped)$")
_PLACE = re.compile(r"^\S+\.\w{1,6}:\d+")
_HEADER = re.compile(r"^- (?:hook id|exit code|duration): ")


class Said(StrEnum):
    """What a line of the report is."""

    OTHER = "other"
    HEADER = "header"
    NOTE = "note"  # what a tool says before it names a place
    FINDING = "finding"


class HookReport:
    """Follows one report; outside of it every line is another's."""

    def __init__(self) -> None:
        """Start outside of a report."""
        self._awaits = False  # the next lines say what a hook found
        self._noted = False  # one of them did, without a place

    def take(self, text: str) -> Said:
        """Read a line; the first one below the header of a failed hook is its finding."""
        if (result := _RESULT.match(text)) is not None:
            self._awaits, self._noted = result[1] == "Failed", False
            return Said.OTHER
        if not self._awaits or not text.strip():
            return Said.OTHER
        if _HEADER.match(text):
            return Said.HEADER
        if text.startswith("- files were modified"):  # what follows says what was done
            self._awaits = False
            return Said.OTHER
        return self._finding(text)

    def _finding(self, text: str) -> Said:
        """Take the first line with a place, and the first one for a tool that prints none."""
        placed = _PLACE.match(text) is not None
        first, self._noted = not self._noted, True
        self._awaits = not placed
        if placed:
            return Said.FINDING
        return Said.NOTE if first else Said.OTHER
