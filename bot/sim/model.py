"""The objects of the simulated GitHub, as plain records, and the state that holds them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bot.sim.clock import Clock
from bot.sim.errors import CannotError, not_found
from bot.sim.git import GitRepo

LEVELS = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(slots=True)
class User:
    """A person, an organisation (`type="Organization"`) or a bot account."""

    id: int
    login: str
    type: str = "User"


@dataclass(slots=True)
class App:
    """A GitHub App. `public_key` is PEM; `None` only for apps that never sign in."""

    id: int
    slug: str
    owner: User
    permissions: dict[str, str]
    events: list[str]
    created_at: datetime
    secret: str = ""
    public_key: str | None = None
    private_key: str | None = None
    webhook_url: str | None = None
    bot: User | None = None


@dataclass(slots=True)
class Installation:
    """The app on an account. `repositories=None` means all of the account's."""

    id: int
    app: App
    account: User
    created_at: datetime
    suspended: bool = False
    without: set[int] = field(default_factory=set)  # repositories that were taken out


@dataclass(slots=True)
class Token:
    """An installation token; `repository_ids=None` means every repository of the installation."""

    value: str
    installation: Installation
    expires_at: datetime
    permissions: dict[str, str]
    repository_ids: set[int] | None = None


@dataclass(slots=True)
class Repo:
    """A repository. A fork's refs lie in its base's git repository, under `refs/forks/<id>/`."""

    id: int
    owner: User
    name: str
    git: GitRepo
    created_at: datetime
    default_branch: str = "main"
    parent: Repo | None = None
    levels: dict[str, str] = field(default_factory=dict)
    role_names: dict[str, str] = field(default_factory=dict)
    vars: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    next_number: int = 1
    protected: set[str] = field(default_factory=set)  # globs of branches

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner.login}/{self.name}"

    def branch_ref(self, branch: str) -> str:
        """Return the full ref of a branch inside the shared object store."""
        if self.parent is not None:
            return f"refs/forks/{self.id}/heads/{branch}"
        return f"refs/heads/{branch}"

    def is_protected(self, branch: str) -> bool:
        """Return True if a rule protects the branch."""
        return any(fnmatchcase(branch, glob) for glob in self.protected)


@dataclass(slots=True)
class Pull:
    """A pull request. `head_repo=None` once the fork has been deleted."""

    id: int
    number: int
    repo: Repo
    author: User
    title: str
    body: str
    base_ref: str
    base_sha: str
    head_repo: Repo | None
    head_label: str
    head_ref: str
    head_sha: str
    created_at: datetime
    updated_at: datetime
    is_fork: bool = False
    draft: bool = False
    state: str = "open"
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_sha: str | None = None
    closed_at: datetime | None = None
    labels: list[str] = field(default_factory=list)
    tested: tuple[str, str] | None = None  # base and head of the newest test merge


@dataclass(frozen=True, slots=True)
class Push:
    """A ref that moved."""

    repo: Repo
    ref: str
    before: str
    after: str
    by: User
    at: datetime
    forced: bool = False


@dataclass(slots=True)
class Comment:
    """A comment on a pull request."""

    id: int
    pull: Pull
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    app: App | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True)
class Reaction:
    """One emoji by one user on a comment."""

    id: int
    user: User
    content: str
    created_at: datetime


@dataclass(slots=True)
class CheckSuite:
    """The check runs of one app on one commit (for Actions: of one workflow run)."""

    id: int
    repo: Repo
    app: App
    head_sha: str
    head_branch: str | None
    created_at: datetime
    updated_at: datetime
    before: str | None = None
    status: str = "queued"
    conclusion: str | None = None
    open_run: bool = False  # a workflow run may still add checks to it
    runs: list[CheckRun] = field(default_factory=list)


@dataclass(slots=True)
class CheckRun:
    """A check run. `actions` are its buttons, `past` its earlier states for the lists that lag."""

    id: int
    suite: CheckSuite
    name: str
    head_sha: str
    external_id: str = ""
    details_url: str | None = None
    status: str = "queued"
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    actions: list[dict[str, str]] = field(default_factory=list)
    past: list[tuple[datetime, dict[str, Any]]] = field(default_factory=list)


@dataclass(slots=True)
class Workflow:
    """A workflow file on the default branch."""

    id: int
    repo: Repo
    path: str
    name: str
    created_at: datetime
    state: str = "active"


@dataclass(slots=True)
class Step:
    """A step of a job, as the API shows it."""

    number: int
    name: str
    status: str = "queued"
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(slots=True)
class Job:
    """One job of one attempt. `log` holds the lines, newest last."""

    id: int
    run: Run
    attempt: int
    key: str
    name: str
    labels: list[str]
    created_at: datetime
    status: str = "queued"
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    runner_id: int | None = None
    runner_name: str | None = None
    steps: list[Step] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    check: CheckRun | None = None
    oidc_secret: str | None = None


