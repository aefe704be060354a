"""Finds in the sources which sentences are said, and with which fields."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter

import bot

ROOT = Path(bot.__file__).parent
_SAYS = {"Message", "messages", "_messages", "text"}


@dataclass(frozen=True)
class Use:
    """One call that says a sentence: any of ``keys``, or a key that begins with ``prefix``."""

    place: str
    keys: tuple[str, ...]
    prefix: str
    fields: frozenset[str]
    more: bool  # fields come from a mapping, too


@cache
def sources() -> tuple[tuple[Path, ast.Module], ...]:
    """Return every module of the product but the tables."""
    return tuple(
        (path, ast.parse(path.read_text()))
        for path in sorted(ROOT.rglob("*.py"))
        if path.parent.parent.name != "messages"
    )


@cache
def uses() -> tuple[Use, ...]:
    """Return every call that names its sentence."""
    return tuple(
        use
        for path, tree in sources()
        for scope in ast.walk(tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module)
        for use in _uses(path, scope)
    )


def _uses(path: Path, scope: ast.AST) -> Iterator[Use]:
    named: dict[str, list[ast.expr]] = {}
    for node in _own(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named.setdefault(node.targets[0].id, []).append(node.value)
    for node in _own(scope):
        if isinstance(node, ast.Call) and node.args and _name(node.func) in _SAYS:
            first = node.args[0]
            found = named.get(first.id, []) if isinstance(first, ast.Name) else [first]
            keys = tuple(key for item in found for key in _constants(item))
            prefix = _prefix(first)
            if keys or prefix:
                given = [item.arg for item in node.keywords]
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                fields = frozenset(name for name in given if name)
                yield Use(place, keys, prefix, fields, None in given)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, those of functions inside it left out."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from _own(node)


def _name(func: ast.expr) -> str:
    if isinstance(func, ast.Attribute):
        # `text` says a sentence only where a writer does.
        writes = isinstance(func.value, ast.Name) and func.value.id in {"writer", "self"}
        return func.attr if func.attr != "text" or writes else ""
    return func.id if isinstance(func, ast.Name) and func.id != "text" else ""


def _constants(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*_constants(node.body), *_constants(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _prefix(node: ast.expr) -> str:
    if not isinstance(node, ast.JoinedStr) or not isinstance(node.values[0], ast.Constant):
        return ""
    return str(node.values[0].value)


@cache
def words() -> frozenset[str]:
    """Return every text in quotes: keys that are passed on stand among them."""
    return frozenset(
        node.value
        for _, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def placeholders(text: str) -> frozenset[str]:
    """Return the names of a sentence's placeholders."""
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name)
