"""`SimGitHub`: the simulation put together, as an object and as a server."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from aiohttp import web

from bot.sim import oidc, page, rest_actions, rest_app, rest_checks, rest_pulls, rest_repos
from bot.sim.actions import Actions
from bot.sim.auth import key_pair
from bot.sim.checks import Checks
from bot.sim.clock import Clock, RealClock, stamp
from bot.sim.control import add_routes as add_control
from bot.sim.deliveries import Deliveries, Delivery
from bot.sim.engine import Engine, RunnerOptions
from bot.sim.faults import Fault, Faults
from bot.sim.git import Files, GitRepo
from bot.sim.limits import Calls, RateLimit
from bot.sim.model import App, CheckRun, Installation, Pull, Repo, Run, User
from bot.sim.people import People
from bot.sim.progress import Progress
from bot.sim.server import Pipeline, Seen
from bot.sim.state import State
from bot.sim.webhooks import Webhooks

ACTIONS_APP_ID = 15368
PERMISSIONS = {
    "metadata": "read",
    "contents": "read",
    "actions": "write",
    "checks": "write",
    "pull_requests": "write",
    "issues": "write",
    "merge_queues": "read",
    "members": "read",
}
EVENTS = ["pull_request", "issue_comment", "check_run", "check_suite", "workflow_run"]
EVENTS += ["workflow_job", "push", "merge_group", "repository"]
ROUTES = [
    *rest_app.ROUTES,
    *rest_actions.ROUTES,
    *rest_checks.ROUTES,
    *rest_pulls.ROUTES,
    *rest_repos.ROUTES,
]


@dataclass(slots=True)
class SimOptions:
    """`scripted`: no process runs, tests call `actions.start/finish`. `folder=None`: temporary.

    `lag_s`: by how much lists of runs and checks trail. `runner`: how steps stop, extra variables.
    """

    scripted: bool = False
    folder: Path | None = None
    lag_s: float = 1.5
    per_hour: int = 5000
    runner: RunnerOptions = field(default_factory=RunnerOptions)


class SimGitHub:
    """A whole GitHub: `async with SimGitHub() as github:` serves it at `github.url`."""

    def __init__(self, clock: Clock | None = None, options: SimOptions | None = None) -> None:
        options = options or SimOptions()
        self._temporary = options.folder is None
        self.folder = options.folder or Path(tempfile.mkdtemp(prefix="sim-github-"))
        self.state = State(clock or RealClock(), self.folder, lag_s=options.lag_s)
        self.deliveries = Deliveries(self.state)
        self.hooks = Webhooks(self.state, self.deliveries)
        self.checks = Checks(self.state, self.hooks)
        self.progress = Progress(self.state, self.hooks, self.checks)
        self.engine = Engine(self.state, self.progress, options.runner)
        self.actions: Actions = Actions(
            self.state, self.checks, self.progress, self.engine, scripted=options.scripted
        )
        self.people: People = People(self.state, self.hooks, self.checks, self.actions)
        self.oidc = oidc.Oidc(self.state)
        self.faults = Faults()
        self.limit = RateLimit(self.state.clock, options.per_hour)
        self.calls = Calls()
        self.problems: list[str] = []
        self.validator: Callable[[Seen], list[str]] | None = None
        self._runner: web.AppRunner | None = None
        self._pump: asyncio.Task[None] | None = None
        self._make_actions_app()

    def _make_actions_app(self) -> None:
        github = self.user("github", kind="Organization")
        now = self.state.clock.now()
        app = App(ACTIONS_APP_ID, "github-actions", github, {"actions": "read"}, [], now)
        app.bot = self.user("github-actions[bot]", kind="Bot")
        self.state.actions_app = app

    @property
    def url(self) -> str:
        """Answer the base address: of the REST API, the pages and the OIDC issuer alike."""
        return self.state.url

    # -- setting the scene ------------------------------------------------------------------

    def user(self, login: str, kind: str = "User") -> User:
        """Answer a user, making it when new (`kind`: User, Organization or Bot)."""
        if login.lower() not in self.state.users:
            self.state.users[login.lower()] = User(self.state.new_id(), login, kind)
        return self.state.users[login.lower()]

    def create_app(
        self,
        webhook_url: str | None = None,
        *,
        app_id: int = 1234,
        secret: str = "sim-webhook-secret",  # noqa: S107 - a secret of the simulation alone
        public_key: str | None = None,
        permissions: dict[str, str] | None = None,
        slug: str = "ascend-ci",
    ) -> App:
        """Register the app under test; without `public_key` it gets a key pair (`private_key`)."""
        private, public = (None, public_key) if public_key else key_pair()
        app = App(
            id=app_id,
            slug=slug,
            owner=self.user("app-owner"),
            permissions=dict(permissions or PERMISSIONS),
            events=list(EVENTS),
            created_at=self.state.clock.now(),
            secret=secret,
            public_key=public,
            private_key=private,
            webhook_url=webhook_url,
            bot=self.user(f"{slug}[bot]", kind="Bot"),
        )
        self.state.app = app
        return app

    def install(self, owner: str) -> Installation:
        """Install the app on an account's repositories."""
        now = self.state.clock.now()
        account = self.user(owner, kind="Organization")
        found = Installation(self.state.new_id(), self.state.the_app(), account, now)
        self.state.installations[found.id] = found
        self.hooks.installation(found.id, "created", account)
        return found

    def create_repo(
        self, full_name: str, source: Path | Files, *, private: bool = False, branch: str = "main"
    ) -> Repo:
        """Make a repository from a directory or from `{path: content}`."""
        owner, _, name = full_name.partition("/")
        account, now = self.user(owner, kind="Organization"), self.state.clock.now()
        number = self.state.new_id()
        git = GitRepo.create(self.folder / "repos" / f"{number}.git")
        if isinstance(source, Path):
            sha = git.commit_directory(source, "Initial commit", owner, now)
        else:
            sha = git.commit([], source, "Initial commit", owner, now)
        git.set_ref(f"refs/heads/{branch}", sha)
        repo = Repo(number, account, name, git, now, branch, private=private)
        self.state.repos[repo.id] = repo
        return repo

    def grant(
        self, login: str, level: str, repo: str | Repo | None = None, *, role: str | None = None
    ) -> User:
        """Give a level (admin maintain write triage read none); `role` names a custom role."""
        found, user = self.state.repo(repo), self.user(login)
        found.levels[login.lower()] = level
        if role is not None:
            found.role_names[login.lower()] = role
        return user

    def team(self, org: str, slug: str, members: dict[str, str]) -> None:
        """Make a team: login → `active` or `pending`."""
        self.state.teams[(org, slug)] = {login.lower(): how for login, how in members.items()}
        active = {login.lower() for login, how in members.items() if how == "active"}
        self.state.members.setdefault(org, set()).update(active)

    def suspend(self, installation: Installation, *, suspended: bool = True) -> None:
        """Suspend an installation, or lift that."""
        installation.suspended = suspended
        action = "suspend" if suspended else "unsuspend"
        self.hooks.installation(installation.id, action, installation.account)

    def rename_repo(self, name: str, by: str, repo: str | Repo | None = None) -> Repo:
        """Rename a repository."""
        found = self.state.repo(repo)
        old, found.name = found.name, name
        changes = {"repository": {"name": {"from": old}}}
        data = {"action": "renamed", "changes": changes}
        self.hooks.send("repository", data | {"sender": self.hooks.sender(self.user(by))}, found)
        return found

    # -- looking ----------------------------------------------------------------------------

    def pull(self, number: int, repo: str | Repo | None = None) -> Pull:
        """Answer a pull request."""
        return self.state.pull(number, repo)

    def check_runs(self, sha: str | None = None, app_id: int | None = None) -> list[CheckRun]:
        """Answer check runs, oldest first: of a commit and an app (default: the app under test)."""
        wanted = app_id or self.state.the_app().id
        return [
            run
            for run in self.state.checks.values()
            if run.suite.app.id == wanted and sha in {None, run.head_sha}
        ]

    def check(self, name: str, sha: str) -> CheckRun | None:
        """Answer the newest check run of that name on a commit."""
        found = [run for run in self.check_runs(sha) if run.name == name]
        return found[-1] if found else None

    def comments(self, pull: int | Pull) -> list[str]:
        """Answer the bodies of a pull request's comments, oldest first."""
        return [one.body for one in self.state.comments_of(self.state.pull(pull))]

    def runs(self, repo: str | Repo | None = None) -> list[Run]:
        """Answer the workflow runs, oldest first."""
        return self.actions.runs(self.state.repo(repo))

    def expire_tokens(self) -> None:
        """Let every installation token end now."""
        for token in self.state.tokens.values():
            token.expires_at = self.state.clock.now()

    def fault(self, kind: str, method: str = "*", path: str = "*", **more: Any) -> Fault:
        """Inject a fault: `kind` and `more` as in `faults.Fault`; `path` is a glob."""
        return self.faults.inject(Fault(kind, method, path, **more))

    def validate(self, validator: Any) -> None:
        """Check all with `validator.call(Seen)` and `.webhook(Delivery)`, lists of problems."""
        self.validator = validator.call
        self.deliveries.validator = validator.webhook

    def all_problems(self) -> list[str]:
        """Answer what the validator found so far, in calls and in webhooks."""
        return [*self.problems, *self.deliveries.problems]

    def log_link(self, name: str) -> str:
        """Answer a link to a log that needs no credentials, good for a minute."""
        made = quote(stamp(self.state.clock.now()))
        return f"{self.url}/_logs/{name}?made={made}"

    # -- serving ----------------------------------------------------------------------------

    def application(self) -> web.Application:
        """Build the aiohttp application."""
        app = web.Application(client_max_size=32 * 1024 * 1024)
        for route in ROUTES:
            app.router.add_route(route.method, route.template, Pipeline(self, route).__call__)
        app.router.add_get("/_logs/{name}", self._log)
        oidc.add_routes(app, self)
        add_control(app, self)
        page.add_routes(app, self)
        return app

    async def _log(self, request: web.Request) -> web.Response:
        kind, _, rest = request.match_info["name"].partition("-")
        number = int(rest.partition(".")[0])
        if rest_actions.link_expired(request.query.get("made", ""), self.state.clock.now()):
            return web.Response(status=403, text="AuthenticationFailed")
        for run in self.state.runs.values():
            if kind == "run" and run.id == number:
                return web.Response(body=rest_actions.log_zip(run), content_type="application/zip")
            for job in run.jobs:
                if kind == "job" and job.id == number:
                    return web.Response(body=rest_actions.log_text(job), content_type="text/plain")
        return web.Response(status=404, text="BlobNotFound")

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> str:
        """Serve on a port (0: any free one); answers the URL."""
        self._runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        bound = self._runner.addresses[0][1]
        self.state.url = f"http://{host}:{bound}"
        self._pump = asyncio.create_task(self.deliveries.run())
        return self.state.url

    async def close(self) -> None:
        """Stop everything: jobs are killed and awaited, temporary files removed."""
        await self.engine.close()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        await self.deliveries.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


__all__ = ["Delivery", "SimGitHub", "SimOptions"]
