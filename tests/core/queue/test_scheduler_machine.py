"""Random days of arrivals, limits, pauses and ends: places hold, none is wasted, nobody starves."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.core.model.ids import RunId
from bot.core.model.queue import Alternatives, Need
from bot.core.model.runs import Rank
from bot.core.queue.scheduler import AGE, RESERVE_AFTER, decide, next_up, order, runnable
from bot.core.queue.state import Acquired, Holder, Pause, PendingRun, QueueState, RunLimits
from bot.core.queue.usage import Usage, spent

START = datetime(2026, 3, 4, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SLOTS = {"label:a2": 2, "label:a3": 1, "pool:cluster": 32}
LIMIT = 60.0  # NPU-hours a day
PER_PULL = 2

A2, A3 = Need("label:a2", 1, 2), Need("label:a3", 1, 1)
NEEDS: list[Alternatives] = [
    ((A2,),),
    ((A3,),),
    ((A3,), (A2,)),
    ((A2, Need("pool:cluster", 8, 32)),),
    ((A3, Need("pool:cluster", 32, 32)), (A2, Need("pool:cluster", 32, 32))),
]


def to_the_end(queue_state: QueueState) -> dict[RunId, int]:
    """Return what a walk gives out that looks at every run: the scheduler's may end sooner."""
    paused = {pause.resource for pause in queue_state.pauses if pause.holds(queue_state.now)}
    taken = Counter(queue_state.occupied)
    of_pull = Counter(holder.number for holder in queue_state.holders)
    for holder in queue_state.holders:
        taken.update(dict(holder.amounts))
    closed, given = set[str](), dict[RunId, int]()
    for item in order(queue_state):
        limits, spent_now = item.limits, queue_state.spent.total
        options = [
            (choice, needs)
            for choice, needs in enumerate(item.needs)
            if not paused & {"all", *(need.resource for need in needs)}
        ]
        if limits.per_pull is not None and of_pull[item.number] >= limits.per_pull:
            continue
        if not options or (limits.npu_hours is not None and spent_now >= limits.npu_hours):
            continue
        for choice, needs in options:
            if not lacking(needs, taken, closed):
                given[item.run_id] = choice
                taken.update({need.resource: need.amount for need in needs})
                of_pull[item.number] += 1
                break
        else:
            first = not any(need.resource in closed for need in options[0][1])
            if first and queue_state.now - item.since >= RESERVE_AFTER:
                taken.update({need.resource: need.amount for need in options[0][1]})
            for _, needs in options:
                closed |= lacking(needs, taken, closed)
    return given


def lacking(needs: tuple[Need, ...], taken: Counter[str], closed: set[str]) -> set[str]:
    """Return the resources that can't be had now."""
    return {
        need.resource
        for need in needs
        if need.resource in closed or taken[need.resource] + need.amount > need.capacity
    }


