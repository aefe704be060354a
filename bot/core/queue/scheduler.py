"""Who gets a place next, from what holds and waits now.

One pure walk over everybody who waits decides who may take which place; the same walk tells a
waiting run's place in the queue and, run forward with the suites' usual times, when it will start.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import TypeVar

from bot.core.messages.words import clock, number
from bot.core.model.ids import RunId
from bot.core.model.queue import Ahead, Alternatives, Need, Place
from bot.core.queue.usage import Spent, used

_Key = TypeVar("_Key", int, str)

# Who has waited so long moves up one class, and on past the first: nobody waits for ever.
AGE = timedelta(hours=4)
# Who has waited so long for several scarce things at once, first in line for each, keeps what is
# free of them for itself; sooner, the rest may use it meanwhile.
RESERVE_AFTER = timedelta(minutes=30)
_OVERDUE = 0.1  # a run past its usual time is taken to need this part of it still
_FORWARD = 100  # ends looked at for an estimate; beyond, it would be a guess
_RIVALS = 50  # so many waiting before it at most: beyond, it would be a guess, and a dear one
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
    ahead: int = 0  # how many wait before it, for whatever


Answer = Taken | Place | Barred


def decide(scene: Scene, run_id: RunId) -> Answer:
    """Return what a waiting run gets now."""
    return _answer(scene, _walk(scene), run_id)


def give(scene: Scene, run_id: RunId) -> tuple[Answer, set[RunId]]:
    """Return what a waiting run gets now, and which others may go once it has got that.

    Who takes a place changes whose turn it is next, so the others are looked at afterwards.
    """
    walk = _walk(scene)
    answer = _answer(scene, walk, run_id)
    if isinstance(answer, Taken):
        walk = _walk(_begun(scene, {run_id: answer.choice}))
    return answer, walk.taken.keys() - {run_id}


def _answer(scene: Scene, walk: "_Walk", run_id: RunId) -> Answer:
    if run_id in walk.taken:
        return Taken(walk.taken[run_id])
    if run_id in walk.barred:
        return _bar(scene, walk, run_id)
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
    shut: set[str]  # paused
    closed: set[str] = field(default_factory=set)  # somebody earlier waits for these
    taken: dict[RunId, int] = field(default_factory=dict)
    barred: dict[RunId, tuple[int, int]] = field(default_factory=dict)  # index, `pulls` then
    ordered: list[Waiter] = field(default_factory=list)

    def short(self, needs: tuple[Need, ...]) -> list[Need]:
        """Return the needs that can't be met now."""
        return [
            need
            for need in needs
            if need.resource in self.closed
            or self.used[need.resource] + need.amount > need.capacity
        ]

    def open(self, waiter: Waiter) -> list[tuple[int, tuple[Need, ...]]]:
        """Return the alternatives that nobody paused."""
        if not self.shut:
            return list(enumerate(waiter.needs))
        return [
            (choice, needs)
            for choice, needs in enumerate(waiter.needs)
            if "all" not in self.shut and not any(need.resource in self.shut for need in needs)
        ]

    def is_full(self, waiter: Waiter) -> bool:
        """Tell whether as many runs of its pull request are going as may at once."""
        if waiter.number is None or waiter.per_pull is None:
            return False
        return self.pulls[waiter.number] >= waiter.per_pull

    def use(self, needs: tuple[Need, ...]) -> None:
        """Count places as used."""
        for need in needs:
            self.used[need.resource] += need.amount


def _walk(scene: Scene) -> _Walk:
    """Give places in order; what an earlier run waits for is closed to the later ones."""
    shut = {pause.resource for pause in scene.pauses if pause.holds(scene.now)}
    walk = _Walk(Counter(scene.occupied), Counter(), shut)
    for holder in scene.holders:
        walk.used.update(dict(holder.amounts))
        if holder.number is not None:
            walk.pulls[holder.number] += 1
    walk.ordered = order(scene)
    for index, waiter in enumerate(walk.ordered):
        options = walk.open(waiter)
        if options and not walk.is_full(waiter) and not _is_spent(scene, waiter):
            _serve(scene, walk, waiter, options)
        else:
            walk.barred[waiter.run_id] = index, walk.pulls[waiter.number or 0]
    return walk


def _serve(
    scene: Scene, walk: _Walk, waiter: Waiter, options: list[tuple[int, tuple[Need, ...]]]
) -> None:
    for choice, needs in options:
        if not walk.short(needs):
            walk.taken[waiter.run_id] = choice
            walk.use(needs)
            if waiter.number is not None:
                walk.pulls[waiter.number] += 1
            return
    first = not any(need.resource in walk.closed for need in options[0][1])
    if first and scene.now - waiter.since >= RESERVE_AFTER:
        walk.use(options[0][1])
    for _, needs in options:
        walk.closed.update(need.resource for need in walk.short(needs))


