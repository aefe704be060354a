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

from bot.core.messages import NOTHING, Message
from bot.core.messages.words import clock, number
from bot.core.model.ids import RunId
from bot.core.model.queue import Ahead, Need, QueuePosition
from bot.core.queue.state import Acquired, Answer, Blocked, Holder, Pause, PendingRun, QueueState
from bot.core.queue.usage import used

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


def decide(queue_state: QueueState, run_id: RunId) -> Answer:
    """Return what a waiting run gets now."""
    return _answer(queue_state, _walk(queue_state), run_id)


def acquire(queue_state: QueueState, run_id: RunId) -> tuple[Answer, set[RunId]]:
    """Return what a waiting run gets now, and which others may go once it has got that.

    Who takes a place changes whose turn it is next, so the others are looked at afterwards.
    """
    walk = _walk(queue_state)
    answer = _answer(queue_state, walk, run_id)
    if isinstance(answer, Acquired):
        walk = _walk(_begun(queue_state, {run_id: answer.choice}))
    return answer, walk.acquired.keys() - {run_id}


def _answer(queue_state: QueueState, walk: "_Walk", run_id: RunId) -> Answer:
    if run_id in walk.acquired:
        return Acquired(walk.acquired[run_id])
    if run_id in walk.blocked:
        return _bar(queue_state, walk, run_id)
    return _place(queue_state, walk, run_id)


def runnable(queue_state: QueueState) -> dict[RunId, int]:
    """Return every run that may take a place now, with the alternative it gets."""
    return _walk(queue_state).acquired


def order(queue_state: QueueState) -> list[PendingRun]:
    """Return who waits, next one first: by class, then authors and their PRs take turns."""
    classes: defaultdict[int, list[PendingRun]] = defaultdict(list)
    for pending in sorted(queue_state.waiting, key=lambda item: (item.since, item.run_id)):
        classes[_class_of(pending, queue_state.now)].append(pending)
    by_author = Counter(holder.author for holder in queue_state.holders)
    by_pull = Counter(holder.number or 0 for holder in queue_state.holders)
    ordered: list[PendingRun] = []
    for _, pending_runs in sorted(classes.items()):
        fair = _turns(
            pending_runs, lambda item: item.number or 0, by_pull, queue_state.spent.by_pull
        )
        ordered += _turns(fair, lambda item: item.author, by_author, queue_state.spent.by_author)
    return ordered


def _turns(
    pending_runs: list[PendingRun],
    whose: Callable[[PendingRun], _Key],
    held: Counter[_Key],
    used: dict[_Key, float],
) -> list[PendingRun]:
    """Let them take turns: everybody's first, then the seconds; who used less goes before.

    What one holds already counts as turns taken. Ties keep the order they came in.
    """
    turns, keys = Counter(held), {}
    for pending in pending_runs:
        who = whose(pending)
        keys[pending.run_id] = (turns[who], used.get(who, 0.0))
        turns[who] += 1
    return sorted(pending_runs, key=lambda item: keys[item.run_id])


