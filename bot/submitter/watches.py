"""Open watches: counted, and one reader of a job's events for all who watch it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from bot.submitter.feed import Feed, offset_after
from bot.submitter.limits import Limits
from bot.submitter.request import RefusedError

QUIET_S = 1.0  # how often a silent watch looks whether its client is still there


class Watches:
    """Every open watch of a service, on the event files that its jobs grow."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open = 0
        self._feeds: dict[Path, Feed] = {}
        self._joining = asyncio.Lock()
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Let all watches end."""
        self._closing.set()

    async def events(self, path: Path, after: int) -> AsyncIterator[bytes]:
        """Yield the events in a file behind a number, as `Backend.events` says."""
        with self._counted():
            feed = await self._join(path)
            try:
                offset = await asyncio.to_thread(offset_after, path, after)
                while not self._closing.is_set():
                    piece = await feed.read(offset)
                    offset += len(piece)
                    if not piece and feed.ended and offset >= feed.end:
                        break
                    yield piece
                    if not piece:
                        await self._quiet(feed, offset)
            finally:
                await self._leave(path, feed)

    async def _quiet(self, feed: Feed, offset: int) -> None:
        waits = [
            asyncio.ensure_future(feed.wait(offset, QUIET_S)),
            asyncio.ensure_future(self._closing.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        if self._open >= self._limits.watches:
            raise RefusedError(429, f"{self._limits.watches} watches are open already")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _join(self, path: Path) -> Feed:
        async with self._joining:
            feed = self._feeds.get(path)
            if feed is None:
                feed = Feed(path)
                await feed.open()
                self._feeds[path] = feed
            if feed.watchers >= self._limits.watches_a_job:
                raise RefusedError(429, f"{feed.watchers} watches of this job are open already")
            feed.watchers += 1
            return feed

    async def _leave(self, path: Path, feed: Feed) -> None:
        async with self._joining:
            feed.watchers -= 1
            if feed.watchers == 0:
                del self._feeds[path]
                await feed.close()
