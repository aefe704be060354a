"""What is learned about a run: how facts are named and what they add up to.

A fact is unique by (run, source, key), so a doubled webhook or a step taken twice adds nothing.
``data["text"]``, where present, is the fact's line in the timeline that people read.
"""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.ids import Json, RunId
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run

RUNNER = "runner"
WEBHOOK = "webhook"
POLL = "poll"
ANNOUNCEMENT = "announcement"
APPROVAL = "action_required"
ENDED = "end:"  # begins the keys of ends read from the source of truth


def dispatching(run: Run, number: int, now: datetime) -> RunEvent:
    """Note the intent to dispatch, before the call; ``number`` counts the tries from 1."""
    again = "dispatching" if number == 1 else f"dispatching again (try {number})"
    return RunEvent(run.id, RUNNER, f"dispatch:{number}", now, {"text": again})


def unsent(run: Run, number: int, now: datetime, why: str) -> RunEvent:
    """Note that GitHub did not take a dispatch: it surely did not start anything."""
    return RunEvent(run.id, RUNNER, f"unsent:{number}", now, {"why": why})


def searched(run: Run, number: int, search: int, now: datetime) -> RunEvent:
    """Note that a search for our id after dispatch ``number`` found nothing."""
    return RunEvent(run.id, RUNNER, f"search:{number}:{search}", now)


def refused(run: Run, now: datetime, why: str) -> RunEvent:
    """Note that GitHub refuses the dispatch for good, in words for a maintainer."""
    return RunEvent(run.id, RUNNER, "refused", now, {"why": why, "text": "dispatch refused"})


def dispatched(run: Run, now: datetime, *, found: bool) -> RunEvent:
    """Note which Actions run is ours."""
    text = "found by its id after a lost answer" if found else "dispatched"
    return RunEvent(run.id, RUNNER, f"dispatched:{run.actions_attempt}", now, {"text": text})


def actions(source: str, run_id: RunId, now: datetime, data: Json) -> RunEvent:
    """Note what was said of the Actions run: ``attempt``, ``status``, ``conclusion``, ``url``.

    ``action_required`` is no end, though GitHub calls it one: an approval sets the run going.
    """
    if data["status"] == "completed" and data.get("conclusion") == APPROVAL:
        data = {**data, "status": APPROVAL, "text": "waits for an approval on GitHub"}
    return RunEvent(run_id, source, f"actions:{data['attempt']}:{data['status']}", now, data)


def native(source: str, run_id: RunId, now: datetime, data: Json) -> RunEvent:
    """Note the Actions run that GitHub started itself: ``run``, ``attempt``, ``url``, ``event``."""
    return RunEvent(run_id, source, f"native:{data['run']}", now, data)


def job(source: str, run_id: RunId, now: datetime, data: Json) -> RunEvent:
    """Note what was said of a job: ``id attempt status conclusion runner name``."""
    if data["status"] == "in_progress" and data["runner"]:
        data = {**data, "text": f"on runner `{data['runner']}`"}
    return RunEvent(run_id, source, f"job:{data['id']}:{data['status']}", now, data)


def ended(run: Run, now: datetime, conclusion: str | None) -> RunEvent:
    """Note the end of the Actions run as read from the source of truth."""
    text = f"Actions run ended: {conclusion or 'no conclusion'}"
    data = {"conclusion": conclusion, "text": text}
    return RunEvent(run.id, RUNNER, f"{ENDED}{run.actions_attempt}", now, data)


def log_read(run: Run, now: datetime, data: Json) -> RunEvent:
    """Note what the Actions log holds: ``final rayjobs digest problem``."""
    return RunEvent(run.id, RUNNER, f"log:{run.actions_attempt}", now, data)


def rayjob_seen(run: Run, now: datetime, job_id: str) -> RunEvent:
    """Note that a RayJob of this run was seen."""
    return RunEvent(run.id, RUNNER, f"rayjob:{job_id}", now, {"text": f"RayJob `{job_id}`"})


def announced(run: Run, now: datetime, job_id: str) -> tuple[RunEvent, ...]:
    """Note that the workflow itself named its RayJob: so a job of this attempt has begun, too."""
    begun = {"attempt": run.actions_attempt, "status": "in_progress", "conclusion": None}
    named = {"text": f"RayJob `{job_id}`, announced by the workflow"}
    return (
        actions(ANNOUNCEMENT, run.id, now, begun),
        RunEvent(run.id, ANNOUNCEMENT, f"rayjob:{job_id}", now, named),
    )


def asked(run: Run, now: datetime) -> RunEvent:
    """Note that the submitter was asked for all RayJobs after the Actions run's end."""
    return RunEvent(run.id, RUNNER, f"asked:{run.actions_attempt}", now)


def cancel_sent(run: Run, now: datetime, *, force: bool, taken: bool = True) -> RunEvent:
    """Note that GitHub was asked to cancel; ``taken`` False: it had nothing to cancel any more."""
    key = "force-cancel" if force else "cancel"
    text = "asked GitHub to cancel" + (" by force" if force else "")
    text += "" if taken else ": nothing to cancel any more"
    return RunEvent(run.id, RUNNER, key, now, {"text": text, "taken": taken})


