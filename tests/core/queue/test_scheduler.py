"""The queue: classes, fairness, ageing, reservations, pauses, limits, positions and estimates."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.core.messages import quote
from bot.core.model.ids import RunId
from bot.core.model.queue import Ahead, Need, QueuePosition
from bot.core.model.runs import Rank
from bot.core.queue.scheduler import AGE, RESERVE_AFTER, acquire, decide, order, runnable
from bot.core.queue.state import (
    Acquired,
    Blocked,
    Holder,
    Pause,
    PendingRun,
    QueueState,
    RunLimits,
    limits_of,
)
from bot.core.queue.usage import Usage, spent
from tests.core.building import a_run, a_snapshot

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SLOT = Need("label:a3", 1, 1)
OTHER = Need("label:a2", 1, 1)


def pool(amount: int) -> Need:
    """Return a need of a pool of 32 NPUs."""
    return Need("pool:cluster", amount, 32)


def waits(name: str, *needs: tuple[Need, ...], **more: object) -> PendingRun:
    """Make a waiter; those made with a higher ``minutes`` came later."""
    minutes = more.pop("minutes", 0)
    assert isinstance(minutes, int)
    fields = {"since": NOW + minutes * MINUTE - timedelta(minutes=20), "rank": Rank.AUTOMATIC}
    return PendingRun(RunId(name), name, needs=needs or ((SLOT,),), **{**fields, **more})  # type: ignore[arg-type]


def holds(name: str, *amounts: tuple[str, int], **more: object) -> Holder:
    """Make a holder that started ten minutes ago."""
    since = NOW - 10 * MINUTE
    return Holder(RunId(name), name, since, amounts or (("label:a3", 1),), **more)  # type: ignore[arg-type]


def names(pending_runs: Iterable[PendingRun]) -> list[str]:
    """Return the waiters' names."""
    return [item.run_id for item in pending_runs]


def test_the_class_goes_before_the_time() -> None:
    ranks = [Rank.NIGHTLY, Rank.AUTOMATIC, Rank.APPROVED, Rank.RELEASE, Rank.GROUP]
    waiting = tuple(waits(rank.name, rank=rank, minutes=i) for i, rank in enumerate(ranks))
    assert names(order(QueueState(NOW, waiting))) == [rank.name for rank in reversed(ranks)]


def test_who_waits_long_moves_up_past_every_newcomer() -> None:
    old = waits("night", rank=Rank.NIGHTLY, since=NOW - 5 * AGE)
    assert names(order(QueueState(NOW, (waits("group", rank=Rank.GROUP), old)))) == [
        "night",
        "group",
    ]


def test_ones_second_run_comes_after_everybodys_first() -> None:
    greedy = [waits(f"a{n}", author=1, number=1, minutes=n) for n in range(3)]
    queue_state = QueueState(NOW, (*greedy, waits("b", author=2, number=2, minutes=9)))
    assert names(order(queue_state)) == ["a0", "b", "a1", "a2"]


def test_what_one_holds_counts_before_what_one_asks() -> None:
    queue_state = QueueState(
        NOW,
        (waits("a", author=1), waits("b", author=2, minutes=1)),
        holders=(holds("x", author=1),),
    )
    assert names(order(queue_state)) == ["b", "a"]


def test_among_equals_who_used_less_today_goes_first() -> None:
    used = spent((Usage(8, NOW - 3 * AGE, NOW - 2 * AGE, author=1),), NOW)
    queue_state = QueueState(
        NOW, (waits("a", author=1), waits("b", author=2, minutes=1)), spent=used
    )
    assert names(order(queue_state)) == ["b", "a"]


def test_the_pull_requests_of_one_author_take_turns() -> None:
    waiting = (
        waits("a0", author=1, number=1),
        waits("a1", author=1, number=1, minutes=1),
        waits("b0", author=1, number=2, minutes=2),
    )
    assert names(order(QueueState(NOW, waiting))) == ["a0", "b0", "a1"]
    used = spent((Usage(8, NOW - AGE, NOW, number=1, author=1),), NOW)
    assert names(order(QueueState(NOW, waiting, spent=used))) == ["b0", "a0", "a1"]


def test_the_first_free_label_in_order_of_preference_is_taken() -> None:
    pending = waits("w", (SLOT,), (OTHER,))
    assert decide(QueueState(NOW, (pending,)), pending.run_id) == Acquired(0)
    queue_state = QueueState(NOW, (pending,), holders=(holds("x"),))
    assert decide(queue_state, pending.run_id) == Acquired(1)


