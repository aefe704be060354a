"""`Simulation`: every part of the simulated GitHub, put together but not served yet."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.sim.actions import Actions
from bot.sim.auth import Oidc, key_pair
from bot.sim.checks import Checks
from bot.sim.clock import Clock, RealClock
from bot.sim.deliveries import Deliveries
from bot.sim.engine import Engine, Progress, RunnerOptions
from bot.sim.git import Files, GitRepo
from bot.sim.limits import Calls, Fault, Faults, RateLimit
from bot.sim.model import App, CheckRun, Installation, Pull, Repo, Run, State, User
from bot.sim.people import People
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


class Simulation:
    """The simulated GitHub without its server. The REST handlers and the pages work on it."""

    def __init__(self, clock: Clock | None = None, options: SimOptions | None = None) -> None:
        options = options or SimOptions()
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
        self.oidc = Oidc(self.state)
        self.faults = Faults()
        self.limit = RateLimit(self.state.clock, options.per_hour)
        self.calls = Calls()
        self._make_actions_app()

    def _make_actions_app(self) -> None:
        github = self.user("github", kind="Organization")
        now = self.state.clock.now()
        app = App(ACTIONS_APP_ID, "github-actions", github, {"actions": "read"}, [], now)
        app.bot = self.user("github-actions[bot]", kind="Bot")
        self.state.actions_app = app

    @property
    def url(self) -> str:
        """Return the base address of the REST API, the pages and the OIDC issuer."""
        return self.state.url

    def user(self, login: str, kind: str = "User") -> User:
        """Return a user. A new one is made (`kind`: User, Organization or Bot)."""
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
        """Register the app under test. Without `public_key` it gets a key pair (`private_key`)."""
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

    def create_repo(self, full_name: str, source: Path | Files) -> Repo:
        """Make a repository from a directory or from `{path: content}`."""
        owner, _, name = full_name.partition("/")
        account, now = self.user(owner, kind="Organization"), self.state.clock.now()
        number = self.state.new_id()
        git = GitRepo.create(self.folder / "repos" / f"{number}.git")
        if isinstance(source, Path):
            sha = git.commit_directory(source, "Initial commit", owner, now)
        else:
            sha = git.commit([], source, "Initial commit", owner, now)
        git.set_ref("refs/heads/main", sha)
        repo = Repo(number, account, name, git, now)
        self.state.repos[repo.id] = repo
        return repo

    def grant(
        self, login: str, level: str, repo: str | Repo | None = None, *, role: str | None = None
    ) -> User:
        """Give a level (admin maintain write triage read none). `role` names a custom role."""
        found, user = self.state.repo(repo), self.user(login)
        found.levels[login.lower()] = level
        if role is not None:
            found.role_names[login.lower()] = role
        return user

    def rename_user(self, login: str, new: str) -> User:
        """Rename a user, who keeps levels and teams; anybody may take the old login then."""
        user, old, name = self.state.user(login), login.lower(), new.lower()
        named: list[dict[str, Any]] = [self.state.users, *self.state.teams.values()]
        for repo in self.state.repos.values():
            named += [repo.levels, repo.role_names]
        for by_login in named:
            if old in by_login:
                by_login[name] = by_login.pop(old)
        user.login = new
        return user

    def team(self, org: str, slug: str, members: dict[str, str]) -> None:
        """Make a team: login → `active` or `pending`."""
        self.state.teams[(org, slug)] = {login.lower(): how for login, how in members.items()}

    def suspend(self, installation: Installation, *, suspended: bool = True) -> None:
        """Suspend an installation, or end its suspension."""
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

    def pull(self, number: int, repo: str | Repo | None = None) -> Pull:
        """Return a pull request."""
        return self.state.pull(number, repo)

    def check_runs(self, sha: str | None = None) -> list[CheckRun]:
        """Return the check runs of the app under test, of a commit or all, oldest first."""
        ours = [run for run in self.state.checks.values() if run.suite.app is self.state.the_app()]
        return [run for run in ours if sha in {None, run.head_sha}]

    def check(self, name: str, sha: str) -> CheckRun | None:
        """Return the newest check run of that name on a commit."""
        found = [run for run in self.check_runs(sha) if run.name == name]
        return found[-1] if found else None

    def comments(self, pull: int | Pull) -> list[str]:
        """Return the bodies of a pull request's comments, oldest first."""
        return [one.body for one in self.state.comments_of(self.state.pull(pull))]

    def runs(self, repo: str | Repo | None = None) -> list[Run]:
        """Return the workflow runs, oldest first."""
        return self.actions.runs(self.state.repo(repo))

    def expire_tokens(self) -> None:
        """Let every installation token expire now."""
        for token in self.state.tokens.values():
            token.expires_at = self.state.clock.now()

    def fault(self, kind: str, method: str = "*", path: str = "*", **more: Any) -> Fault:
        """Inject a fault: `kind` and `more` as in `faults.Fault`; `path` is a glob."""
        return self.faults.inject(Fault(kind, method, path, **more))
