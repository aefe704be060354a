"""Reads the cases that nobody tuned the digest on, and says in which half each is.

They were labelled before the digest had read any of them. Whoever mends the digest may look at the
half `tune`. The half `held out` only measures: nobody reads its cases to change a rule for them.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, get_args

from bot.core.digest.signatures import ClassName
from tests.core.digest.corpus import HERE, Case
from tests.quick_yaml import read_yaml

UNSEEN = HERE / "unseen"
_KEYS = {"name", "class", "or", "infra", "source", "inside", "cut", "marks", "log"}
_STAMPED = "actions"
_ROOT, _SAME, _PLAIN = "> ", "= ", "| "
_STARTED = datetime(2026, 9, 1, 2, tzinfo=UTC)
ROOTS = [  # where the repositories of these logs are checked out
    "/verl",
    "/__w/*/*",
    "/vllm-workspace/vllm-ascend",
    "/sgl-workspace/sglang",
    "/workspace/*",
    "/tmp/ray/session_*/runtime_resources/working_dir_files/_ray_pkg_*",
]


class Half(StrEnum):
    """What a case may be used for."""

    TUNE = "tune"
    HELD_OUT = "held out"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A labelled case, and which principle of deciding it tries (1 to 9)."""

    case: Case
    principle: int
    about: str

    @property
    def half(self) -> Half:
        """Return the half; the hash of the name decides, so nobody chooses it."""
        odd = hashlib.sha256(self.case.name.encode()).digest()[-1] % 2
        return Half.HELD_OUT if odd else Half.TUNE


def load_unseen(folder: Path = UNSEEN) -> list[Unseen]:
    """Return all cases, by principle and in the order of the files.

    Raises ValueError for a case with a wrong label.
    """
    files = [read_yaml(path) for path in sorted(folder.glob("[1-9]-*.yaml"))]
    return [
        Unseen(parse(written), file["principle"], file["about"])
        for file in files
        for written in file["cases"]
    ]


def parse(written: dict[str, Any]) -> Case:
    """Return a case of a file, its label in the keys of the reference's corpus."""
    lines = written["log"].splitlines()
    roots = [at for at, line in enumerate(lines, 1) if line.startswith(_ROOT)]
    if wrong := list(_faults(written, lines, roots)):
        raise ValueError(f"{written.get('name')}: {'; '.join(wrong)}")
    raw, before = log_of(written)
    same = [at for at, line in enumerate(lines, 1) if line.startswith(_SAME)]
    expected = {
        "class": written["class"],
        "class_alternatives": written.get("or", []),
        "infra": written["infra"],
        "root_cause_line": before + roots[0] if roots else None,
        "root_cause_line_alternatives": [before + at for at in same],
        "source": written["source"],
        "repo_roots": ROOTS,
    }
    return Case(written["name"], raw, expected)


def log_of(written: dict[str, Any]) -> tuple[bytes, int]:
    """Return the whole log of a written case, and the number of lines before its own."""
    before, after = _surroundings(written)
    said = [*before, *(line[2:] for line in written["log"].splitlines()), *after]
    if written.get("inside") == _STAMPED:
        said = [_stamp(at) + line for at, line in enumerate(said)]
    return ("\n".join(said) + "\n").encode(), len(before)


@cache
def _around() -> dict[str, dict[str, str]]:
    """Return the ordinary lines by name of surroundings, each before and after."""
    read: dict[str, dict[str, str]] = read_yaml(UNSEEN / "around.yaml")
    return read


def _surroundings(written: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the lines before and after a case's own; `marks` take turns as their prefix."""
    around = _around().get(written.get("inside", ""), {})
    marks = written.get("marks", [""])
    before = [
        marks[at % len(marks)] + line
        for at, line in enumerate(around.get("before", "").splitlines())
    ]
    return before, [] if written.get("cut") else around.get("after", "").splitlines()


def _faults(written: dict[str, Any], lines: list[str], roots: list[int]) -> Iterator[str]:
    if unknown := written.keys() - _KEYS:
        yield f"unknown keys {unknown}"
    if unknown := {written["class"], *written.get("or", [])} - {*get_args(ClassName)}:
        yield f"no such class {unknown}"
    if not isinstance(written["infra"], bool):
        yield "infra is true or false"
    if not written["source"].startswith(("https://", "ascend-failures: ")):
        yield "a source is an address or a section of the reference"
    if bare := [line for line in lines if line[:2] not in {_ROOT, _SAME, _PLAIN, "|"}]:
        yield f"lines without a mark: {bare}"
    ended_well = (written["class"], written["infra"]) == ("unknown", False)
    if (inside := written.get("inside")) and inside not in _around():
        yield f"no such surroundings {inside}"
    if len(roots) > 1 or not (roots or ended_well):
        yield "one root line, or none for a log that ended well"


def _stamp(line: int) -> str:
    """Return the time stamp that Actions writes before a line."""
    at = _STARTED + timedelta(milliseconds=370 * line)
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}0Z "
