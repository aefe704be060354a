"""What GitHub should show, as values: check runs, the gate, replies, and what they are made of."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.messages import NOTHING, Message
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Approval, Pull
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.core.model.selections import StoredSelection
from bot.core.model.usual import UNKNOWN_USUAL, LastGreen, PastEnd, Usual
from bot.core.policy.models import Language

RECEIPT = "eyes"
"""The reaction that says that a comment's commands were heard."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A line of the diff that the check run points at."""

    path: str
    line: int
    message: str
    title: str = ""
    level: str = "failure"


@dataclass(frozen=True, slots=True)
class Button:
    """A button on a completed check run; label ≤ 20, description ≤ 40 characters."""

    identifier: str
    label: str
    description: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a check run shows; GitHub fetches it without credentials."""

    alt: str
    url: str
    caption: str


@dataclass(frozen=True, slots=True)
class CheckWrite:
    """A whole check run as it should be shown."""

    name: str
    head_sha: Sha
    external_id: str
    status: str  # "queued" | "in_progress" | "completed"
    title: str
    summary: str
    conclusion: str | None = None
    text: str = ""
    details_url: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    annotations: tuple[Annotation, ...] = ()  # sent once, with the completing write
    buttons: tuple[Button, ...] = ()
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to a comment as it should read now; one a comment, edited to the end."""

    repo_id: RepoId
    comment_id: int  # of the comment that is answered
    number: int
    head: str  # what stays: the refusals, the command as understood
    run_ids: tuple[RunId, ...] = ()  # rows of its table, rendered by the reporter
    receipt_missing: bool = False  # GitHub has not taken the reaction to the comment
    language: Language = Language.EN


@dataclass(frozen=True, slots=True)
class PullComment:
    """The one comment of a pull request as it should read now."""

    repo_id: RepoId
    number: int
    sha: Sha  # the head that it tells of
    body: str
    make: bool  # False: it is only edited where it exists


@dataclass(frozen=True, slots=True)
class GateDue:
    """The gate of a SHA should be looked at anew.

    ``number`` is the pull request it is shown for; 0 for none.
    """

    repo_id: RepoId
    sha: Sha
    number: int
    closed: Message = NOTHING  # why the pull request left it: an open gate without one is cancelled
    name: str = ""  # as the policy has it; "" leaves the one it has
    unknown: Message = NOTHING  # why it can't be judged now


def waits_its_turn(number: int) -> Message:
    """Return why a gate can't be judged while an event of a pull request has to wait."""
    return Message("gate_often", number=number)


@dataclass(frozen=True, slots=True)
class WorkflowNote:
    """A difference between a policy and a workflow that a pull request changes, at its line."""

    path: str
    line: int
    message: Message
    adds: bool = False  # the pull request adds the workflow, and no suite covers its jobs
    there: bool = True  # the workflow exists at the head


@dataclass(frozen=True, slots=True)
class Proposal:
    """The policy that a pull request's head proposes, beside the one that holds.

    If only workflows change it is the same policy.
    """

    key: str  # the check run's external id
    repo_id: RepoId
    sha: Sha
    number: int
    gate: str
    ref: str  # where the policy comes from that holds
    policy_sha: str
    old: str | None  # None: there is no policy
    new: str | None  # None: the proposal is to have none
    redact: tuple[str, ...] = ()
    unprotected: str = ""  # the base, whose own policy does not count
    by: int = 0  # the account of the pull request's author
    language: Language = Language.EN
    notes: tuple[WorkflowNote, ...] = ()
    unread: int = 0  # changed workflows that were too many to be read


@dataclass(frozen=True, slots=True)
class SuiteView:
    """What a suite's check run says: the run, its story, its RayJobs, and what is usual."""

    run: Run
    run_events: tuple[RunEvent, ...]
    rayjobs: tuple[RayJob, ...]
    usual: Usual = UNKNOWN_USUAL
    past: tuple[PastEnd, ...] = ()  # of a suite in quarantine: the last ends, newest first
    green: LastGreen | None = None  # of a run that failed


@dataclass(frozen=True, slots=True)
class GateView:
    """What the gate of a SHA says: choices, runs and approvals."""

    sha: Sha
    pulls: tuple[Pull, ...]  # open ones whose head this is
    selections: tuple[StoredSelection, ...]  # those that count
    runs: tuple[Run, ...]  # every attempt at this SHA, oldest first
    check_ids: dict[str, int]  # run id -> GitHub's check run id, where shown
    approvals: tuple[Approval, ...]
    closed: Message  # why this SHA is no head any more, "" while it is
    at: datetime  # when it was read: by then it is known which quarantines are over
    unknown: Message = NOTHING  # why it can't be judged now
    overruled: tuple[Pull, ...] = ()  # of ``pulls``: not trusted, so they do not count

    @property
    def policy_errors(self) -> tuple[Message, ...]:
        """Return the errors of a policy by which the commit can't be judged."""
        found = (error for item in self.selections for error in item.data.policy_errors)
        return tuple(dict.fromkeys(found))

    @property
    def language(self) -> Language | None:
        """Return the language of the first policy that judged the commit; None if none did."""
        found = (item.data.language for item in self.selections if item.data.language)
        return next(found, None)
