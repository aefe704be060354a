r"""GitHub's path filters, translated to RE2: no pattern can be slow.

Source: GitHub's "Filter pattern cheat sheet". ``*`` stops at ``/``, ``**`` does not. ``?`` means
zero or one, and ``+`` one or more, of the preceding character. ``[]`` is one of the listed
characters. ``\`` takes the next character literally. A leading ``!`` negates. A pattern matches the
whole path from the root. Case matters. A leading dot is not special.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from bot.core.messages import Message

# A longer pattern is a mistake. The limit keeps compiled patterns small.
MAX_PATTERN_CHARS = 500

# The number of patterns kept compiled: enough for the policies of a few repositories.
CACHED_PATTERNS = 4096

_ANY = "(?:.*)"
_ANY_IN_SEGMENT = "(?:[^/]*)"
_FOLDERS = "(?:.*/)?"  # at the start of a segment, `**/` also matches no folder

# The combined meaning of two quantifiers on one character.
_COMBINED = {"??": "?", "++": "+", "?+": "*", "+?": "*", "*?": "*", "*+": "*"}


class PatternError(ValueError):
    """A pattern without a meaning in GitHub's rules; the text says why."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled pattern; ``negative`` if it began with ``!``."""

    text: str
    negative: bool
    regex: Any  # compiled by re2, for UTF-8 bytes

    def matches(self, path: bytes) -> bool:
        """Return True if the whole ``path`` (UTF-8) matches; the sign does not count."""
        return self.regex.fullmatch(path) is not None


def encode(path: str) -> bytes:
    """Return ``path`` as bytes for ``Glob.matches``; text that is not Unicode becomes ``?``."""
    return path.encode("utf-8", "replace")


@lru_cache(maxsize=CACHED_PATTERNS)
def compile_pattern(pattern: str) -> Glob:
    """Return ``pattern`` compiled; raise ``PatternError`` if it has no meaning."""
    negative = pattern.startswith("!")
    body = pattern[1:] if negative else pattern
    if not body:
        raise PatternError(Message("wrong_pattern_empty"))
    if len(pattern) > MAX_PATTERN_CHARS:
        raise PatternError(Message("wrong_pattern_long", most=MAX_PATTERN_CHARS))
    options = re2.Options()
    options.dot_nl = True
    options.never_capture = True
    options.log_errors = False
    return Glob(pattern, negative, re2.compile(encode(translate(body)), options))


def translate(body: str) -> str:
    """Return the RE2 expression for a pattern without its sign."""
    parts: list[_Part] = []
    at = 0
    while at < len(body):
        char = body[at]
        if char in "?+":
            _repeat(parts, char)
            at += 1
            continue
        part, at = _read(body, at)
        parts.append(part)
    return "".join(part.regex + part.times for part in parts)


@dataclass(slots=True)
class _Part:
    """One character or wildcard of a pattern, and its quantifier (`""`: once)."""

    regex: str
    times: str = ""
    fixed: bool = False  # a wildcard already matches any number


def _repeat(parts: list[_Part], char: str) -> None:
    """Apply ``?`` or ``+`` to the last part."""
    if not parts:
        raise PatternError(Message("wrong_pattern_repeat", char=char))
    last = parts[-1]
    if not last.fixed:
        last.times = _COMBINED[last.times + char] if last.times else char


def _read(body: str, at: int) -> tuple[_Part, int]:
    """Return the part that starts at ``at``, and the start of the next part."""
    char = body[at]
    if char == "*":
        return _stars(body, at)
    if char == "[":
        return _char_class(body, at)
    if char == "\\":
        if at + 1 == len(body):
            raise PatternError(Message("wrong_pattern_backslash"))
        return _Part(_literal(body[at + 1])), at + 2
    return _Part(_literal(char)), at + 1


def _literal(char: str) -> str:
    return f"(?:{re2.escape(char)})" if char.isprintable() else f"\\x{{{ord(char):x}}}"


def _stars(body: str, at: int) -> tuple[_Part, int]:
    end = at
    while end < len(body) and body[end] == "*":
        end += 1
    if end - at == 1:
        return _Part(_ANY_IN_SEGMENT, fixed=True), end
    begins_segment = at == 0 or body[at - 1] == "/"
    whole_folder = body[end : end + 1] == "/" and body[end + 1 : end + 2] not in ("?", "+")
    if begins_segment and whole_folder:
        return _Part(_FOLDERS, fixed=True), end + 1
    return _Part(_ANY, fixed=True), end


def _char_class(body: str, at: int) -> tuple[_Part, int]:
    end = body.find("]", at + 1)
    if end < 0:
        raise PatternError(Message("wrong_pattern_open"))
    inside = body[at + 1 : end]
    if not inside:
        raise PatternError(Message("wrong_pattern_nothing"))
    if inside[0] in "!^":
        raise PatternError(Message("wrong_pattern_negated", inside=inside))
    return _Part(f"[{_members(inside)}]"), end + 1


def _members(inside: str) -> str:
    """Return the characters and ranges between brackets, escaped for RE2."""
    out: list[str] = []
    at = 0
    while at < len(inside):
        char = inside[at]
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            out.append(_range(char, inside[at + 2]))
            at += 3
        else:
            out.append(f"\\x{{{ord(char):x}}}")
            at += 1
    return "".join(out)


def _range(low: str, high: str) -> str:
    for kind in ("az", "AZ", "09"):
        if kind[0] <= low <= high <= kind[1]:
            return f"{low}-{high}"
    raise PatternError(Message("wrong_pattern_range", low=low, high=high))
