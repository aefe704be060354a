"""Finds secrets over several lines: a terminal breaks them, and a log's writer adds a prefix."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from bot.core.secrets.looks import MARK, looks_random
from bot.core.secrets.rules import SecretRule

# Where a terminal breaks a line: a narrower one is not seen in CI, and short lines are sentences.
MIN_COLUMNS = 40
SEAM_BYTES = 1_000  # before a text that are looked at
_MOST_LINES = 8
_MOST_OWN_CHARS = 20_000  # of a policy's values; beyond it none is looked for over lines
_MOST_NESTED = 200  # RE2 takes no deeper expression, and no terminal is wider
_REST_CHARS = 12  # of a token whose length is not known, on its next line
_SHOWN_CHARS = 2  # of a secret's beginning: they tell nothing
_TOLD_CHARS = 6  # of a secret's rest tell that it is one

_CHAR = r"[A-Za-z0-9_\-.=+/~]"
# What stands before each line: GitHub's time, and Ray's name of a process.
_LOG = (
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z )?"
    r"(?:(?:\x1b\[[0-9;]*m)*\([^()\n]*pid=[^()\n]*\)(?:\x1b\[[0-9;]*m)* ?)?"
)

_DFA_BYTES = 16 << 20  # the limit of an expression's cache

Span = tuple[int, int]


def options() -> Any:
    """Return how expressions are compiled whose groups nobody asks for."""
    made = re2.Options()
    made.log_errors = False
    made.never_capture = True
    made.max_mem = _DFA_BYTES
    return made


def compiled(pattern: str) -> Any:
    """Return an expression over bytes."""
    return re2.compile(pattern, options())


_shared = lru_cache(maxsize=256)(compiled)  # those of shipped rules: the same for each policy

_MARK = MARK.encode()
LOG_START = compiled(_LOG)
_LINE_END = compiled(rf"\r?\n{_LOG}")
_REST = compiled(f"{_CHAR}+")
_WHOLE = compiled(r"[^\s]{8,}\r?$")


@dataclass(frozen=True, slots=True)
class _Token:
    """A form of tokens, with how it begins."""

    begin: bytes
    pattern: Any
    chars: int | None

    def goes_on(self, part: bytes, rest: bytes) -> int:
        """Return how many bytes of the next line belong to a token whose first part is known."""
        if self.chars is not None:
            missing = self.chars - len(part)
            return missing if 0 < missing <= len(rest) else 0
        alone = self.pattern.match(part)
        if alone is None or alone.end() < len(part):
            whole = self.pattern.match(part + rest)
            return max(0, whole.end() - len(part)) if whole else 0
        is_path = rest.startswith(b"/")
        goes_on = not is_path and len(rest) >= _REST_CHARS and looks_random(rest.decode())
        return len(rest) if goes_on else 0


class Seams:
    """Looks for secrets over lines; `own` are the values of a policy."""

    def __init__(self, rules: Sequence[SecretRule], own: Sequence[str]) -> None:
        self._tokens = [
            _Token(begin.encode(), _shared(rule.match), rule.chars)
            for rule in rules
            for begin in rule.begins
        ]
        parts = [part.encode() for value in own for part in value.splitlines()]
        fit = sum(map(len, parts)) <= _MOST_OWN_CHARS
        self._own = [part for part in parts if fit and len(part) >= len(MARK)]
        begins = "|".join(re2.escape(token.begin.decode()) for token in self._tokens)
        # Whoever died between two lines left only the mark of the first.
        mark = _Token(_MARK, compiled(re2.escape(MARK)), None)
        self._tokens.append(mark)
        values = [_beginnings(part.decode()) for part in self._own]
        divided = [
            *(d for t in self._tokens if t.chars for d in _divided(t.begin.decode(), len(t.begin))),
            *(d for part in self._own for d in _divided(part.decode(), _SHOWN_CHARS)),
            *(f"(?:{value})\\r?\\n" for value in (*values, re2.escape(MARK))),
        ]
        self.hint = "|".join(divided)
        self._begins = compiled(begins)
        self._open = compiled("|".join((f"(?:{begins}){_CHAR}*\\r?\\n", *divided)))
        unfinished = "|".join((f"(?:{begins}){_CHAR}{{{_SHOWN_CHARS},}}", *values))
        self._unfinished = compiled(f"(?:{unfinished})\\r?$")

    def spans(self, data: bytes) -> Iterator[Span]:
        """Yield the parts of secrets over lines, each part without the line's end."""
        at = 0
        while found := self._open.search(data, at):
            line_end = data.index(b"\n", found.start())
            at = line_end + 1
            if line_end - (data.rfind(b"\n", 0, line_end) + 1) > MIN_COLUMNS:
                parts = self._parts(data, found.start(), line_end)
                yield from parts
                at = max(at, parts[-1][1]) if parts else at

    def unfinished(self, text: bytes, least: int = MIN_COLUMNS) -> list[Span]:
        """Return the parts of a secret that may go on after the text, nothing if there is none."""
        parts: list[Span] = []
        end = len(text)
        while end >= 0 and len(parts) < _MOST_LINES:
            start = text.rfind(b"\n", 0, end) + 1
            line = text[start:end]
            if len(line) > least and (begin := self._begins_in(line)) is not None:
                return [(start + begin, end), *parts]
            begin = LOG_START.match(line).end()
            if not _WHOLE.match(line, begin):
                break
            parts.insert(0, (start + begin, end))
            end = start - 1
        return []

    def _begins_in(self, line: bytes) -> int | None:
        found = self._unfinished.search(line)
        if found is None or (self._begins.match(found.group()) and _is_word(found.group())):
            return None
        return int(found.start())

    def _parts(self, data: bytes, begin: int, line_end: int) -> list[Span]:
        end = line_end - data.endswith(b"\r", begin, line_end)
        for value in self._own:
            for size in range(min(len(value) - 1, end), 0, -1):
                if data.startswith(value[:size], end - size) and (
                    parts := _own_parts(data, value[size:], end)
                ):
                    return [(end - size, end), *parts]
        return self._token_parts(data, begin, end)

    def _token_parts(self, data: bytes, begin: int, end: int) -> list[Span]:
        part, parts = data[begin:end], [(begin, end)]
        if part == _MARK and data[begin - 1 : begin] == b"*":
            return []  # a line of asterisks
        while len(parts) <= _MOST_LINES and (next_ := _LINE_END.match(data, end)):
            rest = _REST.match(data, next_.end())
            text = rest.group() if rest else b""
            token = next((t for t in self._tokens if (part + text).startswith(t.begin)), None)
            used = token.goes_on(part, text) if token else 0
            whole = data[next_.end() + len(text) :][:1] in {b"", b"\r", b"\n"}
            if token and not used and whole and token.chars and len(part + text) < token.chars:
                used = len(text)
            if not used:
                break
            end = next_.end() + used
            parts.append((next_.end(), end))
            part += text[:used]
        return parts if len(parts) > 1 else []