def test_two_runs_get_two_labels_in_one_walk() -> None:
    one, two, three = (waits(name, (SLOT,), (OTHER,), minutes=n) for n, name in enumerate("abc"))
    assert runnable(QueueState(NOW, (one, two, three))) == {"a": 0, "b": 1}


def test_what_an_earlier_run_waits_for_is_not_given_to_a_later_one() -> None:
    big, small = waits("big", (pool(32),)), waits("small", (pool(8),), minutes=1)
    queue_state = QueueState(NOW, (big, small), holders=(holds("x", ("pool:cluster", 8)),))
    assert runnable(queue_state) == {}


def test_a_label_is_used_while_an_earlier_run_lacks_its_pool() -> None:
    big, small = waits("big", (SLOT, pool(32))), waits("small", minutes=1)
    queue_state = QueueState(NOW, (big, small), holders=(holds("x", ("pool:cluster", 8)),))
    assert runnable(queue_state) == {"small": 0}


def test_who_has_waited_long_keeps_what_is_free_of_what_it_needs() -> None:
    big = waits("big", (SLOT, pool(32)), since=NOW - RESERVE_AFTER)
    small = waits("small", minutes=1)
    queue_state = QueueState(NOW, (big, small), holders=(holds("x", ("pool:cluster", 8)),))
    assert runnable(queue_state) == {}


def test_jobs_of_others_occupy_a_label_and_are_counted() -> None:
    pending = waits("w")
    queue_state = QueueState(NOW, (pending,), occupied={"label:a3": 1})
    assert decide(queue_state, pending.run_id) == QueuePosition("a3", 1, others=1)


def test_a_paused_label_is_passed_over() -> None:
    pause = Pause("label:a3", "kim", "maintenance", None, NOW)
    pending = waits("w", (SLOT,), (OTHER,))
    assert decide(QueueState(NOW, (pending,), pauses=(pause,)), pending.run_id) == Acquired(1)


def test_a_pause_of_everything_bars_with_who_why_and_until() -> None:
    until = NOW + MINUTE
    pauses = (
        Pause("label:else", "jo", "", None, NOW),
        Pause("all", "kim", "cluster upgrade", until, NOW),
    )
    pending = waits("w")
    answer = decide(QueueState(NOW, (pending,), pauses=pauses), pending.run_id)
    why = "everything is paused by kim until 12:01 UTC (cluster upgrade)"
    assert answer == Blocked(quote(why), until, "pause")
    assert decide(QueueState(until, (pending,), pauses=pauses), pending.run_id) == Acquired(0)


def test_no_hours_at_all_bar_without_a_time() -> None:
    queue_state = QueueState(NOW, (waits("w", limits=RunLimits(npu_hours=0.0)),))
    why = "the policy allows no NPU-hours"
    assert decide(queue_state, RunId("w")) == Blocked(quote(why), None, "limits.npu_hours_per_day")


@pytest.mark.parametrize(
    ("npus", "minutes", "limit", "said"),
    [
        (1, 30, 0.25, "this repository used 0.5 NPU-hours in the last 24 h (limit 0.25)"),
        (1, 100, 1.5, "this repository used 2 NPU-hours in the last 24 h (limit 1.5)"),
        (1500, 60, 1500, "this repository used 1,500 NPU-hours in the last 24 h (limit 1,500)"),
    ],
)
def test_small_limits_are_told_with_their_parts(
    npus: int, minutes: int, limit: float, said: str
) -> None:
    usage = Usage(npus, NOW - minutes * MINUTE, NOW)
    queue_state = QueueState(
        NOW, (waits("w", limits=RunLimits(npu_hours=limit)),), spent=spent((usage,), NOW)
    )
    answer = decide(queue_state, RunId("w"))
    assert isinstance(answer, Blocked)
    assert answer.why.startswith(said)


def test_of_several_pauses_the_one_that_decides_is_named() -> None:
    """Both ways are paused; the second is free first, once the later of its two pauses ends."""
    pauses = (
        Pause("label:a3", "kim", "for good", None, NOW),
        Pause("label:a2", "jo", "short", NOW + MINUTE, NOW),
        Pause("pool:cluster", "lee", "longer", NOW + 2 * MINUTE, NOW),
    )
    pending = waits("w", (SLOT,), (OTHER, pool(8)))
    answer = decide(QueueState(NOW, (pending,), pauses=pauses), pending.run_id)
    assert isinstance(answer, Blocked)
    assert answer.why.endswith("by lee until 12:02 UTC (longer)")


