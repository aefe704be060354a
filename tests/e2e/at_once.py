"""Transactions of SQLite in the loop's own thread: a world's time must not pass beside them."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call it; its answer, or its error, is there."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  handed on to who awaits it
            future.set_exception(error)
        return future
