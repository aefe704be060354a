"""The events `installation`, `installation_repositories` and `repository`.

They tell which repositories the app may call, and under which name.
"""

from dataclasses import replace

from bot.core.github.events import InstallationEvent, InstallationState, RepositoryEvent
from bot.core.model.repos import Repo
from bot.core.planning.plan import Plan
from bot.ports.github import GitHub
from bot.store import Store


async def plan_installation(github: GitHub, event: InstallationEvent | RepositoryEvent) -> Plan:
    """Plan to store which repositories the app may call, or a repository's new name.

    A delivery that was lost comes again after newer ones, and the payload has no time of its own
    that tells (`updated_at` of a deletion is that of the change before). So GitHub is asked what
    the installation is now.
    """
    if isinstance(event, RepositoryEvent):
        return Plan(repo=event.repo)
    if event.active is None and not event.back:
        return Plan(installation=event)
    match await github.installation_state(event.installation_id):
        case InstallationState.ACTIVE:
            active = None if event.active is None else True
            return Plan(installation=replace(event, active=active))
        case InstallationState.SUSPENDED:
            return Plan(installation=replace(event, active=False))
        case InstallationState.GONE:
            return Plan(installation=replace(event, active=False, back=()))


async def was_removed(store: Store, repo: Repo) -> bool:
    """Return True if the app may no longer call the repository: its event came too late."""
    known = await store.repos.get(repo.id)
    if known is None or known.active:
        return False
    return repo.installation_id is None or known.installation_id in {None, repo.installation_id}
