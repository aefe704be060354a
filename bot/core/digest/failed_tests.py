"""The tests that made a job fail, if it is sure that nothing else did.

A quarantine of tests excuses only such a failure. So pytest's own sum has to agree with the tests
that it names, and its end has to be the last word of the one step that failed.
"""

import re
from typing import Any

_MAX_TESTS = 50
_MAX_CHARS = 300
_FAILED = re.compile(r"\b(\d{1,6}) failed\b")
_ERRORS = re.compile(r"\b\d{1,6} errors?\b")
_EXIT = "Process completed with exit code 1."  # pytest's for tests that failed
# The session stopped early, or lost a worker: what else would have failed is not known.
_CUT_SHORT = (" crashed while running ", "] node down: ")


class FailedTests:
    """What the sessions of pytest in a log say of their tests."""

    def __init__(self) -> None:
        """Start before the first session."""
        self._ids: list[str] = []
        self._of_session: list[str] = []
        self._begin = 0
        self._spans: list[tuple[int, int]] = []  # the lines of each session
        self._doubtful = False

    @property
    def end(self) -> int:
        """Return the line at which the last session ended; 0 before."""
        return self._spans[-1][1] if self._spans else 0

    def section(self, no: int, name: str) -> None:
        """Note a section of the report: it is of a session that began there at the latest."""
        self._begin = self._begin or no
        self._doubtful |= name == "ERRORS"

    def told(self, word: str, test: str) -> None:
        """Note a line of the short summary."""
        self._doubtful |= word != "FAILED" or len(test) > _MAX_CHARS
        self._of_session.append(test)

    def note(self, text: str) -> None:
        """Look whether any other line of the report leaves a doubt."""
        cut = text.startswith("!!!") or any(words in text for words in _CUT_SHORT)
        self._doubtful |= cut

    def ended(self, no: int, text: str) -> None:
        """Note the sum of a session: it has to agree with the tests that were named."""
        failed = _FAILED.search(text)
        many = int(failed[1]) if failed else 0
        self._doubtful |= many != len(self._of_session) or _ERRORS.search(text) is not None
        self._ids += self._of_session
        self._spans.append((self._begin or no, no))
        self._of_session, self._begin = [], 0

    def alone(self, reader: Any) -> tuple[str, ...]:
        """Return the tests that failed if nothing else did, else none. ``reader`` has the rest."""
        ids = tuple(dict.fromkeys(self._ids))
        sure = not self._doubtful and not self._of_session and 0 < len(ids) <= _MAX_TESTS
        steps, board = reader.steps, reader.board
        if not sure or board.kills or len(steps.failed) != 1:
            return ()
        ((step, (no, text)),) = steps.failed.items()
        if text.strip() != _EXIT or no != self.end + 1:
            return ()
        others = [f for f in board.all() if f.segment == step and not self._holds(f.no)]
        return () if any(not failure.weak for failure in others) else ids

    def _holds(self, no: int) -> bool:
        """Return True if a line is of a session."""
        return any(begin <= no <= end for begin, end in self._spans)
