"""The input of the decision on a run's next step."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.messages import NOTHING, Message
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.core.runs.offline import OfflineLabel


@dataclass(frozen=True, slots=True)
class ReconcileInput:
    """All that the next step of a run depends on."""

    run: Run
    wanted: bool
    run_events: tuple[RunEvent, ...]
    rayjobs: tuple[RayJob, ...]
    now: datetime
    submitter: bool = True  # True if one is configured
    submitter_down: Message = NOTHING  # since when and why it is down
    shared: bool = False  # other suites that go on follow the same Actions run
    offline: OfflineLabel | None = None  # if the label of the run looks offline

    @property
    def submitter_answers(self) -> bool:
        """Return True if there is a submitter and it is not down."""
        return self.submitter and not self.submitter_down

    @property
    def rayjobs_missing(self) -> bool:
        """Return True if the submitter can tell RayJobs of which none is known yet."""
        return self.run.snapshot.suite.rayjob and self.submitter_answers and not self.rayjobs
