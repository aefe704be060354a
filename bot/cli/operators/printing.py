"""Print rows as tables for people and as JSON for scripts; text from outside can't do harm."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.core.github.markdown import one_line
from bot.core.messages.words import clock, duration, ordinal
from bot.core.model.runs import Run, State
from bot.core.queue.state import Pause

# Controls that JSON leaves as they are (U+009B begins a command of a terminal), and turned text.
_acting = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNBOUND = 10_000  # columns in a pipe: one row is one line, for grep


def print_json(data: Any) -> None:
    """Print JSON to standard output; what acts on a terminal is escaped."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    click.echo(_acting.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, whole: Sequence[str] = ()
) -> None:
    """Print a table; the columns in ``whole`` are never cut or folded."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head in whole)
    _print(table, rows)


def print_lines(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names with their values; skip empty values."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    _print(table, (pair for pair in pairs if pair[1]))


def _print(table: Table, rows: Iterable[Sequence[str]]) -> None:
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else _UNBOUND, highlight=False)
    console.print(table)


def short(name: str, chars: int) -> str:
    """Return the start of an id on a terminal, the whole id in a pipe."""
    return name[:chars] if sys.stdout.isatty() else name


def pull(number: int | None) -> str:
    """Return ``#7``, "" without a number."""
    return f"#{number}" if number else ""


def state(run: Run) -> str:
    """Return the state of a run in a word or two: its outcome once it is done."""
    if run.outcome:
        return run.outcome.value
    if run.stop_request and run.state in {State.QUEUED, State.NEEDS_APPROVAL}:
        return "stopping"
    if run.queue_position:
        return f"{ordinal(run.queue_position.ahead + 1)} in the queue"
    return run.state.value.replace("_", " ")


def where(run: Run) -> str:
    """Return the label that a run uses or waits for."""
    return run.label or (run.queue_position.resource if run.queue_position else "")


def since(run: Run, now: datetime) -> str:
    """Return how long a run took, or the age of an open run."""
    if run.state is State.DONE:
        began = run.started_at or run.created_at
        return duration(((run.ended_at or began) - began).total_seconds())
    return f"since {duration((now - run.created_at).total_seconds())}"


def when(at: datetime | None, now: datetime) -> str:
    """Return a time in UTC, "" for None."""
    return clock(at, now) if at else ""


def pause_line(pause: Pause, now: datetime, *, was: bool = False) -> str:
    """Return a pause as one sentence."""
    what = "everything" if pause.resource == "all" else pause.resource
    until = f" until {clock(pause.until, now)}" if pause.until else ""
    return one_line(f"{what} {'was' if was else 'is'} paused by {pause.by}{until}: {pause.reason}")
