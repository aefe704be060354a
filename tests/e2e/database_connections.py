"""How a bot loses the database at once when it is killed, in the process that tests it.

On SQLite no transaction is open between two steps of the loop: there is nothing to cut.
"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store import Store


@dataclass
class ConnectionsInUse:
    """The connections to PostgreSQL that a bot uses at the moment."""

    used: dict[int, Any] = field(default_factory=dict)

    def watch(self, store: Store) -> None:
        """Note from now on which connections are in use."""
        engine = getattr(store._db._opened, "_engine", None)
        if isinstance(engine, AsyncEngine):
            event.listen(engine.sync_engine.pool, "checkout", self._taken)
            event.listen(engine.sync_engine.pool, "checkin", self._given_back)

    def _taken(self, _connection: object, record: Any, _proxy: object) -> None:
        self.used[id(record)] = record.driver_connection

    def _given_back(self, _connection: object, record: Any) -> None:
        self.used.pop(id(record), None)

    async def cut(self) -> None:
        """Cut every connection in use; nothing that is not committed remains."""
        while self.used:
            _, connection = self.used.popitem()
            connection.terminate()
