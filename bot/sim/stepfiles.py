"""The files a step writes to: GITHUB_ENV, GITHUB_OUTPUT, GITHUB_PATH, GITHUB_STEP_SUMMARY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAMES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE")


class FileFormatError(Exception):
    """A step wrote a line that the runner cannot read."""


@dataclass(frozen=True, slots=True)
class StepFiles:
    """The files of one step."""

    folder: Path
    number: int

    def prepare(self) -> dict[str, str]:
        """Make the files, empty. Return the variables that name them."""
        env = {}
        for name in NAMES:
            path = self._path(name)
            path.write_text("")
            env[name] = str(path)
        return env

    def _path(self, name: str) -> Path:
        return self.folder / f"{name.lower()}_{self.number}"

    def pairs(self, name: str) -> dict[str, str]:
        """Read `GITHUB_ENV` or `GITHUB_OUTPUT`."""
        return parse_pairs(self._path(name).read_text(errors="replace"))

    def lines(self, name: str) -> list[str]:
        """Read `GITHUB_PATH`."""
        return [line for line in self._path(name).read_text(errors="replace").splitlines() if line]


def parse_pairs(text: str) -> dict[str, str]:
    """Read `KEY=value` lines and `KEY<<END` blocks."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if not line:
            continue
        key, mark, end = line.partition("<<")
        if mark and "=" not in key:
            found[key] = _block(lines, end)
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise FileFormatError(f"Invalid format '{line}'")
        found[key] = value
    return found


def _block(lines: Iterator[str], end: str) -> str:
    kept: list[str] = []
    for line in lines:
        if line == end:
            return "\n".join(kept)
        kept.append(line)
    raise FileFormatError(f"Invalid value. Matching delimiter not found '{end}'")
