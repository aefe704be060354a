"""Removes secrets from text before it is sent or stored.

Everything runs on RE2, so that a hostile line costs no more than a plain one. A secret becomes
``***``, which is never longer than what it stands for: text does not grow. A line is the unit, so
that a whole text and a stream of chunks give the same; only private keys span lines, and secrets
that a terminal has broken at its width.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.core.secrets.looks import MARK, blanked, is_key_body
from bot.core.secrets.patterns import KeyBlock, patterns
from bot.core.secrets.seams import LOG_START, SEAM_BYTES, compiled

BLOCK_LINES = 220  # a 16,384-bit key in PEM; a stray "BEGIN" blanks no more than this
MAX_LINE_BYTES = 1 << 20  # an unfinished line kept back; longer ones are cut at a space
STATE_BYTES = 32 * 1024  # of the end of a redacted text tell where it is: a key is shorter
# Lines of one text from which secrets are cut out: 100 µs each. Later ones are blanked, at 10 µs.
MOST_CUT_LINES = 200_000

_MARK = MARK.encode()
_BODY = compiled(r"[A-Za-z0-9+/]+={0,2}\r?$")


class Redactor:
    """Replaces secrets by ``***``; ``extra`` holds values of the policy's ``log.redact``."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        self.patterns = patterns(tuple(sorted(set(extra))))

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets. It never grows, and a second call changes nothing."""
        stream = RedactingStream(self)
        return (stream.feed(text.encode("utf-8", "replace")) + stream.end()).decode()


@dataclass(slots=True)
class StreamState:
    """What a stream remembers between two chunks."""

    kept: list[bytes] = field(default_factory=list)  # of the line that has not ended
    kept_bytes: int = 0
    block: int | None = None  # the number of the block that the next line is in
    block_lines: int = 0  # left to blank there
    cut_lines: int = 0  # lines that secrets were cut out of
    last: bytes = b""  # the last lines, as they came
    at_start: bool = True  # no line has come, or only lines of a key
    in_body: bool = False  # of a key that began before the text


class RedactingStream:
    """Redacts text that comes in chunks. A secret may begin in one chunk and end in the next."""

    def __init__(self, redactor: Redactor, state: StreamState | None = None) -> None:
        """Go on from a state; without one begin."""
        self._redactor = redactor
        self._patterns = redactor.patterns
        self.state = state or StreamState()

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk, and return its complete lines, redacted.

        A line waits for the next one if its end may be the beginning of a secret.
        """
        whole, end, rest = chunk.rpartition(b"\n")
        if not end:
            return self._keep(rest)
        text = self._taken() + whole
        if parts := self._patterns.seams.unfinished(text):
            begin = text.rfind(b"\n", 0, parts[0][0]) + 1
            text, rest = text[:begin], text[begin:] + b"\n" + rest
            return (self._lines(text[:-1]) + b"\n" if text else b"") + self._keep(rest)
        return self._lines(text) + b"\n" + self._keep(rest)

    def settle(self) -> bytes:
        """Return the complete line that waits; the beginning of a secret at its end is blanked."""
        text, end, rest = self._taken().rpartition(b"\n")
        shown = self._keep(rest)
        return self.settled(text) + end + shown

    def end(self) -> bytes:
        """Return the stored rest, redacted."""
        return self._lines(text) if (text := self._taken()) else b""

    @property
    def rest(self) -> bytes:
        """Return what `end` would return, and go on."""
        return self.copy().end() if self.state.kept else b""

    def half(self, line: bytes) -> bytes:
        """Return how the beginning of a line may be shown, if the rest does not come."""
        return self.copy().settled(line, least=0)

    def copy(self) -> "RedactingStream":
        """Return a stream that goes on from here by itself."""
        return RedactingStream(self._redactor, copy.deepcopy(self.state))

    def resume(self, text: bytes) -> None:
        """Go on after a text that another stream has redacted, of which this is the end."""
        self.state.at_start = False
        text = text.removesuffix(b"\n")
        if text:
            self._lines(text)

    def settled(self, text: bytes, **least: int) -> bytes:
        """Redact lines; the beginning of a secret at their end is blanked."""
        before, shown = self.state.last, text
        for begin, end in reversed(self._patterns.seams.unfinished(text, **least)):
            shown = shown[:begin] + blanked(shown[begin:end]) + shown[end:]
        made = self._lines(shown)
        self.state.last = _last(before, text)
        return made

    def _taken(self) -> bytes:
        state = self.state
        text, state.kept, state.kept_bytes = b"".join(state.kept), [], 0
        return text

    def _keep(self, rest: bytes) -> bytes:
        """Store the start of a line until the line ends, or up to its last space if it is long."""
        state = self.state
        if rest:
            state.kept.append(rest)
            state.kept_bytes += len(rest)
        if state.kept_bytes <= MAX_LINE_BYTES:
            return b""
        line = self._taken()  # few secrets contain a space
        at = line.rfind(b" ") + 1 or _whole_characters(line)
        state.kept, state.kept_bytes = [line[at:]], len(line) - at
        return self._lines(line[:at])

    def _lines(self, text: bytes) -> bytes:
        """Redact complete lines."""
        text, state, found_by = _valid(text), self.state, self._patterns
        before, state.last = state.last, _last(state.last, text)
        if state.at_start:
            text = self._headless(text)
        if state.block is None and not found_by.may_find(before + b"\n" + text):
            return text
        text = found_by.unbroken(text, before)
        if state.block is None and not any(block.hint in text for block in found_by.blocks):
            return found_by.redacted(text, self._without)
        return b"\n".join(map(self._line, text.split(b"\n")))

    def _headless(self, text: bytes) -> bytes:
        """Blank the lines of a private key that begins before the text does."""
        lines = text.split(b"\n")
        for number, line in enumerate(lines):
            body = _BODY.match(line, LOG_START.match(line).end())
            if body is None or not (self.state.in_body or is_key_body(body.group())):
                self.state.at_start = self.state.in_body = False
                break
            lines[number] = line[: body.start()] + blanked(body.group())
            self.state.in_body = True
        return b"\n".join(lines)

    def _line(self, line: bytes) -> bytes:
        if self.state.block is not None:
            return self._inside(self._patterns.blocks[self.state.block], line)
        for number, block in enumerate(self._patterns.blocks):
            if block.hint in line:
                line = block.on_one_line.sub(_MARK, line)
                if begin := block.begin.search(line):
                    self.state.block, self.state.block_lines = number, BLOCK_LINES
                    before, after = line[: begin.start()], line[begin.end() :]
                    # The mark stays: a text that goes on later tells by it where it is.
                    shown = self._patterns.redacted(before, self._without)
                    return b"".join((shown, begin.group(), blanked(after)))
        return self._patterns.redacted(line, self._without)

    def _without(self, line: bytes) -> bytes:
        self.state.cut_lines += 1
        if self.state.cut_lines > MOST_CUT_LINES:
            return blanked(line)
        return self._patterns.without(line)

    def _inside(self, block: KeyBlock, line: bytes) -> bytes:
        """Blank a line of a private key; text after the key's end becomes a new line."""
        self.state.block_lines -= 1
        end = block.end.search(line)
        if end is None and self.state.block_lines:
            return blanked(line)
        self.state.block = None
        if end is None:
            return blanked(line)
        before, after = line[: end.start()], self._line(line[end.end() :])
        return b"".join((blanked(before), end.group(), after))


def _last(before: bytes, text: bytes) -> bytes:
    return (before + b"\n" + text[-SEAM_BYTES:])[-SEAM_BYTES:]


def _valid(text: bytes) -> bytes:
    """Return text that is UTF-8: no expression finds anything across other bytes."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode()
    return text


def _whole_characters(line: bytes) -> int:
    """Return the length of a line without a character that is cut at its end."""
    return len(line) - next((n for n in (1, 2, 3) if line[-n] >= 0xC0), 0)
