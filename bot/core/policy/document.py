"""YAML read with the line of every key, and with bounds: a policy comes from a pull request.

The safe loader only composes nodes here; values are built below, so no tag can build an object,
no alias can multiply and no nesting can exhaust the stack.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import yaml

# A policy of 100 suites is about 40 kB; more than this is a mistake or an attack.
MAX_BYTES = 64 * 1024

# The policy itself is five deep (suites, key, paths, item); the rest is slack.
MAX_DEPTH = 16

# Repeating a list or two is fine; aliases of aliases are how a small file becomes a huge one.
MAX_ALIASES = 100

# Values after aliases are followed: 64 kB hold at most half as many without any.
MAX_VALUES = 40_000

Path = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset(_TAG + name for name in ("str", "timestamp", "value", "merge"))
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?([0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})")
_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# libyaml's where it was built; both compose the same nodes.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at ``path``; ``line`` (from 1) when it is not that of the path."""

    path: Path
    message: str
    line: int | None = None


@dataclass(slots=True)
class Document:
    """What a file says: plain values, the line of each path, the text of each scalar."""

    data: Any = None
    count: int = 1  # lines in the file
    lines: dict[Path, int] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unreadable: set[Path] = field(default_factory=set)  # said already; no second complaint

    def line_of(self, path: Path) -> int:
        """Return the line of ``path``, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return min(self.lines.get(path, 1), self.count)


class _Refused(Exception):  # noqa: N818  # never leaves this module
    """The file as a whole cannot be read."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read(source: str | bytes) -> Document:
    """Return what ``source`` says; what cannot be read is among its ``problems``."""
    document = Document(count=_count(source))
    try:
        text = _decode(source)
        breaks = [at for at, char in enumerate(text) if char == "\n"]
        _Builder(document, breaks).run(text)
    except _Refused as refused:
        line = min(refused.line, document.count)
        document.problems.append(Problem((), refused.message, line))
    return document


def _count(source: str | bytes) -> int:
    """Return the number of lines, at least one."""
    if isinstance(source, bytes):
        return max(1, source.count(b"\n") + (not source.endswith(b"\n")))
    return max(1, source.count("\n") + (not source.endswith("\n")))


def _decode(source: str | bytes) -> str:
    try:
        raw = source.encode() if isinstance(source, str) else source
        text = raw.decode("utf-8-sig")
    except UnicodeEncodeError as error:
        msg = "holds half of a surrogate pair, which is no Unicode text"
        raise _Refused(msg) from error
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1 if isinstance(source, bytes) else 1
        msg = f"is not UTF-8: byte {error.start + 1} starts no character"
        raise _Refused(msg, line) from error
    if len(raw) > MAX_BYTES:
        msg = f"has {len(raw):,} bytes; at most {MAX_BYTES:,} are read"
        raise _Refused(msg)
    odd = _UNPRINTABLE.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        msg = f"holds the character U+{ord(odd.group()):04X}, which YAML does not allow"
        raise _Refused(msg, line)
    return text


class _Builder:
    """Builds one document; a class because lines, budget and problems go along everywhere."""

    def __init__(self, document: Document, breaks: list[int]) -> None:
        self._document = document
        self._breaks = breaks
        self._values = 0

    def run(self, text: str) -> None:
        """Fill the document from ``text``."""
        try:
            self._measure(text)
            root = yaml.compose(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            raise self._syntax(error, text) from error
        if root is None or root.tag == _TAG + "null":
            msg = "is empty: a policy needs at least `version` and `runners`"
            raise _Refused(msg)
        if not isinstance(root, yaml.MappingNode):
            msg = "is not a mapping: a policy begins with `version: 1`"
            raise _Refused(msg, self._line(root.start_mark))
        self._document.data = self._build(root, ())

    def _measure(self, text: str) -> None:
        """Refuse what would be dear to compose: it is recursive, events are not."""
        depth = aliases = 0
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.AliasEvent):
                aliases += 1
            if depth > MAX_DEPTH:
                msg = f"is nested more than {MAX_DEPTH} deep"
                raise _Refused(msg, self._line(event.start_mark))
            if aliases > MAX_ALIASES:
                msg = f"has more than {MAX_ALIASES} aliases (`*name`)"
                raise _Refused(msg, self._line(event.start_mark))

    def _syntax(self, error: yaml.MarkedYAMLError, text: str) -> _Refused:
        mark = error.problem_mark or error.context_mark
        line = self._line(mark) if mark else 1
        shown = text.split("\n")[min(line, self._document.count) - 1]
        if "\t" in shown[: len(shown) - len(shown.lstrip())]:
            return _Refused("a tab cannot indent in YAML; use spaces", line)
        words = ", ".join(part for part in (error.context, error.problem) if part)
        return _Refused(f"is not valid YAML: {words or 'it cannot be read'}", line)

    def _line(self, mark: Any) -> int:
        """Return the line of ``mark`` by newlines alone, as editors and GitHub count."""
        return min(bisect_left(self._breaks, mark.index) + 1, self._document.count)

    def _complain(self, path: Path, message: str, node: Any) -> None:
        line = self._line(node.start_mark)
        self._document.problems.append(Problem(path, message, line))

    def _build(self, node: Any, path: Path) -> Any:
        self._values += 1
        if self._values > MAX_VALUES or len(path) > MAX_DEPTH:
            msg = "grows too large, or without end, when its aliases (`*name`) are followed"
            raise _Refused(msg, self._line(node.start_mark))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != _TAG + kind:
            self._unreadable(path, f"the tag `{node.tag}` is not allowed here", node)
            return None
        return self._mapping(node, path) if kind == "map" else self._sequence(node, path)

    def _sequence(self, node: Any, path: Path) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            self._document.lines[(*path, index)] = self._line(item.start_mark)
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
                self._complain(here, f"is written twice, first on line {first}", key_node)
                continue
            self._document.lines[here] = self._line(key_node.start_mark)
            out[key] = self._build(value_node, here)
        return out

    def _key(self, node: Any, path: Path) -> str | None:
        """Return a key's text, or say what is wrong with it."""
        if not isinstance(node, yaml.ScalarNode):
            self._complain(path, "a key is one word, not a list or a mapping", node)
        elif node.tag == _TAG + "bool":
            hint = "; what starts a suite is called `triggers`" if node.value == "on" else ""
            text = f"the key `{node.value}` is read as true or false by YAML 1.1"
            self._complain(path, f"{text}; put it in quotes if it is a name{hint}", node)
        elif node.tag == _TAG + "merge":
            self._complain(path, "`<<` does not merge here; repeat the keys, or alias values", node)
        elif node.tag == _TAG + "null":
            self._complain(path, "a key is missing before the colon", node)
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
                text = f"`{node.value[:40]}` is not read as it looks"
                self._unreadable(path, f"{text}; write a plain number, or quotes for text", node)
            case _:
                self._unreadable(path, f"the tag `{node.tag}` is not allowed here", node)
        return None

    def _unreadable(self, path: Path, message: str, node: Any) -> None:
        self._document.unreadable.add(path)
        self._complain(path, message, node)
