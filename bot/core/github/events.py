"""What a webhook can mean to us: one frozen value a case, and what must be handled in turn."""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from bot.core.model.ids import RepoId, Sha
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that leads to nothing, and why; its body is not kept."""

    reason: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A payload that is not what its event promises."""

    reason: str


@dataclass(frozen=True, slots=True)
class PullChanged:
    """A pull request was opened, pushed to, closed, retargeted or (un)drafted."""

    repo: Repo
    pull: Pull
    action: str
    sender: str
    before: Sha | None = None  # synchronize only
    base_before: str | None = None  # edited only, when the base moved


@dataclass(frozen=True, slots=True)
class CommentCreated:
    """A person wrote a comment on a pull request."""

    repo: Repo
    number: int
    comment_id: int
    author: str
    body: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CheckRerequested:
    """Somebody pressed *Re-run* on a check run of ours."""

    repo: Repo
    external_id: str
    name: str
    sha: Sha
    sender: str


@dataclass(frozen=True, slots=True)
class SuiteRerequested:
    """Somebody pressed *Re-run all checks*, or *Re-run* on the only one."""

    repo: Repo
    sha: Sha
    sender: str


@dataclass(frozen=True, slots=True)
class ButtonPressed:
    """Somebody pressed a button of a check run of ours."""

    repo: Repo
    external_id: str
    name: str
    sha: Sha
    identifier: str
    sender: str


@dataclass(frozen=True, slots=True)
class ActionsRunChanged:
    """A workflow run was requested, started or ended."""

    repo: Repo
    run_id: int
    attempt: int
    action: str  # to be trusted before `status`, which can lag behind it
    conclusion: str | None
    display_title: str
    event: str
    path: str
    head_sha: Sha
    html_url: str
    actor: str
    created_at: datetime | None = None  # of the run; its first attempt


@dataclass(frozen=True, slots=True)
class ActionsJobChanged:
    """A job of a workflow run was queued, started or ended."""

    repo: Repo
    job_id: int
    run_id: int
    attempt: int
    action: str
    name: str
    conclusion: str | None
    labels: tuple[str, ...]
    runner: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """A branch moved (``deleted``: it is gone)."""

    repo: Repo
    branch: str
    after: Sha
    deleted: bool
    sender: str
    before: Sha | None = None  # None: nothing to compare with (a new branch, or history rewritten)


@dataclass(frozen=True, slots=True)
class MergeGroupChanged:
    """The merge queue asks for checks of a group, or gave it up."""

    repo: Repo
    action: str
    head_sha: Sha
    head_ref: str
    base_sha: Sha
    base_ref: str
    tree: str = ""  # git's name for the files of the head, "" when not told
    reason: str = ""  # of its end: "merged", "invalidated", "dequeued"


@dataclass(frozen=True, slots=True)
class RepoChanged:
    """A repository was renamed, transferred or edited: its row follows."""

    repo: Repo


@dataclass(frozen=True, slots=True)
class InstallationChanged:
    """The app was installed, suspended or removed, or given and taken repositories."""

    installation_id: int
    active: bool | None = None  # whether any may be called; None: only those below change
    gone: tuple[RepoId, ...] = ()
    back: tuple[RepoId, ...] = ()


Event = (
    PullChanged
    | CommentCreated
    | CheckRerequested
    | SuiteRerequested
    | ButtonPressed
    | ActionsRunChanged
    | ActionsJobChanged
    | Pushed
    | MergeGroupChanged
    | RepoChanged
    | InstallationChanged
)


def subject(event: Event) -> str:
    """Return what must be handled one at a time: a pull request, a run, a commit, a repository."""
    match event:
        case InstallationChanged():
            return f"installation:{event.installation_id}"
        case PullChanged():
            return f"{event.repo.id}:{event.pull.number}"
        case CommentCreated():
            return f"{event.repo.id}:{event.number}"
        case ActionsRunChanged() | ActionsJobChanged():
            return f"{event.repo.id}:actions:{event.run_id}"
        case CheckRerequested() | SuiteRerequested() | ButtonPressed():
            return f"{event.repo.id}:sha:{event.sha}"
        case MergeGroupChanged():
            return f"{event.repo.id}:sha:{event.head_sha}"
        case Pushed() | RepoChanged():
            return str(event.repo.id)
        case _:
            assert_never(event)


def repo_id_of(event: Event) -> RepoId | None:
    """Return the repository an event is about, None for an installation."""
    return None if isinstance(event, InstallationChanged) else event.repo.id
