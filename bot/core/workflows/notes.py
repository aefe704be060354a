"""What is said about a repository's workflows beside the policy made from them."""

from dataclasses import dataclass, field

from bot.core.policy.errors import shown


@dataclass(frozen=True, slots=True)
class Source:
    """A workflow file: its path in the repository and its bytes."""

    path: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Missed:
    """One thing that a policy cannot say as the workflow does, at a line from 1."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class Notes:
    """Collects what is missed in one file, each thing once."""

    file: str
    missed: dict[Missed, None] = field(default_factory=dict)

    def add(self, line: int, reason: str) -> None:
        """Note that the thing at ``line`` is not carried, and why."""
        self.missed[Missed(self.file, line, reason)] = None


def code(text: str) -> str:
    """Return ``text`` from a file as it may stand in a message."""
    return f"`{shown(text)}`"


def listed(texts: tuple[str, ...] | list[str]) -> str:
    """Return the first few of ``texts`` in a row."""
    first = ", ".join(code(text) for text in texts[:6])
    return first if len(texts) <= 6 else f"{first} and {len(texts) - 6} more"
