"""Calls on permissions and teams."""

from dataclasses import replace
from functools import partial

from bot.adapters.github import decode
from bot.adapters.github.api import Api, get
from bot.adapters.github.channel import ORDINARY, Call
from bot.core.github.events import InstallationState
from bot.core.github.grants import Grants
from bot.core.model.ids import Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.policy.levels import Level
from bot.ports.errors import Permanent

NOT_FOUND = 404
FORBIDDEN = 403
HIDDEN = ORDINARY | {FORBIDDEN}


class PeopleCalls(Api):
    """The calls on permissions and teams."""

    async def permission(self, repo: Repo, account: Account) -> Level:
        """Return a person's level (cached for at most 60 s); NONE for unknown people."""
        return (await self._known(repo, account))[0]

    async def _known(self, repo: Repo, account: Account) -> tuple[Level, str]:
        """Return a person's level, and their login now; "" if it can't be told."""
        if not account:
            return Level.NONE, ""
        key = (repo.id, account.id)
        known: tuple[Level, str] | None = self._levels.get(key)
        if known is None:
            known = await self._ask(repo, account)
            self._levels[key] = known
        return known

    async def _ask(self, repo: Repo, account: Account) -> tuple[Level, str]:
        """Ask by the login, as GitHub wants it; if it is another person's now, by the new one."""
        level, login = await self._level(repo, account.id, account.login), account.login
        if level is None:
            call = get(repo, "user", "/user/{id}", id=account.id)
            now = await self._maybe(repo, call, decode.account)
            login = now.login if now and now.login != login else ""
            level = await self._level(repo, account.id, login) if login else None
        return (Level.NONE, "") if level is None else (level, login)

    async def _level(self, repo: Repo, number: int, login: str) -> Level | None:
        """Return the level of a login; None if it is not this account's."""
        url = "/repos/{owner}/{repo}/collaborators/{login}/permission"
        call = get(repo, "permission", url, login=login)
        found = await self._maybe(
            repo, call, lambda data: (decode.account(data["user"]), decode.level(data))
        )
        return found[1] if found and found[0].id == number else None

    async def account_id(self, repo: Repo, login: str) -> int:
        """Return the number of the account that has a login now; 0 if nobody has it."""
        call = get(repo, "user", "/users/{login}", login=login)
        found = await self._maybe(repo, call, decode.account)
        return found.id if found else 0

    async def pusher(self, repo: Repo, pull: Pull, sha: Sha) -> Account:
        """Return who pushed a commit to a pull request's branch.

        Nobody if GitHub does not say: the fork is private, or the push is too old for one page.
        """
        url = "/repos/{owner}/{repo}/activity?per_page=100{&ref}"
        where = {"owner": pull.head_owner.login, "repo": pull.head_name}
        ref = {"ref": f"refs/heads/{pull.head_ref}"}
        call = Call("pusher", "GET", url, {**where, **ref}, repeat=True, ordinary=HIDDEN)
        try:
            return await self._read(repo, call, lambda data: decode.pusher(data, sha))
        except Permanent as exc:
            if exc.status not in {FORBIDDEN, NOT_FOUND}:
                raise
            return NOBODY

    async def in_team(self, repo: Repo, team: str, account: Account) -> bool:
        """Return True if a person is an active member of the owner's team.

        Return False if the app can't see the team: ``members: read`` is optional.
        """
        _, login = await self._known(repo, account)
        if not login:
            return False
        url = "/orgs/{owner}/teams/{team}/memberships/{login}"
        try:
            call = replace(get(repo, "in_team", url, team=team, login=login), ordinary=HIDDEN)
            return await self._read(repo, call, lambda data: bool(data["state"] == "active"))
        except Permanent as exc:
            if exc.status == FORBIDDEN:
                self._warn_of(repo.owner, str(exc))
            elif exc.status != NOT_FOUND:
                raise
            return False

    async def app_grants(self) -> Grants:
        """Return the permissions and events that the app asks for."""
        return await self._app.call(Call("app", "GET", "/app", {}, repeat=True), decode.grants)

    async def installation_grants(self, repo: Repo) -> Grants:
        """Return the permissions and events that the repository's owner granted the app."""
        call = get(repo, "installation", "/repos/{owner}/{repo}/installation")
        return await self._app.call(call, decode.grants)

    async def installation_state(self, installation_id: int) -> InstallationState:
        """Return what an installation is now."""
        url = "/app/installations/{id}"
        call = Call("installation", "GET", url, {"id": installation_id}, repeat=True)
        try:
            suspended_at = await self._app.call(call, lambda data: data["suspended_at"])
        except Permanent as exc:
            if exc.is_gone:
                return InstallationState.GONE
            raise
        return InstallationState.SUSPENDED if suspended_at else InstallationState.ACTIVE

    async def repo_now(self, repo: Repo) -> Repo | None:
        """Return a repository under the name that it has now; None: another one has its name.

        Raise ``Permanent`` if the app sees neither the name nor the repository. GitHub leads from
        an old name to the new one, until another repository gets the old one.
        """
        read = partial(decode.repo_now, repo)
        call = get(repo, "repo", "/repos/{owner}/{repo}")
        named = await self._maybe(repo, call, read)
        if named and named.id == repo.id:
            return named
        listing = Call("installed", "GET", "/installation/repositories?per_page=100", repeat=True)
        listed = await self._list(repo, listing, "repositories", read)
        found = next((one for one in listed if one.id == repo.id), None)
        if found is None and named is None:
            raise Permanent(f"GitHub shows no {repo.full_name}", status=NOT_FOUND)
        return found

    async def installation_of(self, repo: Repo) -> int | None:
        """Return the installation that has a repository now; None if there is none."""
        call = get(repo, "installation", "/repos/{owner}/{repo}/installation")
        try:
            return await self._app.call(call, lambda data: int(data["id"]))
        except Permanent as exc:
            if exc.is_gone:
                return None
            raise

    async def app_account(self, repo: Repo) -> Account:
        """Return the account under which the app acts; asked for once."""
        if self._account is None:
            app = Call("app", "GET", "/app", {}, repeat=True)
            login = await self._app.call(app, lambda data: f"{data['slug']}[bot]")
            call = get(repo, "user", "/users/{login}", login=login)
            self._account = await self._read(repo, call, decode.account)
        return self._account

    def _warn_of(self, owner: str, why: str) -> None:
        """Log once for an owner that `trust.teams` can't work there."""
        if owner not in self._hidden_teams:
            self._hidden_teams.add(owner)
            self._log.warning("teams hidden", owner=owner, reason=why)
