"""One pull request with what was chosen for its head: the rows behind an explanation."""

from sqlalchemy import func

from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.selections import StoredSelection
from bot.ports.api import PullStory
from bot.store.database import Database
from bot.store.rows import load_all, load_runs
from bot.store.tables import policies, pulls, repos, runs, selections


class ExplainRows:
    """Implements ``ExplainStore``."""

    _db: Database

    async def pull_story(self, full_name: str, number: int) -> PullStory | None:
        """Return a pull request by its repository's name now; None: there is none."""
        named = func.lower(repos.c.owner + "/" + repos.c.name) == full_name.lower()
        async with self._db.read() as conn:
            for repo in await load_all(conn, Repo, repos, named):
                of_it = (pulls.c.repo_id == repo.id) & (pulls.c.number == number)
                found = await load_all(conn, Pull, pulls, of_it)
                if not found:
                    continue
                [pull] = found
                at = (pull.repo_id, pull.head_sha)
                chosen = await load_all(
                    conn,
                    StoredSelection,
                    selections,
                    selections.c.repo_id == at[0],
                    selections.c.sha == at[1],
                    selections.c.number == number,
                )
                selection = chosen[0] if chosen else None
                ref = selection.data.policy_ref if selection else ""
                where = (policies.c.repo_id == repo.id) & (policies.c.ref == ref)
                held = await load_all(conn, StoredPolicy, policies, where)
                at_head = await load_runs(conn, runs.c.repo_id == at[0], runs.c.sha == at[1])
                return PullStory(repo, pull, selection, held[0].text if held else None, at_head)
        return None
