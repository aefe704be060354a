"""The JSON of the read API. Of a log it contains only the cause, redacted."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from bot.core.model.digests import Digest
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.run_events import (
    DispatchRefused,
    DispatchUnsent,
    JobChanged,
    LogRead,
    NativeRunSeen,
    RayJobsDeleted,
    RunEvent,
    VerdictReached,
    What,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.model.runs import Claimant, Run
from bot.core.queue.state import Pause
from bot.core.runs.timeline import in_order, line_of
from bot.store.audit import Audited
from bot.store.run_reads import ListedRun, RunStory

# Not a line of the log.
_OF_DIGEST = ("infra", "codes", "hint", "root_cause_line", "lines", "bytes")
# The fields of an event that are shown beside its line: words and numbers of a known kind.
_OF_EVENT: dict[type[What], tuple[str, ...]] = {
    DispatchUnsent: ("why",),
    DispatchRefused: ("why",),
    NativeRunSeen: ("attempt",),
    WorkflowRunChanged: ("attempt", "status", "conclusion"),
    JobChanged: ("attempt", "status", "conclusion", "name"),
    WorkflowRunEnded: ("conclusion",),
    LogRead: ("final", "problem"),
    RayJobsDeleted: ("problem",),
    VerdictReached: ("outcome", "why"),
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
        "timeout_minutes": frozen.suite.timeout_minutes,
        "policy": {"ref": frozen.policy_ref, "sha": frozen.policy_sha},
        "wants": [_claimant(claimant) for claimant in told.claimants],
        "facts": [_fact(run_event) for run_event in in_order(told.run_events)],
        "rayjobs": [_rayjob(job) for job in told.rayjobs],
    }


def audit_json(item: Audited) -> dict[str, Any]:
    """Return a decision."""
    entry = item.entry
    return {
        "at": iso(entry.at),
        "who": entry.who,
        "what": entry.what,
        "allowed": entry.allowed,
        "rule": entry.rule,
        "repo": item.repo,
        "repo_id": entry.repo_id,
        "pr": entry.number,
        "sha": entry.sha,
        "delivery": entry.delivery,
    }


def pause_json(pause: Pause) -> dict[str, Any]:
    """Return a pause; ``until`` is None until somebody resumes."""
    return {
        "resource": pause.resource,
        "by": pause.by,
        "reason": pause.reason,
        "until": iso(pause.until),
        "at": iso(pause.at),
    }


def _run(run: Run, repo: Repo | None) -> dict[str, Any]:
    return {
        "id": run.id,
        "repo": repo.full_name if repo else None,
        "repo_id": run.repo_id,
        "sha": run.sha,
        "suite": run.suite,
        "attempt": run.attempt,
        "pr": run.number,
        "state": run.state.value,
        "outcome": run.outcome.value if run.outcome else None,
        "why": run.why,
        "cause": run.cause,
        "origin": run.origin,
        "runner": run.label,
        "place": _place(run),
        "wish": _wish(run),
        "actions": _actions(run),
        "created_at": iso(run.created_at),
        "dispatched_at": iso(run.dispatched_at),
        "started_at": iso(run.started_at),
        "ended_at": iso(run.ended_at),
    }


def _wish(run: Run) -> dict[str, Any] | None:
    stop_request = run.stop_request
    if stop_request is None:
        return None
    return {
        "kind": stop_request.kind.value,
        "by": stop_request.by,
        "reason": stop_request.reason,
        "at": iso(stop_request.at),
    }


def _place(run: Run) -> dict[str, Any] | None:
    """Return the position in the queue; ``start_at`` is an estimate, None without one."""
    place = run.queue_position
    if place is None:
        return None
    return {"resource": place.resource, "ahead": place.ahead, "start_at": iso(place.start_at)}


def _actions(run: Run) -> dict[str, Any] | None:
    """Return the Actions run, None before it is known."""
    if run.actions_run_id is None:
        return None
    return {"run_id": run.actions_run_id, "attempt": run.actions_attempt, "url": run.actions_url}


def _claimant(claimant: Claimant) -> dict[str, Any]:
    return {"source": claimant.source, "auto": claimant.auto, "by": claimant.by}


def _fact(run_event: RunEvent) -> dict[str, Any]:
    what = run_event.what
    fields = {name: getattr(what, name) for name in _OF_EVENT.get(type(what), ())}
    return {
        "at": iso(run_event.at),
        "source": run_event.source,
        "key": run_event.key,
        "text": line_of(what),
        **{name: value for name, value in fields.items() if value is not None},
    }


def _rayjob(job: RayJob) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "seen": job.seen,
        "confirmed": job.confirmed,
        "status": job.status,
        "deployment": job.deployment,
        "message": job.message,
        "final": job.final,
        "final_from": job.final_from,
        "silent_since": iso(job.silent_since),
        "last_line_at": iso(job.last_line_at),
        "lines": job.lines,
        "log_bytes": job.log_bytes,
        "complete": job.complete,
        "progress": asdict(job.progress) if job.progress else None,
        "digest": _digest(job.digest),
    }


def _digest(digest: Digest | None) -> dict[str, Any] | None:
    if digest is None:
        return None
    shown = {name: getattr(digest, name) for name in _OF_DIGEST}
    return {"class": digest.failure_class, **shown}
