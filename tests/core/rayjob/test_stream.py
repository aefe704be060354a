import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.rayjob.events import Event, Final, LogLine, RawText, StatusChange, WatchProblem
from bot.core.rayjob.stream import MAX_LINE_BYTES, StreamDecoder


def decoded(data: bytes, size: int | None = None) -> list[Event]:
    decoder = StreamDecoder()
    size = size or max(1, len(data))
    events = [e for at in range(0, len(data), size) for e in decoder.feed(data[at : at + size])]
    last, _ = decoder.end()
    return events + last


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b'{"type":"log","line":"a"}', LogLine("a")),
        (b'{"type":"log","line":"a","seq":7,"ts":"2026"}', LogLine("a", 7, "2026")),
        (b' {"line": "a\\u0000b\\r", "type": "log"}\r', LogLine("a\0b\r")),
        (b'{"type":"log"}', LogLine("")),
        (b'{"type":"log","line":null}', LogLine("")),
        (b'{"type":"log","line":5,"seq":2}', LogLine("5", 2)),
        (b'{"type":"log","line":"raw \x00 \r \t"}', LogLine("raw \0 \r \t")),
        (b'{"type":"log","line":"half \xe4\xb8"}', LogLine("half \ufffd")),
        (b'{"type":"log","line":"half \\ud83d"}', LogLine("half \ufffd")),
        (b'{"type":"log","line":"a","seq":"7","ts":5}', LogLine("a", None, "5")),
        (b'{"type":"log","line":"a","seq":0}', LogLine("a")),
        (b'{"type":"log","line":"a","seq":true}', LogLine("a")),
        (b'\xef\xbb\xbf{"type":"log","line":"a"}', LogLine("a")),
        (b'{"type":"log","line":{"a":1}}', RawText('{"type":"log","line":{"a":1}}')),
        (
            b'{"type":"status","status":"RUNNING","message":"","job_deployment_status":"Running"}',
            StatusChange("RUNNING", "", "", "Running"),
        ),
        (
            b'{"type":"status","status":null,"message":"m","rayjob_status":"R","seq":3}',
            StatusChange("", "m", "R", "", 3),
        ),
        (b'{"type":"final","status":"FAILED","message":"x"}', Final("FAILED", "x")),
        (b'{"type":"final","status":"FAILED","message":{"why":[]}}', Final("FAILED")),
        (b'{"type":"final"}', Final("")),
        (b'{"type":"error","message":"hiccup"}', WatchProblem("hiccup")),
        (b'{"type":"error","message":null}', WatchProblem("")),
        (b'{"type":"ping","seq":4}', RawText('{"type":"ping","seq":4}', 4)),
        (b'{"line":"no type"}', RawText('{"line":"no type"}')),
        (b'{"type":"log","line":"cut', RawText('{"type":"log","line":"cut')),
        (b"<html>502</html>", RawText("<html>502</html>")),
        (b"[1]", RawText("[1]")),
        (b"null", RawText("null")),
        (b'{"type":"log","x":' + b"[" * 100_000, None),
        (b"", None),
        (b" \t\r", None),
    ],
)
def test_every_line_becomes_its_event_and_never_an_error(line: bytes, event: Event | None) -> None:
    after = LogLine("next")
    events = decoded(line + b'\n{"type":"log","line":"next"}\n')
    if line.endswith(b"["):
        assert isinstance(events[0], RawText)
    else:
        assert events == ([event] if event else []) + [after]
    assert events[-1] == after


_lines = st.one_of(
    st.builds(
        lambda text, seq: json.dumps({"type": "log", "line": text, "seq": seq}).encode(),
        st.text(max_size=20),
        st.none() | st.integers(1, 99),
    ),
    st.builds(
        lambda text: json.dumps({"type": "log", "line": text}, ensure_ascii=False).encode(
            errors="surrogatepass"
        ),
        st.text(max_size=20),
    ),
    st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")),
    st.just(b'{"type":"final","status":"SUCCEEDED"}'),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_lines, max_size=8), st.integers(1, 40))
def test_where_chunks_are_cut_changes_nothing(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    assert decoded(data, size) == decoded(data)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=8), st.integers(1, 40))
def test_every_text_comes_out_as_it_went_in(texts: list[str], size: int) -> None:
    data = b"".join(json.dumps({"type": "log", "line": t}).encode() + b"\n" for t in texts)
    assert decoded(data, size) == [LogLine(text) for text in texts]


