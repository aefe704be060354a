"""Looks whether GitHub sends the app what it needs, and lets it do what it has to."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core.github.grants import Grants, lacking
from bot.core.messages import Message
from bot.ports.errors import Permanent, Transient
from bot.services.workers import Deps, Service
from bot.telemetry import get_log

_LOOK_EVERY = timedelta(days=1)
_TRY_AGAIN = timedelta(minutes=5)

Tell = Callable[[list[dict[str, str]]], None]


class GrantsWatch(Service):
    """Compares what the app and each installation of it have with what the features need."""

    def __init__(self, deps: Deps, tell: Tell) -> None:
        """``tell`` gets what is lacking, for the health of this process."""
        super().__init__(deps)
        self._tell = tell
        self._due = datetime.min.replace(tzinfo=UTC)
        self._log = get_log("grants")

    async def step(self) -> bool:
        """Look at the start of the process and once a day; return False, for the loop to pause."""
        now = self._clock.now()
        if now < self._due:
            return False
        self._due = now + _TRY_AGAIN
        try:
            found = await self._look()
        except Transient as error:
            if not error.is_told:
                self._log.warning("the app's permissions can't be read now", why=str(error))
            return False
        except Permanent as error:
            self._log.error("the app's permissions can't be read", why=str(error))
            return False
        self._due = now + _LOOK_EVERY
        for item in found:
            self._log.warning("the app lacks something on GitHub", **item)
        self._tell(found)
        return False

    async def _look(self) -> list[dict[str, str]]:
        asked = await self._github.app_grants()
        found = list(_described("app", asked))
        known = {item["lacks"] for item in found}
        installations = set()
        for repo in await self._store.repos.active():
            if repo.installation_id in installations:
                continue
            installations.add(repo.installation_id)
            granted = await self._github.installation_grants(repo)
            described = _described(repo.owner, granted)
            found += [item for item in described if item["lacks"] not in known]
        return found


def _described(where: str, grants: Grants) -> Iterable[dict[str, Any]]:
    for item in lacking(grants):
        yield {"where": where, "lacks": item.what, "feature": str(Message(item.feature))}
