"""Which lines of a comment are read: those of top-level paragraphs, as GitHub would render them.

Where Markdown leaves a doubt, the line is not read: a command that nobody meant costs NPUs, one
that was not read costs a second comment.
"""

import re

MAX_LINE = 1_000  # characters; a command is a few words

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_CONTAINER = re.compile(r" {0,3}(?:>|[-+*](?:\s|$)|\d{1,9}[.)](?:\s|$)|<)")
_TICKS = re.compile("`+")


def top_level(body: str) -> list[str]:
    """Return the lines outside quotes, code, lists, HTML and HTML comments."""
    reader = _Reader()
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line[:MAX_LINE] for line in lines if reader.reads(line)]


class _Reader:
    """Remembers which block the lines so far have opened."""

    def __init__(self) -> None:
        self._fence = ""  # what closes the open code block
        self._comment = False  # inside an HTML comment
        self._inside = False  # a quote, list or HTML block goes on until a blank line
        self._ticks = 0  # backtick runs of this paragraph that are not closed

    def reads(self, line: str) -> bool:
        """Take the next line; tell whether it belongs to a top-level paragraph."""
        if self._fence:
            self._close_fence(line)
            return False
        if self._comment:
            self._comment = "-->" not in line
            return False
        if not line.strip():
            self._inside, self._ticks = False, 0
            return False
        return self._in_paragraph(line)

    def _close_fence(self, line: str) -> None:
        found = _FENCE.fullmatch(line)
        if found and found[1].startswith(self._fence) and not found[2].strip():
            self._fence = ""

    def _in_paragraph(self, line: str) -> bool:
        opened = _FENCE.fullmatch(line)
        if opened and not (opened[1][0] == "`" and "`" in opened[2]):
            self._fence = opened[1]
            return False
        before = self._inside or self._ticks % 2 == 1
        self._inside = self._inside or _CONTAINER.match(line) is not None
        self._ticks += len(_TICKS.findall(line))
        _, mark, rest = line.rpartition("<!--")
        self._comment = bool(mark) and "-->" not in rest
        return not (before or self._inside or line.startswith(("    ", "\t")))
