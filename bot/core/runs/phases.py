"""The phases of a run: what took how long, from the queue to the end of its RayJob."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import accumulate

from bot.core.model import run_events as ev
from bot.core.model.runs import Run, State
from bot.core.model.views import SuiteView
from bot.core.runs.observed import fold

_RUNS = "running"  # a RayJob's state, of its deployment or its own
_BEFORE = frozenset({"", "new", "pending", "initializing", "waiting", "suspended", _RUNS})


class RunPhase(StrEnum):
    """A part of a run's life."""

    QUEUED = "queued"
    RUNNER = "runner"  # GitHub has it, and a runner takes it
    PREPARING = "preparing"  # the workflow, before its RayJob
    STARTING = "starting"  # the RayJob
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Span:
    """A phase and its times; ``end`` None: it goes on. ``name`` is its runner's or RayJob's."""

    phase: RunPhase
    start: datetime
    end: datetime | None
    name: str = ""


def phases(view: SuiteView) -> tuple[Span, ...]:
    """Return the phases of a run that is past its queue, in order; an empty phase is left out."""
    run, observed = view.run, fold(view.run, view.run_events)
    if run.dispatched_at is None:
        return ()
    begun = run.started_at or observed.started_at
    if run.snapshot.suite.rayjob:
        job = _rayjob(view)
    else:
        job = _RayJobTimes(begun, begun, observed.seen_end_at)
    sent = run.dispatched_at if run.actions_run_id is not None else None
    marks = (
        (RunPhase.QUEUED, run.created_at, ""),
        (RunPhase.RUNNER, sent, runner_of(view)),
        (RunPhase.PREPARING, begun, ""),
        (RunPhase.STARTING, job.seen, job.name),
        (RunPhase.RUNNING, job.ran, ""),
    )
    last = job.ended or run.ended_at or (None if sent or begun else run.dispatched_at)
    return tuple(span for span in _spans(marks, last) if _is_told(span, run))


def _spans(
    marks: Iterable[tuple[RunPhase, datetime | None, str]], last: datetime | None
) -> Iterator[Span]:
    """Yield the phases that began; sources lag, so that none begins before the one before it."""
    known = [(phase, start, name) for phase, start, name in marks if start]
    starts = list(accumulate((start for _, start, _ in known), max))
    for index, (phase, _, name) in enumerate(known):
        end = starts[index + 1] if index + 1 < len(known) else last
        yield Span(phase, starts[index], end and max(end, starts[index]), name)


def _is_told(span: Span, run: Run) -> bool:
    """Leave out what took no second, unless it has a name, and what surely does not go on."""
    if span.end is None:
        waits = run.state in {State.WAITING_FOR_RUNNER, State.CANCELLING}
        return run.state is not State.DONE and (span.phase is not RunPhase.RUNNER or waits)
    return bool(span.name) or (span.end - span.start).total_seconds() >= 1


def runner_of(view: SuiteView) -> str:
    """Return the name of the first runner that took a job of the run, "" if none did."""
    jobs = (item.what for item in view.run_events if isinstance(item.what, ev.JobChanged))
    return next((job.runner for job in jobs if job.status == "in_progress" and job.runner), "")


def rayjob_seen(view: SuiteView) -> bool:
    """Return True if a RayJob of the run is known."""
    return bool(view.rayjobs) or _rayjob(view).seen is not None


@dataclass(frozen=True, slots=True)
class _RayJobTimes:
    """When the first RayJob was seen, when one first ran, and when the last one ended."""

    seen: datetime | None = None
    ran: datetime | None = None
    ended: datetime | None = None
    name: str = ""  # of the first one


def _rayjob(view: SuiteView) -> _RayJobTimes:
    kinds = ev.RayJobSeen | ev.RayJobAnnounced | ev.RayJobChanged
    told = [(item.at, item.what) for item in view.run_events if isinstance(item.what, kinds)]
    if not told:
        return _RayJobTimes()
    seen, first = min(told, key=lambda item: item[0])
    states = [(at, _state(what)) for at, what in told]
    ran = [at for at, state in states if state == _RUNS]
    ends = [at for at, state in states if state not in _BEFORE]
    has_run = any(job.final or job.lines or job.progress for job in view.rayjobs)
    return _RayJobTimes(
        seen,
        min(ran, default=seen if has_run else None),
        max(ends, default=None),
        first.job_id,
    )


def _state(what: ev.RayJobSeen | ev.RayJobAnnounced | ev.RayJobChanged) -> str:
    """Return a RayJob's state in lower case; its deployment's says more than its status."""
    return (what.deployment or what.status).lower() if isinstance(what, ev.RayJobChanged) else ""
