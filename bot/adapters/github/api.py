"""The base of all named calls: a channel for each repository, and checked answers."""

from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Any, TypeVar

import aiohttp
import structlog
from cachetools import TTLCache

from bot.adapters.github import decode
from bot.adapters.github.auth import AppCredentials, InstallationCredentials
from bot.adapters.github.channel import Call, Channel
from bot.adapters.github.outages import Outages
from bot.adapters.github.wire import OnCall, Wire
from bot.core.model.ids import RepoId
from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.policy.levels import Level
from bot.ports.clock import Clock
from bot.ports.errors import Permanent

T = TypeVar("T")

INSTALLATION_S = 3600.0  # seconds to cache an installation; webhooks report changes sooner
PERMISSION_S = 60.0  # seconds to cache a permission, so that decisions are recent
PROTECTION_S = 300.0  # seconds to cache whether a branch is protected
MANY = 10_000  # entries of a cache of small values


class Api:
    """Holds one channel for each installation, and one for the app."""

    def __init__(  # noqa: PLR0913  the wiring of the application, all by keyword
        self,
        session: aiohttp.ClientSession,
        *,
        app_id: str,
        private_key: str,
        api_url: str,
        api_version: str,
        clock: Clock,
        outages: Outages,
        on_call: OnCall | None = None,
        writes_per_s: float = 1.0,
    ) -> None:
        self._app_id = str(app_id)
        self._api_url = api_url
        self._clock = clock
        self._writes_per_s = writes_per_s
        self._outages = outages
        self._wire = Wire(session, api_version=api_version, on_call=on_call)
        self._log = structlog.get_logger("bot.adapters.github")
        app = AppCredentials(self._app_id, private_key, clock)
        self._app = Channel(self._wire, api_url, app, clock, outages=outages)
        self._channels: dict[int, Channel] = {}
        self.part = 1.0
        """The part of the pace of writes that this process has."""
        self._installations: TTLCache[RepoId, int] = self._kept(INSTALLATION_S)
        self._levels: TTLCache[tuple[RepoId, int], tuple[Level, str]] = self._kept(PERMISSION_S)
        self._account: Account | None = None  # of the app
        self._protected: TTLCache[tuple[RepoId, str], bool] = self._kept(PROTECTION_S)
        self._hidden_teams: set[str] = set()  # owners whose teams the app can't see

    def _kept(self, seconds: float) -> TTLCache[Any, Any]:
        return TTLCache(MANY, seconds, timer=lambda: self._clock.now().timestamp())

    async def _channel(self, repo: Repo) -> Channel:
        """Return the repository's channel; ask GitHub for an unknown installation."""
        installation = repo.installation_id or self._installations.get(repo.id)
        if installation is None:
            installation = await self._look_up(repo)
        if installation not in self._channels:
            self._channels[installation] = self._open(installation)
            self._channels[installation].share(self.part)
        return self._channels[installation]

    def share(self, part: float) -> bool:
        """Pace each installation's writes by this part; return True if some waited since then."""
        self.part = part
        waited = [channel.share(part) for channel in self._channels.values()]
        return any(waited)

    async def _look_up(self, repo: Repo) -> int:
        url = "/repos/{owner}/{repo}/installation"
        call = get(repo, "installation", url)
        found = await self._app.call(call, lambda data: int(data["id"]))
        self._installations[repo.id] = found
        return found

    def _open(self, installation: int) -> Channel:
        async def fetch() -> tuple[str, datetime]:
            return await self._fetch_token(installation)

        credentials = InstallationCredentials(fetch, self._clock)
        given = (self._wire, self._api_url, credentials, self._clock)
        return Channel(*given, outages=self._outages, writes_per_s=self._writes_per_s)

    async def _fetch_token(self, installation: int) -> tuple[str, datetime]:
        url = "/app/installations/{id}/access_tokens"
        call = Call("token", "POST", url, {"id": installation}, repeat=True)
        return await self._app.call(
            call, lambda data: (str(data["token"]), decode.time(data["expires_at"]))
        )

    async def _read(self, repo: Repo, call: Call, read: Callable[[Any], T]) -> T:
        """Make a call and decode its answer."""
        return await (await self._channel(repo)).call(call, read)

    async def _maybe(self, repo: Repo, call: Call, read: Callable[[Any], T]) -> T | None:
        """Read something that may not exist."""
        try:
            return await self._read(repo, call, read)
        except Permanent as exc:
            if exc.is_gone:
                return None
            raise

    async def _list(
        self, repo: Repo, call: Call, key: str, read: Callable[[Any], T]
    ) -> tuple[T, ...]:
        """Read all pages of a list."""
        pages = self._pages(repo, call, key, read)
        return tuple([item async for page in pages for item in page])

    async def _pages(
        self, repo: Repo, call: Call, key: str, read: Callable[[Any], T]
    ) -> AsyncGenerator[list[T], None]:
        """Yield decoded pages; the caller may stop early."""
        channel = await self._channel(repo)
        async for page in channel.pages(call, key, read):
            yield page


def named(repo: Repo, **more: str | int | None) -> dict[str, str | int | None]:
    """Return the variables of a URL template: the repository's names and further ones."""
    return {"owner": repo.owner, "repo": repo.name, **more}


def get(repo: Repo, operation: str, url: str, **values: str | int | None) -> Call:
    """Return a read call about a repository."""
    return Call(operation, "GET", url, named(repo, **values), repeat=True)
