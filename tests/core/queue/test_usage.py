"""NPU-hours of a sliding day: what counts, for whom, and when there is room again."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.queue.usage import WINDOW, Usage, spent

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_only_the_part_within_the_window_counts() -> None:
    usage = Usage(8, NOW - 26 * HOUR, NOW - 23 * HOUR)
    assert spent((usage,), NOW).total == pytest.approx(8.0)


def test_a_run_that_goes_on_counts_up_to_now() -> None:
    assert spent((Usage(16, NOW - 2 * HOUR, None),), NOW).total == pytest.approx(32.0)


def test_what_ended_before_the_window_counts_nothing() -> None:
    assert spent((Usage(16, NOW - 30 * HOUR, NOW - 25 * HOUR),), NOW).total == 0.0


def test_hours_are_told_apart_by_author_and_by_pull_request() -> None:
    mine = Usage(8, NOW - HOUR, NOW, number=1, author=1)
    more = Usage(8, NOW - HOUR, NOW, number=2, author=1)
    night = Usage(4, NOW - HOUR, NOW)
    result = spent((mine, more, night), NOW)
    assert result.by_author == {1: 16.0, 0: 4.0}
    assert result.by_pull == {1: 8.0, 2: 8.0, 0: 4.0}


def test_there_is_room_again_when_enough_has_left_the_window() -> None:
    result = spent((Usage(10, NOW - 24 * HOUR, NOW - 20 * HOUR),), NOW)
    assert result.total == pytest.approx(40.0)
    assert result.below(20, NOW) == NOW + timedelta(hours=2, minutes=1)


def test_a_limit_of_nothing_never_has_room() -> None:
    assert spent((), NOW).below(0, NOW) is None


SPANS = st.tuples(st.integers(1, 32), st.integers(-40, 0), st.integers(1, 20))


@given(spans=st.lists(SPANS, max_size=8), limit=st.integers(1, 400))
def test_room_is_found_at_the_first_minute_there_is_any(
    spans: list[tuple[int, int, int]], limit: int
) -> None:
    usages = tuple(
        Usage(npus, NOW + start * HOUR, min(NOW + (start + span) * HOUR, NOW))
        for npus, start, span in spans
    )
    at = spent(usages, NOW).below(limit, NOW)
    assert at is not None
    assert spent(usages, at).total < limit or at == NOW + WINDOW
    before = at - timedelta(minutes=1)
    assert at == NOW or spent(usages, before).total >= limit
