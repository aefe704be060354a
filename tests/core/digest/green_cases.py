"""Reads logs of jobs that passed, labelled by whether a process of them died all the same.

They were labelled before the digest had read any of them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest
from tests.core.digest.corpus import HERE, signatures
from tests.core.digest.unseen_cases import ROOTS, log_of
from tests.quick_yaml import read_yaml


@dataclass(frozen=True, slots=True)
class Green:
    """A log with its label; `steps` are the last step done and the steps announced."""

    name: str
    raw: bytes
    hidden: str | None  # words of the cause
    root: int | None
    steps: list[int] | None
    missed: bool  # the digest is known to pass over it

    @property
    def digest(self) -> Digest:
        """Return the digest of the log of a job that passed."""
        digester = Digester(signatures(), repo_roots=ROOTS)
        digester.feed(self.raw)
        return digester.end(passed=True)


@cache
def load_green() -> tuple[Green, ...]:
    """Return all cases."""
    return tuple(map(_parse, read_yaml(HERE / "green.yaml")["cases"]))


def _parse(written: dict[str, Any]) -> Green:
    raw, before = log_of(written)
    lines = written["log"].splitlines()
    root = next((before + at for at, line in enumerate(lines, 1) if line.startswith("> ")), None)
    hidden, steps = written["hidden"], written["steps"]
    return Green(written["name"], raw, hidden, root, steps, "missed" in written)
