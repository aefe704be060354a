"""The lines that the watcher of a RayJob prints around the output of the job."""

from collections.abc import Sequence

PREAMBLE = 40  # lines of the submitter's answer, before the watcher's first line


class WatcherLines:
    """Counts the watcher's own lines: what stands between them is the job's output."""

    def __init__(self) -> None:
        """Start before the first one."""
        self._first = self._last = self._own = 0
        self._job_before = False  # the job printed lines before the watcher's first one

    @property
    def job_spoke(self) -> bool:
        """Return True if the job printed anything; without a watcher all is its output."""
        if not self._own:
            return True
        return self._job_before or self._last - self._first + 1 > self._own

    def take(self, no: int, before: Sequence[tuple[int, bytes]]) -> None:
        """Count a line of the watcher; `before` are the lines before it."""
        if not self._own:
            answered = any(b"http_code=" in raw for _, raw in before)
            self._first, self._job_before = no, bool(before) and not answered
        self._last = no
        self._own += 1
