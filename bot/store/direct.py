"""Statements that are kept, as SQLite's driver takes them.

SQLAlchemy takes ten times as long for one as SQLite: it looks for the text of an equal statement,
and gets ready for any kind of answer. Of a statement that is executed again and again the text, the
order of its parameters and the names of its columns are kept here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, Executable
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import IteratorResult
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.types import TypeEngine

Shape = tuple[tuple[str, int | None], ...]
Values = Mapping[str, Any]
_Process = Callable[[Any], Any] | None

_KEPT = 2000  # far more than there are kept statements: each length of a list makes one
_DIALECT = sqlite.dialect()
_NO_COLUMNS = SimpleResultMetaData(())


class DirectRows(IteratorResult[*tuple[Any, ...]]):
    """The rows that a statement found, or how many it changed."""

    def __init__(self, columns: SimpleResultMetaData | None, rows: Iterable[Any], changed: int):
        super().__init__(columns or _NO_COLUMNS, iter(rows))
        self.returns_rows = columns is not None
        self.rowcount = changed


@dataclass(frozen=True, slots=True)
class Direct:
    """A statement's text, and how its parameters and its rows are made."""

    sql: str
    constants: tuple[Any, ...]  # one for each parameter, in their order
    given: tuple[tuple[int, str, int | None, _Process], ...]  # those that replace a constant
    columns: SimpleResultMetaData | None  # None: it returns no rows

    def parameters(self, values: Values) -> list[Any]:
        """Return the parameters in their order, as they are stored."""
        made = list(self.constants)
        for place, name, at, process in self.given:
            value = values[name] if at is None else values[name][at]
            made[place] = value if process is None else process(value)
        return made

    def execute(self, cursor: Any, values: Values | Sequence[Values]) -> DirectRows:
        """Execute it, once or for each row that is given; what it returns is read at once."""
        if not isinstance(values, Mapping):
            cursor.executemany(self.sql, [self.parameters(row) for row in values])
            return DirectRows(None, (), cursor.rowcount)
        cursor.execute(self.sql, self.parameters(values))
        return DirectRows(self.columns, cursor.fetchall() if self.columns else (), cursor.rowcount)


def shape_of(values: Values) -> Shape:
    """Return what a statement's text depends on: its parameters' names, and how long a list is."""
    return tuple(
        (name, len(value) if isinstance(value, list | tuple) else None)
        for name, value in values.items()
    )


@lru_cache(_KEPT)
def directly(statement: Executable, shape: Shape) -> Direct | None:
    """Return a statement as the driver takes it; None: only SQLAlchemy can execute it."""
    # A copy: what is asked of a statement is remembered by those made from it, even if it is wrong.
    exported: Any = getattr(statement.execution_options(), "exported_columns", None)
    compiled: Any = statement.compile(  # type: ignore[attr-defined]
        dialect=_DIALECT, column_keys=[name for name, _ in shape]
    )
    made_by_python = (*compiled.insert_prefetch, *compiled.update_prefetch)
    if exported is None or made_by_python or compiled.literal_execute_params:
        return None
    bound = {bind.key: (bind, name) for bind, name in compiled.bind_names.items()}
    if any(bind.callable for bind, _ in bound.values()):
        return None
    lists = {name: size for name, size in shape if name in bound and bound[name][0].expanding}
    asked = {name: [None] * (lists[name] or 0) if name in lists else None for name, _ in shape}
    state = compiled.construct_expanded_state(asked)
    sources: dict[str, tuple[str, int | None]] = {}
    for name in asked.keys() & bound.keys():
        _, its = bound[name]
        if name in lists:
            parts = state.parameter_expansion[its]
            sources |= {part: (name, at) for at, part in enumerate(parts)}
        else:
            sources[its] = (name, None)
    processes = {name: _encoder(bind.type) for name, bind in compiled.binds.items()}
    processes |= state.processors
    places = tuple(enumerate(state.positiontup))
    return Direct(
        sql=state.statement,
        constants=tuple(
            None if name in sources else _stored(state.parameters[name], processes.get(name))
            for _, name in places
        ),
        given=tuple(
            (place, *sources[name], processes.get(name))
            for place, name in places
            if name in sources
        ),
        columns=_columns(exported) if len(exported) else None,
    )


def _stored(value: Any, process: _Process) -> Any:
    return value if process is None else process(value)


def _encoder(kind: TypeEngine[Any]) -> _Process:
    return kind.dialect_impl(_DIALECT).bind_processor(_DIALECT)


def _columns(exported: Any) -> SimpleResultMetaData:
    decoders = [
        column.type.dialect_impl(_DIALECT).result_processor(_DIALECT, None)
        for column in exported.values()
    ]
    named = [  # by its name, too, where its key is another one
        (column.name,) if isinstance(column, Column) and column.name not in exported else ()
        for column in exported.values()
    ]
    return SimpleResultMetaData(exported.keys(), named, _processors=decoders)
