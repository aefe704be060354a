"""The combinations of a job's matrix, and the names that GitHub gives its jobs."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from bot.sim.expressions import ExpressionError, Scope, interpolate


def combinations(strategy: Any) -> list[dict[str, Any]]:
    """Return the values of each job: the product of the axes, then what `include` adds."""
    matrix = strategy.get("matrix") if isinstance(strategy, dict) else None
    if not isinstance(matrix, dict):
        return [{}]
    axes = {key: values for key, values in matrix.items() if isinstance(values, list)}
    axes.pop("include", None)
    axes.pop("exclude", None)
    made = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    return [*(made if axes else []), *matrix.get("include", [])] or [{}]


def names(name: str, strategy: Any, contexts: dict[str, Any]) -> Iterator[tuple[str, Scope]]:
    """Yield the name of each job and what its expressions know.

    GitHub adds the values in brackets where the name does not use them.
    """
    for values in combinations(strategy):
        scope = Scope({**contexts, "matrix": values})
        try:
            shown = interpolate(name, scope)
        except ExpressionError:
            shown = name  # GitHub shows it as written
        if values and "matrix." not in name:
            shown += f" ({', '.join(str(value) for value in values.values())})"
        yield shown, scope