def test_a_last_line_without_newline_is_an_event() -> None:
    assert decoded(b'{"type":"final","status":"SUCCEEDED"}') == [Final("SUCCEEDED")]


@pytest.mark.parametrize(
    ("rest", "half"),
    [
        (b"", ""),
        (b"  ", ""),
        (b'{"type":"log","line":"step 1', "step 1"),
        (b'{"type":"log","line":"caf\xc3', "caf"),
        (b'{"type":"log","line":"smile \\ud83d\\ud', "smile "),
        (b'{"type":"log","li', ""),
        (b'{"type":"final","status":"SUCCEEDED', ""),
        (b"plain te", "plain te"),
    ],
)
def test_half_a_line_is_no_event_but_its_text_is_kept(rest: bytes, half: str) -> None:
    decoder = StreamDecoder()
    decoder.feed(b'{"type":"log","line":"whole"}\n' + rest)
    assert decoder.end() == ([], half)


def _long(middle: bytes, start: bytes, end: bytes) -> bytes:
    return start + middle * (2 * MAX_LINE_BYTES // len(middle)) + end


@pytest.mark.parametrize("size", [None, 65536, 1_000_003])
@pytest.mark.parametrize("middle", [b"x", "中".encode(), b"\\u4e2d", b"\\ud83d\\ude00", b'\\"'])
def test_of_a_line_beyond_the_cap_the_start_and_the_number_are_kept(
    middle: bytes, size: int | None
) -> None:
    line = _long(middle, b'{"type":"log","line":"begin ', b'","seq":12}')
    first, second = decoded(line + b'\n{"type":"log","line":"next"}\n', size)
    assert isinstance(first, LogLine)
    assert first.line.startswith("begin ")
    assert first.line.endswith(" bytes dropped]")
    assert first.seq == 12
    assert len(first.line.encode()) <= MAX_LINE_BYTES
    assert second == LogLine("next")


def test_a_long_line_inside_one_chunk_is_cut_as_well() -> None:
    long = _long(b"y", b'{"type":"log","line":"', b'"}')
    _, cut, _ = decoded(b'{"type":"log"}\n' + long + b'\n{"type":"log"}\n')
    assert isinstance(cut, LogLine)
    assert len(cut.line) <= MAX_LINE_BYTES


def test_a_cut_line_leaves_nothing_to_the_next() -> None:
    end = b',"seq":13}'
    second = b'{"type":"log","line":"'.ljust(MAX_LINE_BYTES - 1, b"y") + b'"' + end
    decoder = StreamDecoder()
    decoder.feed(_long(b"x", b'{"type":"log","line":"', b'","seq":12}'))
    events = [
        e for part in (b"\n", second, b"\n", b'{"type":"lo', b'g"}\n') for e in decoder.feed(part)
    ]
    assert [event.seq for event in events] == [12, 13, None]
    assert events[-1] == LogLine("")


def test_a_final_with_a_message_beyond_the_cap_keeps_its_status() -> None:
    line = _long(b"z", b'{"type":"final","message":"', b'","status":"FAILED"}')
    (final,) = decoded(line + b"\n")
    assert isinstance(final, Final)
    assert final.status == "FAILED"


def test_a_long_line_that_is_no_event_is_cut_text() -> None:
    for line in (_long(b"\x00", b"", b""), _long(b"x", b'{"type":"ping","a":"', b'"}')):
        (text,) = decoded(line + b"\n", 1 << 20)
        assert isinstance(text, RawText)
        assert text.line.endswith(" bytes dropped]")


def test_a_long_line_that_the_connection_cut_is_half_a_line() -> None:
    decoder = StreamDecoder()
    decoder.feed(_long(b"x", b'{"type":"log","line":"begin ', b""))
    events, half = decoder.end()
    assert events == []
    assert half.startswith("begin x")


def test_a_line_without_end_holds_no_more_than_the_cap() -> None:
    decoder, chunk = StreamDecoder(), b"x" * (1 << 20)
    tracemalloc.start()
    for _ in range(64):
        decoder.feed(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * MAX_LINE_BYTES
