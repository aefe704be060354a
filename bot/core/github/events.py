"""GitHub's events, typed: one frozen value for each, named as GitHub names the event."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun


class PullRequestAction(StrEnum):
    """The actions of ``pull_request`` that can change what should run."""

    OPENED = "opened"
    REOPENED = "reopened"
    SYNCHRONIZE = "synchronize"
    EDITED = "edited"
    CLOSED = "closed"
    CONVERTED_TO_DRAFT = "converted_to_draft"
    READY_FOR_REVIEW = "ready_for_review"


class CheckRunAction(StrEnum):
    """The actions of ``check_run`` that come from a person; all others echo our own writes."""

    REREQUESTED = "rerequested"
    REQUESTED_ACTION = "requested_action"


class WorkflowRunAction(StrEnum):
    """How far a workflow run is."""

    REQUESTED = "requested"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class WorkflowJobAction(StrEnum):
    """How far a job of a workflow run is."""

    QUEUED = "queued"
    WAITING = "waiting"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class MergeGroupAction(StrEnum):
    """What the merge queue does with a group."""

    CHECKS_REQUESTED = "checks_requested"
    DESTROYED = "destroyed"


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that changes nothing, and why; its body is not stored."""

    reason: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A payload that is not what its event promises."""

    reason: str


@dataclass(frozen=True, slots=True)
class PullRequestEvent:
    """A pull request was opened, pushed to, closed, retargeted or (un)drafted."""

    repo: Repo
    pull: Pull
    action: PullRequestAction
    sender: Account
    before: Sha | None = None  # synchronize only


@dataclass(frozen=True, slots=True)
class IssueCommentEvent:
    """A person wrote a comment on a pull request."""

    repo: Repo
    number: int
    comment_id: int
    author: Account
    body: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CheckRunEvent:
    """Somebody pressed *Re-run* or a button on a check run of ours."""

    repo: Repo
    action: CheckRunAction
    external_id: str
    name: str
    sha: Sha
    sender: Account
    identifier: str = ""  # of the button; "" for GitHub's own *Re-run*


@dataclass(frozen=True, slots=True)
class CheckSuiteEvent:
    """Somebody pressed *Re-run all checks*, or *Re-run* on the only one."""

    repo: Repo
    sha: Sha
    sender: Account


@dataclass(frozen=True, slots=True)
class WorkflowRunEvent:
    """A workflow run was requested, started or ended."""

    repo: Repo
    run: WorkflowRun


@dataclass(frozen=True, slots=True)
class WorkflowJobEvent:
    """A job of a workflow run was queued, started or ended."""

    repo: Repo
    job_id: int
    run_id: int
    attempt: int
    action: WorkflowJobAction
    name: str
    conclusion: str | None
    labels: tuple[str, ...]
    runner: str
    sha: Sha  # of the run


@dataclass(frozen=True, slots=True)
class PushEvent:
    """A branch moved (``deleted``: it is gone)."""

    repo: Repo
    branch: str
    after: Sha
    deleted: bool
    sender: Account
    before: Sha | None = None  # None: nothing to compare with (a new branch, or history rewritten)
    workflows: bool = True  # False: it changes none, as its commits tell


@dataclass(frozen=True, slots=True)
class MergeGroupEvent:
    """The merge queue asks for checks of a group, or gave it up."""

    repo: Repo
    action: MergeGroupAction
    head_sha: Sha
    head_ref: str
    base_sha: Sha
    base_ref: str
    tree: str = ""  # git's name for the files of the head, "" when not told
    reason: str = ""  # of its end: "merged", "invalidated", "dequeued"


@dataclass(frozen=True, slots=True)
class RepositoryEvent:
    """A repository was renamed, transferred or edited: its row follows."""

    repo: Repo


class InstallationState(StrEnum):
    """What an installation is now, whatever its events said before."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class InstallationEvent:
    """The app was installed, suspended or removed, or given and taken repositories."""

    installation_id: int
    active: bool | None = None  # whether any may be called; None: only those below change
    gone: tuple[RepoId, ...] = ()
    back: tuple[RepoId, ...] = ()
    deleted: bool = False  # what is gone never comes back


Event = (
    PullRequestEvent
    | IssueCommentEvent
    | CheckRunEvent
    | CheckSuiteEvent
    | WorkflowRunEvent
    | WorkflowJobEvent
    | PushEvent
    | MergeGroupEvent
    | RepositoryEvent
    | InstallationEvent
)


def subject(event: Event) -> str:
    """Return what must be handled one at a time: a pull request, a run, a commit, a repository."""
    match event:
        case InstallationEvent():
            return f"installation:{event.installation_id}"
        case PullRequestEvent():
            return f"{event.repo.id}:{event.pull.number}"
        case IssueCommentEvent():
            return f"{event.repo.id}:{event.number}"
        case WorkflowRunEvent():
            return f"{event.repo.id}:actions:{event.run.id}"
        case WorkflowJobEvent():
            return f"{event.repo.id}:actions:{event.run_id}"
        case CheckRunEvent() | CheckSuiteEvent():
            return f"{event.repo.id}:sha:{event.sha}"
        case MergeGroupEvent():
            return f"{event.repo.id}:sha:{event.head_sha}"
        case PushEvent() | RepositoryEvent():
            return str(event.repo.id)
        case _:
            assert_never(event)


def repo_id_of(event: Event) -> RepoId | None:
    """Return the repository an event is about, None for an installation."""
    return None if isinstance(event, InstallationEvent) else event.repo.id
