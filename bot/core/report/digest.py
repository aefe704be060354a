"""The parts of a log's digest that a report shows. The texts are raw: the caller escapes them."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.core.digest.result import UNKNOWN, Digest, Location, Progress
from bot.core.github.limits import ANNOTATIONS_A_REQUEST
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import LogRead
from bot.core.model.views import SuiteView

MAX_METRICS = 12
_MOST = 1e12  # larger numbers of a log are nonsense


@dataclass(frozen=True, slots=True)
class Pace:
    """The progress of a training, with its pace."""

    step: int
    total: int | None = None
    step_s: float | None = None
    left_s: float | None = None


def best(view: SuiteView) -> tuple[Digest | None, str]:
    """Return the most useful digest, and the reason if the Actions log was not read (else "")."""
    looks = [(item.at, item.what) for item in view.run_events if isinstance(item.what, LogRead)]
    log = max(looks, key=lambda look: look[0])[1] if looks else None
    found = [job.digest for job in view.rayjobs if job.digest]
    if log and log.digest:
        found.append(log.digest)
    known = [digest for digest in found if digest.failure_class != UNKNOWN] or found
    return (known[0] if known else None), log.problem if log else ""


def title_of(digest: Digest) -> str:
    """Return the title; "" if nothing in the log failed."""
    return "" if digest.root_cause_line is None else digest.title


def cause_of(view: SuiteView) -> str:
    """Return the cause of a failure for a table: the title without its place; "" if unknown."""
    digest, _ = best(view)
    if digest is None:
        return ""
    title = title_of(digest)
    for place in annotations_of(digest)[:1]:
        _, found, detail = title.partition(f" in {place.path}:{place.line}: ")
        return detail if found else title
    return title


def annotations_of(digest: Digest) -> tuple[Location, ...]:
    """Return the annotations of files in the checkout; an absolute path is not in the diff."""
    found = [item for item in digest.annotations if item.line and not item.path.startswith("/")]
    return tuple(found[:ANNOTATIONS_A_REQUEST])


def excerpt_of(digest: Digest) -> str:
    """Return the lines around the cause with their numbers."""
    return "\n".join(f"{number:>6}  {text}" for number, text in digest.excerpt_lines)


def metrics_of(digest: Digest) -> tuple[tuple[str, float], ...]:
    """Return the metrics of the last step, up to the number that a report shows."""
    metrics = digest.progress.metrics if digest.progress else {}
    chosen = list(metrics.items())[:MAX_METRICS]
    return tuple((name, value) for name, value in chosen if abs(value) < _MOST)


def pace(jobs: Iterable[RayJob]) -> Pace | None:
    """Return the progress of the first RayJob that reports any."""
    for job in jobs:
        progress = job.progress or (job.digest.progress if job.digest else None)
        if progress is not None:
            return _pace(progress)
    return None


def _pace(progress: Progress) -> Pace:
    step, total, step_s = progress.step, progress.total, progress.seconds_per_step
    if step_s is not None and not 0 <= step_s < _MOST:
        step_s = None
    known = total is not None and step_s is not None
    left_s = max(0, (total or 0) - step) * (step_s or 0) if known else None
    return Pace(step, total, step_s, left_s)
