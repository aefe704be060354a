"""The parts of a log's digest that a report shows. The texts are raw: the caller escapes them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bot.core.digest.result import UNKNOWN, Digest, Found, Location, Progress
from bot.core.github.limits import ANNOTATIONS_A_REQUEST
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import LogRead, RunEvent, WorkflowRunEnded
from bot.core.model.runs import Run
from bot.core.model.views import SuiteView

MAX_METRICS = 8
_SHORTEST_S = 0.5  # shorter steps round to none
_MOST = 1e12  # larger numbers of a log are nonsense
# Another rank or a lost peer looks the same in the log; these codes name the card or the host.
_OF_PEERS = frozenset({"hccl_comm", "timeout_hang"})
_HOST_CODES = frozenset({"EJ0001", "EJ0002", "EJ0003", "EJ0004", "EI0019", "EI0020"})
# What people look at first in a training, most telling first.
_LIKED = tuple(
    re.compile(pattern)
    for pattern in (
        r"reward|score|acc",
        r"loss",
        r"kl\b|entropy",
        r"grad_?norm",
        r"mem",
        r"throughput|tokens|mfu",
        r"timing_s/step|time_per_step|elapsed",
    )
)


@dataclass(frozen=True, slots=True)
class Pace:
    """The progress of a training, with its pace."""

    step: int
    total: int | None = None
    step_s: float | None = None
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The log that a report shows: its digest, and where it is from."""

    digest: Digest | None = None
    problem: str = ""  # why the Actions log was not read
    step: str = ""  # of the Actions job, if the digest is of its log
    of_rayjob: bool = False

    @property
    def cause(self) -> Digest | None:
        """Return the digest if it knows a cause."""
        if self.digest is None or self.digest.root_cause_line is None:
            return None
        return self.digest if self.digest.found is Found.CAUSE else None


NO_LOG = Shown()


def best(view: SuiteView) -> Shown:
    """Return the most useful digest: one that knows a cause, else that of the RayJob."""
    log = _last_log(view)
    found = [Shown(job.digest, log.problem, of_rayjob=True) for job in view.rayjobs if job.digest]
    if log.digest:
        found.append(Shown(log.digest, log.problem, log.step))
    known = [item for item in found if item.digest and item.digest.failure_class != UNKNOWN]
    told = [item for item in found if item.cause]
    return next(iter(known or told or found), Shown(problem=log.problem))


def _last_log(view: SuiteView) -> LogRead:
    """Return what was read of the Actions log last."""
    looks = [(item.at, item.what) for item in view.run_events if isinstance(item.what, LogRead)]
    return max(looks, key=lambda look: look[0])[1] if looks else LogRead(1)


def title_of(digest: Digest) -> str:
    """Return the title; "" if nothing in the log failed."""
    return "" if digest.root_cause_line is None else digest.title


def cause_of(view: SuiteView) -> str:
    """Return the cause of a failure for a table: the title without its place; "" if unknown."""
    digest = best(view).digest
    if digest is None or digest.found is Found.NOTHING:
        return ""
    return digest.what if title_of(digest) else ""


def is_proven(run: Run, cause: Digest) -> bool:
    """Return True if a log shows that the infrastructure failed, and not a rank of the change."""
    if not run.snapshot.retryable:  # the change edits the environment
        return False
    if cause.failure_class in _OF_PEERS:
        return cause.infra and not _HOST_CODES.isdisjoint(cause.codes)
    return cause.infra


def infra_of(view: SuiteView) -> bool:
    """Return True if the cause of a failure is proven to be the infrastructure's."""
    cause = best(view).cause
    return cause is not None and is_proven(view.run, cause)


def environment_of(events: Iterable[RunEvent], jobs: Iterable[RayJob]) -> dict[str, str]:
    """Return what a run ran with: what its first RayJob tells counts, then the Actions log."""
    told = [job.digest for job in jobs if job.digest]
    logs = [item.what.digest for item in events if isinstance(item.what, LogRead)]
    known: dict[str, str] = {}
    for digest in [*told, *(log for log in logs if log)]:
        known = digest.environment | known
    return known


def failed_tests_of(view: SuiteView) -> tuple[str, ...]:
    """Return the tests that made a run fail if nothing else did; a RayJob's log names none.

    Those of a job that the suite needs are not its own, which never ran.
    """
    log, ends = _last_log(view), (item.what for item in view.run_events)
    needed = any(isinstance(end, WorkflowRunEnded) and end.needed for end in ends)
    if log.partial or needed or log.digest is None or view.run.snapshot.suite.rayjob:
        return ()
    return log.digest.failed_tests


def annotations_of(digest: Digest) -> tuple[Location, ...]:
    """Return the annotations of files in the checkout; an absolute path is not in the diff."""
    found = [item for item in digest.annotations if item.line and not item.path.startswith("/")]
    return tuple(found[:ANNOTATIONS_A_REQUEST])


def excerpt_of(digest: Digest) -> str:
    """Return the lines around the cause with their numbers."""
    return "\n".join(f"{number:>6}  {text}" for number, text in digest.excerpt_lines)


def metrics_of(progress: Progress | None) -> tuple[tuple[str, float], ...]:
    """Return the metrics of the last step that tell most, up to the number that a report shows."""
    metrics = progress.metrics if progress else {}
    told = [(name, value) for name, value in metrics.items() if abs(value) < _MOST]
    return tuple(sorted(told, key=lambda item: _rank(item[0]))[:MAX_METRICS])


def _rank(name: str) -> int:
    return next((rank for rank, liked in enumerate(_LIKED) if liked.search(name)), len(_LIKED))


def progress_of(jobs: Iterable[RayJob]) -> Progress | None:
    """Return the progress of the first RayJob that reports any."""
    told = (job.progress or (job.digest.progress if job.digest else None) for job in jobs)
    return next(filter(None, told), None)


def pace(jobs: Iterable[RayJob]) -> Pace | None:
    """Return the progress of the first RayJob that reports any, with its pace."""
    progress = progress_of(jobs)
    return _pace(progress) if progress else None


def _pace(progress: Progress) -> Pace:
    step, total, step_s = progress.step, progress.total, progress.seconds_per_step
    if step_s is not None and not _SHORTEST_S <= step_s < _MOST:
        step_s = None
    known = total is not None and step_s is not None
    left_s = max(0, (total or 0) - step) * (step_s or 0) if known else None
    return Pace(step, total, step_s, left_s)
