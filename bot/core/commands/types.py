"""What a comment can ask for: one frozen value a verb."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """Start suites; none named: those that the files select."""

    line: str
    suites: tuple[str, ...] = ()
    sha: str | None = None
    runner: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class Rerun:
    """Run suites again; none named: those that are not green."""

    line: str
    suites: tuple[str, ...] = ()
    sha: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop suites; none named: all of this pull request."""

    line: str
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approve:
    """Let the head run here."""

    line: str
    sha: str | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """Say why suites are selected or not."""

    line: str
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """Say how the latest attempts stand."""

    line: str


@dataclass(frozen=True, slots=True)
class Help:
    """Say what can be typed."""

    line: str
    verb: str | None = None


@dataclass(frozen=True, slots=True)
class Mistake:
    """A line that can't be followed; ``text`` is Markdown made safe."""

    line: str
    text: str


Command = Run | Rerun | Cancel | Approve | Explain | Status | Help
