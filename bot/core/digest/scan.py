"""Find the few important lines in chunks of bytes: one RE2 pass, lines numbered by counting.

The result depends on the lines only, never on the ends of the chunks.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

MAX_LINE = 128 * 1024  # of a longer line this much of its head and of its tail is kept
_BATCH = 64 * 1024  # small chunks are joined up to this size
_BEFORE = 3  # lines of context before an important one
TAIL_LINES = 40
_KEPT_BYTES = 2_000  # of a line of the context or of the tail
_NOWHERE = (b"", 0, 0)
_SERIES_BYTES = 2 * MAX_LINE  # that are read at once
_SHORT = 1_000  # bytes: to look for a series takes longer than to read longer lines


class Sink(Protocol):
    """Receives the lines; it wants every line up to number `until`."""

    until: int

    def follow(self, before: Callable[[int], list[tuple[int, bytes]]]) -> None:
        """Accept a function that returns that many lines before the current one."""

    def read(self, no: int, raw: bytes) -> None:
        """Receive an important line."""

    @property
    def series(self) -> Any:
        """Return an RE2 of lines like the last one that may be read at once, None if none may."""

    def read_series(self, no: int, block: bytes) -> bool:
        """Receive lines that `series` found, with the last one's number; False: one by one."""


class Scanner:
    """Splits into lines, counts them, and hands the important ones to a sink."""

    def __init__(self, prefilter: Any, sink: Sink) -> None:
        """Set it up; `prefilter` is a compiled RE2 over bytes with `(?m)`."""
        self.sink = sink
        self.lines = 0
        self.bytes = 0
        self.tail: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._search = prefilter.search
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._partial = Partial()
        self._at = _NOWHERE
        sink.follow(self.before)

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes, any number of them."""
        self.bytes += len(chunk)
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        if self._pending_bytes >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Read every complete line so far."""
        if not self._pending:
            return
        data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._partial.add(data)
            return
        start = 0
        if self._partial.size:
            start = data.find(b"\n") + 1
            self._partial.add(data[: start - 1])
            line = self._partial.take()
            self._region(line + b"\n", 0, len(line) + 1)
        self._region(data, start, end)
        self._partial.add(data[end:])

    @property
    def unfinished(self) -> bytes:
        """Return the last line, if its end has not come yet."""
        return self._partial.peek()

    def finish(self) -> None:
        """Read the unfinished line as if it had ended."""
        if line := self._partial.take():
            self._region(line + b"\n", 0, len(line) + 1)

    def before(self, most: int = _BEFORE) -> list[tuple[int, bytes]]:
        """Return up to ``most`` lines before the current one, with their numbers."""
        found = _backwards(*self._at, most)
        found += list(self.tail)[::-1][: most - len(found)]
        return [(self.lines - 1 - i, line) for i, line in enumerate(found)][::-1]

    def _region(self, data: bytes, start: int, end: int) -> None:
        pos = singly = start
        while pos < end:
            pos = self._wanted(data, start, pos, end)
            match = self._search(data, pos, end) if pos < end else None
            if match is None:
                break
            begin = data.rfind(b"\n", pos, match.start()) + 1 or pos
            stop = data.find(b"\n", begin, end)
            self.lines += data.count(b"\n", pos, begin) + 1
            line = data[begin:stop]
            if len(line) <= 2 * MAX_LINE or self._search(cut(line)):
                self._at = (data, start, begin)
                self.sink.read(self.lines, cut(line))
            pos = stop + 1
            if pos >= singly and len(line) < _SHORT:
                pos, singly = self._series(data, pos, end)
        self.lines += data.count(b"\n", pos, end)
        self._at = _NOWHERE
        self._keep(data, start, end)

    def _series(self, data: bytes, pos: int, end: int) -> tuple[int, int]:
        """Hand on lines like the last one; return where they end, and where to try it again."""
        series = self.sink.series
        if series is None or self.lines < self.sink.until:
            return pos, pos
        found = series.match(data, pos, min(end, pos + _SERIES_BYTES))
        if found is None:
            return pos, pos
        block = found.group()
        number = self.lines + block.count(b"\n")
        if not self.sink.read_series(number, block):
            return pos, found.end()
        self.lines = number
        return found.end(), found.end()

    def _wanted(self, data: bytes, start: int, pos: int, end: int) -> int:
        """Hand on every line that the sink wants; return where they end."""
        while pos < end and self.lines < self.sink.until:
            stop = data.find(b"\n", pos, end)
            self.lines += 1
            self._at = (data, start, pos)
            self.sink.read(self.lines, cut(data[pos:stop]))
            pos = stop + 1
        return pos

    def _keep(self, data: bytes, start: int, end: int) -> None:
        """Remember the last lines of a region, for context and for the tail."""
        self.tail.extend(_backwards(data, start, end, TAIL_LINES)[::-1])


def _backwards(data: bytes, start: int, end: int, most: int) -> list[bytes]:
    """Return the starts of the last lines of a region, the last one first."""
    found: list[bytes] = []
    stop = end - 1
    while len(found) < most and stop >= start:
        first = data.rfind(b"\n", start, stop) + 1 or start
        found.append(data[first : min(stop, first + _KEPT_BYTES)])
        stop = first - 1
    return found


def cut(line: bytes) -> bytes:
    """Keep head and tail of an overlong line; no pattern matches across the mark between them."""
    return line if len(line) <= 2 * MAX_LINE else line[:MAX_LINE] + b"\r" + line[-MAX_LINE:]


class Partial:
    """A growing line: all of it while it is short, then its head and a rolling tail."""

    def __init__(self) -> None:
        """Start empty."""
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Append; drop the part between head and tail."""
        self.size += len(data)
        room = max(0, MAX_LINE - len(self._head))
        self._head += data[:room]
        self._tail += data[max(room, len(data) - MAX_LINE) :]
        if len(self._tail) > 2 * MAX_LINE:
            del self._tail[:-MAX_LINE]

    def peek(self) -> bytes:
        """Return the line as far as it is kept."""
        if self.size <= 2 * MAX_LINE:
            return bytes(self._head + self._tail)
        return bytes(self._head) + b"\r" + bytes(self._tail[-MAX_LINE:])

    def take(self) -> bytes:
        """Return the line and start the next one."""
        line = self.peek()
        self.size = 0
        self._head.clear()
        self._tail.clear()
        return line
