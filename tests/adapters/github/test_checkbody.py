"""The last guard of GitHub's limits."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.github.checks import MARK, body_of, cut_chars
from bot.core.github.markdown import cut_bytes
from bot.core.model.ids import Sha
from bot.core.model.views import Annotation, Button, CheckWrite

DONE = CheckWrite("n", Sha("a" * 40), "x", "completed", "t", "s", conclusion="success")


@given(st.text(max_size=200), st.integers(min_value=len(MARK.encode()), max_value=120))
def test_a_cut_text_is_within_its_bytes_and_a_beginning_of_the_text(text: str, limit: int) -> None:
    found = cut_bytes(text, limit, MARK)
    assert len(found.encode()) <= limit
    if len(text.encode(errors="replace")) <= limit:
        assert found == text.encode(errors="replace").decode()
    else:
        assert text.startswith(found.removesuffix(MARK)) or "?" in found


def test_limits_are_bytes_and_cut_at_a_characters_end() -> None:
    output = body_of(dataclasses.replace(DONE, summary="昇" * 30_000, text="é" * 40_000))["output"]
    for part in (output["summary"], output["text"]):
        assert 65_500 < len(part.encode()) <= 65_535
        assert part.endswith(MARK)
        assert "\ufffd" not in part


def test_a_text_at_the_limit_is_left_whole() -> None:
    assert cut_bytes("x" * 65_535, 65_535) == "x" * 65_535


def test_a_lone_surrogate_does_not_stop_a_result() -> None:
    assert cut_bytes("a\ud800b", 100) == "a?b"


def test_a_title_has_255_characters_at_most_and_is_never_empty() -> None:
    assert len(body_of(dataclasses.replace(DONE, title="t" * 300))["output"]["title"]) == 255
    assert body_of(dataclasses.replace(DONE, title=""))["output"]["title"] == "n"


def test_an_annotation_keeps_its_limits() -> None:
    item = Annotation("a.py", 0, "昇" * 30_000, title="t" * 300)
    body = body_of(DONE, [item])["output"]["annotations"][0]
    assert (body["start_line"], body["end_line"]) == (1, 1)
    assert len(body["message"].encode()) <= 64 * 1024
    assert len(body["title"]) == 255
    assert body["annotation_level"] == "failure"


def test_buttons_are_three_and_short() -> None:
    button = Button("i" * 30, "l" * 30, "d" * 60)
    actions = body_of(dataclasses.replace(DONE, buttons=(button,) * 4))["actions"]
    assert len(actions) == 3
    assert {key: len(value) for key, value in actions[0].items()} == {
        "label": 20,
        "description": 40,
        "identifier": 20,
    }


def test_a_short_text_is_left_alone() -> None:
    assert cut_chars("abc", 3) == "abc"


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=8))])
def test_times_are_written_in_utc(zone: timezone) -> None:
    when = datetime(2026, 11, 30, 20, 0, 0, 999, tzinfo=timezone(timedelta(hours=8)))
    body = body_of(dataclasses.replace(DONE, started_at=when.astimezone(zone)))
    assert body["started_at"] == "2026-11-30T12:00:00Z"
