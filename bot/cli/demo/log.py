"""The log of the bot and of everything beside it in this process: a file in the demo's folder."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from bot.telemetry import configure_logs

TAIL_LINES = 30
# What other libraries log looks like what the bot logs, so that `errors` finds both.
FORMAT = '{"logger": "%(name)s", "event": "%(message)s", "level": "error"}'


@dataclass(frozen=True, slots=True)
class DemoLog:
    """What has been logged so far."""

    file: Path

    def errors(self) -> list[str]:
        """Return the errors in it: a scene may end well in spite of one."""
        return [f"the log: {line}" for line in self._lines() if '"level": "error"' in line]

    def tail(self) -> str:
        """Return its end."""
        return "\n".join(["the end of the log:", *self._lines()[-TAIL_LINES:]])

    def _lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8", errors="replace").splitlines()


@contextmanager
def logging_into(file: Path) -> Iterator[DemoLog]:
    """Send all logs of this process into a file, for a while."""
    before = structlog.get_config()
    root = logging.getLogger()
    with file.open("a", encoding="utf-8", errors="replace") as output:
        configure_logs("INFO", "json")
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(file=output))
        handler = logging.StreamHandler(output)
        handler.setLevel(logging.ERROR)
        handler.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(handler)
        try:
            yield DemoLog(file)
        finally:
            root.removeHandler(handler)
            structlog.configure(**before)
