"""What both sides of the day used, and why they differ."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tests.bench.day import Asked, Push, Spell

RAYJOB = "two-node PPO, which today runs at night only"
NO_APPROVAL = "strangers' commits that nobody approved"
DEBOUNCE = "replaced within the debounce: nothing was started"
WAITED = "replaced while it waited for its place"
CUT_SHORT = "stopped by a newer push, later or sooner than today"
FINISHED = "ran to its end, where today a newer push stopped it or came first"
NIGHT = "nights"
SAME = "the same jobs, to the minute"

Key = tuple[int, int, str]  # pull request, push, job


@dataclass(frozen=True, slots=True)
class Figures:
    """One side's day: runs are jobs that got a runner, hours are NPU-hours, waits are minutes."""

    runs: int
    hours: float
    night_hours: float
    stopped_hours: float  # of runs that a newer push ended: nobody reads their result
    verdicts: int  # pushes that got every result today's filters ask for
    wait_median: float
    wait_p95: float
    over_at: float  # hours after midnight


def figures(spells: Sequence[Spell], wanted: Sequence[Asked]) -> Figures:
    """Sum a side up; ``wanted``: what the pushes ask for under today's filters."""
    ran = [spell for spell in spells if spell.started_at is not None]
    waits = [
        (spell.started_at or 0.0) - spell.asked.at
        for spell in ran
        if spell.asked.push and spell.asked.attempt == 1
    ]
    cuts = statistics.quantiles(waits, n=20) if len(waits) > 1 else [0.0] * 19
    return Figures(
        runs=len(ran),
        hours=_hours(ran),
        night_hours=_hours(spell for spell in ran if spell.asked.push is None),
        stopped_hours=_hours(spell for spell in ran if spell.end == "cancelled"),
        verdicts=_verdicts(spells, wanted),
        wait_median=cuts[9],
        wait_p95=cuts[18],
        over_at=max((spell.ended_at for spell in ran), default=0.0) / 60,
    )


def _hours(spells: Iterable[Spell]) -> float:
    return sum(spell.npu_hours for spell in spells)


def _verdicts(spells: Iterable[Spell], wanted: Iterable[Asked]) -> int:
    """Count the pushes of which every job of today's filters came to its own end."""
    ended = {
        key
        for key, found in _by_job(spells).items()
        if found[-1].end not in {"cancelled", "broken"}
    }
    asked: defaultdict[tuple[int, int], list[bool]] = defaultdict(list)
    for item in wanted:
        if item.push:
            key = (item.push.pull, item.push.number, item.job.name)
            asked[key[:2]].append(key in ended)
    return sum(all(found) for found in asked.values())


def reasons(
    today: Sequence[Spell], bot: Sequence[Spell], pushes: Sequence[Push], debounce_s: float
) -> dict[str, float]:
    """Return the difference in NPU-hours, bot less today, by what the bot did otherwise."""
    before, after = _by_job(today), _by_job(bot)
    newer = {(push.pull, push.number - 1): push.at for push in pushes}
    at = {(push.pull, push.number): push for push in pushes}
    found: defaultdict[str, float] = defaultdict(float)
    for key in before.keys() | after.keys():
        old, new = before.get(key, []), after.get(key, [])
        push = at[key[:2]]
        gap = newer.get(key[:2], float("inf")) - push.at
        why = _why(key[2], old, new) or _not_started(push, gap, debounce_s)
        found[why] += _hours(new) - _hours(old)
    nights = [_hours(one for one in side if one.asked.push is None) for side in (bot, today)]
    return {NIGHT: nights[0] - nights[1], **found}


def _by_job(spells: Iterable[Spell]) -> dict[Key, list[Spell]]:
    found: defaultdict[Key, list[Spell]] = defaultdict(list)
    for spell in spells:
        push = spell.asked.push
        if push is not None and spell.started_at is not None:
            found[(push.pull, push.number, spell.asked.job.name)].append(spell)
    return found


def _why(name: str, old: Sequence[Spell], new: Sequence[Spell]) -> str:
    """Name the difference for a job that the bot started; "" for one that it did not."""
    if not new:
        return ""
    if name.startswith("multinode"):
        return RAYJOB
    if new[-1].end == "cancelled":
        return CUT_SHORT
    return SAME if old and old[-1].end != "cancelled" else FINISHED


def _not_started(push: Push, gap: float, debounce_s: float) -> str:
    if push.author.looks_after is None or (push.author.stranger and gap < push.author.looks_after):
        return NO_APPROVAL
    if push.number > 1 and gap * 60 <= debounce_s:
        return DEBOUNCE
    return WAITED


def as_json(side: Figures) -> dict[str, Any]:
    """Return a side's figures, rounded."""
    return {name: round(value, 1) for name, value in asdict(side).items()}
