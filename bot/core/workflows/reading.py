"""A workflow file read as a tree that knows its lines; the file may come from anybody.

Not the policy's reader: here ``on`` is a key, tags mean nothing and only a few places are looked
at. Aliases lead to one shared part of the tree, so none can multiply.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from bot.core.workflows.notes import Missed, Source, code

# The largest workflows people write have some tens of kilobytes.
MAX_BYTES = 256 * 1024

# A workflow is ten deep (jobs, job, strategy, matrix, include, item, …); composing is recursive.
MAX_DEPTH = 40

# libyaml's where it was built; both compose the same nodes.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """A scalar: its text, empty where nothing was written."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A list."""

    line: int
    items: tuple["Tree", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A mapping; ``lines`` are those of its keys."""

    line: int
    entries: Mapping[str, "Tree"]
    lines: Mapping[str, int]

    def table(self, key: str) -> "Table":
        """Return the mapping at ``key``, an empty one if there is none."""
        found = self.entries.get(key)
        return found if isinstance(found, Table) else Table(self.line_of(key), {}, {})

    def line_of(self, key: str) -> int:
        """Return the line of ``key``, or the mapping's own."""
        return self.lines.get(key, self.line)


Tree = Word | Row | Table


def words(tree: Tree | None) -> tuple[Word, ...]:
    """Return a list's scalars, or a lone scalar; what is neither has none."""
    match tree:
        case Row():
            return tuple(item for item in tree.items if isinstance(item, Word))
        case Word() if tree.text:
            return (tree,)
        case _:
            return ()


class _Refused(Exception):  # noqa: N818  # never leaves this module
    """The file as a whole cannot be read."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def read(source: Source) -> Table | Missed:
    """Return what a workflow file says, or why it cannot be read."""
    try:
        return _Reader(_decode(source.raw)).read()
    except _Refused as refused:
        return Missed(source.path, refused.line, refused.reason)


def _decode(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        msg = f"is larger than {MAX_BYTES:,} bytes, which is no workflow"
        raise _Refused(msg)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"is not UTF-8: byte {error.start + 1} starts no character"
        raise _Refused(msg, raw.count(b"\n", 0, error.start) + 1) from error


class _Reader:
    """Reads one text; a class because the line breaks and what was built go along everywhere."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [at for at, char in enumerate(text) if char == "\n"]
        self._built: dict[int, Tree | None] = {}

    def read(self) -> Table:
        try:
            self._measure()
            root = yaml.compose(self._text, Loader=_LOADER)
        except yaml.YAMLError as error:
            raise self._syntax(error) from error
        if root is None:
            msg = "is empty"
            raise _Refused(msg)
        tree = self._tree(root)
        if not isinstance(tree, Table):
            msg = "is no mapping, so it is no workflow"
            raise _Refused(msg, tree.line)
        return tree

    def _measure(self) -> None:
        """Refuse what is nested too deep to compose: events do not recurse."""
        depth = 0
        for event in yaml.parse(self._text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                msg = f"is nested more than {MAX_DEPTH} deep"
                raise _Refused(msg, self._line(event.start_mark))

    def _syntax(self, error: yaml.YAMLError) -> _Refused:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if mark is None:
            return _Refused("holds a character that YAML does not allow")
        line = self._line(mark)
        shown = self._text.split("\n")[line - 1]
        if "\t" in shown[: len(shown) - len(shown.lstrip())]:
            return _Refused("is not valid YAML: a tab cannot indent", line)
        return _Refused(f"is not valid YAML: {getattr(error, 'problem', None)}", line)

    def _line(self, mark: Any) -> int:
        """Return the line of ``mark`` by newlines alone, as editors and GitHub count."""
        return bisect_left(self._breaks, mark.index) + 1

    def _tree(self, node: Any) -> Tree:
        key = id(node)  # the composed document keeps every node alive
        if key in self._built:
            known = self._built[key]
            if known is None:
                msg = "holds an alias that leads into itself"
                raise _Refused(msg, self._line(node.start_mark))
            return known
        self._built[key] = None
        tree = self._build(node)
        self._built[key] = tree
        return tree

    def _build(self, node: Any) -> Tree:
        line = self._line(node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self._table(node, line)
        if isinstance(node, yaml.SequenceNode):
            return Row(line, tuple(self._tree(item) for item in node.value))
        return Word(line, "" if node.tag == "tag:yaml.org,2002:null" else str(node.value))

    def _table(self, node: Any, line: int) -> Table:
        entries: dict[str, Tree] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            at = self._line(key.start_mark)
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                msg = "has a key that is no word (`<<`, a list or a mapping); GitHub refuses it"
                raise _Refused(msg, at)
            name = str(key.value)
            if name in entries:
                msg = f"has {code(name)} twice, first on line {lines[name]}; GitHub refuses it"
                raise _Refused(msg, at)
            lines[name] = at
            entries[name] = self._tree(value)
        return Table(line, entries, lines)
