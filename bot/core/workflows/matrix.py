"""Expand a job's matrix into combinations, and fill their values into expressions.

Source: GitHub's "Workflow syntax", ``strategy.matrix``. The result is the product of the axes
without the combinations of ``exclude``. ``include`` completes combinations or adds new ones.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from bot.core.workflows.reading import Row, Scalar, Table, Tree

# GitHub makes at most 256 jobs from one matrix.
MAX_COMBINATIONS = 256

# Bounds against a hostile file: the axes and keys, characters and labels to look at.
MAX_KEYS = 64
MAX_CHARS = 1000
MAX_LABELS = 20

EXPRESSION = "${{"
_OF_MATRIX = re.compile(r"\$\{\{\s*matrix((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)\s*\}\}")

Combination = Mapping[str, Tree]


def combinations(job: Table) -> list[Combination] | None:
    """Return a job's combinations, one empty one without a matrix; None if they are unknown."""
    strategy = job.table("strategy")
    matrix = strategy.entries.get("matrix")
    if matrix is None and not isinstance(job.entries.get("strategy"), Scalar):
        return [{}]
    if not isinstance(matrix, Table):
        return None  # an expression makes the matrix
    axes = {key: tree for key, tree in matrix.entries.items() if key not in _ADJUSTING}
    rows = {key: tree.items for key, tree in axes.items() if isinstance(tree, Row)}
    include, exclude = (matrix.entries.get(key) for key in _ADJUSTING)
    if len(rows) < len(axes) or isinstance(include, Scalar) or isinstance(exclude, Scalar):
        return None
    tables = (list(_tables(exclude)), list(_tables(include)))
    widest = max(len(table.entries) for table in (matrix, *tables[0], *tables[1]))
    if widest > MAX_KEYS or prod(len(items) for items in rows.values()) > MAX_COMBINATIONS:
        return None
    return _completed(_axes_product(rows, tables[0]), tables[1])


_ADJUSTING = ("include", "exclude")


def _tables(tree: Tree | None) -> Iterator[Table]:
    if isinstance(tree, Row):
        yield from (item for item in tree.items[:MAX_COMBINATIONS] if isinstance(item, Table))


def _axes_product(rows: Mapping[str, tuple[Tree, ...]], excluded: list[Table]) -> list[Combination]:
    if not rows:
        return []
    made = [dict(zip(rows, values, strict=True)) for values in product(*rows.values())]
    return [one for one in made if not any(_fits(one, table) for table in excluded)]


def _fits(combination: Combination, table: Table) -> bool:
    entries = table.entries.items()
    return all(key in combination and _same(combination[key], value) for key, value in entries)


def _completed(made: list[Combination], included: list[Table]) -> list[Combination]:
    completed = [dict(one) for one in made]
    added: list[Combination] = []
    for table in included:
        fitting = [
            one
            for origin, one in zip(made, completed, strict=True)
            if all(_same(origin[key], table.entries[key]) for key in table.entries if key in origin)
        ]
        for one in fitting:
            one.update(table.entries)
        if not fitting:
            added.append(table.entries)
    return [*completed, *added]


def _same(one: Tree, other: Tree) -> bool:
    """Compare scalars by their text; a list or mapping equals only itself."""
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return one.text == other.text
    return one is other


def filled(tree: Tree, combination: Combination) -> Tree | None:
    """Return ``tree`` with the matrix's values; None if it uses anything else."""
    if not isinstance(tree, Scalar) or EXPRESSION not in tree.text:
        return tree
    if len(tree.text) > MAX_CHARS:
        return None
    whole = _OF_MATRIX.fullmatch(tree.text.strip())
    if whole:
        return _value(whole[1], combination)
    text = tree.text
    for expression in {match[0]: match[1] for match in _OF_MATRIX.finditer(text)}.items():
        value = _value(expression[1], combination)
        if not isinstance(value, Scalar) or len(value.text) > MAX_CHARS:
            return None
        text = text.replace(expression[0], value.text)
    return None if EXPRESSION in text else Scalar(tree.line, text)


def _value(path: str, combination: Combination) -> Tree | None:
    """Return the value of ``.key.key`` in a combination; None if there is none."""
    first, *rest = path.removeprefix(".").split(".")
    found = combination.get(first)
    for key in rest:
        found = found.entries.get(key) if isinstance(found, Table) else None
    return None if isinstance(found, Scalar) and EXPRESSION in found.text else found
