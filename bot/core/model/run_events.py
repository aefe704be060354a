"""Everything that can be learned about a run, one type for each thing.

A row stores an event as JSON under the name of its class, so a class that is renamed no longer
reads its old rows.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

import msgspec

from bot.core.digest.result import Digest
from bot.core.messages import NOTHING, Message
from bot.core.model.ids import RunId
from bot.core.model.own_jobs import OwnJob
from bot.core.model.runs import Outcome

APPROVAL = "action_required"


class Source(StrEnum):
    """Who told of an event."""

    RUNNER = "runner"  # our own steps
    WEBHOOK = "webhook"
    POLL = "poll"  # a list that was read because webhooks can be lost
    API = "api"  # GitHub's answer to a call
    ANNOUNCEMENT = "announcement"  # the workflow itself
    WATCH = "watch"  # the stream of a RayJob


class _What(msgspec.Struct, frozen=True, tag=True):
    """Something learned; ``form`` is filled with the fields that tell it from others."""

    form: ClassVar[str]


class DispatchStarted(_What, frozen=True):
    """The intent to dispatch, written before the call; ``number`` counts the tries from 1."""

    form = "dispatch:{number}"
    number: int


class DispatchUnsent(_What, frozen=True):
    """GitHub did not take a dispatch, so surely nothing was started."""

    form = "unsent:{number}"
    number: int
    why: Message
    refused: bool = False  # GitHub said no, without a reason that stays


class DispatchAccepted(_What, frozen=True):
    """GitHub took a dispatch without saying which run it starts: it is never sent again."""

    form = "accepted:{number}"
    number: int


class DispatchSearched(_What, frozen=True):
    """A search for our id after a dispatch found nothing."""

    form = "search:{dispatch}:{search}"
    dispatch: int
    search: int


class DispatchRefused(_What, frozen=True):
    """GitHub refuses the dispatch for good; ``why`` is written for a maintainer."""

    form = "refused"
    why: Message


class Dispatched(_What, frozen=True):
    """The Actions run of a dispatch is known; ``found``: by a search, after a lost answer."""

    form = "dispatched:{attempt}"
    attempt: int
    found: bool


class StartedByGitHub(_What, frozen=True):
    """The run follows an Actions run that GitHub started by itself on ``event``."""

    form = "dispatched:{attempt}"
    attempt: int
    event: str


class NativeRunSeen(_What, frozen=True):
    """GitHub started an Actions run by itself that this run can follow."""

    form = "native:{actions_run_id}"
    actions_run_id: int
    attempt: int
    url: str
    event: str
    # What tells into which base it merges, as in `WorkflowRun`.
    created_at: datetime | None = None
    head_repo_id: int | None = None
    head_branch: str = ""
    pulls: tuple[int, ...] = ()
    quiet: tuple[int, ...] = ()  # pull requests to which nothing had happened
    own_jobs: tuple[OwnJob, ...] = ()  # of the suite, as the workflow's file has them


class NativeRunUnclear(_What, frozen=True):
    """GitHub started an Actions run that may be of another pull request; ``why`` for people."""

    form = "unclear:{actions_run_id}"
    actions_run_id: int
    why: Message


class WorkflowRunChanged(_What, frozen=True):
    """The Actions run has a new status, as somebody said.

    GitHub calls an Actions run that waits for an approval completed. Here that is a status of its
    own, because the approval sets the run going.
    """

    form = "actions:{attempt}:{status}"
    attempt: int
    status: str
    conclusion: str | None = None

    def __post_init__(self) -> None:
        if self.status == "completed" and self.conclusion == APPROVAL:
            msgspec.structs.force_setattr(self, "status", APPROVAL)


class JobChanged(_What, frozen=True):
    """A job of the Actions run has a new status; ``runner`` is "" before a runner takes it."""

    form = "job:{job_id}:{status}"
    job_id: int
    attempt: int
    status: str
    conclusion: str | None
    runner: str
    name: str
    labels: tuple[str, ...] = ()


class WorkflowRunEnded(_What, frozen=True):
    """The end of the Actions run, read from GitHub itself."""

    form = "end:{attempt}"
    attempt: int
    conclusion: str | None
    idle: bool = False  # green, and no job on the suite's label succeeded
    failed_job: str = ""  # green, and this job on the suite's label failed
    needed: str = ""  # the suite's own job was skipped, because this one failed


class LogRead(_What, frozen=True):
    """The Actions log was read; ``problem`` says why not, "" when it was."""

    form = "log:{attempt}"
    attempt: int
    final: str | None = None  # the end of the RayJob by the log's last line
    digest: Digest | None = None
    problem: Message = NOTHING
    step: str = ""  # of the job that was read: the name of the first step that failed
    partial: bool = False  # another job of the suite failed, too


class RayJobSeen(_What, frozen=True):
    """The submitter or a log named a RayJob of this run."""

    form = "rayjob:{job_id}"
    job_id: str


class RayJobAnnounced(_What, frozen=True):
    """The workflow announced its RayJob."""

    form = "rayjob:{job_id}"
    job_id: str


class RayJobsListed(_What, frozen=True):
    """The submitter listed all RayJobs after the end of the Actions run."""

    form = "asked:{attempt}"
    attempt: int


class RayJobChanged(_What, frozen=True):
    """The stream or the record of a RayJob tells a new state."""

    form = "rayjob:{job_id}:{deployment}:{status}"
    job_id: str
    deployment: str
    status: str


class RayJobForeign(_What, frozen=True):
    """The record of a RayJob names another Actions run, so it is not read."""

    form = "rayjob:{job_id}:foreign"
    job_id: str


class RayJobUnrecorded(_What, frozen=True):
    """A RayJob is taken as ours, because the submitter keeps no records."""

    form = "rayjob:{job_id}:recordless"
    job_id: str


class RayJobContested(_What, frozen=True):
    """Another run names this RayJob, too, and no record says whose it is: it is not read."""

    form = "rayjob:{job_id}:contested"
    job_id: str


class RayJobLogLost(_What, frozen=True):
    """The log of a RayJob can't be kept from here on."""

    form = "log:{job_id}"
    job_id: str
    problem: str