def test_a_paused_run_stands_in_nobodys_way() -> None:
    first, second = waits("first", (SLOT, pool(8))), waits("second", minutes=1)
    pause = Pause("pool:cluster", "kim", "upgrade", None, NOW)
    queue_state = QueueState(NOW, (first, second), pauses=(pause,))
    assert decide(queue_state, first.run_id) == Blocked(
        quote("cluster is paused by kim (upgrade)"), rule="pause"
    )
    assert runnable(queue_state) == {"second": 0}


def test_only_the_first_in_line_keeps_what_is_free_for_itself() -> None:
    """The others could not start with it: nobody may wait for a label that idles for them."""
    label = Need("label:submit", 1, 2)
    long_ago = -int(RESERVE_AFTER / MINUTE)
    two_nodes = [waits(f"w{n}", (label, pool(32)), minutes=long_ago + n) for n in range(3)]
    small = waits("small", (label,))
    queue_state = QueueState(NOW, (*two_nodes, small), holders=(holds("x", ("pool:cluster", 32)),))
    assert runnable(queue_state) == {"small": 0}
    assert runnable(
        replace(queue_state, waiting=(*queue_state.waiting, waits("then", (label,))))
    ) == {"small": 0}


def test_a_pull_request_has_so_many_runs_at_once() -> None:
    wide = Need("label:wide", 1, 9)
    waiting = tuple(
        waits(f"w{n}", (wide,), number=7, limits=RunLimits(per_pull=2), minutes=n) for n in range(3)
    )
    queue_state = QueueState(NOW, waiting, holders=(holds("x", ("label:wide", 1), number=7),))
    assert runnable(queue_state) == {"w0": 0}
    why = quote("2 runs of this pull request are going, the limit is 2")
    assert decide(queue_state, RunId("w1")) == Blocked(
        quote(why), rule="limits.runs_per_pr", ahead=1
    )


def test_the_hours_of_the_day_bar_all_but_forced_runs() -> None:
    used = spent((Usage(10, NOW - timedelta(hours=10), NOW),), NOW)
    waiting = (waits("w", limits=RunLimits(npu_hours=100)), waits("forced", (OTHER,), minutes=1))
    queue_state = QueueState(NOW, waiting, spent=used)
    until = NOW + timedelta(hours=14, minutes=30)
    told = "this repository used 100 NPU-hours in the last 24 h (limit 100)"
    why = f"{told}; there is room again at about 5 Mar 02:30 UTC"
    assert decide(queue_state, RunId("w")) == Blocked(quote(why), until, "limits.npu_hours_per_day")
    assert decide(queue_state, RunId("forced")) == Acquired(0)


def test_a_place_names_who_is_ahead_and_when_it_will_be_ones_turn() -> None:
    usual = {"x": 30 * MINUTE, "first": 15 * MINUTE}
    waiting = (waits("first", number=3), waits("me", minutes=1))
    queue_state = QueueState(NOW, waiting, holders=(holds("x", number=2),), usual=usual)
    place = decide(queue_state, RunId("me"))
    assert place == QueuePosition(
        "a3",
        2,
        start_at=NOW + 35 * MINUTE,
        before=(
            Ahead("x", 2, NOW - 10 * MINUTE, usual["x"]),
            Ahead("first", 3, None, usual["first"]),
        ),
    )


def test_without_a_usual_time_there_is_no_estimate() -> None:
    queue_state = QueueState(NOW, (waits("me"),), holders=(holds("x"),))
    place = decide(queue_state, RunId("me"))
    assert isinstance(place, QueuePosition)
    assert place.start_at is None


def test_an_overdue_run_is_expected_to_need_a_little_more() -> None:
    queue_state = QueueState(NOW, (waits("me"),), holders=(holds("x"),), usual={"x": 9 * MINUTE})
    place = decide(queue_state, RunId("me"))
    assert isinstance(place, QueuePosition)
    assert place.start_at == NOW + 5 * MINUTE


def test_a_far_estimate_is_coarser() -> None:
    queue_state = QueueState(NOW, (waits("me"),), holders=(holds("x"),), usual={"x": 95 * MINUTE})
    place = decide(queue_state, RunId("me"))
    assert isinstance(place, QueuePosition)
    assert place.start_at == NOW + 90 * MINUTE


