"""An event of an installation counts by what GitHub says of it now."""

from typing import Any

import pytest

from bot.core.github.events import InstallationEvent, InstallationState
from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo
from bot.services.events.installation import plan_installation

ACTIVE, SUSPENDED, GONE = InstallationState
BACK = (RepoId(8),)
OURS, OTHERS = 70, 71


class OneInstallation:
    """A GitHub with one installation, which has a repository or not."""

    def __init__(self, state: InstallationState, has: int | None = OURS) -> None:
        self._state = state
        self._has = has

    async def installation_of(self, _repo: Repo) -> int | None:
        return self._has

    async def installation_state(self, _installation_id: int) -> InstallationState:
        return self._state


class OneRepository:
    """A store that knows one repository."""

    @property
    def repos(self) -> "OneRepository":
        return self

    async def get(self, repo_id: RepoId) -> Repo | None:
        return Repo(repo_id, "o", "n", "main", OURS) if repo_id in BACK else None


@pytest.mark.parametrize(
    ("event", "has", "then"),
    [
        (InstallationEvent(OURS, gone=BACK), None, (BACK, ())),
        (InstallationEvent(OURS, gone=BACK), OURS, ((), BACK)),
        (InstallationEvent(OURS, gone=BACK), OTHERS, ((), ())),
        (InstallationEvent(OURS, back=BACK), None, (BACK, ())),
        (InstallationEvent(OURS, back=BACK), OTHERS, ((), ())),
        (InstallationEvent(OURS, active=True, back=BACK), None, (BACK, ())),
        (InstallationEvent(OURS, gone=BACK, deleted=True), OURS, (BACK, ())),
        (InstallationEvent(OURS, gone=(RepoId(9),)), None, ((), ())),
    ],
)
async def test_a_repository_is_where_github_says_it_is_now_whatever_a_late_event_says(
    event: InstallationEvent, has: int | None, then: tuple[tuple[RepoId, ...], ...]
) -> None:
    github: Any = OneInstallation(ACTIVE, has)
    store: Any = OneRepository()
    plan = await plan_installation(github, store, event)
    assert plan.installation is not None
    assert (plan.installation.gone, plan.installation.back) == then


@pytest.mark.parametrize(
    ("active", "back", "now", "then"),
    [
        (True, BACK, ACTIVE, (True, BACK)),
        (True, BACK, SUSPENDED, (False, BACK)),
        (True, BACK, GONE, (False, ())),
        (False, (), ACTIVE, (True, ())),
        (None, BACK, ACTIVE, (None, BACK)),
        (None, BACK, SUSPENDED, (False, BACK)),
        (None, BACK, GONE, (False, ())),
        (None, (), GONE, (None, ())),
    ],
)
async def test_an_event_that_came_late_does_not_undo_a_newer_one(
    active: bool | None,
    back: tuple[RepoId, ...],
    now: InstallationState,
    then: tuple[bool | None, tuple[RepoId, ...]],
) -> None:
    github: Any = OneInstallation(now)
    store: Any = OneRepository()
    plan = await plan_installation(github, store, InstallationEvent(OURS, active, back=back))
    assert plan.installation is not None
    assert (plan.installation.active, plan.installation.back) == then
