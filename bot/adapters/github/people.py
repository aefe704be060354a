"""Calls on permissions and teams."""

from bot.adapters.github import decode
from bot.adapters.github.api import Api, get, understood
from bot.adapters.github.channel import Call
from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.policy.levels import Level
from bot.ports.errors import Permanent

NOT_FOUND = 404
FORBIDDEN = 403


class PeopleCalls(Api):
    """The calls on permissions and teams."""

    async def permission(self, repo: Repo, login: str) -> Level:
        """Return a person's level (cached for at most 60 s); NONE for unknown people."""
        if not login:
            return Level.NONE
        key = (repo.id, login.lower())
        level: Level | None = self._levels.get(key)
        if level is None:
            level = await self._permission(repo, login)
            self._levels[key] = level
        return level

    async def _permission(self, repo: Repo, login: str) -> Level:
        url = "/repos/{owner}/{repo}/collaborators/{login}/permission"
        try:
            return await self._read(repo, get(repo, "permission", url, login=login), decode.level)
        except Permanent as exc:
            if exc.status == NOT_FOUND:
                return Level.NONE
            raise

    async def in_team(self, repo: Repo, team: str, login: str) -> bool:
        """Return True if a person is an active member of the owner's team.

        Return False if the app can't see the team: ``members: read`` is optional.
        """
        if not login:
            return False
        url = "/orgs/{owner}/teams/{team}/memberships/{login}"
        try:
            call = get(repo, "in_team", url, team=team, login=login)
            return await self._read(repo, call, lambda data: bool(data["state"] == "active"))
        except Permanent as exc:
            if exc.status == FORBIDDEN:
                self._warn_of(repo.owner, str(exc))
            elif exc.status != NOT_FOUND:
                raise
            return False

    async def app_account(self, repo: Repo) -> Account:
        """Return the account under which the app acts; asked for once."""
        if self._account is None:
            app = Call("app", "GET", "/app", {}, repeat=True)
            answer = await self._app.call(app)
            with understood(app):
                login = f"{answer.data['slug']}[bot]"
            call = get(repo, "user", "/users/{login}", login=login)
            self._account = await self._read(repo, call, decode.account)
        return self._account

    def _warn_of(self, owner: str, why: str) -> None:
        """Log once for an owner that `trust.teams` can't work there."""
        if owner not in self._hidden_teams:
            self._hidden_teams.add(owner)
            self._log.warning("teams hidden", owner=owner, reason=why)
