"""Who gets a place next, from what holds and waits now (RULINGS F).

One pure walk over everybody who waits decides who may take which place; the same walk tells a
waiting run's place in the queue and, run forward with the suites' usual times, when it will start.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import TypeVar

from bot.core.model import Ahead, Alternatives, Need, Place, RunId
from bot.core.spending import Spent
from bot.core.texts.words import clock

_Key = TypeVar("_Key", int, str)

# Who has waited so long moves up one class, and on past the first: nobody waits for ever.
AGE = timedelta(hours=4)
# Who has waited so long for several scarce things at once keeps what is free of them for itself;
# sooner, the rest may use it meanwhile.
RESERVE_AFTER = timedelta(minutes=30)
_OVERDUE = 0.1  # a run past its usual time is taken to need this part of it still
_FORWARD = 100  # ends looked at for an estimate; beyond, it would be a guess
_NAMED = 3  # runs ahead that a check run names


@dataclass(frozen=True, slots=True)
class Waiter:
    """A run that waits for a place."""

    run_id: RunId
    suite: str
    since: datetime
    rank: int  # `model.Rank`, the best of its wants
    needs: Alternatives
    number: int | None = None
    author: str = ""
    per_pull: int | None = None  # how many runs of its pull request may go at once
    hours: float | None = None  # NPU-hours a day; None: not bound by them (forced)


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds places."""

    run_id: RunId
    suite: str
    since: datetime
    amounts: tuple[tuple[str, int], ...]  # resource, amount
    number: int | None = None
    author: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Somebody's word that nothing starts on a resource ("label:X", "pool:Y", "all")."""

    resource: str
    by: str
    reason: str
    until: datetime | None  # None: until somebody resumes
    at: datetime

    def holds(self, now: datetime) -> bool:
        """Tell whether it is in force."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that decides who goes next in one repository."""

    now: datetime
    waiting: tuple[Waiter, ...]
    holders: tuple[Holder, ...] = ()
    occupied: dict[str, int] = field(default_factory=dict)  # by jobs that are not ours
    pauses: tuple[Pause, ...] = ()
    spent: Spent = field(default_factory=Spent)
    usual: dict[str, timedelta] = field(default_factory=dict)  # by suite


@dataclass(frozen=True, slots=True)
class Taken:
    """The places were taken; ``choice`` is the index of the alternative that fitted."""

    choice: int


@dataclass(frozen=True, slots=True)
class Barred:
    """A rule keeps the run from starting, whatever is free; ``until`` None: nobody knows."""

    why: str
    until: datetime | None = None
    rule: str = ""  # the rule's name, for the audit: unlike ``why``, it stays the same


Answer = Taken | Place | Barred


def decide(scene: Scene, run_id: RunId) -> Answer:
    """Return what a waiting run gets now."""
    walk = _walk(scene)
    if run_id in walk.taken:
        return Taken(walk.taken[run_id])
    if run_id in walk.barred:
        return walk.barred[run_id]
    return _place(scene, walk, run_id)


def going(scene: Scene) -> dict[RunId, int]:
    """Return every run that may take a place now, with the alternative it gets."""
    return _walk(scene).taken


def order(scene: Scene) -> list[Waiter]:
    """Return who waits, next one first: by class, then authors and their PRs take turns."""
    classes: defaultdict[int, list[Waiter]] = defaultdict(list)
    for waiter in sorted(scene.waiting, key=lambda item: (item.since, item.run_id)):
        classes[_class_of(waiter, scene.now)].append(waiter)
    by_author = Counter(holder.author for holder in scene.holders)
    by_pull = Counter(holder.number or 0 for holder in scene.holders)
    ordered: list[Waiter] = []
    for _, waiters in sorted(classes.items()):
        fair = _turns(waiters, lambda item: item.number or 0, by_pull, scene.spent.by_pull)
        ordered += _turns(fair, lambda item: item.author, by_author, scene.spent.by_author)
    return ordered


