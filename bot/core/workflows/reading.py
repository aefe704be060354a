"""Read a workflow file as a tree that knows its lines; the file may come from anybody.

A policy's values are built differently: here ``on`` is a key, and tags mean nothing. All aliases
of an anchor share one part of the tree, so aliases cannot multiply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from bot.core.policy.composing import Lines, UnreadableError, compose, decode
from bot.core.workflows.notes import Missed, SourceFile, code

# The largest real workflows have some tens of kilobytes.
MAX_BYTES = 256 * 1024

# A workflow is ten deep (jobs, job, strategy, matrix, include, item, …); composing is recursive.
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A scalar: its text, empty if there is no value."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A list."""

    line: int
    items: tuple["Tree", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A mapping; ``lines`` are the lines of its keys."""

    line: int
    entries: Mapping[str, "Tree"]
    lines: Mapping[str, int]

    def table(self, key: str) -> "Table":
        """Return the mapping at ``key``, an empty one if there is none."""
        found = self.entries.get(key)
        return found if isinstance(found, Table) else Table(self.line_of(key), {}, {})

    def line_of(self, key: str) -> int:
        """Return the line of ``key``, or the line of the mapping."""
        return self.lines.get(key, self.line)


Tree = Scalar | Row | Table


def words(tree: Tree | None) -> tuple[Scalar, ...]:
    """Return the scalars of a list, or a lone scalar; a mapping has none."""
    match tree:
        case Row():
            return tuple(item for item in tree.items if isinstance(item, Scalar))
        case Scalar() if tree.text:
            return (tree,)
        case _:
            return ()


def read(source: SourceFile) -> Table | Missed:
    """Return the tree of a workflow file, or the reason why it cannot be read."""
    try:
        return _Reader(decode(source.raw, MAX_BYTES)).read()
    except UnreadableError as error:
        return Missed(source.path, error.line, error.message)


class _Reader:
    """Read one text; a class, because its lines and the finished parts are needed everywhere."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._built: dict[int, Tree | None] = {}  # None: not finished

    def read(self) -> Table:
        root = compose(self._lines, max_depth=MAX_DEPTH)
        if root is None:
            raise UnreadableError("is empty")
        tree = self._tree(root)
        if not isinstance(tree, Table):
            raise UnreadableError("is no mapping, so it is no workflow", tree.line)
        return tree

    def _tree(self, node: Any) -> Tree:
        key = id(node)  # safe as a key: the composed document keeps every node alive
        if key not in self._built:
            self._built[key] = None
            self._built[key] = self._build(node)
        tree = self._built[key]
        if tree is None:
            msg = "holds an alias that leads into itself"
            raise UnreadableError(msg, self._lines.at(node.start_mark))
        return tree

    def _build(self, node: Any) -> Tree:
        line = self._lines.at(node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self._table(node, line)
        if isinstance(node, yaml.SequenceNode):
            return Row(line, tuple(self._tree(item) for item in node.value))
        return Scalar(line, "" if node.tag == "tag:yaml.org,2002:null" else str(node.value))

    def _table(self, node: Any, line: int) -> Table:
        entries: dict[str, Tree] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            at = self._lines.at(key.start_mark)
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                msg = "has a key that is no word (`<<`, a list or a mapping); GitHub refuses it"
                raise UnreadableError(msg, at)
            name = str(key.value)
            if name in entries:
                msg = f"has {code(name)} twice, first on line {lines[name]}; GitHub refuses it"
                raise UnreadableError(msg, at)
            lines[name] = at
            entries[name] = self._tree(value)
        return Table(line, entries, lines)
