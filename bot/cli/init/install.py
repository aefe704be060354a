"""Brings the files of a checkout to what they are to be, and tells what became of each."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum

from bot.cli.init.checkout import MAX_READ_BYTES, Checkout, RefusedError
from bot.cli.init.templates import Wanted


class Status(StrEnum):
    """What became of a file."""

    CREATED = "created"
    SAME = "same"
    REPLACED = "replaced"
    KEPT = "kept"
    SKIPPED = "skipped"
    REFUSED = "refused"

    @property
    def is_as_wanted(self) -> bool:
        """Return True if the file is now as it is to be."""
        return self in (Status.CREATED, Status.SAME, Status.REPLACED)


@dataclass(frozen=True, slots=True)
class Installed:
    """A file and what became of it; the reason when it is not as it is to be."""

    path: str
    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What would be done to a file: ``before`` is None when there is none yet."""

    path: str
    before: bytes | None
    after: bytes
    to_executable: bool

    def diff(self) -> str:
        """Return it as a unified diff."""
        mode = ["new mode, executable\n"] if self.to_executable else []
        if self.before is not None and len(self.before) > MAX_READ_BYTES:
            return f"{self.path} is too large to be compared\n"
        old = f"a/{self.path}" if self.before is not None else "/dev/null"
        lines = unified_diff(_lines(self.before or b""), _lines(self.after), old, f"b/{self.path}")
        return "".join([*mode, *lines])


Ask = Callable[[Change], bool]


def install(checkout: Checkout, files: list[Wanted], ask: Ask) -> list[Installed]:
    """Bring each file to what it is to be if ``ask`` says so; those that are so are not asked."""
    return [_install(checkout, file, ask) for file in files]


def _install(checkout: Checkout, file: Wanted, ask: Ask) -> Installed:
    try:
        change = _change(checkout, file)
        if change is None:
            return Installed(file.path, Status.SAME)
        if not ask(change):
            return _left(change)
        checkout.write(file)
    except RefusedError as error:
        return Installed(file.path, Status.REFUSED, str(error))
    return Installed(file.path, Status.CREATED if change.before is None else Status.REPLACED)


def _change(checkout: Checkout, file: Wanted) -> Change | None:
    before = checkout.read(file.path)
    to_executable = before is not None and file.executable and not checkout.is_executable(file.path)
    if before == file.content and not to_executable:
        return None
    return Change(file.path, before, file.content, to_executable)


def _left(change: Change) -> Installed:
    if change.before is None:
        return Installed(change.path, Status.SKIPPED, "not created")
    same = change.before == change.after
    return Installed(change.path, Status.KEPT, "is not executable" if same else "differs")


def _lines(content: bytes) -> list[str]:
    """Return lines fit for a terminal: what a stranger's file holds does not steer it."""
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    ended = [f"{_plain(line)}\n" for line in lines[:-1]]
    return [*ended, f"{_plain(lines[-1])}\n"] if lines[-1] else ended


def _plain(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "?" for char in line)
