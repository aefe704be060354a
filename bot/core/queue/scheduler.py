"""Decides which waiting run gets resources next.

One pure walk over the waiting runs decides which of them may start. The same walk finds the
position of a run in the queue. Played forward with the usual times of the suites, it estimates
when a run starts.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import attrgetter

from bot.core.messages import NOTHING, Message
from bot.core.messages.words import clock, number
from bot.core.model.ids import RunId
from bot.core.model.queue import Ahead, Alternatives, Need, QueuePosition
from bot.core.queue.state import Acquired, Answer, Blocked, Holder, Pause, PendingRun, QueueState
from bot.core.queue.usage import used

_AGE_ORDER = attrgetter("since", "run_id")
# After this time a run moves up one class. A run in the top class moves to its front.
AGE = timedelta(hours=4)
# A run that needs several resources and is first in line for each reserves those that are free
# after this time. Until then other runs may use them.
RESERVE_AFTER = timedelta(minutes=30)
_OVERDUE = 0.1  # of its usual time: what a run that is past it is assumed to need still
_MAX_ENDS = 100  # of runs that an estimate plays through; beyond, it would be a guess
_MAX_COMPETITORS = 50  # runs before it in an estimate; more would make it slow and a guess
_NAMED = 3  # runs ahead that a check run names


def decide(queue_state: QueueState, run_id: RunId) -> Answer:
    """Return the resources that a waiting run gets now, or why it gets none."""
    return _answer(_walk(queue_state), run_id)


def acquire(queue_state: QueueState, run_id: RunId) -> tuple[Answer, set[RunId]]:
    """Return the resources that a waiting run gets now, and the other runs that may start then.

    A start changes whose turn it is, so the other runs are looked at afterwards.
    """
    walk = _walk(queue_state)
    answer = _answer(walk, run_id)
    if isinstance(answer, Acquired):
        walk = _walk(_after_starts(queue_state, {run_id: answer.choice}))
    return answer, walk.acquired.keys() - {run_id}


def _answer(walk: "_Walk", run_id: RunId) -> Answer:
    if run_id in walk.acquired:
        return Acquired(walk.acquired[run_id])
    index = next(i for i, item in enumerate(walk.ordered) if item.run_id == run_id)
    runs = walk.blocked.get(run_id)
    if runs is None and index >= walk.seen and walk.is_blocked(walk.ordered[index]):
        runs = walk.runs_of(walk.ordered[index])  # nobody started after the walk's end
    return _position(walk, index) if runs is None else _blocked(walk, index, runs)


def runnable(queue_state: QueueState) -> dict[RunId, int]:
    """Return every run that may start now, with the alternative it gets."""
    return _walk(queue_state).acquired


def next_up(queue_state: QueueState, touched: set[str], most: int) -> tuple[set[RunId], set[RunId]]:
    """Return the first runs that wait for these resources, and every run that may start now."""
    walk = _walk(queue_state)
    kinds = {
        id(needs)
        for needs in walk.kinds
        if any(need.resource in touched for alternative in needs for need in alternative)
    }
    first = (item.run_id for item in walk.ordered if id(item.needs) in kinds)
    return set(islice(first, most)), set(walk.acquired)


def order(queue_state: QueueState) -> list[PendingRun]:
    """Return the waiting runs, next one first: by class, then authors and their PRs take turns."""
    by_author = Counter([holder.author for holder in queue_state.holders])
    by_pull = Counter([holder.number or 0 for holder in queue_state.holders])
    spent, ordered = queue_state.spent, list[PendingRun]()
    for _, oldest_first in sorted(_classes(queue_state).items()):
        whose = [item.number or 0 for item in oldest_first]
        fair = _turns(oldest_first, whose, by_pull, spent.by_pull)
        ordered += _turns(fair, [item.author for item in fair], by_author, spent.by_author)
    return ordered


def _classes(queue_state: QueueState) -> dict[int, list[PendingRun]]:
    """Return the waiting runs of each class, oldest first."""
    classes: defaultdict[int, list[PendingRun]] = defaultdict(list)
    aged, until = 0, datetime.min.replace(tzinfo=queue_state.now.tzinfo)
    for pending in sorted(queue_state.waiting, key=_AGE_ORDER):
        if pending.since > until:  # younger than those before by a class, or more
            aged = max((queue_state.now - pending.since) // AGE, 0)
            until = queue_state.now - aged * AGE
        classes[pending.rank - aged].append(pending)
    return classes


def _turns(
    pending_runs: list[PendingRun], whose: list[int], held: Counter[int], used: dict[int, float]
) -> list[PendingRun]:
    """Order runs in turns: the first run of each author, then the second ones.

    Runs that an author already has count as that author's turns. In a turn, the author with fewer
    NPU-hours goes first. Otherwise runs keep their order.
    """
    turns, keys = dict(held), list[tuple[int, float]]()
    for who in whose:
        turn = turns.get(who, 0)
        turns[who] = turn + 1
        keys.append((turn, used.get(who, 0.0)))
    return [pending_runs[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]


@dataclass(slots=True)
class _Walk:
    """The state of a walk: the resources used so far, and the runs that got them."""

    queue_state: QueueState
    used: Counter[str]
    pulls: Counter[int]
    paused: set[str]  # resources that are paused
    kinds: list[Alternatives]  # that runs need: thousands of runs have few of them
    reserved: set[str] = field(default_factory=set)  # resources that an earlier run waits for
    acquired: dict[RunId, int] = field(default_factory=dict)
    blocked: dict[RunId, int] = field(default_factory=dict)  # how many runs its pull had then
    seen: int = 0  # how many were looked at; none of the others can start
    made: list[PendingRun] | None = None

    @property
    def ordered(self) -> list[PendingRun]:
        """Return the waiting runs in their order, which is found only if somebody asks."""
        if self.made is None:
            self.made = order(self.queue_state)
        return self.made

    def unmet(self, needs: tuple[Need, ...]) -> list[Need]:
        """Return the needs that cannot be met now."""
        return [
            need
            for need in needs
            if need.resource in self.reserved
            or self.used[need.resource] + need.amount > need.capacity
        ]

    def can_serve(self) -> bool:
        """Return True if there is room for any of the runs, wherever it stands."""
        return any(not self.unmet(needs) for kind in self.kinds for needs in kind)

    def unpaused(self, pending: PendingRun) -> list[tuple[int, tuple[Need, ...]]]:
        """Return the alternatives that are not paused."""
        if not self.paused:
            return list(enumerate(pending.needs))
        return [
            (choice, needs)
            for choice, needs in enumerate(pending.needs)
            if "all" not in self.paused and not any(need.resource in self.paused for need in needs)
        ]

    def runs_of(self, pending: PendingRun) -> int:
        """Return how many runs of its pull request go."""
        return self.pulls[pending.number or 0]

    def is_blocked(self, pending: PendingRun) -> bool:
        """Return True if a rule keeps the run from starting, whatever is free."""
        limits, spent = pending.limits, self.queue_state.spent.total
        full = limits.per_pull is not None and self.runs_of(pending) >= limits.per_pull
        is_spent = limits.npu_hours is not None and spent >= limits.npu_hours
        return full or is_spent or not self.unpaused(pending)

    def use(self, needs: tuple[Need, ...]) -> None:
        """Count resources as used."""
        for need in needs:
            self.used[need.resource] += need.amount


def _walk(queue_state: QueueState) -> _Walk:
    """Give out resources in order. A resource that a run waits for is closed to later runs.

    The walk ends where nothing is left for anybody: of a long queue it sees only the beginning.
    """
    paused = {pause.resource for pause in queue_state.pauses if pause.holds(queue_state.now)}
    kinds = list({id(item.needs): item.needs for item in queue_state.waiting}.values())
    walk = _Walk(queue_state, Counter(queue_state.occupied), Counter(), paused, kinds)
    for holder in queue_state.holders:
        for resource, amount in holder.amounts:
            walk.used[resource] += amount
        if holder.number is not None:
            walk.pulls[holder.number] += 1
    if not walk.can_serve():
        return walk
    for pending in walk.ordered:
        walk.seen += 1
        before = len(walk.reserved), len(walk.acquired)
        if walk.is_blocked(pending):
            walk.blocked[pending.run_id] = walk.runs_of(pending)
        else:
            _give_or_reserve(walk, pending)
        if before != (len(walk.reserved), len(walk.acquired)) and not walk.can_serve():
            break
    return walk


def _give_or_reserve(walk: _Walk, pending: PendingRun) -> None:
    options = walk.unpaused(pending)
    for choice, needs in options:
        if not walk.unmet(needs):
            walk.acquired[pending.run_id] = choice
            walk.use(needs)
            if pending.number is not None:
                walk.pulls[pending.number] += 1
            return
    first = not any(need.resource in walk.reserved for need in options[0][1])
    if first and walk.queue_state.now - pending.since >= RESERVE_AFTER:
        walk.use(options[0][1])
    for _, needs in options:
        walk.reserved.update(need.resource for need in walk.unmet(needs))


def _blocked(walk: _Walk, index: int, at_once: int) -> Blocked:
    """Return the rule that keeps a run from starting, in words."""
    queue_state, pending = walk.queue_state, walk.ordered[index]
    per_pull = pending.limits.per_pull
    if not walk.unpaused(pending):
        blocked = _blocked_by_pause(queue_state, pending)
    elif per_pull is not None and at_once >= per_pull:
        why = Message("waits_per_pull", n=at_once, most=per_pull)
        blocked = Blocked(why, rule="limits.runs_per_pr")
    else:
        blocked = _blocked_by_hours(queue_state, pending)
    return replace(blocked, ahead=index)


def _blocked_by_hours(queue_state: QueueState, pending: PendingRun) -> Blocked:
    hours = pending.limits.npu_hours or 0.0
    until = _rounded(queue_state.spent.below(hours, queue_state.now), queue_state.now)
    why = Message("waits_no_hours")
    if hours > 0:
        spent = used(queue_state.spent.total)
        why = Message("waits_hours", spent=spent, limit=number(hours))
    if until is not None:
        why = Message("waits_until", why=why, at=clock(until, queue_state.now))
    return Blocked(why, until, "limits.npu_hours_per_day")


def _blocked_by_pause(queue_state: QueueState, pending: PendingRun) -> Blocked:
    """Return the pause that ends last on the alternative that is free first."""
    pause = min((_longest_pause(queue_state, needs) for needs in pending.needs), key=_end_of)
    what = pause.resource.partition(":")[2] or Message("everything")
    until = NOTHING
    if pause.until:
        until = Message("paused_until", at=clock(pause.until, queue_state.now))
    words = {"what": what, "by": pause.by, "until": until, "reason": pause.reason}
    why = Message("waits_paused", **words)
    return Blocked(why, pause.until, "pause")


def _longest_pause(queue_state: QueueState, needs: tuple[Need, ...]) -> Pause:
    named = {need.resource for need in needs} | {"all"}
    return max(
        (
            item
            for item in queue_state.pauses
            if item.resource in named and item.holds(queue_state.now)
        ),
        key=_end_of,
    )


def _end_of(pause: Pause) -> tuple[bool, datetime, str]:
    return pause.until is None, pause.until or pause.at, pause.resource


def _position(walk: _Walk, index: int) -> QueuePosition:
    """Return the position of a run in the queue for the first resource that it lacks."""
    queue_state, pending = walk.queue_state, walk.ordered[index]
    needs = walk.unpaused(pending)[0][1]
    lacking = next(need.resource for need in needs if need in walk.unmet(needs))
    holders = [item for item in queue_state.holders if lacking in dict(item.amounts)]
    kinds = {id(kind) for kind in walk.kinds if _needs(kind, lacking)}
    earlier = [item for item in walk.ordered[:index] if id(item.needs) in kinds]
    ahead: list[Holder | PendingRun] = [*holders, *earlier]
    others = queue_state.occupied.get(lacking, 0)
    near = len(earlier) < _MAX_COMPETITORS
    start = _estimated_start(queue_state, walk.ordered[: index + 1]) if near else None
    return QueuePosition(
        resource=lacking.partition(":")[2],
        ahead=len(ahead) + others,
        start_at=_rounded(start, queue_state.now),
        before=tuple(_ahead(queue_state, item) for item in ahead[:_NAMED]),
        others=others,
    )


def _needs(kind: Alternatives, resource: str) -> bool:
    return any(need.resource == resource for needs in kind for need in needs)


def _ahead(queue_state: QueueState, item: Holder | PendingRun) -> Ahead:
    since = item.since if isinstance(item, Holder) else None
    return Ahead(item.suite, item.number, since, queue_state.usual.get(item.suite))


def _rounded(start: datetime | None, now: datetime) -> datetime | None:
    """Round an estimate up, a later one more: the check run is updated whenever it changes."""
    if start is None:
        return None
    step = timedelta(minutes=5 if start - now < timedelta(hours=1) else 30)
    epoch = datetime.fromtimestamp(0, now.tzinfo)
    return epoch - ((epoch - start) // step) * step


def _estimated_start(queue_state: QueueState, nearer: list[PendingRun]) -> datetime | None:
    """Return when the last run starts if all suites take their usual time; None: not known."""
    last, known = nearer[-1], queue_state.usual
    competitors = _competitors(nearer)
    queue_state = replace(queue_state, waiting=tuple(competitors))
    ends = [
        (_end(queue_state, holder), holder.run_id)
        for holder in queue_state.holders
        if holder.suite in known
    ]
    heapify(ends)
    for _ in range(_MAX_ENDS if len(competitors) <= _MAX_COMPETITORS else 0):
        acquired = runnable(queue_state)
        if last.run_id in acquired:
            return queue_state.now
        for pending in queue_state.waiting:
            if pending.run_id in acquired and pending.suite in known:
                heappush(ends, (queue_state.now + known[pending.suite], pending.run_id))
        if not ends:
            return None
        end, over = heappop(ends)
        queue_state = _after_end(queue_state, acquired, end, over)
    return None


def _competitors(nearer: list[PendingRun]) -> list[PendingRun]:
    """Return the last run, and those before it that compete for its resources, also indirectly."""
    resources = [{need.resource for needs in item.needs for need in needs} for item in nearer]
    wanted, before = resources[-1], set[str]()
    while wanted != before:
        before = wanted
        wanted = wanted.union(*(item for item in resources if item & wanted))
    return [item for item, own in zip(nearer, resources, strict=True) if own & wanted]


def _end(queue_state: QueueState, holder: Holder) -> datetime:
    usual = queue_state.usual[holder.suite]
    return max(holder.since + usual, queue_state.now + _OVERDUE * usual)


def _after_end(
    queue_state: QueueState, acquired: dict[RunId, int], end: datetime, over: RunId
) -> QueueState:
    """Return the queue state after these runs started and that one ended."""
    begun = _after_starts(queue_state, acquired)
    left = tuple(item for item in begun.holders if item.run_id != over)
    return replace(begun, now=end, holders=left)


def _after_starts(queue_state: QueueState, acquired: dict[RunId, int]) -> QueueState:
    """Return the queue state after these runs started."""
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
