"""Fits a report's sections into GitHub's limits without breaking a fence or a table.

Limits are bytes of UTF-8 (the API's description says characters, GitHub counts bytes).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.core.github.markdown import block, clean, cut_bytes, plain, size

MIN_BLOCK_BYTES = 200  # a smaller rest of a log tells nothing
_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Rows:
    """A head and as many lines as fit; ``more`` says how many are left out."""

    head: str
    lines: tuple[str, ...]
    more: Callable[[int], str]
    joint: str = "\n"

    def fit(self, limit: int) -> str:
        """Return the head, the lines that fit, and the number of the others."""
        whole = self.joint.join((self.head, *self.lines) if self.head else self.lines)
        if size(whole) <= limit:
            return whole
        end = _GAP + self.more(len(self.lines))
        left = limit - size(self.head) - size(end)
        shown = 0
        for line in self.lines:
            left -= size(line) + size(self.joint)
            if left < 0:
                break
            shown += 1
        if not shown:
            return ""
        kept = (self.head, *self.lines[:shown]) if self.head else self.lines[:shown]
        return self.joint.join(kept) + _GAP + self.more(len(self.lines) - shown)


@dataclass(frozen=True, slots=True)
class Block:
    """Text from outside in a fence. If it is too long, its middle or its start is cut out."""

    text: str
    cut_note: str
    folded: str = ""  # the summary of a <details> around it
    keep_start: bool = True  # False: only the end tells something

    def fit(self, limit: int) -> str:
        """Return the fenced text; if it is too long, without its middle or its start."""
        text = clean(self.text)
        if not text.strip():
            return ""
        made = self._dress(text)
        if size(made) <= limit:
            return made
        # The frame grows no more: cutting makes no run of backticks longer.
        room = limit - (size(made) - size(text)) - size(self.cut_note) - 2
        if room < MIN_BLOCK_BYTES:
            return ""
        return self._dress(_shorten(text, room, self.cut_note, keep_start=self.keep_start))

    def _dress(self, text: str) -> str:
        if not self.folded:
            return block(text)
        summary = plain(self.folded)
        return f"<details><summary>{summary}</summary>\n\n{block(text)}\n\n</details>"


def _shorten(text: str, room: int, note: str, *, keep_start: bool) -> str:
    """Keep the start and the end of ``text``, or only the end; a note replaces the rest."""
    start = cut_bytes(text, room // 2) if keep_start else ""
    left = room - size(start)
    end = text.encode()[-left:].decode("utf-8", "ignore")
    return "\n".join(part for part in (start, note, end) if part)


Section = str | Rows | Block
"""A part of a report; Markdown in a ``str`` is shown whole or not at all, "" is no part."""


def _fit(section: Section, limit: int) -> str:
    if isinstance(section, str):
        return section if size(section) <= limit else ""
    return section.fit(limit)


def compose(sections: Sequence[Section], limit: int) -> str:
    """Join sections in order; each may use the bytes of ``limit`` that the earlier ones left."""
    out: list[str] = []
    left = limit
    for section in sections:
        made = _fit(section, left - (size(_GAP) if out else 0))
        if made:
            left -= size(made) + (size(_GAP) if out else 0)
            out.append(made)
    return _GAP.join(out)
