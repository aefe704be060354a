"""The steps of a run; `reconcile` decides the next one, the runner carries it out."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.messages import NOTHING, Message
from bot.core.model.own_jobs import OwnJob
from bot.core.model.runs import Outcome, State, StopReason


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until ``until`` (None: until something happens)."""

    state: State
    until: datetime | None
    why: Message = NOTHING


@dataclass(frozen=True, slots=True)
class Acquire:
    """Acquire a runner's slot and NPUs of the pool, or queue for them."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Store the intent and dispatch the workflow: try ``number``."""

    number: int


@dataclass(frozen=True, slots=True)
class Search:
    """Look for our id among the runs of the workflow, after dispatch ``number``."""

    number: int
    search: int


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """Read the Actions run from GitHub: its end counts only then."""

    again: timedelta = timedelta(seconds=10)  # if it has not ended there: the webhook came first


@dataclass(frozen=True, slots=True)
class FindRayJobs:
    """Ask the submitter for the RayJobs of this Actions run; ``last``: after its end."""

    then: datetime  # when to ask again
    last: bool = False


@dataclass(frozen=True, slots=True)
class ReadLog:
    """Read the Actions log: RayJob evidence and a digest."""


@dataclass(frozen=True, slots=True)
class SendCancel:
    """Ask GitHub to cancel, by force if a plain cancel did not help."""

    force: bool


@dataclass(frozen=True, slots=True)
class DeleteRayJobs:
    """Delete the run's RayJobs: try ``number``."""

    number: int


@dataclass(frozen=True, slots=True)
class RequestStop:
    """Stop the run because it reached a limit."""

    kind: StopReason
    reason: Message


@dataclass(frozen=True, slots=True)
class Conclude:
    """Save the verdict; from here on only logs are read."""

    outcome: Outcome
    why: Message


@dataclass(frozen=True, slots=True)
class End:
    """The run is done; ``retry`` says why a next attempt follows, "" if none does.

    ``counts`` is False if the next attempt is no retry after an infrastructure failure. With
    ``cleans_up`` the run keeps its places until ``CleanedUp``, while its Actions run and its
    RayJobs are stopped.
    """

    outcome: Outcome
    why: Message
    retry: Message = NOTHING
    counts: bool = True
    cleans_up: bool = False


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """Nothing of an ended run goes on any more, or stopping it was given up."""

    why: Message


@dataclass(frozen=True, slots=True)
class Bind:
    """Follow the Actions run that GitHub started by itself on ``event``."""

    actions_run_id: int
    attempt: int
    url: str
    event: str
    own_jobs: tuple[OwnJob, ...] = ()  # of the suite


@dataclass(frozen=True, slots=True)
class AskWhyNotStarted:
    """Ask GitHub why it has not started the Actions run; ``otherwise``: it does not say."""

    otherwise: Wait


# Of GitHub or the submitter.
Asking = AskWhyNotStarted | ReadEnd | FindRayJobs | ReadLog | SendCancel | DeleteRayJobs
Saving = Wait | RequestStop | Conclude | End | CleanedUp | Bind  # needs only the database
Starting = Acquire | Dispatch | Search
Step = Asking | Saving | Starting
