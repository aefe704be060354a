"""A job's log in GitHub's form: seven-digit times, groups, masked secrets, workflow commands."""

from __future__ import annotations

import re

from bot.sim.clock import Clock, log_stamp

COMMAND = re.compile(r"^::(?P<name>[a-z-]+)(?P<fields> [^:]*(?::(?!:)[^:]*)*)?::(?P<text>.*)$")
SHOWN = {"error": "##[error]", "warning": "##[warning]", "notice": "##[notice]"}
SHOWN |= {"group": "##[group]", "endgroup": "##[endgroup]", "debug": "##[debug]"}


class JobLog:
    """Appends lines to a list and masks secrets."""

    def __init__(self, clock: Clock, lines: list[str], secrets: list[str]) -> None:
        self._clock = clock
        self._lines = lines
        self._secrets = [secret for secret in secrets if secret]
        self._resume = ""  # commands are ignored until this token, "" if they are not

    def mask(self, secret: str) -> None:
        """Hide a value from now on."""
        if secret:
            self._secrets.append(secret)

    def write(self, text: str) -> None:
        """Add a line, with secrets masked."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        self._lines.append(f"{log_stamp(self._clock.now())} {text}")

    def error(self, text: str) -> None:
        """Add an error line, as the runner writes it."""
        self.write(f"##[error]{text}")

    def output(self, line: str) -> None:
        """Add a line that a step printed, and carry out a workflow command in it."""
        match = COMMAND.match(line)
        if self._resume or match is None:
            self._resume = "" if line == f"::{self._resume}::" else self._resume
            self.write(line)
        elif match["name"] == "stop-commands":
            self._resume = match["text"]
            self.write(line)
        elif match["name"] == "add-mask":
            self.mask(match["text"])
            self.write("***")
        elif match["name"] in SHOWN:
            self.write(SHOWN[match["name"]] + match["text"])
        else:
            self.error(f"workflow command ::{match['name']}:: is not simulated")

    def group(self, title: str, lines: list[str]) -> None:
        """Add a folded group."""
        self.write(f"##[group]{title}")
        for line in lines:
            self.write(line)
        self.write("##[endgroup]")