@dataclass(slots=True)
class Run:
    """A workflow run. `jobs` are the jobs of every attempt, `past` is as for check runs."""

    id: int
    repo: Repo
    workflow: Workflow
    event: str
    ref: str
    head_sha: str
    actor: User
    triggering_actor: User
    number: int
    title: str
    suite: CheckSuite
    created_at: datetime
    started_at: datetime
    updated_at: datetime
    source: str
    head_branch: str | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    pull: Pull | None = None
    fields: dict[str, Any] = field(default_factory=dict)  # of its event, such as `schedule`
    attempt: int = 1
    status: str = "queued"
    conclusion: str | None = None
    jobs: list[Job] = field(default_factory=list)
    cancelled: bool = False
    forced: bool = False
    past: list[tuple[datetime, dict[str, Any]]] = field(default_factory=list)

    def latest(self) -> list[Job]:
        """Return the newest job of each key and, in a matrix, name."""
        ordered = sorted(self.jobs, key=lambda job: job.attempt)
        newest = {(job.key, job.name): job for job in ordered}
        return sorted(newest.values(), key=lambda job: job.id)

    def of_attempt(self, attempt: int) -> list[Job]:
        """Return the jobs that ran in that attempt."""
        return [job for job in self.jobs if job.attempt == attempt]


@dataclass
class State:
    """All objects by id. The parts of a simulation share it."""

    clock: Clock
    folder: Path
    lag_s: float = 1.5  # within the 1-3 s that GitHub's lists were seen to trail
    url: str = "http://127.0.0.1"
    most_listed: int = 1000  # runs that a filtered list shows
    users: dict[str, User] = field(default_factory=dict)
    repos: dict[int, Repo] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    pulls: dict[tuple[int, int], Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    pushes: list[Push] = field(default_factory=list)
    suites: dict[int, CheckSuite] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    workflows: dict[tuple[int, str], Workflow] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    teams: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    app: App | None = None
    actions_app: App | None = None
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1001))

    def new_id(self) -> int:
        """Return the next id. The same steps give the same ids."""
        return next(self._ids)

    def the_app(self) -> App:
        """Return the app under test."""
        if self.app is None:
            raise CannotError("no app has been created yet")
        return self.app

    def user(self, login: str | User) -> User:
        """Return a user by login, in any case. Raises `CannotError` if there is none."""
        if isinstance(login, User):
            return login
        found = self.users.get(login.lower())
        if found is None:
            raise CannotError(f"no user {login!r}")
        return found

    def repo(self, name: str | Repo | None = None) -> Repo:
        """Return a repository by `owner/name`, the first one created for `None`."""
        if isinstance(name, Repo):
            return name
        for repo in self.repos.values():
            if name is None or repo.full_name.lower() == name.lower():
                return repo
        raise CannotError(f"no repository {name!r}")

    def pull(self, number: int | Pull, repo: str | Repo | None = None) -> Pull:
        """Return a pull request by number."""
        if isinstance(number, Pull):
            return number
        found = self.pulls.get((self.repo(repo).id, number))
        if found is None:
            raise not_found()
        return found

    def pulls_of(self, repo: Repo) -> list[Pull]:
        """Return the repository's pull requests, newest first."""
        return sorted(
            (pull for pull in self.pulls.values() if pull.repo is repo),
            key=lambda pull: -pull.number,
        )

    def comments_of(self, pull: Pull) -> list[Comment]:
        """Return the comments of a pull request, oldest first."""
        return [comment for comment in self.comments.values() if comment.pull is pull]

    def job(self, number: int) -> Job | None:
        """Return a job by its id."""
        jobs = (job for run in self.runs.values() for job in run.jobs)
        return next((job for job in jobs if job.id == number), None)

    def level(self, repo: Repo, login: str) -> str:
        """Return a user's effective level. Everybody can read a public repository."""
        if repo.owner.login.lower() == login.lower():
            return "admin"
        return repo.levels.get(login.lower(), "read")

    def node_id(self, kind: str, number: int) -> str:
        """Return an opaque global id."""
        return f"{kind}_{number:012d}"

    def installation_for(self, repo: Repo) -> Installation | None:
        """Return the app's installation on a repository's owner."""
        found = (one for one in self.installations.values() if one.account is repo.owner)
        return next((one for one in found if repo.id not in one.without), None)

    def seen(self, past: list[tuple[datetime, dict[str, Any]]]) -> dict[str, Any] | None:
        """Return an object as lists show it: as it was `lag_s` ago, `None` if not there yet."""
        until = self.clock.now() - timedelta(seconds=self.lag_s)
        return next((look for when, look in reversed(past) if when <= until), None)
