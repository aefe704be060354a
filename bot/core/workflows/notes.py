"""Notes about the parts of a workflow that a policy cannot express."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.core.policy.errors import shown


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A workflow file: its path in the repository and its bytes."""

    path: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Missed:
    """One thing that the policy cannot express, with its line from 1."""

    file: str
    line: int
    reason: str
    alike: str = ""  # the reason without what only this place has, to tell many places at once

    @property
    def shared(self) -> str:
        """Return the reason that it shares with similar places."""
        return self.alike or self.reason


@dataclass(slots=True)
class Notes:
    """Collects the missed things of one file without repetitions."""

    file: str
    missed: dict[Missed, None] = field(default_factory=dict)

    def add(self, line: int, reason: str, alike: str = "") -> None:
        """Note that the policy cannot express the thing at ``line``, and why."""
        self.missed[Missed(self.file, line, reason, alike)] = None

    def of_job(self, line: int, key: str, text: str) -> None:
        """Note something of a job; ``{job}`` in ``text`` stands for it."""
        shown = text.replace("{job}", f"job {code(key)}", 1)
        self.add(line, shown, text.replace("{job}", "a job", 1))


def code(text: str) -> str:
    """Return ``text`` from a file as code for a message."""
    return f"`{shown(text)}`"


def listed(texts: tuple[str, ...] | list[str]) -> str:
    """Return the first few of ``texts`` as a list for a message."""
    first = ", ".join(code(text) for text in texts[:6])
    return first if len(texts) <= 6 else f"{first} and {len(texts) - 6} more"


def is_fit(check: Callable[[str], str], text: str) -> bool:
    """Return True if ``check``, one of the policy's own, accepts ``text``."""
    try:
        check(text)
    except ValueError:
        return False
    return text.isprintable()
