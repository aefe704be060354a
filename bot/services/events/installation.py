"""The events `installation`, `installation_repositories` and `repository`.

They tell which repositories the app may call, and under which name.
"""

from bot.core.github.events import InstallationEvent, RepositoryEvent
from bot.core.model.repos import Repo
from bot.core.planning.plan import Plan
from bot.store import Store


def plan_installation(event: InstallationEvent | RepositoryEvent) -> Plan:
    """Plan to store which repositories the app may call, or a repository's new name."""
    if isinstance(event, RepositoryEvent):
        return Plan(repo=event.repo)
    return Plan(installation=event)


async def was_removed(store: Store, repo: Repo) -> bool:
    """Return True if the app may no longer call the repository: its event came too late."""
    known = await store.repos.get(repo.id)
    if known is None or known.active:
        return False
    return repo.installation_id is None or known.installation_id in {None, repo.installation_id}
