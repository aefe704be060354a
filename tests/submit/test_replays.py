"""Which lines are new, for every way to cut and replay a log."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.submit import Config, Follower
from tests.submitter.faulty_submitter import final

LINE = st.sampled_from(["a", "b", "c", ""])
CUTS = st.lists(st.integers(0, 12), max_size=4)


class Replayed(Follower):
    """A follower whose watches are given; each but the last is cut, all replay from the first."""

    def __init__(self, watches: list[list[dict[str, Any]]]) -> None:
        super().__init__(Config("", "", "", {}, "", "", False, 0, 1), "rj")
        self._watches = iter(watches)

    def _blocks(self) -> Iterator[bytes]:
        for event in next(self._watches):
            yield json.dumps(event).encode()

    def _state(self) -> tuple[str, bool]:
        return "", True

    def shown(self) -> list[str]:
        out = io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(out):
            assert self.run() == "SUCCEEDED"
        return out.buffer.getvalue().decode().split("\n")[:-2]


@settings(max_examples=150)
@given(texts=st.lists(LINE, max_size=12), cuts=CUTS)
def test_numbered_lines_come_once_and_all_whatever_is_replayed(
    texts: list[str], cuts: list[int]
) -> None:
    events = [{"type": "log", "seq": i, "line": text} for i, text in enumerate(texts, 1)]
    whole = [*events, {**final("SUCCEEDED"), "seq": len(events) + 1}]
    assert Replayed([*(events[:cut] for cut in cuts), whole]).shown() == texts


@settings(max_examples=150)
@given(texts=st.lists(LINE, max_size=12), cuts=CUTS)
def test_unnumbered_lines_come_once_and_all_when_watches_replay(
    texts: list[str], cuts: list[int]
) -> None:
    events: list[dict[str, Any]] = [{"type": "log", "line": text} for text in texts]
    whole = [*events, dict(final("SUCCEEDED"))]
    assert Replayed([*(events[:cut] for cut in cuts), whole]).shown() == texts


@settings(max_examples=150)
@given(texts=st.lists(LINE, max_size=9), loose=st.lists(LINE, max_size=9), cuts=CUTS)
def test_lines_without_number_among_numbered_ones_come_once_and_all_when_watches_replay(
    texts: list[str], loose: list[str], cuts: list[int]
) -> None:
    events: list[dict[str, Any]] = [{"type": "log", "seq": 1, "line": "first"}]
    for i, text in enumerate(texts, 2):
        events.append({"type": "log", "seq": i, "line": text})
        events += [{"type": "log", "line": loose[i - 2]}] if i - 2 < len(loose) else []
    whole = [*events, {**final("SUCCEEDED"), "seq": 99}]
    shown = Replayed([*(events[:cut] for cut in cuts), whole]).shown()
    assert shown == [event["line"] for event in events]
