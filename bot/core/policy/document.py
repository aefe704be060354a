"""Read a policy's YAML with the line of every key, and within bounds.

A policy comes from a pull request. No tag can build an object, no alias can multiply, and no
nesting can exhaust the stack.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from bot.core.messages import Message, quote
from bot.core.policy.composing import Lines, UnreadableError, compose, decode

# A policy of 100 suites has about 40 kB. A larger file is a mistake or an attack.
MAX_BYTES = 64 * 1024

# A policy needs a depth of five (suites, key, paths, item).
MAX_DEPTH = 16

# A few repeated lists are fine. Aliases of aliases make a huge value from a small file.
MAX_ALIASES = 100

# The number of values with all aliases followed. A file of 64 kB without aliases has fewer.
MAX_VALUES = 40_000

Path = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset(_TAG + name for name in ("str", "timestamp", "value", "merge"))
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?([0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Problem:
    """An error at ``path``; ``line`` (from 1) if it differs from the line of the path."""

    path: Path
    message: Message
    line: int | None = None


@dataclass(slots=True)
class Document:
    """The contents of a file: plain values, the line of each path, the text of each scalar."""

    data: Any = None
    count: int = 1  # lines in the file
    lines: dict[Path, int] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unreadable: set[Path] = field(default_factory=set)  # already reported

    def line_of(self, path: Path) -> int:
        """Return the line of ``path``, or of its nearest parent that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return min(self.lines.get(path, 1), self.count)


def read(source: str | bytes) -> Document:
    """Return the contents of ``source``; its ``problems`` list the parts that can't be read."""
    document = Document()
    try:
        lines = decode(source, MAX_BYTES)
        document.count = lines.count
        _Builder(document, lines).run()
    except UnreadableError as error:
        document.problems.append(Problem((), quote(error.message), error.line))
    return document


class _Builder:
    """Builds one document; a class, because every step needs the lines and the problems."""

    def __init__(self, document: Document, lines: Lines) -> None:
        self._document = document
        self._lines = lines
        self._values = 0

    def run(self) -> None:
        """Fill the document."""
        root = compose(self._lines, max_depth=MAX_DEPTH, max_aliases=MAX_ALIASES)
        if root is None or root.tag == _TAG + "null":
            raise UnreadableError(Message("policy_empty"))
        if not isinstance(root, yaml.MappingNode):
            raise UnreadableError(Message("policy_no_mapping"), self._line(root))
        self._document.data = self._build(root, ())

    def _line(self, node: Any) -> int:
        return self._lines.at(node.start_mark)

    def _complain(self, path: Path, message: Message, node: Any) -> None:
        line = self._line(node)
        self._document.problems.append(Problem(path, message, line))

    def _build(self, node: Any, path: Path) -> Any:
        self._values += 1
        if self._values > MAX_VALUES or len(path) > MAX_DEPTH:
            raise UnreadableError(Message("policy_grows"), self._line(node))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != _TAG + kind:
            self._unreadable(path, Message("policy_tag", tag=str(node.tag)), node)
            return None
        return self._mapping(node, path) if kind == "map" else self._sequence(node, path)

    def _sequence(self, node: Any, path: Path) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            self._document.lines[(*path, index)] = self._line(item)
            items.append(self._build(item, (*path, index)))
        return items

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            here = (*path, key)
            if key in out:
                first = self._document.lines[here]
                self._complain(here, Message("policy_twice", line=first), key_node)
                continue
            self._document.lines[here] = self._line(key_node)
            out[key] = self._build(value_node, here)
        return out

    def _key(self, node: Any, path: Path) -> str | None:
        """Return the text of a key; report a key that is not allowed."""
        if not isinstance(node, yaml.ScalarNode):
            self._complain(path, Message("policy_key_kind"), node)
        elif node.tag == _TAG + "bool":
            key = "policy_key_on" if node.value == "on" else "policy_key_bool"
            self._complain(path, Message(key, word=str(node.value)), node)
        elif node.tag == _TAG + "merge":
            self._complain(path, Message("policy_merge"), node)
        elif node.tag == _TAG + "null":
            self._complain(path, Message("policy_key_missing"), node)
        else:
            return str(node.value)
        return None

    def _scalar(self, node: Any, path: Path) -> Any:
        self._document.texts[path] = node.value
        if node.tag in _TEXT_TAGS:
            return str(node.value)
        match node.tag.removeprefix(_TAG):
            case "null":
                return None
            case "bool" if node.value.lower() in yaml.SafeLoader.bool_values:
                return yaml.SafeLoader.bool_values[node.value.lower()]
            case "int" if _INTEGER.fullmatch(node.value):
                return int(node.value)
            case "float" if _DECIMAL.fullmatch(node.value):
                return float(node.value)
            case "int" | "float" | "bool":
                looks = Message("policy_looks", text=node.value[:40])
                self._unreadable(path, looks, node)
            case _:
                self._unreadable(path, Message("policy_tag", tag=str(node.tag)), node)
        return None

    def _unreadable(self, path: Path, message: Message, node: Any) -> None:
        self._document.unreadable.add(path)
        self._complain(path, message, node)
