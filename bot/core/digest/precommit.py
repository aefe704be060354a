"""Read the report of pre-commit: a hook's `Failed` line is the wrapper of what the hook found."""

import re
from enum import StrEnum

_RESULT = re.compile(r"^\S.{0,160}?\.{3,} ?(?:\(.{1,80}\) ?)?(Passed|Failed|Skipped)$")
_HEADER = re.compile(r"^- (?:hook id|exit code|duration): ")


class Said(StrEnum):
    """What a line of the report is."""

    OTHER = "other"
    HEADER = "header"
    FINDING = "finding"


class HookReport:
    """Follows one report; outside of it every line is another's."""

    def __init__(self) -> None:
        """Start outside of a report."""
        self._awaits = False  # the next line that says something is the finding

    def take(self, text: str) -> Said:
        """Read a line; the first one below the header of a failed hook is its finding."""
        if (result := _RESULT.match(text)) is not None:
            self._awaits = result[1] == "Failed"
            return Said.OTHER
        if not self._awaits or not text.strip():
            return Said.OTHER
        if _HEADER.match(text):
            return Said.HEADER
        self._awaits = False
        repaired = text.startswith("- files were modified")  # what follows says what was done
        return Said.OTHER if repaired else Said.FINDING
