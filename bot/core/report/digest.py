"""Reads a digest's JSON into what a report shows; older rows are read as well as can be.

This is the one place that knows the shape, so that a report never breaks on a digest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.core.model.ids import Json
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import LogRead, RunEvent
from bot.core.report.views import Annotation, SuiteView

UNKNOWN = "unknown"
MAX_ANNOTATIONS = 50  # a request; more would be appended by further ones
MAX_METRICS = 12


@dataclass(frozen=True, slots=True)
class Shown:
    """What is kept of a log, as far as a report shows it; every text is raw."""

    kind: str = UNKNOWN  # the class of the failure
    infra: bool = False
    codes: tuple[str, ...] = ()
    title: str = ""
    cause: str = ""
    hint: str = ""
    excerpt: str = ""  # with line numbers
    traceback: str = ""
    tail: str = ""
    lines: int = 0
    metrics: tuple[tuple[str, float], ...] = ()  # of the last step
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a training is."""

    step: int
    total: int | None = None
    step_s: float | None = None
    left_s: float | None = None


def best(view: SuiteView) -> tuple[Shown | None, str]:
    """Return the digest that tells the most, and why the Actions log was not read ("")."""
    log = _log(view.run_events)
    found = [job.digest for job in view.rayjobs if job.digest]
    if log and log.digest:
        found.append(log.digest)
    shown = [read(data) for data in found]
    known = [item for item in shown if item.kind != UNKNOWN] or shown
    return (known[0] if known else None), log.problem if log else ""


def cause_of(view: SuiteView) -> str:
    """Return a failure's cause as a table names it: the title without its place, "" unknown."""
    shown, _ = best(view)
    if shown is None:
        return ""
    for place in shown.annotations[:1]:
        _, found, detail = shown.title.partition(f" in {place.path}:{place.line}: ")
        return detail if found else shown.title
    return shown.title


def _log(run_events: Iterable[RunEvent]) -> LogRead | None:
    """Return what the last look into the Actions log found."""
    looks = [(item.at, item.what) for item in run_events if isinstance(item.what, LogRead)]
    return max(looks, key=lambda look: look[0])[1] if looks else None


def read(data: Mapping[str, Any]) -> Shown:
    """Read a digest; fields that are missing or of another type are as good as empty."""
    return Shown(
        kind=_text(data.get("class", data.get("class_"))) or UNKNOWN,
        infra=data.get("infra") is True,
        codes=tuple(map(_text, _items(data.get("codes")))),
        title=_text(data.get("title")) if data.get("root_cause_line", 1) else "",
        cause=_text(data.get("cause")),
        hint=_text(data.get("hint")),
        excerpt=_numbered(data.get("excerpt_lines")) or _numbered(data.get("excerpt")),
        traceback=_numbered(data.get("traceback")),
        tail=_numbered(data.get("tail")),
        lines=_whole(data.get("lines")) or 0,
        metrics=tuple(_metrics(data.get("progress"))),
        annotations=tuple(_annotations(_items(data.get("annotations")))),
    )


def pace(jobs: Iterable[RayJob]) -> Pace | None:
    """Return the progress of the first RayJob that reports any."""
    for job in jobs:
        data = job.progress or _dict((job.digest or {}).get("progress"))
        step = _whole(data.get("step"))
        if step is not None:
            return _pace(step, data)
    return None


def _pace(step: int, data: Json) -> Pace:
    total, step_s = _whole(data.get("total")), _real(data.get("seconds_per_step"))
    known = total is not None and step_s is not None
    left_s = max(0, (total or 0) - step) * (step_s or 0) if known else None
    return Pace(step, total, step_s, left_s)


def _metrics(progress: object) -> Iterable[tuple[str, float]]:
    """Yield the metrics of the last step, as many as a report shows."""
    metrics = _dict(_dict(progress).get("metrics"))
    for name, value in list(metrics.items())[:MAX_METRICS]:
        if _real(abs(value) if isinstance(value, int | float) else None) is not None:
            yield name, value


def _annotations(items: Iterable[Any]) -> Iterable[Annotation]:
    """Yield those that name a file of the checkout: an absolute path is no file of the diff."""
    for item in list(items)[:MAX_ANNOTATIONS]:
        data = _dict(item)
        path, line = _text(data.get("path")), _whole(data.get("line"))
        if path and not path.startswith("/") and line:
            yield Annotation(path, line, _text(data.get("message")), _text(data.get("title")))


def _numbered(value: object) -> str:
    """Return an excerpt as text: lines, or pairs of a line's number and its text."""
    if isinstance(value, str):
        return value
    return "\n".join(map(_numbered_line, _items(value)))


def _numbered_line(item: object) -> str:
    number, text = item if isinstance(item, list | tuple) and len(item) == 2 else (None, item)
    line = _whole(number)
    return _text(text) if line is None else f"{line:>6}  {_text(text)}"


def _items(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _dict(value: object) -> Json:
    return dict(value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _real(value: object) -> float | None:
    """Return a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < 1e12 else None


def _whole(value: object) -> int | None:
    number = _real(value)
    return None if number is None else int(number)
