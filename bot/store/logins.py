"""The accounts that the logins of policies stood for when they were first read."""

from sqlalchemy import delete, select

from bot.core.model.ids import RepoId
from bot.store.database import DbConnection, Part, all_rows, insert
from bot.store.tables import listed_logins


class ListedLogins(Part):
    """Binds the logins that a branch's policy lists to the numbers of accounts."""

    async def of(self, repo_id: RepoId, ref: str) -> dict[str, int]:
        """Return the number of each login; 0 for one that nobody had."""
        here = (listed_logins.c.repo_id == repo_id) & (listed_logins.c.ref == ref)
        query = select(listed_logins.c.login, listed_logins.c.account_id).where(here)
        rows = await self._db.read(lambda conn: all_rows(conn, query))
        return {row.login: row.account_id for row in rows}

    async def elsewhere(self, repo_id: RepoId, ref: str) -> dict[str, dict[str, int]]:
        """Return for each other branch of the repository the number of each of its logins."""
        others = (listed_logins.c.repo_id == repo_id) & (listed_logins.c.ref != ref)
        query = select(listed_logins).where(others).order_by(listed_logins.c.ref)
        found: dict[str, dict[str, int]] = {}
        for row in await self._db.read(lambda conn: all_rows(conn, query)):
            found.setdefault(row.ref, {})[row.login] = row.account_id
        return found

    async def bind(
        self, repo_id: RepoId, ref: str, listed: frozenset[str], found: dict[str, int]
    ) -> None:
        """Add the new ones, and forget those that the policy lists no more. A bound one stays."""
        rows = [
            {"repo_id": repo_id, "ref": ref, "login": login, "account_id": number}
            for login, number in found.items()
        ]
        here = (listed_logins.c.repo_id == repo_id) & (listed_logins.c.ref == ref)
        gone = delete(listed_logins).where(here, listed_logins.c.login.not_in(listed))

        async def work(conn: DbConnection) -> None:
            await conn.execute(gone)
            if rows:
                await conn.execute(insert(conn, listed_logins).on_conflict_do_nothing(), rows)

        await self._db.write(work)