def _turns(
    waiters: list[Waiter],
    whose: Callable[[Waiter], _Key],
    held: Counter[_Key],
    used: dict[_Key, float],
) -> list[Waiter]:
    """Let them take turns: everybody's first, then the seconds; who used less goes before.

    What one holds already counts as turns taken. Ties keep the order they came in.
    """
    turns, keys = Counter(held), {}
    for waiter in waiters:
        who = whose(waiter)
        keys[waiter.run_id] = (turns[who], used.get(who, 0.0))
        turns[who] += 1
    return sorted(waiters, key=lambda item: keys[item.run_id])


def _class_of(waiter: Waiter, now: datetime) -> int:
    return waiter.rank - max((now - waiter.since) // AGE, 0)


@dataclass(slots=True)
class _Walk:
    """The walk's state: what is used up so far, and who got what."""

    used: Counter[str]
    pulls: Counter[int]
    closed: set[str] = field(default_factory=set)  # somebody earlier waits for these
    taken: dict[RunId, int] = field(default_factory=dict)
    barred: dict[RunId, Barred] = field(default_factory=dict)
    ordered: list[Waiter] = field(default_factory=list)

    def short(self, needs: tuple[Need, ...]) -> list[Need]:
        """Return the needs that can't be met now."""
        return [
            need
            for need in needs
            if need.resource in self.closed
            or self.used[need.resource] + need.amount > need.capacity
        ]

    def use(self, needs: tuple[Need, ...]) -> None:
        """Count places as used."""
        for need in needs:
            self.used[need.resource] += need.amount


def _walk(scene: Scene) -> _Walk:
    """Give places in order; what an earlier run waits for is closed to the later ones."""
    walk = _Walk(Counter(scene.occupied), Counter())
    for holder in scene.holders:
        walk.used.update(dict(holder.amounts))
        if holder.number is not None:
            walk.pulls[holder.number] += 1
    walk.ordered = order(scene)
    for waiter in walk.ordered:
        barred = _bar(scene, walk, waiter)
        if barred:
            walk.barred[waiter.run_id] = barred
        else:
            _serve(scene, walk, waiter)
    return walk


def _serve(scene: Scene, walk: _Walk, waiter: Waiter) -> None:
    options = _open(scene, waiter)
    for choice, needs in options:
        if not walk.short(needs):
            walk.taken[waiter.run_id] = choice
            walk.use(needs)
            if waiter.number is not None:
                walk.pulls[waiter.number] += 1
            return
    if scene.now - waiter.since >= RESERVE_AFTER:
        walk.use(options[0][1])
    for _, needs in options:
        walk.closed.update(need.resource for need in walk.short(needs))


def _open(scene: Scene, waiter: Waiter) -> list[tuple[int, tuple[Need, ...]]]:
    """Return the alternatives that nobody paused."""
    shut = {pause.resource for pause in scene.pauses if pause.holds(scene.now)}
    return [
        (choice, needs)
        for choice, needs in enumerate(waiter.needs)
        if "all" not in shut and not any(need.resource in shut for need in needs)
    ]


def _bar(scene: Scene, walk: _Walk, waiter: Waiter) -> Barred | None:
    """Return the rule that keeps a run from starting now."""
    if not _open(scene, waiter):
        return _paused(scene, waiter)
    if waiter.number is not None and waiter.per_pull is not None:
        at_once = walk.pulls[waiter.number]
        if at_once >= waiter.per_pull:
            why = f"{at_once} runs of this pull request are going, {waiter.per_pull} may at once"
            return Barred(why, rule="limits.runs_per_pr")
    if waiter.hours is not None and scene.spent.total >= waiter.hours:
        return _spent(scene, waiter.hours)
    return None


def _spent(scene: Scene, hours: float) -> Barred:
    until = _coarse(scene.spent.below(hours, scene.now), scene.now)
    why = f"{scene.spent.total:,.0f} of {hours:,.0f} NPU-hours of 24 h are used"
    if until is not None:
        why += f", until about {clock(until, scene.now)}"
    return Barred(why, until, "limits.npu_hours_per_day")


def _paused(scene: Scene, waiter: Waiter) -> Barred:
    """Name the pause that goes last of those on the alternative that is free first."""
    pause = min((_longest(scene, needs) for needs in waiter.needs), key=_ends)
    what = pause.resource.partition(":")[2] or "everything"
    until = f" until {clock(pause.until, scene.now)}" if pause.until else ""
    why = f"{what} is paused by {pause.by}{until}: {pause.reason}"
    return Barred(why, pause.until, "pause")


def _longest(scene: Scene, needs: tuple[Need, ...]) -> Pause:
    named = {need.resource for need in needs} | {"all"}
    return max(
        (item for item in scene.pauses if item.resource in named and item.holds(scene.now)),
        key=_ends,
    )


def _ends(pause: Pause) -> tuple[bool, datetime, str]:
    return pause.until is None, pause.until or pause.at, pause.resource


def _place(scene: Scene, walk: _Walk, run_id: RunId) -> Place:
    """Return a run's place: behind the holders and the earlier waiters of what it lacks."""
    index = next(i for i, item in enumerate(walk.ordered) if item.run_id == run_id)
    waiter = walk.ordered[index]
    nearer = replace(scene, waiting=tuple(walk.ordered[: index + 1]))
    needs = _open(scene, waiter)[0][1]
    lacking = next(need.resource for need in needs if need in walk.short(needs))
    holders = [item for item in scene.holders if lacking in dict(item.amounts)]
    earlier = [item for item in walk.ordered[:index] if _wants(item, lacking)]
    ahead: list[Holder | Waiter] = [*holders, *earlier]
    others = scene.occupied.get(lacking, 0)
    return Place(
        resource=lacking.partition(":")[2],
        ahead=len(ahead) + others,
        start_at=_coarse(_start(nearer, run_id), scene.now),
        before=tuple(_ahead(scene, item) for item in ahead[:_NAMED]),
        others=others,
    )


def _wants(waiter: Waiter, resource: str) -> bool:
    return any(need.resource == resource for needs in waiter.needs for need in needs)


def _ahead(scene: Scene, item: Holder | Waiter) -> Ahead:
    since = item.since if isinstance(item, Holder) else None
    return Ahead(item.suite, item.number, since, scene.usual.get(item.suite))


def _coarse(start: datetime | None, now: datetime) -> datetime | None:
    """Round an estimate up, the coarser the farther: it is shown anew whenever it changes."""
    if start is None:
        return None
    step = timedelta(minutes=5 if start - now < timedelta(hours=1) else 30)
    epoch = datetime.fromtimestamp(0, now.tzinfo)
    return epoch - ((epoch - start) // step) * step


def _start(scene: Scene, run_id: RunId) -> datetime | None:
    """Return when a run would start if every suite took its usual time; None: not known."""
    known = scene.usual
    ends = [
        (_end(scene, holder), holder.run_id) for holder in scene.holders if holder.suite in known
    ]
    heapify(ends)
    for _ in range(_FORWARD):
        taken = going(scene)
        if run_id in taken:
            return scene.now
        for waiter in scene.waiting:
            if waiter.run_id in taken and waiter.suite in known:
                heappush(ends, (scene.now + known[waiter.suite], waiter.run_id))
        if not ends:
            return None
        end, over = heappop(ends)
        scene = _forward(scene, taken, end, over)
    return None


def _end(scene: Scene, holder: Holder) -> datetime:
    usual = scene.usual[holder.suite]
    return max(holder.since + usual, scene.now + _OVERDUE * usual)


def _forward(scene: Scene, taken: dict[RunId, int], end: datetime, over: RunId) -> Scene:
    """Return the scene after these runs started and that one ended."""
    started = [
        _started(item, taken[item.run_id], scene.now)
        for item in scene.waiting
        if item.run_id in taken
    ]
    return replace(
        scene,
        now=end,
        waiting=tuple(item for item in scene.waiting if item.run_id not in taken),
        holders=tuple(item for item in (*scene.holders, *started) if item.run_id != over),
    )


def _started(waiter: Waiter, choice: int, now: datetime) -> Holder:
    amounts = tuple((need.resource, need.amount) for need in waiter.needs[choice])
    return Holder(waiter.run_id, waiter.suite, now, amounts, waiter.number, waiter.author)
