"""Access to the files of `config/`, in an installed wheel or in the source tree."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

# The folder of `config/` in the wheel (pyproject.toml, force-include).
_PACKAGED = "_config"


def text(name: str) -> str:
    """Return the file ``name`` of `config/`, like ``policy.yml``; raise FileNotFoundError."""
    return _file(name).read_text(encoding="utf-8")


def path_of(name: str) -> AbstractContextManager[Path]:
    """Return a context with a real path of a file or folder of `config/`."""
    return as_file(_file(name))


def names(folder: str = "") -> tuple[str, ...]:
    """Return the names of all files below ``folder`` of `config/`, sorted."""
    top = _root().joinpath(folder) if folder else _root()
    prefix = f"{folder.strip('/')}/" if folder else ""
    return tuple(sorted(prefix + name for name in _below(top, "")))


def _below(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.name == "__pycache__":
            continue  # an installer may have compiled the scripts in a wheel
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name


def _file(name: str) -> Traversable:
    found = _root().joinpath(*name.split("/"))
    if not (found.is_file() or found.is_dir()):
        raise FileNotFoundError(f"config/{name}")
    return found


def _root() -> Traversable:
    packaged = files("bot").joinpath(_PACKAGED)
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "config"
