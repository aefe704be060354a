"""The jobs of a green Actions run: one on the suite's label must have passed, and none failed."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.core.model.run_events import (
    JobChanged,
    RunEvent,
    Source,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.model.runs import Run

DELETED = "deleted"  # the conclusion of a run that GitHub no longer knows
_FAILED = {"failure", "timed_out"}


@dataclass(frozen=True, slots=True)
class JobEnd:
    """A job, the labels that it asks for, and its conclusion (None: not ended)."""

    name: str
    labels: tuple[str, ...]
    conclusion: str | None


def green_end(run: Run, jobs: Iterable[JobEnd]) -> WorkflowRunEnded:
    """Return the end of an Actions run that GitHub calls a success, with what its jobs say."""
    wanted = {run.label} if run.label else {label.name for label in run.snapshot.labels}
    folded = {label.casefold() for label in wanted}
    ours = [job for job in jobs if folded & {label.casefold() for label in job.labels}]
    failed = next((job.name for job in ours if job.conclusion in _FAILED), "")
    idle = "success" not in {job.conclusion for job in ours}
    return WorkflowRunEnded(run.actions_attempt, "success", idle, failed)


def told_end(run: Run, run_events: Iterable[RunEvent]) -> WorkflowRunEnded | None:
    """Return the end by what webhooks told of its jobs; None if they did not tell all."""
    jobs = _told_jobs(run, run_events)
    end = green_end(run, jobs)
    untold = end.idle or any(job.conclusion is None for job in jobs)
    return None if untold else end


def deleted_end(run: Run, run_events: tuple[RunEvent, ...]) -> WorkflowRunEnded:
    """Return the end of an Actions run that GitHub no longer knows, as webhooks told it before."""
    told = (item.what for item in run_events if item.source is Source.WEBHOOK)
    conclusions = [
        what.conclusion
        for what in told
        if isinstance(what, WorkflowRunChanged)
        if (what.attempt, what.status) == (run.actions_attempt, "completed")
    ]
    conclusion = next(filter(None, conclusions), DELETED)
    if conclusion != "success" or run.snapshot.suite.rayjob:
        return WorkflowRunEnded(run.actions_attempt, conclusion)
    return green_end(run, _told_jobs(run, run_events))


def _told_jobs(run: Run, run_events: Iterable[RunEvent]) -> list[JobEnd]:
    jobs: dict[int, JobEnd] = {}
    for item in run_events:
        what = item.what
        if isinstance(what, JobChanged) and what.attempt == run.actions_attempt:
            known = jobs.get(what.job_id)
            if known is None or known.conclusion is None:
                jobs[what.job_id] = JobEnd(what.name, what.labels, what.conclusion)
    return list(jobs.values())
