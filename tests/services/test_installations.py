"""An event of an installation counts by what GitHub says of it now."""

from typing import Any

import pytest

from bot.core.github.events import InstallationEvent, InstallationState
from bot.core.model.ids import RepoId
from bot.services.events.installation import plan_installation

ACTIVE, SUSPENDED, GONE = InstallationState
BACK = (RepoId(8),)


class OneInstallation:
    """A GitHub with one installation."""

    def __init__(self, state: InstallationState) -> None:
        self._state = state

    async def installation_state(self, _installation_id: int) -> InstallationState:
        return self._state


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
    plan = await plan_installation(github, InstallationEvent(70, active, back=back))
    assert plan.installation is not None
    assert (plan.installation.active, plan.installation.back) == then
