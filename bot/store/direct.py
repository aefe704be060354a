"""Statements that are kept, as the drivers of the databases take them.

SQLAlchemy takes ten times as long for one as SQLite: it looks for the text of an equal statement,
and gets ready for any kind of answer. Of a statement that is executed again and again the text, the
order of its parameters and the names of its columns are kept here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakSet

from sqlalchemy import Column, Executable
from sqlalchemy.engine import Dialect, IteratorResult
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.types import TypeEngine

Shape = tuple[tuple[str, int | None], ...]
Values = Mapping[str, Any]
_Process = Callable[[Any], Any] | None

_KEPT = 2000  # far more than there are kept statements: lists of each size make one
_ROUNDED = 1024  # longer lists are rare; rounded they could be more than a database takes
_NO_COLUMNS = SimpleResultMetaData(())

_seen: WeakSet[Executable] = WeakSet()


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
            value = values[name]
            if at is not None:  # of a list, whose last item fills the rest of its places
                value = value[at] if at < len(value) else value[-1]
            made[place] = value if process is None else process(value)
        return made

    def execute(self, cursor: Any, values: Values | Sequence[Values]) -> DirectRows:
        """Execute it, once or for each row that is given; what it returns is read at once."""
        if not isinstance(values, Mapping):
            cursor.executemany(self.sql, [self.parameters(row) for row in values])
            return DirectRows(None, (), cursor.rowcount)
        cursor.execute(self.sql, self.parameters(values))
        return DirectRows(self.columns, cursor.fetchall() if self.columns else (), cursor.rowcount)


def known_statement(statement: Executable, given: Any, dialect: Dialect) -> Direct | None:
    """Return a statement that is kept: one that comes again. None: SQLAlchemy has to execute it."""
    if statement not in _seen:
        _seen.add(statement)
        return None
    return directly(statement, shape_of(given if isinstance(given, Mapping) else given[0]), dialect)


def shape_of(values: Values) -> Shape:
    """Return what a statement's text depends on: its parameters' names, and a list's places."""
    return tuple(
        (name, _places(len(value)) if isinstance(value, list | tuple) else None)
        for name, value in values.items()
    )


def _places(items: int) -> int:
    """Return the places of a list in a statement: a power of two, so that few texts are made."""
    return 1 << (items - 1).bit_length() if 0 < items <= _ROUNDED else items


@lru_cache(_KEPT)
def directly(statement: Executable, shape: Shape, dialect: Dialect) -> Direct | None:
    """Return a statement as the driver takes it; None: only SQLAlchemy can execute it."""
    # A copy: what is asked of a statement is remembered by those made from it, even if it is wrong.
    exported: Any = getattr(statement.execution_options(), "exported_columns", None)
    compiled: Any = statement.compile(  # type: ignore[attr-defined]
        dialect=dialect, column_keys=[name for name, _ in shape]
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
    processes = {name: _encoder(bind.type, dialect) for name, bind in compiled.binds.items()}
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
        columns=_columns(exported, dialect) if len(exported) else None,
    )


def _stored(value: Any, process: _Process) -> Any:
    return value if process is None else process(value)


def _encoder(kind: TypeEngine[Any], dialect: Dialect) -> _Process:
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _columns(exported: Any, dialect: Dialect) -> SimpleResultMetaData:
    decoders = [
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in exported.values()
    ]
    named = [  # by its name, too, where its key is another one
        (column.name,) if isinstance(column, Column) and column.name not in exported else ()
        for column in exported.values()
    ]
    return SimpleResultMetaData(exported.keys(), named, _processors=decoders)
