"""Statements that are made once: to build one costs more than to execute it."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Executable, bindparam

P = ParamSpec("P")
Statement = TypeVar("Statement", bound=Executable)


def prepared(build: Callable[P, Statement]) -> Callable[P, tuple[Statement, dict[str, Any]]]:
    """Make a function's statement at its first call, with parameters for its arguments.

    The function returns the statement and the parameters' values. ``build`` must use an argument
    only inside SQL: beside a column, whose type it gets, or in ``moment``. An argument of ``in_``
    is a list. No argument may be None: no comparison with a parameter is ``IS NULL``.
    """
    # A parameter with a column's name would be written to the column.
    names = [f"of_{name}" for name in signature(build).parameters]
    made: list[Statement] = []

    @wraps(build)
    def bound(*args: P.args, **_: P.kwargs) -> tuple[Statement, dict[str, Any]]:
        if not made:
            made.append(build(*map(bindparam, names)))  # type: ignore[arg-type, call-arg]
        return made[0], dict(zip(names, args, strict=True))

    return bound
