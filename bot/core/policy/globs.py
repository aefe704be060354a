r"""Path filters by GitHub's own rules, translated to RE2 so that no pattern can be slow.

Source: GitHub's "Filter pattern cheat sheet". ``*`` stops at ``/``, ``**`` does not, ``?`` is zero
or one and ``+`` one or more of the preceding character, ``[]`` one of the listed characters,
``\`` takes the next character as it is, a leading ``!`` negates. Patterns match the whole path
from the root, case matters, a leading dot is nothing special.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

# Longer ones are a mistake; the bound keeps a compiled pattern small.
MAX_PATTERN_CHARS = 500

# Distinct patterns kept compiled: a few repositories' worth of policies.
CACHED_PATTERNS = 4096

_ANY = "(?:.*)"
_ANY_IN_SEGMENT = "(?:[^/]*)"
_FOLDERS = "(?:.*/)?"  # `**/` where a segment begins: also no folder at all

# What two quantifiers on one character come to.
_COMBINED = {"??": "?", "++": "+", "?+": "*", "+?": "*", "*?": "*", "*+": "*"}


class PatternError(ValueError):
    """A pattern to which GitHub's rules give no meaning; the text says why."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled pattern; ``negative`` when it began with ``!``."""

    text: str
    negative: bool
    regex: Any  # re2's compiled form over UTF-8 bytes

    def matches(self, path: bytes) -> bool:
        """Return True if the whole ``path`` (UTF-8) matches, whatever the sign."""
        return self.regex.fullmatch(path) is not None


def encode(path: str) -> bytes:
    """Return ``path`` as ``Glob.matches`` takes it; what is no Unicode text becomes ``?``."""
    return path.encode("utf-8", "replace")


@lru_cache(maxsize=CACHED_PATTERNS)
def compile_pattern(pattern: str) -> Glob:
    """Return ``pattern`` compiled; ``PatternError`` when GitHub's filters give it no meaning."""
    negative = pattern.startswith("!")
    body = pattern[1:] if negative else pattern
    if not body:
        msg = "an empty pattern matches nothing"
        raise PatternError(msg)
    if len(pattern) > MAX_PATTERN_CHARS:
        msg = f"a pattern has at most {MAX_PATTERN_CHARS} characters"
        raise PatternError(msg)
    options = re2.Options()
    options.dot_nl = True
    options.never_capture = True
    options.log_errors = False
    return Glob(pattern, negative, re2.compile(encode(translate(body)), options))


def translate(body: str) -> str:
    """Return the RE2 expression of a pattern without its sign."""
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
    """One character's worth of a pattern and how often it comes (`""`: once)."""

    regex: str
    times: str = ""
    fixed: bool = False  # a wildcard: it already stands for any number


def _repeat(parts: list[_Part], char: str) -> None:
    """Apply ``?`` or ``+`` to the last part."""
    if not parts:
        msg = f"`{char}` repeats the character before it, and there is none"
        raise PatternError(msg)
    last = parts[-1]
    if not last.fixed:
        last.times = _COMBINED[last.times + char] if last.times else char


def _read(body: str, at: int) -> tuple[_Part, int]:
    """Return the part that begins at ``at`` and where the next one does."""
    char = body[at]
    if char == "*":
        return _stars(body, at)
    if char == "[":
        return _char_class(body, at)
    if char == "\\":
        if at + 1 == len(body):
            msg = "`\\` at the end takes no character; write `\\\\` for a backslash"
            raise PatternError(msg)
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
        msg = "`[` is never closed; write `\\[` for a bracket"
        raise PatternError(msg)
    inside = body[at + 1 : end]
    if not inside:
        msg = "`[]` lists no character"
        raise PatternError(msg)
    if inside[0] in "!^":
        msg = f"`[{inside}]`: GitHub's filters have no negated classes"
        raise PatternError(msg)
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
    msg = f"`{low}-{high}`: a range goes upwards within a-z, A-Z or 0-9"
    raise PatternError(msg)