class Day(RuleBasedStateMachine):
    """One repository's runs from arrival to end, with `going` as the only judge."""

    @initialize()
    def begin(self) -> None:
        """Start with nothing."""
        self.now = START
        self.waiting: list[PendingRun] = []
        self.holders: list[Holder] = []
        self.usages: list[Usage] = []
        self.pauses: list[Pause] = []
        self.others: Counter[str] = Counter()
        self.count = 0

    def queue_state(self) -> QueueState:
        """Return what decides now."""
        ongoing = [
            Usage(self._npus(item), item.since, None, item.number, item.author)
            for item in self.holders
        ]
        return QueueState(
            now=self.now,
            waiting=tuple(self.waiting),
            holders=tuple(self.holders),
            occupied=dict(self.others),
            pauses=tuple(self.pauses),
            spent=spent((*self.usages, *ongoing), self.now),
        )

    def _npus(self, holder: Holder) -> int:
        return dict(holder.amounts).get("pool:cluster", 8)

    def _start(self) -> None:
        """Start whatever may go, one after the other, as the runner's steps do."""
        while runnable(self.queue_state()):
            queue_state = self.queue_state()
            assert runnable(queue_state) == to_the_end(queue_state)
            run_id, choice = next(iter(runnable(queue_state).items()))
            assert decide(queue_state, run_id) == Acquired(choice)
            pending = next(item for item in self.waiting if item.run_id == run_id)
            assert queue_state.spent.total < LIMIT or pending.limits.npu_hours is None
            self.waiting.remove(pending)
            amounts = tuple((need.resource, need.amount) for need in pending.needs[choice])
            self.holders.append(
                Holder(run_id, pending.suite, self.now, amounts, pending.number, pending.author)
            )

    @rule(
        needs=st.sampled_from(NEEDS),
        rank=st.sampled_from(list(Rank)),
        pull=st.integers(1, 4),
        forced=st.booleans(),
    )
    def arrive(self, needs: Alternatives, rank: Rank, pull: int, *, forced: bool) -> None:
        """A run arrives."""
        self.count += 1
        pending = PendingRun(
            run_id=RunId(f"r{self.count:04}"),
            suite="s",
            since=self.now,
            rank=rank,
            needs=needs,
            number=pull,
            author=1 + pull % 2,
            limits=RunLimits(PER_PULL, None if forced else LIMIT),
        )
        self.waiting.append(pending)
        self._start()

    @precondition(lambda self: self.holders)
    @rule(which=st.integers(0, 9))
    def end(self, which: int) -> None:
        """A run ends."""
        holder = self.holders.pop(which % len(self.holders))
        usage = Usage(self._npus(holder), holder.since, self.now, holder.number, holder.author)
        self.usages.append(usage)
        self._start()

    @rule(minutes=st.sampled_from([1, 40, 300]))
    def time_passes(self, minutes: int) -> None:
        """Time passes."""
        self.now += minutes * MINUTE
        self._start()

    @rule(resource=st.sampled_from(["all", *SLOTS]), until=st.sampled_from([None, 60]))
    def pause(self, resource: str, until: int | None) -> None:
        """Somebody pauses a resource."""
        end = None if until is None else self.now + until * MINUTE
        self.pauses = [item for item in self.pauses if item.resource != resource]
        self.pauses.append(Pause(resource, "kim", "upgrade", end, self.now))

    @rule()
    def resume(self) -> None:
        """Somebody resumes everything."""
        self.pauses = []
        self._start()

    @rule(label=st.sampled_from(["label:a2", "label:a3"]), count=st.integers(0, 1))
    def others_use(self, label: str, count: int) -> None:
        """Jobs of others begin or end on a label that has room for them."""
        held = sum(dict(item.amounts).get(label, 0) for item in self.holders)
        self.others[label] = min(count, SLOTS[label] - held)
        self._start()

    @invariant()
    def a_walk_that_ends_early_gives_as_much(self) -> None:
        """Whoever is behind the end of a walk could not have started."""
        queue_state = self.queue_state()
        assert runnable(queue_state) == to_the_end(queue_state)
        touched = {"label:a2", "pool:cluster"}
        line = [
            item.run_id
            for item in order(queue_state)
            if touched & {need.resource for needs in item.needs for need in needs}
        ]
        first, starting = next_up(queue_state, touched, 2)
        assert (first, starting) == (set(line[:2]), set(to_the_end(queue_state)))
        for item in self.waiting:
            decide(queue_state, item.run_id)

    @invariant()
    def places_hold(self) -> None:
        """No label, pool or pull request holds more than it may."""
        used = Counter(self.others)
        for holder in self.holders:
            used.update(dict(holder.amounts))
        assert all(used[name] <= capacity for name, capacity in SLOTS.items())
        pulls = Counter(holder.number for holder in self.holders)
        assert all(count <= PER_PULL for count in pulls.values())

    @invariant()
    def no_place_is_wasted(self) -> None:
        """Who is first of all that nothing bars, and fits, is not waiting."""
        queue_state = self.queue_state()
        assert runnable(queue_state) == {}
        for pending in order(queue_state):
            if pending.limits.per_pull is None or isinstance(
                decide(queue_state, pending.run_id), Acquired
            ):
                raise AssertionError(pending)

    def teardown(self) -> None:
        """Nobody more arrives: everybody is served in the end."""
        self.pauses, self.others = [], Counter()
        self.usages = []
        for _ in range(2 * self.count + 1):
            self._start()
            if self.holders:
                self.now += MINUTE
                self.holders.pop(0)
        assert self.waiting == []


TestDay = Day.TestCase
TestDay.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, derandomize=True
)


def test_a_large_nightly_run_is_served_under_a_stream_of_urgent_small_ones() -> None:
    night = PendingRun(RunId("night"), "night", START, Rank.NIGHTLY, NEEDS[4], author=9)
    waiting, holders, now = [night], list[Holder](), START
    for minute in range(0, 40 * 60, 60):  # as much work as there are places
        now = START + minute * MINUTE
        holders = [item for item in holders if now - item.since < timedelta(hours=1)]
        for kind in (0, 1, 3):
            name = RunId(f"u{minute}-{kind}")
            waiting.append(
                PendingRun(name, "u", now, Rank.GROUP, NEEDS[kind], author=minute + kind)
            )
        while acquired := runnable(QueueState(now, tuple(waiting), tuple(holders))):
            run_id, choice = next(iter(acquired.items()))
            pending = next(item for item in waiting if item.run_id == run_id)
            waiting.remove(pending)
            amounts = tuple((need.resource, need.amount) for need in pending.needs[choice])
            holders.append(Holder(run_id, pending.suite, now, amounts))
        if night not in waiting:
            break
    assert now - START <= (Rank.NIGHTLY + 1) * AGE + timedelta(hours=3)


def test_a_forced_run_is_bound_by_places_all_the_same() -> None:
    held = Holder(RunId("h"), "s", START, (("label:a3", 1),))
    forced = PendingRun(RunId("f"), "s", START, Rank.GROUP, NEEDS[1])
    assert runnable(QueueState(START, (forced,), (held,))) == {}
