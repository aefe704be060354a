"""The folder that `init` writes into; nothing outside of it is read or written.

A checkout may be a stranger's, so no symbolic link below it is followed.
"""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bot.cli.init.templates import Wanted

# The largest template has some tens of kilobytes, so a larger file surely differs.
MAX_READ_BYTES = 256 * 1024


class RefusedError(Exception):
    """A path is not read or written; the text says why."""


class Checkout:
    """A folder whose files are read and replaced one by one."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes | None:
        """Return the first bytes of a file, None if it does not exist; raise RefusedError."""
        place = self._place(path)
        mode = _mode(place)
        if mode is None:
            return None
        _check(path, mode, stat.S_ISREG, "is not a file")
        try:
            with place.open("rb") as file:
                return file.read(MAX_READ_BYTES + 1)
        except OSError as error:
            raise _refused(error) from error

    def is_executable(self, path: str) -> bool:
        """Return True if the owner may execute the file at ``path``."""
        return bool((_mode(self._place(path)) or 0) & stat.S_IXUSR)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; none if it is missing; raise RefusedError."""
        place = self._place(f"{folder}/x").parent
        try:
            return sorted(entry.name for entry in place.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _refused(error) from error

    def write(self, file: Wanted) -> None:
        """Write a file completely or not at all; raise RefusedError."""
        place = self._place(file.path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            _replace(place, file)
        except OSError as error:
            raise _refused(error) from error

    def _place(self, path: str) -> Path:
        """Return the location of ``path``, after a check of each folder on the way."""
        *folders, name = path.split("/")
        here = self._root
        for folder in folders:
            here /= folder
            mode = _mode(here)
            if mode is not None:
                _check(str(here.relative_to(self._root)), mode, stat.S_ISDIR, "is not a folder")
        return here / name


def _mode(place: Path) -> int | None:
    """Return the mode of the entry at ``place`` itself, None if there is none."""
    try:
        return place.lstat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(error) from error


def _check(path: str, mode: int, is_kind: Callable[[int], bool], otherwise: str) -> None:
    if stat.S_ISLNK(mode):
        raise RefusedError(f"{path} is a symbolic link; none is followed")
    if not is_kind(mode):
        raise RefusedError(f"{path} {otherwise}")


def _refused(error: OSError) -> RefusedError:
    return RefusedError((error.strerror or str(error)).lower())


def _replace(place: Path, file: Wanted) -> None:
    """Write beside ``place`` and rename, so that nobody sees half a file."""
    beside = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    try:
        with os.fdopen(os.open(beside, flags, 0o777 if file.executable else 0o666), "wb") as out:
            out.write(file.content)
        beside.replace(place)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
