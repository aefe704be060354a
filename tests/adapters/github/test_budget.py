"""Who goes first when GitHub's limits are near."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from bot.adapters.github.budget import Priority, Quota, WritePace
from bot.ports.errors import Transient
from tests.adapters.github.support import NOW, HandClock, quota


class QueueClock:
    """Wakes sleepers in the order of their times, when told."""

    def __init__(self) -> None:
        self.time = NOW
        self._sleepers: list[tuple[datetime, asyncio.Event]] = []

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        event = asyncio.Event()
        self._sleepers.append((self.time + timedelta(seconds=seconds), event))
        await event.wait()

    async def pass_time(self, seconds: float) -> None:
        end = self.time + timedelta(seconds=seconds)
        await settle()
        while due := [item for item in self._sleepers if item[0] <= end]:
            first = min(due, key=lambda item: item[0])
            self._sleepers.remove(first)
            self.time = first[0]
            first[1].set()
            await settle()
        self.time = end


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_replicas_share_the_pace_and_have_it_whole_again() -> None:
    clock = HandClock()
    paces = [WritePace(clock, 1.0) for _ in range(2)]
    for pace in paces:
        pace.share(0.5)
    for _ in range(10):
        for pace in paces:
            await pace.take(Priority.FINAL)
    assert clock.now() - NOW >= timedelta(seconds=14)  # 20 writes, of which 5 need not wait
    paces[0].share(1.0)
    began = clock.now()
    for _ in range(10):
        await paces[0].take(Priority.FINAL)
    assert clock.now() - began <= timedelta(seconds=10.1)


async def test_final_results_pass_creations_that_came_first() -> None:
    clock = QueueClock()
    pace = WritePace(clock, 1.0)
    for _ in range(5):
        await pace.take(Priority.CREATE)
    served: list[str] = []

    async def write(name: str, priority: Priority) -> None:
        await pace.take(priority)
        served.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write("create 1", Priority.CREATE))
        tasks.create_task(write("create 2", Priority.CREATE))
        await settle()
        tasks.create_task(write("final", Priority.FINAL))
        await clock.pass_time(0.9)
        assert served == []
        await clock.pass_time(4)
    assert served == ["final", "create 1", "create 2"]


async def test_progress_does_not_wait_for_its_turn() -> None:
    clock = HandClock()
    pace = WritePace(clock, 1.0)
    for _ in range(5):
        await pace.take(Priority.PROGRESS)
    with pytest.raises(Transient) as caught:
        await pace.take(Priority.PROGRESS)
    assert caught.value.retry_after_s == pytest.approx(1)
    assert clock.slept == []


async def test_a_creation_far_down_the_line_is_told_to_come_again() -> None:
    """A write must not wait longer than the lease of whoever asked for it."""
    clock = QueueClock()
    pace = WritePace(clock, 1.0)
    for _ in range(5):
        await pace.take(Priority.CREATE)
    waiting = [asyncio.create_task(pace.take(Priority.CREATE)) for _ in range(5)]
    await settle()
    with pytest.raises(Transient) as caught:
        await pace.take(Priority.CREATE)
    assert caught.value.retry_after_s == pytest.approx(6)
    await clock.pass_time(20)
    await asyncio.gather(*waiting)


async def test_who_gives_up_leaves_the_line() -> None:
    clock = QueueClock()
    pace = WritePace(clock, 1.0)
    for _ in range(5):
        await pace.take(Priority.CREATE)
    gone = asyncio.create_task(pace.take(Priority.CREATE))
    await settle()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await clock.pass_time(1)
    await asyncio.wait_for(pace.take(Priority.PROGRESS), 60)


async def test_rest_fills_the_bucket_no_further_than_a_burst() -> None:
    clock = HandClock()
    pace = WritePace(clock, 1.0)
    clock.advance(3600)
    for _ in range(5):
        await pace.take(Priority.PROGRESS)
    with pytest.raises(Transient):
        await pace.take(Priority.PROGRESS)


async def test_a_clock_set_back_stops_nobody() -> None:
    clock = HandClock()
    pace = WritePace(clock, 1.0)
    clock.advance(-3600)
    await pace.take(Priority.PROGRESS)
    assert clock.slept == []


def test_a_reset_far_ahead_is_a_wrong_clock_and_held_for_an_hour_or_so() -> None:
    clock = HandClock()
    budget = Quota(clock)
    assert budget.note(403, quota(0, reset_in=10**6), b"") == pytest.approx(3900)


def test_a_reset_that_has_passed_holds_for_a_second() -> None:
    budget = Quota(HandClock())
    assert budget.note(403, quota(0, reset_in=-5), b"") == pytest.approx(1)


def test_an_earlier_hold_is_not_cut_short_by_a_shorter_one() -> None:
    clock = HandClock()
    budget = Quota(clock)
    budget.note(429, {"retry-after": "100"}, b"")
    budget.note(429, {"retry-after": "5"}, b"")
    clock.advance(50)
    with pytest.raises(Transient) as caught:
        budget.admit(Priority.FINAL)
    assert caught.value.retry_after_s == pytest.approx(50)


def test_success_ends_a_row_of_secondary_limits() -> None:
    clock = HandClock()
    budget = Quota(clock)
    assert budget.note(429, {}, b"") == pytest.approx(60)
    clock.advance(60)
    budget.note(200, {}, b"")
    assert budget.note(429, {}, b"") == pytest.approx(60)


def test_retry_after_as_a_date_is_a_limit_without_a_time() -> None:
    budget = Quota(HandClock())
    headers = {"retry-after": "Mon, 30 Nov 2026 12:00:00 GMT"}
    assert budget.note(429, headers, b"") == pytest.approx(60)


def test_progress_is_admitted_again_after_the_reset() -> None:
    clock = HandClock()
    budget = Quota(clock)
    budget.note(200, quota(10, reset_in=20), b"")
    with pytest.raises(Transient) as caught:
        budget.admit(Priority.PROGRESS)
    assert caught.value.retry_after_s == pytest.approx(20)
    clock.advance(20)
    budget.admit(Priority.PROGRESS)
