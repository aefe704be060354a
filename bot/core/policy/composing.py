"""Compose YAML within bounds, and find the line of a node: the text may come from anybody.

Only nodes are composed here. Callers build their own values, so no tag can build an object.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import yaml

from bot.core.messages import Message

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
        raise UnreadableError(Message("yaml_surrogate")) from error
    if len(raw) > max_bytes:
        raise UnreadableError(Message("yaml_large", size=len(raw), most=max_bytes))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableError(Message("yaml_utf8", at=error.start + 1), line) from error
    if odd := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        raise UnreadableError(Message("yaml_character", code=ord(odd.group())), line)
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
            raise UnreadableError(Message("yaml_deep", most=max_depth), lines.at(event.start_mark))
        if max_aliases is not None and aliases > max_aliases:
            raise UnreadableError(
                Message("yaml_aliases", most=max_aliases), lines.at(event.start_mark)
            )


def _syntax(error: yaml.MarkedYAMLError, lines: Lines) -> UnreadableError:
    mark = error.problem_mark or error.context_mark
    line = lines.at(mark) if mark else 1
    shown = lines.shown(line)
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        return UnreadableError(Message("yaml_tab"), line)
    words = ", ".join(part for part in (error.context, error.problem) if part)
    return UnreadableError(Message("yaml_syntax", why=words or Message("yaml_unreadable")), line)
