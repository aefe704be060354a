"""A run's facts in the order in which a run goes: what is heard late stands where it belongs.

Facts come from several sources, each with a lag of its own, and people see whole minutes; so
within a minute the natural order counts, and only then who was heard first.
"""

from collections.abc import Iterable
from datetime import datetime

from bot.core.model.run_events import RunEvent

_BEGIN, _SENT, _APPROVAL, _RUNNER, _RAYJOB, _ENDING, _END, _AFTER, _NEXT = range(0, 90, 10)
_KINDS = {
    "dispatch": _BEGIN,
    "native": _BEGIN,
    "unsent": _BEGIN,
    "search": _BEGIN,
    "refused": _SENT,
    "dispatched": _SENT,
    "actions": _APPROVAL,
    "job": _RUNNER,
    "rayjob": _RAYJOB,
    "cancel": _ENDING,
    "force-cancel": _ENDING,
    "end": _END,
    "retried": _NEXT,
}
_STATES = ("", "new", "pending", "initializing", "waiting", "running")  # of a RayJob, then its end


def in_order(run_events: Iterable[RunEvent]) -> tuple[RunEvent, ...]:
    """Return the facts by minute, then as a run goes, then as they were heard."""
    return tuple(sorted(run_events, key=_place))


def told(run_events: Iterable[RunEvent]) -> tuple[RunEvent, ...]:
    """Return the facts that have a text, in order; a dispatch that was taken is told once."""
    known = in_order(run_events)
    sent = any(run_event.key.startswith("dispatched:") for run_event in known)
    lines = (run_event for run_event in known if run_event.data.get("text"))
    return tuple(run_event for run_event in lines if not (sent and run_event.key == "dispatch:1"))


def _place(run_event: RunEvent) -> tuple[datetime, int, datetime, str]:
    return (
        run_event.at.replace(second=0, microsecond=0),
        _rank(run_event.key),
        run_event.at,
        run_event.key,
    )


def _rank(key: str) -> int:
    kind, *rest = key.split(":")
    if kind == "rayjob":
        return _RAYJOB + _state(rest[1:])
    if kind in {"actions", "job"} and rest[-1:] == ["completed"]:
        return _ENDING
    return _KINDS.get(kind, _AFTER)


def _state(words: list[str]) -> int:
    """Rank ``deployment:status`` of a RayJob; the deployment says more where there is one."""
    word = next((word for word in words if word), "").lower()
    return _STATES.index(word) if word in _STATES else len(_STATES)
