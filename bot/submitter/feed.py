"""Reading a job's event file: where to begin, and one reader for any number of watchers."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

PIECE_BYTES = 256 * 1024
WINDOW_BYTES = 4 * 1024 * 1024  # recent bytes kept in memory: watchers that keep up share them
FASTEST_POLL_S = 0.02
SLOWEST_POLL_S = 0.25

_SEQ = re.compile(rb'\{"seq":(\d+),')
_FINAL = re.compile(rb'\{"seq":\d+,"ts":"[^"]*","type":"final"')


def offset_after(path: Path, seq: int) -> int:
    """Find where the events after `seq` begin, by bisection; the file's end when there are none."""
    if seq <= 0:
        return 0
    with path.open("rb") as file:
        low, high = 0, os.fstat(file.fileno()).st_size
        # Every line that begins before `low` has a number <= seq; one that begins at or after
        # `high` has a greater one, or there is none.
        while low < high:
            middle = (low + high) // 2
            start, number = _line_from(file.fileno(), middle)
            if number is None or number > seq:
                high = middle
            else:
                low = start + 1
        return _line_from(file.fileno(), low)[0]


def _line_from(fd: int, offset: int) -> tuple[int, int | None]:
    """Return the first line start at or after an offset, and its number (`None`: no whole one)."""
    start = 0 if offset == 0 else _newline_from(fd, offset - 1) + 1
    match = _SEQ.match(os.pread(fd, 32, start))
    return start, int(match[1]) if match else None


def _newline_from(fd: int, offset: int) -> int:
    while True:
        piece = os.pread(fd, PIECE_BYTES, offset)
        found = piece.find(b"\n")
        if found >= 0:
            return offset + found
        if not piece:
            return offset - 1
        offset += len(piece)


def whole_end(fd: int) -> tuple[int, bytes]:
    """Return the offset after the last whole line, and that line if it is a `final` event."""
    end = os.fstat(fd).st_size
    data, start = b"", end
    while start > 0 and data.count(b"\n") < 2:
        step = min(start, PIECE_BYTES)
        start -= step
        data = os.pread(fd, step, start) + data
    whole = data[: data.rfind(b"\n") + 1]
    last = whole.rstrip(b"\n").rpartition(b"\n")[2]
    return start + len(whole), last if _FINAL.match(last) else b""


class Feed:
    """Follows one event file while anybody watches it."""

    def __init__(self, path: Path) -> None:
        self.watchers = 0
        self.end = 0
        self.ended = False
        self._fd = os.open(path, os.O_RDONLY)
        self._window = bytearray()
        self._window_start = 0
        self._grown = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to follow at the file's present end; what is older is read on demand."""
        self.end, last = await asyncio.to_thread(whole_end, self._fd)
        self.ended = bool(last)
        self._window_start = self.end
        if not self.ended:
            self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        os.close(self._fd)

    async def read(self, offset: int) -> bytes:
        """Return up to a piece of what lies from an offset to the last whole line."""
        size = min(PIECE_BYTES, self.end - offset)
        if size <= 0:
            return b""
        begin = offset - self._window_start
        if begin >= 0:
            return bytes(self._window[begin : begin + size])
        return await asyncio.to_thread(os.pread, self._fd, size, offset)

    async def wait(self, offset: int, limit_s: float) -> None:
        """Wait until there is more than `offset`, at most `limit_s`."""
        if self.end > offset or self.ended:
            return
        try:
            async with asyncio.timeout(limit_s):
                await self._grown.wait()
        except TimeoutError:
            return

    async def _follow(self) -> None:
        pause_s, size = FASTEST_POLL_S, PIECE_BYTES
        while not self.ended:
            piece = b""
            if os.fstat(self._fd).st_size > self.end:
                piece = await asyncio.to_thread(os.pread, self._fd, size, self.end)
            # Whole lines only: a torn one may be taken back by a supervisor that recovers.
            whole = piece[: piece.rfind(b"\n") + 1]
            if whole:
                self._take(whole)
                pause_s, size = FASTEST_POLL_S, PIECE_BYTES
            elif len(piece) == size:
                size *= 2
            else:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 1.5, SLOWEST_POLL_S)

    def _take(self, whole: bytes) -> None:
        self._window += whole
        self.end += len(whole)
        last = whole.rfind(b"\n", 0, len(whole) - 1) + 1
        self.ended = _FINAL.match(whole, last) is not None
        self._grown.set()
        self._grown = asyncio.Event()
        excess = len(self._window) - WINDOW_BYTES
        if excess > 0:
            del self._window[:excess]
            self._window_start += excess
