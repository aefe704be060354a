"""Parse times as operators type them: a clock time, a date with a time, or a span from now."""

import re
from datetime import UTC, datetime, time, timedelta

FORMS = "18:00, 2026-12-01T18:00Z or 2h30m; UTC without an offset"
"""The forms, for messages and help texts."""

_SPAN = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m(?:in)?)?", re.ASCII).fullmatch
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII).fullmatch
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def ahead(text: str, now: datetime) -> datetime | None:
    """Return the time that ``text`` names, with a span into the future; None: not understood."""
    return _moment(text.strip(), now, forwards=True)


def ago(text: str, now: datetime) -> datetime | None:
    """Return the time that ``text`` names, with a span into the past; None: not understood."""
    return _moment(text.strip(), now, forwards=False)


def _moment(text: str, now: datetime, *, forwards: bool) -> datetime | None:
    if text and (found := _SPAN(text)):
        days, hours, minutes = (int(part or 0) for part in found.groups())
        span = timedelta(days=days, hours=hours, minutes=minutes)
        return now + span if forwards else now - span
    try:
        return _clock(text, now) if _CLOCK(text) else _date(text)
    except (ValueError, OverflowError):  # for example 25:00, or a date beyond the calendar
        return None


def _clock(text: str, now: datetime) -> datetime:
    """Return a time of today, in the time's own offset."""
    at = time.fromisoformat(text.zfill(5) if len(text) == len("9:00") else text)
    zone = at.tzinfo or UTC
    return datetime.combine(now.astimezone(zone), at.replace(tzinfo=zone)).astimezone(UTC)


def _date(text: str) -> datetime | None:
    if not _DATE.fullmatch(text):
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