class CancelSent(_What, frozen=True):
    """GitHub was asked to cancel; ``taken`` False: there was nothing left to cancel."""

    form = "cancel"
    taken: bool = True


class ForceCancelSent(_What, frozen=True):
    """GitHub was asked to cancel by force; ``taken`` as for a cancel."""

    form = "force-cancel"
    taken: bool = True


class RayJobsDeleted(_What, frozen=True):
    """The RayJobs were deleted, or not: then ``problem`` says why. Tries count from 1."""

    form = "delete:{number}"
    number: int
    problem: str = ""


class VerdictReached(_What, frozen=True):
    """How the run ends is decided; from here on only logs are read."""

    form = "verdict"
    outcome: Outcome
    why: Message


class NextAttemptMade(_What, frozen=True):
    """The next attempt follows by itself."""

    form = "retried"
    attempt: int
    why: Message


OfDispatch = (
    DispatchStarted
    | DispatchUnsent
    | DispatchAccepted
    | DispatchSearched
    | DispatchRefused
    | Dispatched
    | StartedByGitHub
)
OfWorkflowRun = (
    NativeRunSeen | NativeRunUnclear | WorkflowRunChanged | JobChanged | WorkflowRunEnded | LogRead
)
OfRayJob = (
    RayJobSeen
    | RayJobAnnounced
    | RayJobsListed
    | RayJobChanged
    | RayJobForeign
    | RayJobUnrecorded
    | RayJobContested
    | RayJobLogLost
    | RayJobsDeleted
)
OfEnd = CancelSent | ForceCancelSent | VerdictReached | NextAttemptMade
What = OfDispatch | OfWorkflowRun | OfRayJob | OfEnd


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something learned about a run; unique by (run, source, key), kept for the timeline.

    A doubled webhook or a step taken twice adds nothing.
    """

    run_id: RunId
    source: Source
    at: datetime
    what: What

    @property
    def key(self) -> str:
        """Return what tells this event from others of its run and source."""
        return self.what.form.format(**msgspec.structs.asdict(self.what))
