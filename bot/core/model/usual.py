"""What a suite usually takes and measures: its last good runs that were for no pull request."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from bot.core.digest.result import Progress
from bot.core.model.ids import Sha
from bot.core.model.runs import Outcome


@dataclass(frozen=True, slots=True)
class GoodRun:
    """A run that passed: its time, and the last progress of its first RayJob with any."""

    took: timedelta
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class PastEnd:
    """How an earlier run ended, and the tests that made it fail if nothing else did."""

    outcome: Outcome
    failed_tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastGreen:
    """The last run of the same work that passed, and what it ran with."""

    sha: Sha
    ended_at: datetime
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Usual:
    """The last good runs, the newest first, and the branch that they ran on."""

    ref: str = ""
    runs: tuple[GoodRun, ...] = field(default=())

    @property
    def took(self) -> timedelta | None:
        """Return the median time; None without runs."""
        seconds = [run.took.total_seconds() for run in self.runs]
        return timedelta(seconds=median(seconds)) if seconds else None

    def span(self, metric: str) -> tuple[float, float] | None:
        """Return the lowest and the highest last value of a metric; None if no run has it."""
        told = [run.progress.metrics for run in self.runs if run.progress]
        found = [metrics[metric] for metrics in told if metric in metrics]
        return (min(found), max(found)) if found else None


UNKNOWN_USUAL = Usual()
"""That of a suite without good runs."""
