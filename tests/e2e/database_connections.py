"""How a bot loses the database at once when it is killed, in the process that tests it.

On SQLite no transaction is open between two steps of the loop: there is nothing to cut.
"""

from dataclasses import dataclass, field

from bot.store import Store
from bot.store.postgres import PostgresPool


@dataclass
class ConnectionsInUse:
    """The connections to PostgreSQL that a bot uses at the moment."""

    pools: list[PostgresPool] = field(default_factory=list)

    def watch(self, store: Store) -> None:
        """Cut the connections of this store, too."""
        opened = store._db._opened
        if isinstance(opened, PostgresPool):
            self.pools.append(opened)

    async def cut(self) -> None:
        """Cut every connection in use; nothing that is not committed remains."""
        for pool in self.pools:
            for connection in pool._open.difference(pool._idle):
                connection._driver.terminate()
