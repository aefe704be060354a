"""SQLite on the loop's own thread: handing a world's many short statements over costs more."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from typing import Any

import aiosqlite

_AGAIN_S = 0.001
_TRIES = 10_000  # ten seconds: what the bot waits for who writes to the file
_WAIT = "PRAGMA busy_timeout=0"  # a wait in SQLite would stop the one who is to make way

Work = Callable[[], Any]


class _NoThread:
    """In place of the queue to the driver's thread: what is put there is done a turn later."""

    def put_nowait(self, job: tuple[asyncio.Future[Any] | None, Work]) -> None:
        future, work = job
        if future is None:  # a connection that nobody closed; there may be no loop any more
            work()
            return
        arguments = getattr(work, "args", ())
        if arguments and str(arguments[0]).startswith("PRAGMA busy_timeout"):
            work = _with(work, _WAIT)
        future.get_loop().call_soon(_do, future, work, _TRIES)


def _with(work: Any, statement: str) -> Work:
    return lambda: work.func(statement, *work.args[1:])


def _do(future: asyncio.Future[Any], work: Work, tries: int) -> None:
    try:
        result = work()
    except sqlite3.OperationalError as error:
        if tries and "database is locked" in str(error):
            future.get_loop().call_later(_AGAIN_S, _do, future, work, tries - 1)
        elif not future.done():
            future.set_exception(error)
    except Exception as error:  # noqa: BLE001  handed to the one who waits for it
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)


class AtOnce(aiosqlite.Connection):
    """The driver's connection without its thread."""

    def __init__(self, *where: Any, **how: Any) -> None:
        super().__init__(lambda: sqlite3.connect(*where, **how), iter_chunk_size=64)
        self._tx: Any = _NoThread()

    def __await__(self) -> Generator[Any, None, aiosqlite.Connection]:
        return self._connect().__await__()
