"""Bring the files of a checkout to their wanted contents, and report the result for each."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum

from bot.cli.init.checkout import MAX_READ_BYTES, Checkout, RefusedError
from bot.cli.init.losses import MOST_SHOWN, losses
from bot.cli.init.templates import Wanted

# What lies elsewhere is the repository's own: its people write it, not `init`.
_OURS = ".github/"


class Result(StrEnum):
    """The result for a file."""

    CREATED = "created"
    SAME = "same"
    REPLACED = "replaced"
    KEPT = "kept"
    SKIPPED = "skipped"
    REFUSED = "refused"


AS_WANTED = (Result.CREATED, Result.SAME, Result.REPLACED)


@dataclass(frozen=True, slots=True)
class Installed:
    """A file and its result; the reason if it does not have the wanted contents."""

    path: str
    status: Result
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of a file; ``before`` is None if there is no file."""

    path: str
    before: bytes | None
    after: bytes
    to_executable: bool

    @property
    def of_repository(self) -> bool:
        """Return True if another text would take the place of the repository's own script."""
        is_there = self.before is not None and self.before != self.after
        return is_there and not self.path.startswith(_OURS)

    def lost(self) -> list[str]:
        """Return the arguments and variables that the repository's own script would lose."""
        if not self.of_repository or len(self.before or b"") > MAX_READ_BYTES:
            return []
        texts = ((one or b"").decode("utf-8", "replace") for one in (self.before, self.after))
        return [_plain(text) for text in losses(*texts)]

    def diff(self) -> str:
        """Return the change as a unified diff."""
        mode = ["new mode, executable\n"] if self.to_executable else []
        if self.before is not None and len(self.before) > MAX_READ_BYTES:
            return f"{self.path} is too large to be compared\n"
        old = f"a/{self.path}" if self.before is not None else "/dev/null"
        lines = unified_diff(_lines(self.before or b""), _lines(self.after), old, f"b/{self.path}")
        return "".join([*mode, *lines])


Ask = Callable[[FileChange], bool]


def install(checkout: Checkout, files: list[Wanted], ask: Ask) -> list[Installed]:
    """Change each file that differs if ``ask`` agrees."""
    return [_install(checkout, file, ask) for file in files]


def _install(checkout: Checkout, file: Wanted, ask: Ask) -> Installed:
    try:
        change = _change(checkout, file)
        if change is None:
            return Installed(file.path, Result.SAME)
        if not ask(change):
            return _left(change)
        checkout.write(file)
    except RefusedError as error:
        return Installed(file.path, Result.REFUSED, str(error))
    return Installed(file.path, Result.CREATED if change.before is None else Result.REPLACED)


def _change(checkout: Checkout, file: Wanted) -> FileChange | None:
    before = checkout.read(file.path)
    to_executable = before is not None and file.executable and not checkout.is_executable(file.path)
    if before == file.content and not to_executable:
        return None
    return FileChange(file.path, before, file.content, to_executable)


def _left(change: FileChange) -> Installed:
    if change.before is None:
        return Installed(change.path, Result.SKIPPED, "not created")
    if change.before == change.after:
        return Installed(change.path, Result.KEPT, "is not executable")
    return Installed(change.path, Result.KEPT, f"differs{loss_text(change.lost())}")


def loss_text(lost: list[str]) -> str:
    """Return what a script would lose as the end of a sentence, "" if it is nothing."""
    if not lost:
        return ""
    shown = ", ".join(f"`{one}`" for one in lost[:MOST_SHOWN])
    more = f" and {len(lost) - MOST_SHOWN} more" if len(lost) > MOST_SHOWN else ""
    return f", and its replacement lacks {shown}{more}"


def _lines(content: bytes) -> list[str]:
    """Return lines that are safe for a terminal, whatever a stranger's file contains."""
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    ended = [f"{_plain(line)}\n" for line in lines[:-1]]
    return [*ended, f"{_plain(lines[-1])}\n"] if lines[-1] else ended


def _plain(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "?" for char in line)
