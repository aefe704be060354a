"""Open watches: they are counted, and all watches of a job share one reader of its events."""

import asyncio
import contextlib
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from bot.submitter.backend import Limits
from bot.submitter.event_file import last_line
from bot.submitter.request import RefusedError

QUIET_S = 1.0  # the interval at which a silent watch checks its client
PIECE_BYTES = 256 * 1024
WINDOW_BYTES = 4 * 1024 * 1024  # recent bytes in memory, shared by all watches that keep up
FASTEST_POLL_S = 0.02
SLOWEST_POLL_S = 0.25

_SEQ = re.compile(rb'\{"seq":(\d+),')
_FINAL = re.compile(rb'\{"seq":\d+,"ts":"[^"]*","type":"final"')


def offset_after(path: Path, seq: int) -> int:
    """Return the offset of the events after `seq`, by bisection; at most the file's end."""
    if seq <= 0:
        return 0
    with path.open("rb") as file:
        low, high = 0, os.fstat(file.fileno()).st_size
        # Every line that begins before `low` has a number <= seq. Every line that begins at or
        # after `high` has a greater number.
        while low < high:
            middle = (low + high) // 2
            start, number = _line_from(file.fileno(), middle)
            if number is None or number > seq:
                high = middle
            else:
                low = start + 1
        return _line_from(file.fileno(), low)[0]


def _line_from(fd: int, offset: int) -> tuple[int, int | None]:
    """Return the first line start from an offset on, and its number (`None`: incomplete)."""
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
    """Return the offset after the last whole line, and that line if it is `final`."""
    end, last = last_line(fd)
    return end, last if _FINAL.match(last) else b""


class EventReader:
    """Follows one event file while it has watches."""

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
        """Start at the file's present end; older events are read on demand."""
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
        """Return up to a piece of the bytes from an offset to the last whole line."""
        size = min(PIECE_BYTES, self.end - offset)
        if size <= 0:
            return b""
        begin = offset - self._window_start
        if begin >= 0:
            return bytes(self._window[begin : begin + size])
        return await asyncio.to_thread(os.pread, self._fd, size, offset)

    async def wait(self, offset: int, limit_s: float) -> None:
        """Wait at most `limit_s` for bytes after `offset`."""
        if self.end > offset or self.ended:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._grown.wait()

    async def _follow(self) -> None:
        pause_s, size = FASTEST_POLL_S, PIECE_BYTES
        while not self.ended:
            piece = b""
            if os.fstat(self._fd).st_size > self.end:
                piece = await asyncio.to_thread(os.pread, self._fd, size, self.end)
            # Whole lines only: a recovering supervisor may remove an incomplete one.
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


class Watches:
    """All open watches of a service."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: Counter[str] = Counter()  # by the peer
        self._readers: dict[Path, EventReader] = {}
        self._joining = asyncio.Lock()
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End all watches."""
        self._closing.set()

    async def events(self, path: Path, after: int, peer: str) -> AsyncIterator[bytes]:
        """Yield the events of a file after a number, as in `Backend.events`."""
        with self._counted(peer):
            reader = await self._join(path)
            try:
                offset = await asyncio.to_thread(offset_after, path, after)
                while not self._closing.is_set():
                    piece = await reader.read(offset)
                    offset += len(piece)
                    if not piece and reader.ended and offset >= reader.end:
                        break
                    yield piece
                    if not piece:
                        await self._quiet(reader, offset)
            finally:
                await self._leave(path, reader)

    async def _quiet(self, reader: EventReader, offset: int) -> None:
        waits = [
            asyncio.ensure_future(reader.wait(offset, QUIET_S)),
            asyncio.ensure_future(self._closing.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    @contextlib.contextmanager
    def _counted(self, peer: str) -> Iterator[None]:
        if self._open.total() >= self._limits.watches:
            raise RefusedError(429, f"{self._limits.watches} watches are open already")
        if self._open[peer] >= self._limits.watches_a_peer:
            raise RefusedError(429, f"{self._open[peer]} watches of your address are open")
        self._open[peer] += 1
        try:
            yield
        finally:
            self._open[peer] -= 1
            self._open += Counter()  # forgets peers without a watch

    async def _join(self, path: Path) -> EventReader:
        async with self._joining:
            reader = self._readers.get(path)
            if reader is None:
                reader = EventReader(path)
                await reader.open()
                self._readers[path] = reader
            if reader.watchers >= self._limits.watches_a_job:
                raise RefusedError(429, f"{reader.watchers} watches of this job are open already")
            reader.watchers += 1
            return reader

    async def _leave(self, path: Path, reader: EventReader) -> None:
        async with self._joining:
            reader.watchers -= 1
            if reader.watchers == 0:
                del self._readers[path]
                await reader.close()
