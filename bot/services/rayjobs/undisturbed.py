"""Work that a cancel must not leave half done: the canceller waits for its end."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def undisturbed(work: Coroutine[Any, Any, _T]) -> _T:
    """Await short work; a cancel that comes meanwhile is raised when the work is over."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
