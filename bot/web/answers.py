"""The JSON of the read API. Of a log it contains only the cause and versions, redacted."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from bot.core.digest.result import Digest
from bot.core.explain.explaining import quarantine_json
from bot.core.model import run_events as ev
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.core.queue.state import Pause
from bot.core.report.digest import environment_of
from bot.core.runs.timeline import in_order, line_of
from bot.store.audit import Audited
from bot.store.run_reads import ListedRun, RunStory

_OF_RAYJOB = (
    *("job_id", "seen", "confirmed", "status", "deployment", "message", "final", "final_from"),
    *("silent_since", "last_line_at", "lines", "log_bytes", "complete"),
)
# Not a line of the log.
_OF_DIGEST = ("infra", "codes", "hint", "root_cause_line", "lines", "bytes")
# The fields of an event that are shown beside its line: words and numbers of a known kind.
_OF_EVENT: dict[type[ev.What], tuple[str, ...]] = {
    ev.DispatchUnsent: ("why",),
    ev.DispatchRefused: ("why",),
    ev.NativeRunSeen: ("attempt",),
    ev.NativeRunUnclear: ("why",),
    ev.WorkflowRunChanged: ("attempt", "status", "conclusion"),
    ev.JobChanged: ("attempt", "status", "conclusion", "name"),
    ev.WorkflowRunEnded: ("conclusion",),
    ev.LogRead: ("final", "problem"),
    ev.RayJobsDeleted: ("problem",),
    ev.VerdictReached: ("outcome", "why"),
}


def iso(at: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC."""
    return at.isoformat() if at else None


def run_json(item: ListedRun) -> dict[str, Any]:
    """Return a run as an item of a list."""
    return _run(item.run, item.repo)


def story_json(told: RunStory) -> dict[str, Any]:
    """Return a run with its wants, its timeline and its RayJobs."""
    run = told.run
    frozen = run.snapshot
    return {
        **_run(run, told.repo),
        "title": frozen.title,
        "workflow": frozen.suite.workflow,
        "ref": frozen.ref,
        "reason": frozen.reason,
        "required": frozen.suite.is_required,
        "quarantine": quarantine_json(frozen.quarantine),
        "timeout_minutes": frozen.suite.timeout_minutes,
        "policy": {"ref": frozen.policy_ref, "sha": frozen.policy_sha},
        "wants": [
            {**_of(claimant, "source", "auto"), "by": claimant.by.login}
            for claimant in told.claimants
        ],
        "facts": [_fact(run_event) for run_event in in_order(told.run_events)],
        "rayjobs": [_rayjob(job) for job in told.rayjobs],
        "environment": environment_of(told.run_events, told.rayjobs),
    }


def audit_json(item: Audited) -> dict[str, Any]:
    """Return a decision."""
    entry = item.entry
    return {
        **_of(entry, "at", "who", "what", "allowed", "rule"),
        "repo": item.repo,
        "repo_id": entry.repo_id,
        "pr": entry.number,
        **_of(entry, "sha", "delivery"),
    }


def pause_json(pause: Pause) -> dict[str, Any]:
    """Return a pause; ``until`` is None until somebody resumes."""
    return _of(pause, "resource", "by", "reason", "until", "at")


def _of(value: object, *names: str) -> dict[str, Any]:
    """Return these fields of a value, times as text."""
    found = {name: getattr(value, name) for name in names}
    return {name: iso(it) if isinstance(it, datetime) else it for name, it in found.items()}


def _run(run: Run, repo: Repo | None) -> dict[str, Any]:
    place, stop = run.queue_position, run.stop_request
    return {
        "id": run.id,
        "repo": repo.full_name if repo else None,
        **_of(run, "repo_id", "sha", "suite", "attempt"),
        "pr": run.number,
        **_of(run, "state", "outcome", "why", "cause", "origin"),
        "runner": run.label,
        # `start_at` is an estimate, None without one.
        "place": _of(place, "resource", "ahead", "start_at") if place else None,
        "wish": _of(stop, "kind", "by", "reason", "at") if stop else None,
        "actions": _actions(run),
        **_of(run, "created_at", "dispatched_at", "started_at", "ended_at"),
    }


def _actions(run: Run) -> dict[str, Any] | None:
    """Return the Actions run, None before it is known."""
    if run.actions_run_id is None:
        return None
    return {"run_id": run.actions_run_id, "attempt": run.actions_attempt, "url": run.actions_url}


def _fact(run_event: ev.RunEvent) -> dict[str, Any]:
    what = run_event.what
    fields = _of(what, *_OF_EVENT.get(type(what), ()))
    return {
        **_of(run_event, "at", "source", "key"),
        "text": line_of(what),
        **{name: value for name, value in fields.items() if value is not None},
    }


def _rayjob(job: RayJob) -> dict[str, Any]:
    return {
        **_of(job, *_OF_RAYJOB),
        "progress": asdict(job.progress) if job.progress else None,
        "digest": _digest(job.digest) if job.digest else None,
    }


def _digest(digest: Digest) -> dict[str, Any]:
    return {"class": digest.failure_class, **_of(digest, *_OF_DIGEST)}