def _class_of(pending: PendingRun, now: datetime) -> int:
    return pending.rank - max((now - pending.since) // AGE, 0)


@dataclass(slots=True)
class _Walk:
    """The walk's state: what is used up so far, and who got what."""

    used: Counter[str]
    pulls: Counter[int]
    shut: set[str]  # paused
    closed: set[str] = field(default_factory=set)  # somebody earlier waits for these
    acquired: dict[RunId, int] = field(default_factory=dict)
    blocked: dict[RunId, tuple[int, int]] = field(default_factory=dict)  # index, `pulls` then
    ordered: list[PendingRun] = field(default_factory=list)

    def short(self, needs: tuple[Need, ...]) -> list[Need]:
        """Return the needs that can't be met now."""
        return [
            need
            for need in needs
            if need.resource in self.closed
            or self.used[need.resource] + need.amount > need.capacity
        ]

    def open(self, pending: PendingRun) -> list[tuple[int, tuple[Need, ...]]]:
        """Return the alternatives that nobody paused."""
        if not self.shut:
            return list(enumerate(pending.needs))
        return [
            (choice, needs)
            for choice, needs in enumerate(pending.needs)
            if "all" not in self.shut and not any(need.resource in self.shut for need in needs)
        ]

    def is_full(self, pending: PendingRun) -> bool:
        """Tell whether as many runs of its pull request are going as may at once."""
        limit = pending.limits.per_pull
        return limit is not None and self.pulls[pending.number or 0] >= limit

    def use(self, needs: tuple[Need, ...]) -> None:
        """Count places as used."""
        for need in needs:
            self.used[need.resource] += need.amount


def _walk(queue_state: QueueState) -> _Walk:
    """Give places in order; what an earlier run waits for is closed to the later ones."""
    shut = {pause.resource for pause in queue_state.pauses if pause.holds(queue_state.now)}
    walk = _Walk(Counter(queue_state.occupied), Counter(), shut)
    for holder in queue_state.holders:
        walk.used.update(dict(holder.amounts))
        if holder.number is not None:
            walk.pulls[holder.number] += 1
    walk.ordered = order(queue_state)
    for index, pending in enumerate(walk.ordered):
        options = walk.open(pending)
        if options and not walk.is_full(pending) and not _is_spent(queue_state, pending):
            _serve(queue_state, walk, pending, options)
        else:
            walk.blocked[pending.run_id] = index, walk.pulls[pending.number or 0]
    return walk


def _serve(
    queue_state: QueueState,
    walk: _Walk,
    pending: PendingRun,
    options: list[tuple[int, tuple[Need, ...]]],
) -> None:
    for choice, needs in options:
        if not walk.short(needs):
            walk.acquired[pending.run_id] = choice
            walk.use(needs)
            if pending.number is not None:
                walk.pulls[pending.number] += 1
            return
    first = not any(need.resource in walk.closed for need in options[0][1])
    if first and queue_state.now - pending.since >= RESERVE_AFTER:
        walk.use(options[0][1])
    for _, needs in options:
        walk.closed.update(need.resource for need in walk.short(needs))


def _is_spent(queue_state: QueueState, pending: PendingRun) -> bool:
    limit = pending.limits.npu_hours
    return limit is not None and queue_state.spent.total >= limit


def _bar(queue_state: QueueState, walk: _Walk, run_id: RunId) -> Blocked:
    """Say which rule keeps a run from starting now; only for who asks: the words take long."""
    index, at_once = walk.blocked[run_id]
    pending = walk.ordered[index]
    per_pull = pending.limits.per_pull
    if not walk.open(pending):
        blocked = _paused(queue_state, pending)
    elif per_pull is not None and at_once >= per_pull:
        why = Message("waits_per_pull", n=at_once, most=per_pull)
        blocked = Blocked(why, rule="limits.runs_per_pr")
    else:
        blocked = _spent(queue_state, pending)
    return replace(blocked, ahead=index)


def _spent(queue_state: QueueState, pending: PendingRun) -> Blocked:
    hours = pending.limits.npu_hours or 0.0
    until = _coarse(queue_state.spent.below(hours, queue_state.now), queue_state.now)
    why = Message("waits_no_hours")
    if hours > 0:
        spent = used(queue_state.spent.total)
        why = Message("waits_hours", spent=spent, limit=number(hours))
    if until is not None:
        why = Message("waits_until", why=why, at=clock(until, queue_state.now))
    return Blocked(why, until, "limits.npu_hours_per_day")


def _paused(queue_state: QueueState, pending: PendingRun) -> Blocked:
    """Name the pause that goes last of those on the alternative that is free first."""
    pause = min((_longest(queue_state, needs) for needs in pending.needs), key=_ends)
    what = pause.resource.partition(":")[2] or Message("everything")
    until = NOTHING
    if pause.until:
        until = Message("paused_until", at=clock(pause.until, queue_state.now))
    words = {"what": what, "by": pause.by, "until": until, "reason": pause.reason}
    why = Message("waits_paused", **words)
    return Blocked(why, pause.until, "pause")


def _longest(queue_state: QueueState, needs: tuple[Need, ...]) -> Pause:
    named = {need.resource for need in needs} | {"all"}
    return max(
        (
            item
            for item in queue_state.pauses
            if item.resource in named and item.holds(queue_state.now)
        ),
        key=_ends,
    )


def _ends(pause: Pause) -> tuple[bool, datetime, str]:
    return pause.until is None, pause.until or pause.at, pause.resource


def _place(queue_state: QueueState, walk: _Walk, run_id: RunId) -> QueuePosition:
    """Return a run's place: behind the holders and the earlier waiters of what it lacks."""
    index = next(i for i, item in enumerate(walk.ordered) if item.run_id == run_id)
    pending = walk.ordered[index]
    needs = walk.open(pending)[0][1]
    lacking = next(need.resource for need in needs if need in walk.short(needs))
    holders = [item for item in queue_state.holders if lacking in dict(item.amounts)]
    earlier = [item for item in walk.ordered[:index] if _wants(item, lacking)]
    ahead: list[Holder | PendingRun] = [*holders, *earlier]
    others = queue_state.occupied.get(lacking, 0)
    near = len(earlier) < _RIVALS
    start = _start(queue_state, walk.ordered[: index + 1]) if near else None
    return QueuePosition(
        resource=lacking.partition(":")[2],
        ahead=len(ahead) + others,
        start_at=_coarse(start, queue_state.now),
        before=tuple(_ahead(queue_state, item) for item in ahead[:_NAMED]),
        others=others,
    )


def _wants(pending: PendingRun, resource: str) -> bool:
    return any(need.resource == resource for needs in pending.needs for need in needs)


def _ahead(queue_state: QueueState, item: Holder | PendingRun) -> Ahead:
    since = item.since if isinstance(item, Holder) else None
    return Ahead(item.suite, item.number, since, queue_state.usual.get(item.suite))


def _coarse(start: datetime | None, now: datetime) -> datetime | None:
    """Round an estimate up, the coarser the farther: it is shown anew whenever it changes."""
    if start is None:
        return None
    step = timedelta(minutes=5 if start - now < timedelta(hours=1) else 30)
    epoch = datetime.fromtimestamp(0, now.tzinfo)
    return epoch - ((epoch - start) // step) * step


def _start(queue_state: QueueState, nearer: list[PendingRun]) -> datetime | None:
    """Return when the last of these starts if every suite takes its usual time; None: unknown."""
    last, known = nearer[-1], queue_state.usual
    rivals = _rivals(nearer)
    queue_state = replace(queue_state, waiting=tuple(rivals))
    ends = [
        (_end(queue_state, holder), holder.run_id)
        for holder in queue_state.holders
        if holder.suite in known
    ]
    heapify(ends)
    for _ in range(_FORWARD if len(rivals) <= _RIVALS else 0):
        acquired = runnable(queue_state)
        if last.run_id in acquired:
            return queue_state.now
        for pending in queue_state.waiting:
            if pending.run_id in acquired and pending.suite in known:
                heappush(ends, (queue_state.now + known[pending.suite], pending.run_id))
        if not ends:
            return None
        end, over = heappop(ends)
        queue_state = _forward(queue_state, acquired, end, over)
    return None


def _rivals(nearer: list[PendingRun]) -> list[PendingRun]:
    """Return the last one with those before it on whose places its own depends, if indirectly."""
    resources = [{need.resource for needs in item.needs for need in needs} for item in nearer]
    wanted, before = resources[-1], set[str]()
    while wanted != before:
        before = wanted
        wanted = wanted.union(*(item for item in resources if item & wanted))
    return [item for item, own in zip(nearer, resources, strict=True) if own & wanted]


def _end(queue_state: QueueState, holder: Holder) -> datetime:
    usual = queue_state.usual[holder.suite]
    return max(holder.since + usual, queue_state.now + _OVERDUE * usual)


def _forward(
    queue_state: QueueState, acquired: dict[RunId, int], end: datetime, over: RunId
) -> QueueState:
    """Return the scene after these runs started and that one ended."""
    begun = _begun(queue_state, acquired)
    left = tuple(item for item in begun.holders if item.run_id != over)
    return replace(begun, now=end, holders=left)


def _begun(queue_state: QueueState, acquired: dict[RunId, int]) -> QueueState:
    """Return the scene after these runs started."""
    started = [
        _started(item, acquired[item.run_id], queue_state.now)
        for item in queue_state.waiting
        if item.run_id in acquired
    ]
    waiting = tuple(item for item in queue_state.waiting if item.run_id not in acquired)
    return replace(queue_state, waiting=waiting, holders=(*queue_state.holders, *started))


def _started(pending: PendingRun, choice: int, now: datetime) -> Holder:
    amounts = tuple((need.resource, need.amount) for need in pending.needs[choice])
    return Holder(pending.run_id, pending.suite, now, amounts, pending.number, pending.author)