def rayjobs_deleted(run: Run, number: int, now: datetime, problem: str) -> RunEvent:
    """Note a try to delete the RayJobs; ``problem`` is "" when nothing is left."""
    text = "RayJobs deleted" if not problem else f"deleting the RayJobs failed: {problem}"
    return RunEvent(run.id, RUNNER, f"delete:{number}", now, {"problem": problem, "text": text})


def decided(run: Run, now: datetime, outcome: str, why: str) -> RunEvent:
    """Note the verdict: from here on only logs are read."""
    return RunEvent(run.id, RUNNER, "verdict", now, {"outcome": outcome, "why": why})


@dataclass(frozen=True, slots=True)
class Observed:
    """What the facts of a run add up to."""

    intents: tuple[datetime, ...] = ()  # of dispatches, in order
    unsent: frozenset[int] = frozenset()  # numbers of those that GitHub did not take
    searches: int = 0  # made since the last intent
    refused: str | None = None
    native: Json | None = None  # the Actions run that GitHub started by itself
    to_approve: bool = False  # GitHub asks for an approval
    started_at: datetime | None = None  # a job of this attempt began
    seen_end_at: datetime | None = None  # first word that the Actions run ended
    ended: bool = False  # read from the source of truth
    conclusion: str | None = None
    asked: bool = False  # the submitter listed the RayJobs after the end
    cancel_at: datetime | None = None
    force_at: datetime | None = None
    cancel_taken: bool = False  # GitHub took one of the two: the end may be its doing
    deletes: tuple[datetime, ...] = ()
    deleted: bool = False
    leftover: str = ""  # the last problem of deleting
    log: Json | None = None
    verdict: Json | None = None
    verdict_at: datetime | None = None


def fold(run: Run, run_events: tuple[RunEvent, ...]) -> Observed:
    """Fold facts, in any order of arrival, into what they say of this run's Actions attempt."""
    latest_first = sorted(run_events, key=lambda run_event: run_event.at, reverse=True)
    # Keys of other sources hold ids from outside, which may look like ours: `log:1`.
    by_key = {
        run_event.key: run_event
        for run_event in latest_first
        if run_event.source == RUNNER or run_event.key.startswith("actions:")
    }
    attempt = run.actions_attempt
    intents = _numbered(by_key, "dispatch")
    deletes = _numbered(by_key, "delete")
    end = by_key.get(f"{ENDED}{attempt}")
    log = by_key.get(f"log:{attempt}")
    verdict = by_key.get("verdict")
    said_over = [by_key.get(f"actions:{attempt}:completed"), end]
    last = deletes[-1].data if deletes else {}
    return Observed(
        intents=tuple(run_event.at for run_event in intents),
        unsent=frozenset(_last_number(key) for key in by_key if key.startswith("unsent:")),
        searches=sum(key.startswith(f"search:{len(intents)}:") for key in by_key),
        refused=by_key["refused"].data["why"] if "refused" in by_key else None,
        native=_newest_native(run_events),
        to_approve=f"actions:{attempt}:{APPROVAL}" in by_key and not _let_go(run_events, attempt),
        started_at=min(
            (run_event.at for run_event in run_events if _tells_start(run_event, attempt)),
            default=None,
        ),
        seen_end_at=min((run_event.at for run_event in said_over if run_event), default=None),
        ended=end is not None,
        conclusion=end.data["conclusion"] if end else None,
        asked=f"asked:{attempt}" in by_key,
        cancel_at=by_key["cancel"].at if "cancel" in by_key else None,
        force_at=by_key["force-cancel"].at if "force-cancel" in by_key else None,
        cancel_taken=any(
            by_key[key].data.get("taken", True)
            for key in ("cancel", "force-cancel")
            if key in by_key
        ),
        deletes=tuple(run_event.at for run_event in deletes),
        deleted=bool(deletes) and not last["problem"],
        leftover=last.get("problem", ""),
        log=log.data if log else None,
        verdict=verdict.data if verdict else None,
        verdict_at=verdict.at if verdict else None,
    )


def _newest_native(run_events: tuple[RunEvent, ...]) -> Json | None:
    found = [run_event.data for run_event in run_events if run_event.key.startswith("native:")]
    return max(found, key=lambda data: int(data["run"]), default=None)


def _let_go(run_events: tuple[RunEvent, ...], attempt: int) -> bool:
    """Tell whether a run that waited for an approval has it: only then are there jobs."""
    return any(
        run_event.key.startswith("job:") or run_event.key == f"actions:{attempt}:queued"
        for run_event in run_events
    )


def _last_number(key: str) -> int:
    return int(key.rpartition(":")[2])


def _numbered(by_key: dict[str, RunEvent], prefix: str) -> list[RunEvent]:
    """Return the facts ``prefix:1``, ``prefix:2``, …."""
    keys = [key for key in by_key if key.startswith(f"{prefix}:")]
    return [by_key[key] for key in sorted(keys, key=_last_number)]


def _tells_start(run_event: RunEvent, attempt: int) -> bool:
    """Tell whether a fact says that a job of this attempt has begun on a runner."""
    kind = run_event.key.partition(":")[0]
    return (
        kind in {"actions", "job"}
        and run_event.data.get("attempt") == attempt
        and run_event.data.get("status") == "in_progress"
    )
