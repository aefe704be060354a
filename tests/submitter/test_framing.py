"""Cutting bytes into lines, and finding a place in the event file, for every input."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.submitter.event_file import EventFile, Lines
from bot.submitter.watches import offset_after, whole_end

BYTES = st.binary(max_size=80) | st.text("é中a\n\r\0", max_size=60).map(str.encode)


@settings(max_examples=200)
@given(data=BYTES, cuts=st.lists(st.integers(0, 80), max_size=6))
def test_lines_do_not_depend_on_where_the_chunks_end(data: bytes, cuts: list[int]) -> None:
    ends = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    lines = Lines(1000)
    got = [line for start, end in itertools.pairwise(ends) for line in lines.feed(data[start:end])]
    got += lines.rest()
    expected = data.decode("utf-8", "replace").split("\n")
    assert got == (expected if expected[-1] else expected[:-1])


@settings(max_examples=200)
@given(text=st.text("é中a🙂", max_size=30), limit=st.integers(1, 20), step=st.integers(1, 9))
def test_a_cut_line_keeps_whole_characters_and_counts_what_is_gone(
    text: str, limit: int, step: int
) -> None:
    data = text.encode() + b"\n"
    lines = Lines(limit)
    got = [line for i in range(0, len(data), step) for line in lines.feed(data[i : i + step])]
    if len(data) - 1 <= limit:
        assert got == [text]
        return
    kept, _, rest = got[0].partition(" … [")
    assert text.startswith(kept)
    assert limit - 3 <= len(kept.encode()) <= limit
    assert int(rest.split()[0]) == len(data) - 1 - len(kept.encode())


@settings(max_examples=60)
@given(texts=st.lists(st.text(max_size=40), max_size=30), after=st.integers(0, 35))
def test_the_place_after_a_number_is_where_the_next_one_begins(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], after: int
) -> None:
    path = Path(tmp_path_factory.mktemp("events")) / "e"
    EventFile(path, 10**6).log(texts)
    rest = path.read_bytes()[offset_after(path, after) :]
    events = [json.loads(line) for line in rest.decode().split("\n")[:-1]]
    assert [event["line"] for event in events] == texts[after:]


@settings(max_examples=60)
@given(texts=st.lists(st.text(max_size=20), min_size=1, max_size=8), torn=st.integers(0, 30))
def test_a_torn_end_is_no_whole_line_and_is_dropped_on_opening(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], torn: int
) -> None:
    path = Path(tmp_path_factory.mktemp("events")) / "e"
    EventFile(path, 10**6).log(texts)
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"seq":99,"ts":"x","type":"final"'[:torn])
    with path.open("rb") as file:
        assert whole_end(file.fileno()) == (len(whole), b"")
    assert EventFile(path, 10**6).seq == len(texts)
    assert path.read_bytes() == whole
