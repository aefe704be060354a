from collections.abc import Callable

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.digest.scan import MAX_LINE, Partial, Scanner, cut

PREFILTER = re2.compile(rb"(?m)hit|^want")


class Lines:
    """A sink that keeps what it is given; a line `want N` asks for the next N lines."""

    def __init__(self) -> None:
        self.until = 0
        self.read_lines: list[tuple[int, bytes]] = []
        self.befores: list[list[tuple[int, bytes]]] = []
        self._before: Callable[[int], list[tuple[int, bytes]]] = lambda _: []

    def follow(self, before: Callable[[int], list[tuple[int, bytes]]]) -> None:
        self._before = before

    series = None

    def read_series(self, _no: int, _block: bytes) -> bool:
        return False

    def read(self, no: int, raw: bytes) -> None:
        self.read_lines.append((no, raw))
        self.befores.append(self._before(3))
        if raw.startswith(b"want "):
            self.until = no + int(raw[5:6])


def scan(*chunks: bytes) -> tuple[Scanner, Lines]:
    sink = Lines()
    scanner = Scanner(PREFILTER, sink)
    for chunk in chunks:
        scanner.feed(chunk)
    scanner.flush()
    return scanner, sink


def test_only_lines_with_a_hit_are_handed_on_with_their_numbers() -> None:
    scanner, sink = scan(b"a\nb hit\nc\n\nhit\n")
    assert sink.read_lines == [(2, b"b hit"), (5, b"hit")]
    assert (scanner.lines, scanner.bytes) == (5, 15)


def test_a_sink_gets_the_lines_it_wants_whatever_they_hold() -> None:
    assert scan(b"want 2\nx\ny\nz\n")[1].read_lines == [(1, b"want 2"), (2, b"x"), (3, b"y")]


def test_only_a_line_feed_ends_a_line() -> None:
    scanner, sink = scan("a\rb\x0bc\u2028d\x85hit\n".encode())
    assert (scanner.lines, len(sink.read_lines)) == (1, 1)


def test_the_unfinished_line_counts_only_when_finished() -> None:
    scanner, sink = scan(b"a\nhit")
    assert (scanner.lines, scanner.unfinished, sink.read_lines) == (1, b"hit", [])
    scanner.finish()
    assert (scanner.lines, sink.read_lines) == (2, [(2, b"hit")])
    scanner.finish()
    assert scanner.lines == 2


@pytest.mark.parametrize(
    ("chunks", "before"),
    [
        ([b"1\n2\n3\n4\nhit\n"], [(2, b"2"), (3, b"3"), (4, b"4")]),
        ([b"1\n2\n", b"hit\n"], [(1, b"1"), (2, b"2")]),
        ([b"hit\n"], []),
    ],
)
def test_the_lines_before_can_be_asked_for(
    chunks: list[bytes], before: list[tuple[int, bytes]]
) -> None:
    assert scan(*chunks)[1].befores[-1] == before


def test_lines_before_reach_back_over_a_flush() -> None:
    sink = Lines()
    scanner = Scanner(PREFILTER, sink)
    for chunk in (b"1\n2\n3\n", b"4\nhit\n"):
        scanner.feed(chunk)
        scanner.flush()
    assert sink.befores == [[(2, b"2"), (3, b"3"), (4, b"4")]]


def test_the_tail_keeps_the_last_forty_lines() -> None:
    scanner, _ = scan(b"".join(b"%d\n" % i for i in range(50)))
    assert list(scanner.tail) == [b"%d" % i for i in range(10, 50)]


def test_an_overlong_line_keeps_head_and_tail() -> None:
    line = b"hit" + b"x" * (5 << 20) + b"end"
    _, sink = scan(line + b"\nhit\n")
    (no, kept), second = sink.read_lines
    assert (no, second) == (1, (2, b"hit"))
    assert kept == cut(line)
    assert kept.startswith(b"hit")
    assert kept.endswith(b"end")
    assert len(kept) == 2 * MAX_LINE + 1


def test_a_hit_in_the_lost_middle_of_a_line_is_none() -> None:
    line = b"x" * (1 << 20) + b"hit" + b"x" * (1 << 20)
    assert scan(line + b"\nhit\n")[1].read_lines == [(2, b"hit")]


def test_an_overlong_line_is_the_same_in_any_chunks() -> None:
    line = b"hit" + bytes(i % 240 + 14 for i in range(3 * MAX_LINE)) + b"\nnext hit\n"
    whole = scan(line)[1].read_lines
    for size in (1_000, 70_000, MAX_LINE, MAX_LINE + 1, 2 * MAX_LINE + 3):
        pieces = [line[i : i + size] for i in range(0, len(line), size)]
        assert scan(*pieces)[1].read_lines == whole


def test_a_partial_line_is_bounded() -> None:
    partial = Partial()
    for _ in range(100):
        partial.add(b"x" * 60_000)
    assert partial.size == 6_000_000
    assert len(partial.take()) == 2 * MAX_LINE + 1
    assert partial.take() == b""


LINES = st.lists(st.sampled_from([b"a", b"", b"x hit", b"want 3", b"\r", b"\xff\x00"]), max_size=30)


@settings(max_examples=60, deadline=None)
@given(lines=LINES, size=st.integers(1, 40), flushing=st.booleans())
def test_chunks_of_any_size_hand_on_the_same_lines(
    lines: list[bytes], size: int, *, flushing: bool
) -> None:
    raw = b"\n".join(lines)
    whole, expected = scan(raw)
    sink = Lines()
    scanner = Scanner(PREFILTER, sink)
    for start in range(0, len(raw), size):
        scanner.feed(raw[start : start + size])
        if flushing:
            scanner.flush()
    scanner.flush()
    assert sink.read_lines == expected.read_lines
    assert sink.befores == expected.befores
    assert (scanner.lines, list(scanner.tail)) == (whole.lines, list(whole.tail))
    assert scanner.unfinished == whole.unfinished
