"""The work of SQLite in steps of its machine: the same on a busy machine as on a quiet one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, event

_TOGETHER = 10  # steps that are counted at once


@dataclass
class Work:
    """What SQLite did."""

    steps: int = 0

    def count(self) -> None:
        """Count some steps."""
        self.steps += _TOGETHER

    def watch(self, connection: Any, _record: object) -> None:
        """Count a connection's steps from now on."""
        connection.set_progress_handler(self.count, _TOGETHER)


@contextmanager
def counting() -> Iterator[Work]:
    """Count the steps of all connections that are opened meanwhile."""
    made = Work()
    event.listen(Engine, "connect", made.watch)
    try:
        yield made
    finally:
        event.remove(Engine, "connect", made.watch)
