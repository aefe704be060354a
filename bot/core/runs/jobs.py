"""What the jobs of an Actions run say of its end.

Of a green one, a job on the suite's label must have passed, and none failed. A suite that names its
jobs is judged by them alone, as soon as they have ended.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from bot.core.model.own_jobs import unknown_job
from bot.core.model.run_events import (
    JobChanged,
    RunEvent,
    Source,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.model.runs import Run
from bot.core.model.snapshot import Snapshot

DELETED = "deleted"  # the conclusion of a run that GitHub no longer knows
ABSENT = "absent"  # the conclusion of a suite's own jobs, where the Actions run has none of them
_FAILED = {"failure", "timed_out"}
_WORST = ("failure", "timed_out", "cancelled")  # first
_GOOD = frozenset({"success", "neutral", "skipped"})


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


def own_end(run: Run, jobs: Iterable[JobEnd], conclusion: str | None) -> WorkflowRunEnded | None:
    """Return the end of the jobs that a suite names; None while it can't be told.

    ``conclusion`` is that of the Actions run, None while it goes on.
    """
    known = tuple(jobs)
    own = [job for job in known if run.snapshot.owns(job.name)]
    if conclusion is None and (not own or _is_going_on(run, own) or _is_of_before(run, known)):
        return None
    ends = {job.conclusion or conclusion for job in own}
    bad = [end for end in ends if end not in _GOOD]
    worst = next((end for end in _WORST if end in bad), next(iter(bad), None))
    if worst:
        return WorkflowRunEnded(run.actions_attempt, worst)
    if blocks := {name: end for job in own for name, end in _blocking(run, job, known)}:
        failed = next((name for name, end in blocks.items() if end != "cancelled"), "")
        worst = "failure" if failed else "cancelled"
        return WorkflowRunEnded(run.actions_attempt, worst, needed=failed or next(iter(blocks)))
    if not own:
        told = conclusion if conclusion not in {"success", "failure", "skipped"} else ABSENT
        return WorkflowRunEnded(run.actions_attempt, told)
    return WorkflowRunEnded(run.actions_attempt, "success" if "success" in ends else "skipped")


def own_jobs_over(run: Run, jobs: Iterable[JobEnd]) -> bool:
    """Return True if all jobs have ended that a suite names."""
    own = [job for job in jobs if run.snapshot.owns(job.name)]
    return bool(run.snapshot.suite.jobs and own) and not _is_going_on(run, own)


def npus_held(run: Run, run_events: Iterable[RunEvent]) -> int:
    """Return the NPUs that the jobs of a native suite held at once, as far as webhooks told.

    A job on no label of the suite holds none; without any news it is what the policy says.
    """
    frozen = run.snapshot
    moves: list[tuple[datetime, int]] = []
    begun: dict[int, int] = {}
    for item in sorted(run_events, key=lambda event: event.at):
        what = item.what
        if not isinstance(what, JobChanged) or what.attempt != run.actions_attempt:
            continue
        if what.status == "in_progress":
            begun[what.job_id] = _npus_of(frozen, what.labels)
            moves.append((item.at, begun[what.job_id]))
        elif what.status == "completed":
            moves.append((item.at, -begun.get(what.job_id, 0)))
    if not any(begun.values()):
        return frozen.suite.nodes * frozen.npus_at(run.label)
    return max(accumulate(npus for _, npus in moves))


def _npus_of(frozen: Snapshot, labels: tuple[str, ...]) -> int:
    asked = {label.casefold() for label in labels}
    own = [label.name for label in frozen.labels if label.name.casefold() in asked]
    return frozen.npus_at(own[0]) if own else 0


def _is_going_on(run: Run, own: list[JobEnd]) -> bool:
    """Return True if a job of the suite has not ended, or may not be there yet.

    GitHub lists a job once it can start, so what a list holds may be less than the suite has.
    """
    if any(job.conclusion is None for job in own):
        return True
    known = [item.job for item in run.snapshot.own_jobs]
    return not known or any(
        job.open or not any(job.shows(one.name) for one in own) for job in known
    )


def _is_of_before(run: Run, jobs: tuple[JobEnd, ...]) -> bool:
    """Return True if a job was skipped in an earlier attempt: what it needs runs again."""
    live = [job.name for job in jobs if job.conclusion is None]
    skipped = [job.name for job in jobs if job.conclusion == "skipped"]
    return any(
        any(map(item.job.shows, skipped)) and any(need.shows(name) for name in live)
        for item in run.snapshot.own_jobs
        for need in item.needs
    )


def _blocking(run: Run, job: JobEnd, jobs: tuple[JobEnd, ...]) -> Iterator[tuple[str, str]]:
    """Yield the jobs for whose bad ends GitHub skipped one, by their keys, the nearest first.

    A need that has no job under its names may be any.
    """
    if job.conclusion != "skipped":
        return
    bad = [(one.name, one.conclusion) for one in jobs if one.conclusion not in {None, *_GOOD}]
    own = [item for item in run.snapshot.own_jobs if item.job.shows(job.name)]
    needs = [need for item in own or [unknown_job(job.name)] for need in item.needs]
    for need in needs:
        yield from ((need.key or name, str(end)) for name, end in bad if need.shows(name))
    if not all(any(need.shows(one.name) for one in jobs) for need in needs):
        yield from ((name, str(end)) for name, end in bad)


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
