"""How a bot loses the database at once when it is killed, in the process that tests it."""

from dataclasses import dataclass, field
from typing import Any

import aiosqlite
from sqlalchemy import event

from bot.store import Store


@dataclass
class ConnectionsInUse:
    """The database connections that a bot uses at the moment."""

    used: dict[int, Any] = field(default_factory=dict)

    def watch(self, store: Store) -> None:
        """Note from now on which connections are in use."""
        database = store._db
        for engine in {database._writer.sync_engine, database._reader.sync_engine}:
            event.listen(engine.pool, "checkout", self._taken)
            event.listen(engine.pool, "checkin", self._given_back)

    def _taken(self, _connection: object, record: Any, _proxy: object) -> None:
        self.used[id(record)] = record.driver_connection

    def _given_back(self, _connection: object, record: Any) -> None:
        self.used.pop(id(record), None)

    async def cut(self) -> None:
        """Cut every connection in use; nothing that is not committed remains."""
        while self.used:
            _, connection = self.used.popitem()
            is_sqlite = isinstance(connection, aiosqlite.Connection)
            if is_sqlite:
                # Beneath the wrapper: its own close would let a commit pass for done.
                await connection._execute(connection._conn.close)
            else:
                connection.terminate()
