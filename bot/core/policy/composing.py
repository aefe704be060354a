"""Compose YAML within bounds, and find the line of a node: the text may come from anybody.

Only nodes are composed here. Callers build their own values, so no tag can build an object.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import yaml

_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# libyaml's loader where it was built; both loaders compose the same nodes.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableError(Exception):
    """The file as a whole cannot be read."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(slots=True)
class Lines:
    """The line ends of a text, counted by newlines alone, as editors and GitHub do."""

    text: str
    _ends: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._ends = [at for at, char in enumerate(self.text) if char == "\n"]

    @property
    def count(self) -> int:
        """Return the number of lines, at least one."""
        return max(1, len(self._ends) + (not self.text.endswith("\n")))

    def at(self, mark: Any) -> int:
        """Return the line of a YAML mark, from 1."""
        return min(bisect_left(self._ends, mark.index) + 1, self.count)

    def shown(self, line: int) -> str:
        """Return the text of a line."""
        return self.text.split("\n")[line - 1]


def decode(source: str | bytes, max_bytes: int) -> Lines:
    """Return the text of a file; raise ``UnreadableError`` if it is no text that YAML allows."""
    try:
        raw = source.encode() if isinstance(source, str) else source
    except UnicodeEncodeError as error:
        msg = "holds half of a surrogate pair, which is no Unicode text"
        raise UnreadableError(msg) from error
    if len(raw) > max_bytes:
        msg = f"has {len(raw):,} bytes; at most {max_bytes:,} are read"
        raise UnreadableError(msg)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"is not UTF-8: byte {error.start + 1} starts no character"
        raise UnreadableError(msg, raw.count(b"\n", 0, error.start) + 1) from error
    if odd := _UNPRINTABLE.search(text):
        msg = f"holds the character U+{ord(odd.group()):04X}, which YAML does not allow"
        raise UnreadableError(msg, text.count("\n", 0, odd.start()) + 1)
    return Lines(text)


def compose(lines: Lines, *, max_depth: int, max_aliases: int | None = None) -> Any:
    """Return the root node, or None for an empty file; raise ``UnreadableError``.

    ``max_aliases`` is None where the caller follows each alias only once.
    """
    try:
        _measure(lines, max_depth, max_aliases)
        return yaml.compose(lines.text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, lines) from error


def _measure(lines: Lines, max_depth: int, max_aliases: int | None) -> None:
    """Refuse a file that would cost much to compose: composing recurses, events do not."""
    depth = aliases = 0
    for event in yaml.parse(lines.text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > max_depth:
            msg = f"is nested more than {max_depth} deep"
            raise UnreadableError(msg, lines.at(event.start_mark))
        if max_aliases is not None and aliases > max_aliases:
            msg = f"has more than {max_aliases} aliases (`*name`)"
            raise UnreadableError(msg, lines.at(event.start_mark))


def _syntax(error: yaml.MarkedYAMLError, lines: Lines) -> UnreadableError:
    mark = error.problem_mark or error.context_mark
    line = lines.at(mark) if mark else 1
    shown = lines.shown(line)
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        return UnreadableError("a tab cannot indent in YAML; use spaces", line)
    words = ", ".join(part for part in (error.context, error.problem) if part)
    return UnreadableError(f"is not valid YAML: {words or 'it cannot be read'}", line)
