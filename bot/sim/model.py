"""The objects of the simulated GitHub, as plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
    private: bool = False
    levels: dict[str, str] = field(default_factory=dict)
    role_names: dict[str, str] = field(default_factory=dict)
    vars: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    next_number: int = 1

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner.login}/{self.name}"

    def branch_ref(self, branch: str) -> str:
        """Return the full ref of a branch inside the shared object store."""
        if self.parent is not None:
            return f"refs/forks/{self.id}/heads/{branch}"
        return f"refs/heads/{branch}"


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
    payload: dict[str, Any] = field(default_factory=dict)
    pull: Pull | None = None
    attempt: int = 1
    status: str = "queued"
    conclusion: str | None = None
    jobs: list[Job] = field(default_factory=list)
    cancelled: bool = False
    forced: bool = False
    past: list[tuple[datetime, dict[str, Any]]] = field(default_factory=list)

    def latest(self) -> list[Job]:
        """Return the newest job of each key."""
        newest = {job.key: job for job in sorted(self.jobs, key=lambda job: job.attempt)}
        return sorted(newest.values(), key=lambda job: job.id)

    def of_attempt(self, attempt: int) -> list[Job]:
        """Return the jobs that ran in that attempt."""
        return [job for job in self.jobs if job.attempt == attempt]