def _own_parts(data: bytes, rest: bytes, end: int) -> list[Span]:
    """Return where the rest of a value stands on the next lines, nothing if it does not."""
    parts: list[Span] = []
    while rest and (next_ := _LINE_END.match(data, end)):
        begin = next_.end()
        stop = data.find(b"\n", begin)
        line = data[begin : stop if stop >= 0 else len(data)].removesuffix(b"\r")
        size = len(rest) if line.startswith(rest) else len(line)
        if not size or not rest.startswith(line[:size]):
            return []
        end = begin + size
        parts.append((begin, end))
        rest = rest[size:]
    return [] if rest else parts


def _beginnings(value: str) -> str:
    """Return an expression of the beginnings of a value that tell something of it."""
    made = ""
    for char in reversed(value[_SHOWN_CHARS + 1 : _MOST_NESTED]):
        made = f"(?:{re2.escape(char)}{made})?"
    return f"{re2.escape(value[: _SHOWN_CHARS + 1])}{made}"


def _divided(text: str, most: int) -> Iterator[str]:
    """Yield expressions of a text that is broken after so many characters, or fewer."""
    for n in range(1, min(most + 1, len(text))):
        rest = text[n : n + _TOLD_CHARS]
        yield f"{re2.escape(text[:n])}\\r?\\n{_LOG}{re2.escape(rest)}"


def _is_word(text: bytes) -> bool:
    """Return True for `hf_transfer` and the like, which is no beginning of a token."""
    name = text.rstrip(b"\r").split(b"_")[-1].split(b"-")[-1]
    return name.isalpha() and name.islower()
