"""What a person sees: a live table in a terminal, a line a step elsewhere, then the results."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.cli.demo.play import Play, Scene

STYLES = {"running": "yellow", "ok": "green", "failed": "red"}
MARKS = {"success": "✓", "failure": "✗", "cancelled": "⊘", "action_required": "!"}
TITLE = 64  # characters of a check run's title: its address shall fit into the line

Course = tuple[Scene, Play]


class Show:
    """Shows the scenes on standard error: standard output is for `--json` alone."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print text as it is."""
        self._console.print(Text(text), soft_wrap=True)

    @contextmanager
    def playing(self, courses: Sequence[Course]) -> Iterator[None]:
        """Show scenes for as long as they are played."""
        if self._console.is_terminal:
            with Live(_Courses(courses), console=self._console, refresh_per_second=8):
                yield
            return
        for scene, play in courses:
            play.changed = partial(self._step, scene, play)
        yield

    def _step(self, scene: Scene, play: Play) -> None:
        at = time.monotonic() - self._began
        self.say(f"{at:5.1f} s  {scene.name}: {play.step}")

    def results(self, courses: Sequence[Course]) -> None:
        """Print a line a scene: its check run, the conclusion, the title, where to look."""
        rows = [_result(scene, play) for scene, play in courses]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for (_, play), row in zip(courses, rows, strict=True):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            line = Text("   ".join(cells).rstrip(), style=STYLES[play.state])
            self._console.print(line, soft_wrap=True)


def _result(scene: Scene, play: Play) -> tuple[str, str, str, str, str]:
    check = play.github.check(*play.main.key) if play.main else None
    page = ""
    if play.pulls:
        pull = play.pulls[-1]
        page = f"{play.github.url}/{pull.repo.full_name}/pull/{pull.number}"
    if check is None:
        return scene.title, "✗ no check run", "", "", page
    mark = MARKS.get(check.conclusion or "", "●")
    title = check.title or ""
    title = title if len(title) <= TITLE else f"{title[: TITLE - 1].rstrip()}…"
    return scene.title, f"{mark} {check.name}", check.conclusion or check.status, title, page


class _Courses:
    """The table; rich asks for it several times a second."""

    def __init__(self, courses: Sequence[Course]) -> None:
        self._courses = courses

    def __rich__(self) -> Table:
        table = Table("scene", "state", "step", box=None, pad_edge=False)
        table.add_column("seconds", justify="right")
        for scene, play in self._courses:
            state = Text(play.state, style=STYLES[play.state])
            table.add_row(Text(scene.title), state, Text(play.step), f"{play.seconds:.1f}")
        return table
