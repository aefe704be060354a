"""What a run's next step can be; `lifecycle` decides it, the runner carries it out."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.model.runs import Outcome, State, StopReason


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until ``until`` (None: until something happens)."""

    state: State
    until: datetime | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Acquire:
    """Take a runner's slot and the pool's NPUs, or queue for them."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Write the intent and dispatch: try ``number``."""

    number: int


@dataclass(frozen=True, slots=True)
class Search:
    """Look for our id among the workflow's runs, after dispatch ``number``."""

    number: int
    search: int


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """Read the Actions run: its end is believed after one look at the source of truth."""

    again: timedelta = timedelta(seconds=10)  # after an untrue look: the webhook came before


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
    """Ask GitHub to cancel, by force when it has not helped."""

    force: bool


@dataclass(frozen=True, slots=True)
class DeleteRayJobs:
    """Delete the run's RayJobs: try ``number``; done when the answer says that none is left."""

    number: int


@dataclass(frozen=True, slots=True)
class RequestStop:
    """Stop the run: a limit is reached."""

    kind: StopReason
    reason: str


@dataclass(frozen=True, slots=True)
class Conclude:
    """Write the verdict: from here on only logs are read."""

    outcome: Outcome
    why: str


@dataclass(frozen=True, slots=True)
class End:
    """The run is done; ``retry`` says why a next attempt follows ("" for none).

    ``counts`` is False when the next attempt is not the infrastructure's fault.
    """

    outcome: Outcome
    why: str
    retry: str = ""
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Bind:
    """Follow the Actions run that GitHub started by itself on ``event``."""

    actions_run_id: int
    attempt: int
    url: str
    event: str


Asking = ReadEnd | FindRayJobs | ReadLog | SendCancel | DeleteRayJobs  # of the witnesses
Saving = Wait | RequestStop | Conclude | End | Bind  # needs nobody but the ledger
Starting = Acquire | Dispatch | Search
Step = Asking | Saving | Starting
