"""Transactions of SQLite in the loop's own thread: a world's time must not pass beside them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call it; its answer, or its error, comes in the loop's next round.

        A loop awaits a future of its own as it is. One of threads it would be woken for, through a
        socket.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        try:
            answer = fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  handed on to who awaits it
            loop.call_soon(_tell, future, future.set_exception, error)
        else:
            loop.call_soon(_tell, future, future.set_result, answer)
        return future


def _tell(future: asyncio.Future[Any], tell: Callable[[Any], None], said: Any) -> None:
    if not future.cancelled():
        tell(said)
