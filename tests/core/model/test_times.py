"""What operators type as a time, and what it means at a given moment."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.model.times import ago, ahead

NOW = datetime(2026, 12, 1, 17, 30, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 12, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("18:00", at(1, 18)),
        (" 18:00 ", at(1, 18)),
        ("9:00", at(1, 9)),
        ("18:00:00", at(1, 18)),
        ("18:00Z", at(1, 18)),
        ("02:00+08:00", at(1, 18)),  # in China it is the 2nd already
        ("2026-12-01T18:00Z", at(1, 18)),
        ("2026-12-01 18:00", at(1, 18)),
        ("2026-12-02T02:00+08:00", at(1, 18)),
        ("2026-12-02", at(2, 0)),
    ],
)
def test_a_time_is_the_same_whichever_way_it_counts(text: str, meant: datetime) -> None:
    assert ahead(text, NOW) == meant
    assert ago(text, NOW) == meant


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("2h", timedelta(hours=2)),
        ("90m", timedelta(minutes=90)),
        ("90min", timedelta(minutes=90)),
        ("1d", timedelta(days=1)),
        ("1d2h3m", timedelta(days=1, hours=2, minutes=3)),
        ("0m", timedelta(0)),
    ],
)
def test_a_span_counts_forwards_or_backwards(text: str, span: timedelta) -> None:
    assert ahead(text, NOW) == NOW + span
    assert ago(text, NOW) == NOW - span


@pytest.mark.parametrize(
    "text",
    ["", "soon", "25:00", "18", "2h later", "-2h", "2026-13-01", "9999-12-31T23:59-01:00", "٢h"],
)
def test_anything_else_is_not_guessed_at(text: str) -> None:
    assert ahead(text, NOW) is None
    assert ago(text, NOW) is None


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789dhm:-TZ+ ", max_size=25))
def test_whatever_is_typed_it_is_a_time_in_utc_or_nothing(text: str) -> None:
    found = ahead(text, NOW)
    assert found is None or found.tzinfo is UTC
