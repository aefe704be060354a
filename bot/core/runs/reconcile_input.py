"""All that a run's next step depends on."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.core.runs.offline import OfflineLabel


@dataclass(frozen=True, slots=True)
class ReconcileInput:
    """All that the next step depends on."""

    run: Run
    wanted: bool
    run_events: tuple[RunEvent, ...]
    rayjobs: tuple[RayJob, ...]
    now: datetime
    submitter: bool = True  # one is configured
    submitter_down: str = ""  # since when and why it can't be used, in words
    offline: OfflineLabel | None = None  # the label looks offline
