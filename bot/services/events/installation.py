"""The events `installation`, `installation_repositories` and `repository`.

They tell which repositories the app may call, and under which name.
"""

from dataclasses import replace

from bot.core.github.events import InstallationEvent, InstallationState, RepositoryEvent
from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo
from bot.core.planning.plan import Plan
from bot.ports.errors import Permanent
from bot.ports.github import GitHub
from bot.store import Store


async def plan_installation(
    github: GitHub, store: Store, event: InstallationEvent | RepositoryEvent
) -> Plan:
    """Plan to store which repositories the app may call, or a repository's new name.

    A delivery that was lost comes again after newer ones, and the payload has no time of its own
    that tells (`updated_at` of a deletion is that of the change before). So GitHub is asked what
    the installation is now, and which of the repositories that we know it has.
    """
    if isinstance(event, RepositoryEvent):
        return Plan(repo=event.repo)
    if event.deleted:
        return Plan(installation=event)
    event = await _as_it_is(github, store, event)
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


async def _as_it_is(github: GitHub, store: Store, event: InstallationEvent) -> InstallationEvent:
    """Return an event with each repository as it is now: taken out, or given.

    One that another installation has now is left alone. Only repositories with a row matter.
    """
    now: dict[int | None, list[RepoId]] = {None: [], event.installation_id: []}
    for repo_id in dict.fromkeys((*event.gone, *event.back)):
        repo = await store.repos.get(repo_id)
        if repo is not None:
            found = await github.installation_of(repo)
            now.setdefault(found, []).append(repo_id)
    gone, back = now[None], now[event.installation_id]
    return replace(event, gone=tuple(gone), back=tuple(back))


async def named_now(github: GitHub, store: Store, repo: Repo) -> Repo:
    """Return the repository of a payload as it is now.

    A payload that comes late has the name of then, which may be another repository's by now, and
    the default branch of then, whose policy would hold again. So GitHub is asked where a payload
    is not as what we know.
    """
    known = await store.repos.get(repo.id)
    if known is None or not known.differs(repo):
        return repo
    try:
        now = await github.repo_now(repo)
    except Permanent as error:
        if not error.is_gone:
            raise
        now = None
    return now or replace(known, installation_id=repo.installation_id)


async def was_removed(store: Store, repo: Repo) -> bool:
    """Return True if the app may no longer call the repository: its event came too late."""
    known = await store.repos.get(repo.id)
    if known is None or known.active:
        return False
    return repo.installation_id is None or known.installation_id in {None, repo.installation_id}
