"""What a scene should end in, and how the check runs of GitHub differ from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.cli.demo.github import Check, Seen

GATE = "ascend-ci"


@dataclass(frozen=True, slots=True)
class Expected:
    """A check run as it should be in the end; `title` is a piece of it."""

    name: str
    sha: str
    conclusion: str
    title: str
    status: str = "completed"


def suite(name: str, sha: str, conclusion: str, title: str) -> Expected:
    """Return what is expected of a suite's check run."""
    return Expected(f"Ascend / {name}", sha, conclusion, title)


def gate(sha: str, conclusion: str, title: str) -> Expected:
    """Return what is expected of the gate of a commit."""
    return Expected(GATE, sha, conclusion, title)


def differences(expected: Sequence[Expected], seen: Seen) -> list[str]:
    """Return a line for every check run that is missing or not as expected."""
    found = [(one, seen.check(one.name, one.sha)) for one in expected]
    return [line for one, check in found if (line := _difference(one, check))]


def _difference(expected: Expected, check: Check | None) -> str:
    wanted = f"{expected.status} {expected.conclusion}, titled …{expected.title}…"
    where = f"{expected.name} at {expected.sha[:7]}"
    if check is None:
        return f"{where}: expected {wanted}; there is none"
    same = (check.status, check.conclusion) == (expected.status, expected.conclusion)
    if same and expected.title in check.title:
        return ""
    return f"{where}: expected {wanted}; is {check.status} {check.conclusion}, titled {check.title}"


def unexpected(expected: Sequence[Expected], seen: Seen) -> list[str]:
    """Return a line for every check run that nobody expects."""
    known = {(one.name, one.sha) for one in expected}
    return [
        f"{check.name} at {check.sha[:7]}: nobody expects it; titled {check.title}"
        for check in seen.checks
        if (check.name, check.sha) not in known
    ]
