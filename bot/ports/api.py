"""What the HTTP API needs: proofs of who calls, announcements, and rows to show."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Pull
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Claimant, Run, State
from bot.core.model.selections import StoredSelection
from bot.ports.errors import Transient


@dataclass(frozen=True, slots=True)
class Proof:
    """What a verified OIDC token of Actions says of the job that asked for it."""

    jti: str
    repo_id: RepoId
    repository: str  # "owner/name" at that moment
    actions_run_id: int
    actions_attempt: int
    workflow_ref: str  # "owner/name/.github/workflows/FILE@refs/heads/BRANCH"
    event: str
    until: datetime  # not taken from then on


class Why(Enum):
    """Why something was refused: what the caller can do about it differs."""

    UNPROVEN = "unproven"  # the token does not hold
    MISMATCH = "mismatch"  # it holds, and is of something else
    NOT_YET = "not yet"  # what it is of is not known here yet: ask again in a moment
    OVER = "over"  # the run is done


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal and its reason in words; never part of a token."""

    why: Why
    reason: str


class IssuerSilent(Transient):
    """The issuer's keys can't be had, so nothing is proven; its text may be shown."""


@dataclass(frozen=True, slots=True)
class PullStory:
    """A pull request with what was chosen for its head and what ran there."""

    repo: Repo
    pull: Pull
    selection: StoredSelection | None
    policy: str | None  # the text of the policy that chose, as it is now
    runs: tuple[Run, ...]


class ExplainStore(Protocol):
    """What an explanation is read from."""

    async def pull_story(self, full_name: str, number: int) -> PullStory | None:
        """Return a pull request by its repository's name now; None: there is none."""
        ...


class Prover(Protocol):
    """Verifies tokens against their issuer's keys."""

    async def prove(self, token: str) -> Proof | Refusal:
        """Verify a token; raises ``IssuerSilent`` while the issuer's keys can't be had."""
        ...


@dataclass(frozen=True, slots=True)
class Accepted:
    """The announcement counts; ``new``: it told something."""

    new: bool


class Announcer(Protocol):
    """Takes announcements of RayJobs."""

    async def announce(self, dispatch_id: str, token: str, job_id: str) -> Accepted | Refusal:
        """Take a RayJob's id from the workflow that submitted it; raises ``Transient``."""
        ...


@dataclass(frozen=True, slots=True)
class Announced:
    """A RayJob to add to its run, and the token that proved it."""

    rayjob: RayJob
    run_events: tuple[RunEvent, ...]
    jti: str
    until: datetime  # the token can't come again later


class AnnouncementStore(Protocol):
    """Rows that an announcement is checked against, and the one it makes."""

    async def run_of_dispatch(self, dispatch_id: str) -> Run | None:
        """Return the run dispatched with this id of ours."""
        ...

    async def run_of_attempt(
        self, repo_id: RepoId, actions_run_id: int, actions_attempt: int
    ) -> Run | None:
        """Return our attempt that is this attempt of an Actions run."""
        ...

    async def add_announced(self, announced: Announced, now: datetime) -> Accepted | Refusal:
        """Add it, due now, poke its run and remember the token, in one transaction.

        A RayJob that is known is accepted and changes nothing, whatever proved it. Refused: the
        token has proved another one, or the run is done.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs to list; ``None`` asks for all."""

    repo: str | None = None  # "owner/name", any case, or the repository's number
    sha: Sha | None = None  # or its first digits
    number: int | None = None
    state: State | None = None
    label: str | None = None  # taken, or one that it waits for
    limit: int = 50


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run and its repository (``None``: forgotten)."""

    run: Run
    repo: Repo | None


@dataclass(frozen=True, slots=True)
class RunStory:
    """A run with all that is known of it."""

    run: Run
    repo: Repo | None
    claimants: tuple[Claimant, ...] = ()
    run_events: tuple[RunEvent, ...] = ()
    rayjobs: tuple[RayJob, ...] = ()


class ApiStore(Protocol):
    """Rows for the read API."""

    async def list_runs(self, query: RunQuery) -> tuple[ListedRun, ...]:
        """Return runs, newest first."""
        ...

    async def run_story(self, run_id: RunId) -> RunStory | None:
        """Return a run with its wants, facts and RayJobs; None: there is none."""
        ...