def _is_spent(scene: Scene, waiter: Waiter) -> bool:
    return waiter.hours is not None and scene.spent.total >= waiter.hours


def _bar(scene: Scene, walk: _Walk, run_id: RunId) -> Barred:
    """Say which rule keeps a run from starting now; only for who asks: the words take long."""
    index, at_once = walk.barred[run_id]
    waiter = walk.ordered[index]
    if not walk.open(waiter):
        barred = _paused(scene, waiter)
    elif waiter.number is not None and waiter.per_pull is not None and at_once >= waiter.per_pull:
        runs, are = ("run", "is") if at_once == 1 else ("runs", "are")
        why = f"{at_once} {runs} of this pull request {are} going, {waiter.per_pull} may at once"
        barred = Barred(why, rule="limits.runs_per_pr")
    else:
        barred = _spent(scene, waiter)
    return replace(barred, ahead=index)


def _spent(scene: Scene, waiter: Waiter) -> Barred:
    hours = waiter.hours or 0.0
    until = _coarse(scene.spent.below(hours, scene.now), scene.now)
    why = f"{used(scene.spent.total)} of {number(hours)} NPU-hours of 24 h are used"
    why = why if hours > 0 else "the policy allows no NPU-hours"
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
    needs = walk.open(waiter)[0][1]
    lacking = next(need.resource for need in needs if need in walk.short(needs))
    holders = [item for item in scene.holders if lacking in dict(item.amounts)]
    earlier = [item for item in walk.ordered[:index] if _wants(item, lacking)]
    ahead: list[Holder | Waiter] = [*holders, *earlier]
    others = scene.occupied.get(lacking, 0)
    near = len(earlier) < _RIVALS
    start = _start(scene, walk.ordered[: index + 1]) if near else None
    return Place(
        resource=lacking.partition(":")[2],
        ahead=len(ahead) + others,
        start_at=_coarse(start, scene.now),
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


def _start(scene: Scene, nearer: list[Waiter]) -> datetime | None:
    """Return when the last of these starts if every suite takes its usual time; None: unknown."""
    last, known = nearer[-1], scene.usual
    rivals = _rivals(nearer)
    scene = replace(scene, waiting=tuple(rivals))
    ends = [
        (_end(scene, holder), holder.run_id) for holder in scene.holders if holder.suite in known
    ]
    heapify(ends)
    for _ in range(_FORWARD if len(rivals) <= _RIVALS else 0):
        taken = going(scene)
        if last.run_id in taken:
            return scene.now
        for waiter in scene.waiting:
            if waiter.run_id in taken and waiter.suite in known:
                heappush(ends, (scene.now + known[waiter.suite], waiter.run_id))
        if not ends:
            return None
        end, over = heappop(ends)
        scene = _forward(scene, taken, end, over)
    return None


def _rivals(nearer: list[Waiter]) -> list[Waiter]:
    """Return the last one with those before it on whose places its own depends, if indirectly."""
    resources = [{need.resource for needs in item.needs for need in needs} for item in nearer]
    wanted, before = resources[-1], set[str]()
    while wanted != before:
        before = wanted
        wanted = wanted.union(*(item for item in resources if item & wanted))
    return [item for item, own in zip(nearer, resources, strict=True) if own & wanted]


def _end(scene: Scene, holder: Holder) -> datetime:
    usual = scene.usual[holder.suite]
    return max(holder.since + usual, scene.now + _OVERDUE * usual)


def _forward(scene: Scene, taken: dict[RunId, int], end: datetime, over: RunId) -> Scene:
    """Return the scene after these runs started and that one ended."""
    begun = _begun(scene, taken)
    left = tuple(item for item in begun.holders if item.run_id != over)
    return replace(begun, now=end, holders=left)


def _begun(scene: Scene, taken: dict[RunId, int]) -> Scene:
    """Return the scene after these runs started."""
    started = [
        _started(item, taken[item.run_id], scene.now)
        for item in scene.waiting
        if item.run_id in taken
    ]
    waiting = tuple(item for item in scene.waiting if item.run_id not in taken)
    return replace(scene, waiting=waiting, holders=(*scene.holders, *started))


def _started(waiter: Waiter, choice: int, now: datetime) -> Holder:
    amounts = tuple((need.resource, need.amount) for need in waiter.needs[choice])
    return Holder(waiter.run_id, waiter.suite, now, amounts, waiter.number, waiter.author)