def test_an_estimate_beyond_what_can_be_told_is_none() -> None:
    usual = {"w": MINUTE, "x": MINUTE}
    waiting = [replace(waits("w", minutes=n), run_id=RunId(f"w{n:03}")) for n in range(150)]
    queue_state = QueueState(NOW, tuple(waiting), holders=(holds("x"),), usual=usual)
    place = decide(queue_state, RunId("w149"))
    assert isinstance(place, QueuePosition)
    assert (place.ahead, place.start_at, len(place.before)) == (150, None, 3)


def test_an_estimate_looks_no_hundred_ends_ahead() -> None:
    others = [
        replace(holds("o", ("label:wide", 1)), run_id=RunId(f"o{number}")) for number in range(100)
    ]
    usual = {"o": MINUTE, "x": 60 * MINUTE}
    queue_state = QueueState(NOW, (waits("me"),), holders=(*others, holds("x")), usual=usual)
    place = decide(queue_state, RunId("me"))
    assert isinstance(place, QueuePosition)
    assert (place.ahead, place.start_at) == (1, None)


def test_the_crowd_for_other_places_is_no_part_of_an_estimate() -> None:
    crowd = [replace(waits("c", (OTHER,)), run_id=RunId(f"c{number:03}")) for number in range(200)]
    busy = (holds("x"), holds("y", ("label:a2", 1)))
    usual = {"x": 30 * MINUTE, "y": 30 * MINUTE, "c": MINUTE}
    queue_state = QueueState(NOW, (*crowd, waits("me", minutes=1)), holders=busy, usual=usual)
    place = decide(queue_state, RunId("me"))
    assert isinstance(place, QueuePosition)
    assert (place.ahead, place.start_at) == (1, NOW + 20 * MINUTE)


def test_a_rivals_rivals_are_part_of_an_estimate() -> None:
    both = waits("both", (SLOT, OTHER), since=NOW - RESERVE_AFTER)  # keeps the label y frees
    first = waits("first", (OTHER,), since=NOW - 2 * RESERVE_AFTER)
    minutes = {"x": 30, "y": 50, "first": 60, "both": 10}
    usual = {suite: count * MINUTE for suite, count in minutes.items()}
    busy = (holds("x", ("label:a2", 1)), holds("y"))
    queue_state = QueueState(NOW, (first, both, waits("me")), busy, usual=usual)
    place = decide(queue_state, RunId("me"))
    assert isinstance(place, QueuePosition)
    assert place.start_at == NOW + 90 * MINUTE  # x 20, first 60, both 10


def test_who_takes_a_place_changes_whose_turn_it_is() -> None:
    one, two = Need("label:one", 1, 1), Need("label:two", 1, 1)
    waiting = (
        waits("x1", (one,), author=1, minutes=1),
        waits("y1", (one,), author=2, minutes=2),
        waits("x2", (two,), author=1, minutes=3),
    )
    queue_state = QueueState(NOW, waiting)
    assert runnable(queue_state).keys() == {"x1", "x2"}
    assert acquire(queue_state, RunId("x2")) == (Acquired(0), {"y1"})  # x has had a turn by now
    assert acquire(queue_state, RunId("y1"))[1] == {"x1", "x2"}


def test_who_is_barred_knows_how_many_wait_before_it() -> None:
    pause = Pause("all", "kim", "upgrade", None, NOW)
    waiting = tuple(waits(f"w{number}", minutes=number) for number in range(3))
    answer = decide(QueueState(NOW, waiting, pauses=(pause,)), RunId("w2"))
    assert isinstance(answer, Blocked)
    assert answer.ahead == 2


def test_nothing_to_need_is_always_taken() -> None:
    assert decide(QueueState(NOW, (waits("w", ()),)), RunId("w")) == Acquired(0)


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({"number": 5}, RunLimits(per_pull=2, npu_hours=100)),
        ({"number": None}, RunLimits(npu_hours=100)),  # of no pull request
        ({"number": 5, "forced": "kim"}, RunLimits()),
    ],
)
def test_a_run_has_the_limits_of_its_snapshot_unless_somebody_overrode_them(
    changes: dict[str, Any], limits: RunLimits
) -> None:
    frozen = a_snapshot(runs_per_pr=2, npu_hours_per_day=100)
    assert limits_of(replace(a_run(), snapshot=frozen, **changes)) == limits
