"""Numbers, times and lists in words, the same in every report.

They are messages, so that each language has its own units, order and punctuation.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.core.messages.message import HAN, NOTHING, Message

_UNITS = (("span_d", 86_400), ("span_h", 3_600), ("span_min", 60), ("span_s", 1))
_WIDE_ENDS = ("。", "：", "；", "，", "）", "、")


def duration(seconds: float) -> Message:
    """Return a span in two units at most: ``41 s``, ``22 min``, ``1 h 12 min``, ``2 d 3 h``."""
    left = max(0, round(seconds))
    for index, (unit, length) in enumerate(_UNITS):
        if left >= length:
            small, small_length = _UNITS[min(index + 1, len(_UNITS) - 1)]
            whole, rest = divmod(left, length)
            part = rest // small_length
            # Seconds say nothing any more once minutes are many.
            if not part or (unit == "span_min" and whole >= 10):
                return Message(unit, n=whole)
            return Message("span_two", whole=Message(unit, n=whole), rest=Message(small, n=part))
    return Message("span_s", n=0)


def about(seconds: float) -> Message:
    """Return an estimate without false precision: whole minutes, rounded up, from one on."""
    return duration(seconds if seconds < 60 else -(-seconds // 60) * 60)


def between(start: datetime | None, end: datetime | None) -> Message:
    """Return how long something took, "" when either end is not known."""
    if start is None or end is None:
        return NOTHING
    return duration((end - start).total_seconds())


def clock(at: datetime, now: datetime, *, seconds: bool = False) -> Message:
    """Return a time of day in UTC, with the date when it is not today's."""
    time = Message("time_seconds" if seconds else "time", at=at)
    if at.date() == now.date():
        return time
    return Message("time_of_day" if at.year == now.year else "time_of_date", at=at, time=time)


def ordinal(number: int) -> Message:
    """Return ``1st``, ``2nd``, ``3rd``, ``11th``."""
    last = 0 if number % 100 in {11, 12, 13} else number % 10
    key = {1: "ordinal_st", 2: "ordinal_nd", 3: "ordinal_rd"}.get(last, "ordinal_th")
    return Message(key, n=number)


def number(value: float) -> str:
    """Return a number with its thousands apart and no digits that say nothing: ``1,200``."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def count(many: int, one: str, more: str = "") -> str:
    """Return ``1 suite`` or ``3 suites``."""
    return f"{many:,} {one if many == 1 else more or one + 's'}"


def joined(items: Iterable[str]) -> Message:
    """Return ``a, b, c``."""
    return Message("joined", items=tuple(items))


def listing(items: Sequence[str], limit: int = 3) -> Message:
    """Return ``a, b and c``; beyond ``limit``, ``a, b, c and 4 more``."""
    shown = list(items[:limit])
    rest = len(items) - len(shown)
    if rest:
        return Message("joined_more", items=tuple(shown), rest=rest)
    if len(shown) < 2:
        return joined(shown)
    return Message("joined_last", items=tuple(shown[:-1]), last=shown[-1])


def lower(sentence: str) -> str:
    """Return a sentence fit to follow a colon; names keep their capital."""
    return f"the {sentence[4:]}" if sentence.startswith("The ") else sentence


def capital(sentence: str) -> str:
    """Return a sentence with its first letter as a capital; Chinese has none."""
    return sentence if HAN.search(sentence) else sentence[:1].upper() + sentence[1:]


def stop(sentence: str) -> str:
    """Return a sentence with its full stop, "" for none."""
    if not sentence:
        return ""
    return f"{sentence}。" if HAN.search(sentence) else f"{sentence}."


def sentences(*parts: str) -> str:
    """Join sentences, leaving out empty ones; after a Chinese one there is no space."""
    text = ""
    for part in filter(None, parts):
        gap = "" if not text or text.endswith(_WIDE_ENDS) else " "
        text += gap + part
    return text
