"""Checks of the quarantines of a policy: their suites, and on the day of the check their ends."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from bot.core.messages import Message
from bot.core.policy import values as v
from bot.core.policy.document import Path, Problem
from bot.core.policy.errors import shown, unknown
from bot.core.policy.models import Policy
from bot.core.policy.quarantined import MAX_DAYS


def quarantine_problems(
    data: Mapping[str, Any], suites: Mapping[str, Any], today: date | None
) -> Iterator[Problem]:
    """Yield entries of unknown suites, of tests that no log tells, repetitions and late ends.

    Without ``today`` the ends are not looked at: a policy in force is not broken by its age.
    """
    entries = data.get("quarantine")
    seen: set[tuple[str, str]] = set()
    for index, entry in enumerate(entries[: v.MAX_ITEMS] if isinstance(entries, list) else []):
        name, test, until = (_text(entry, key) for key in ("suite", "test", "until"))
        path: Path = ("quarantine", index)
        if name and name not in suites:
            yield Problem((*path, "suite"), unknown("suite", name, suites))
        suite = suites.get(name)
        if test and isinstance(suite, dict) and suite.get("rayjob") is True:
            yield Problem((*path, "test"), Message("policy_quarantine_rayjob", suite=shown(name)))
        if (name, test) in seen:
            yield Problem(path, Message("policy_quarantine_twice"))
        seen.add((name, test))
        last = (today + timedelta(days=MAX_DAYS)).isoformat() if today else until
        if v.DAY.fullmatch(until) and until > last:
            text = Message("policy_quarantine_long", days=MAX_DAYS, last=last)
            yield Problem((*path, "until"), text)


def _text(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    return value if isinstance(value, str) else ""


def quarantine_warnings(policy: Policy, today: date) -> Iterator[Problem]:
    """Yield the quarantines that are over."""
    for index, entry in enumerate(policy.quarantine):
        if entry.until <= today.isoformat():
            yield Problem(("quarantine", index, "until"), Message("policy_quarantine_over"))
