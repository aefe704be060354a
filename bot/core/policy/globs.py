r"""GitHub's path filters, translated to RE2: no pattern can be slow.

Source: GitHub's "Filter pattern cheat sheet". ``*`` stops at ``/``, ``**`` does not. ``?`` means
zero or one, and ``+`` one or more, of the preceding character. ``[]`` is one of the listed
characters. ``\`` takes the next character literally. A leading ``!`` negates. A pattern matches the
whole path from the root. Case matters. A leading dot is not special.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from bot.core.messages import Message

# A longer pattern is a mistake. The limit keeps compiled patterns small.
MAX_PATTERN_CHARS = 500

# The number of patterns kept compiled: enough for the policies of a few repositories.
CACHED_PATTERNS = 4096

# The parts of a pattern; at the start of a segment, `**/` also matches no folder.
_TOKEN = re.compile(
    r"(?P<folders>(?:^|(?<=/))\*{2,}/(?![?+]))|(?P<all>\*{2,})|(?P<some>\*)|(?P<times>[?+])"
    r"|\[(?P<members>[^\]]*)(?P<end>\]?)|\\(?P<escaped>.?)|(?P<char>.)",
    re.DOTALL,
)
_WILDCARDS = {"folders": "(?:.*/)?", "all": "(?:.*)", "some": "(?:[^/]*)"}
_MEMBER = re.compile(r"(.)-(.)|.", re.DOTALL)

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
    parts: list[list[str]] = []  # one character or wildcard, and its quantifier
    for token in _TOKEN.finditer(body):
        if token["times"]:
            _repeat(parts, token["times"])
        else:
            parts.append([_part(token), ""])
    return "".join(text for part in parts for text in part)


def _repeat(parts: list[list[str]], char: str) -> None:
    """Apply ``?`` or ``+`` to the last part."""
    if not parts:
        raise PatternError(Message("wrong_pattern_repeat", char=char))
    last = parts[-1]
    if last[0] not in _WILDCARDS.values():  # a wildcard already matches any number
        last[1] = _COMBINED[last[1] + char] if last[1] else char


def _part(token: re.Match[str]) -> str:
    if (kind := token.lastgroup) in _WILDCARDS:
        return _WILDCARDS[kind]
    if token["members"] is not None:
        return _char_class(token["members"], closed=bool(token["end"]))
    char = token["char"] or token["escaped"]
    if not char:
        raise PatternError(Message("wrong_pattern_backslash"))
    return f"(?:{re2.escape(char)})" if char.isprintable() else _code(char)


def _char_class(inside: str, *, closed: bool) -> str:
    if not closed:
        raise PatternError(Message("wrong_pattern_open"))
    if not inside:
        raise PatternError(Message("wrong_pattern_nothing"))
    if inside[0] in "!^":
        raise PatternError(Message("wrong_pattern_negated", inside=inside))
    return f"[{_MEMBER.sub(_member, inside)}]"


def _member(found: re.Match[str]) -> str:
    """Return a character or range between brackets, escaped for RE2."""
    low, high = found.groups()
    if low is None:
        return _code(found[0])
    if any(kind[0] <= low <= high <= kind[1] for kind in ("az", "AZ", "09")):
        return f"{low}-{high}"
    raise PatternError(Message("wrong_pattern_range", low=low, high=high))


def _code(char: str) -> str:
    return f"\\x{{{ord(char):x}}}"
