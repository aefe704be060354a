"""What was learned about a run."""

from dataclasses import dataclass, field
from datetime import datetime

from bot.core.model.ids import Json, RunId


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something learned about a run; unique by (run, source, key), kept for the timeline."""

    run_id: RunId
    source: str  # "webhook" | "poll" | "api" | "runner" | "watch" | "log"
    key: str
    at: datetime
    data: Json = field(default_factory=dict)
