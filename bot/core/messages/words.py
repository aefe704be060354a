"""Numbers, times and lists in words, the same in every report."""

from collections.abc import Sequence
from datetime import datetime

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """Return a span in two units at most: ``41 s``, ``22 min``, ``1 h 12 min``, ``2 d 3 h``."""
    left = max(0, round(seconds))
    for index, (unit, length) in enumerate(_UNITS):
        if left >= length:
            small, small_length = _UNITS[min(index + 1, len(_UNITS) - 1)]
            whole, rest = divmod(left, length)
            part = rest // small_length
            # Seconds say nothing any more once minutes are many.
            if not part or (unit == "min" and whole >= 10):
                return f"{whole} {unit}"
            return f"{whole} {unit} {part} {small}"
    return "0 s"


def about(seconds: float) -> str:
    """Return an estimate without false precision: whole minutes, rounded up, from one on."""
    return duration(seconds if seconds < 60 else -(-seconds // 60) * 60)


def between(start: datetime | None, end: datetime | None) -> str:
    """Return how long something took, "" when either end is not known."""
    if start is None or end is None:
        return ""
    return duration((end - start).total_seconds())


def clock(at: datetime, now: datetime, *, seconds: bool = False) -> str:
    """Return a time of day in UTC, with the date when it is not today's."""
    time = f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    if at.date() == now.date():
        return time
    if at.year == now.year:
        return f"{at.day} {at:%b} {time}"
    return f"{at:%Y-%m-%d} {time}"


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``3rd``, ``11th``."""
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def number(value: float) -> str:
    """Return a number with its thousands apart and no digits that say nothing: ``1,200``."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def count(many: int, one: str, more: str = "") -> str:
    """Return ``1 suite`` or ``3 suites``."""
    return f"{many:,} {one if many == 1 else more or one + 's'}"


def listing(items: Sequence[str], limit: int = 3) -> str:
    """Return ``a, b and c``; beyond ``limit``, ``a, b, c and 4 more``."""
    shown = list(items[:limit])
    rest = len(items) - len(shown)
    last = f"{rest} more" if rest else shown.pop() if len(shown) > 1 else ""
    return f"{', '.join(shown)} and {last}" if last else ", ".join(shown)


def lower(sentence: str) -> str:
    """Return a sentence fit to follow a colon; names keep their capital."""
    return f"the {sentence[4:]}" if sentence.startswith("The ") else sentence


def capital(sentence: str) -> str:
    """Return a sentence with its first letter as a capital."""
    return sentence[:1].upper() + sentence[1:]
