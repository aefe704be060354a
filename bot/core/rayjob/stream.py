"""Turn the bytes of a watch into events, whatever the bytes are.

A watch is NDJSON at up to 50,000 lines a second. The service also sends blank lines, text, broken
UTF-8 and lines of several MB. A good line takes one typed decode; only other lines take the slow
way. The memory is one line (at most 8 MiB) and the events of one chunk.
"""

import json
import re
from typing import Any

import msgspec

from bot.core.rayjob.events import Event, Final, LogLine, RawText, StatusChange, WatchProblem

# Lines of several MB occur. A loop that prints without a newline must not fill the memory.
MAX_LINE_BYTES = 8 * 1024 * 1024
# This much is kept of the end of a too long line: it closes the JSON and may contain `seq`.
_CLOSING_BYTES = 256
# A cut may divide an escaped surrogate pair (12 bytes) or a UTF-8 character (4).
_MAX_CUT_BACK = 12

_Known = LogLine | StatusChange | Final | WatchProblem
_KINDS: dict[str, type[_Known]] = {
    "log": LogLine,
    "status": StatusChange,
    "final": Final,
    "error": WatchProblem,
}
_decode = msgspec.json.Decoder(_Known).decode
_closing = re.compile(
    rb'"(?:\s*,\s*"[a-z_]+"\s*:\s*(?:-?\d+|null|"[^"\\]{0,64}"))*\s*\}\s*$'
).search
_surrogates = re.compile("[\ud800-\udfff]")


class StreamDecoder:
    """Decodes one watch; a new connection needs a new decoder."""

    def __init__(self) -> None:
        self._held = bytearray()  # the unfinished line, at most MAX_LINE_BYTES of it
        self._beyond = b""  # the last bytes that were dropped from it
        self._dropped = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events of the lines that end in this chunk; a chunk may end anywhere."""
        first_end = chunk.find(b"\n")
        if first_end < 0:
            self._hold(chunk)
            return []
        last_end = chunk.rfind(b"\n")
        self._hold(chunk[:first_end])
        first = self._release()
        found = _events(chunk[first_end + 1 : last_end])
        self._hold(chunk[last_end + 1 :])
        return found if first is None else [first, *found]

    def end(self) -> tuple[list[Event], str]:
        """Close the stream: return the event of a last line without newline, or half a line.

        The half line is the readable part of a log line that the lost connection cut off, or "". It
        is not an event, because a new watch may send the line again (`Resume`).
        """
        line, dropped = bytes(self._held), self._dropped
        event = self._release()
        if event is None:
            return [], ""
        if dropped or isinstance(event, RawText):
            return [], _half(line)
        return [event], ""

    def _hold(self, part: bytes) -> None:
        room = MAX_LINE_BYTES - len(self._held)
        self._held += part[:room]
        if len(part) > room:
            self._dropped += len(part) - room
            self._beyond = (self._beyond + part[room:])[-_CLOSING_BYTES:]

    def _release(self) -> Event | None:
        line, beyond, dropped = bytes(self._held), self._beyond, self._dropped
        self._held, self._beyond, self._dropped = bytearray(), b"", 0
        if dropped:
            return _shortened(line + beyond, MAX_LINE_BYTES + dropped)
        return _event(line)


def _events(block: bytes) -> list[Event]:
    lines = [line for line in block.split(b"\n") if line]
    if len(block) <= MAX_LINE_BYTES:
        try:
            return list(map(_decode, lines))
        except (ValueError, RecursionError):
            pass  # one of them is no good line
    return [event for line in lines if (event := _event(line)) is not None]


def _event(line: bytes) -> Event | None:
    """Decode one line; `None` if it is blank."""
    if len(line) > MAX_LINE_BYTES:
        return _shortened(line[:MAX_LINE_BYTES] + line[-_CLOSING_BYTES:], len(line))
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        return _tolerant(line)


def _tolerant(line: bytes) -> Event | None:
    """Read a line that the strict decoder refuses: bad UTF-8, control characters, odd types."""
    text = line.decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r")
    if not text.strip():
        return None
    if text.lstrip().startswith("{"):
        try:
            return _of_object(json.loads(text, strict=False), text)
        except (ValueError, RecursionError):
            return RawText(text)
    return RawText(text)


def _of_object(data: dict[str, object], text: str) -> Event:
    seq, ts = _seq(data.get("seq")), _string(data.get("ts")) or None
    kind = _KINDS.get(str(data.get("type")))
    if kind is None or (kind is LogLine and isinstance(data.get("line"), dict | list)):
        return RawText(text, seq)
    *words, _, _ = kind.__struct_fields__
    fields: dict[str, Any] = {word: _string(data.get(word)) for word in words}
    return kind(**fields, seq=seq, ts=ts)


def _seq(value: object) -> int | None:
    return value if isinstance(value, int) and value is not True and value > 0 else None


def _string(value: object) -> str:
    """Return a string or number as text without lone surrogates, which can't be encoded."""
    if isinstance(value, str):
        return _surrogates.sub("\ufffd", value)
    return str(value) if isinstance(value, int | float) else ""


def _shortened(line: bytes, true_bytes: int) -> Event:
    """Decode a shortened line: `line` is its start and its last bytes."""
    start = line[: MAX_LINE_BYTES - _CLOSING_BYTES]
    mark = b" [%d bytes dropped]" % (true_bytes - len(start))
    closing = _closing(line[-_CLOSING_BYTES:])
    end = mark + (closing[0] if closing else b'"}')
    return _mended(start, end) or RawText((start + mark).decode("utf-8", "replace"))


def _mended(start: bytes, end: bytes) -> Event | None:
    """Decode `start + end`, going back from the cut until it is between two characters."""
    for back in range(_MAX_CUT_BACK + 1):
        try:
            return _decode(start[: len(start) - back] + end)
        except (ValueError, RecursionError):
            continue
    return None


def _half(line: bytes) -> str:
    """Return the readable part of half a line: a log line's text so far, or plain text."""
    if not line.lstrip().startswith(b"{"):
        return line.decode("utf-8", "replace").strip("\ufeff\r\n")
    event = _mended(line, b'"}')
    return event.line if isinstance(event, LogLine) else ""
