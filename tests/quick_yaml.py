"""Reads the tests' own YAML files with the parser in C: the one in Python takes a second."""

from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return what a file says."""
    return yaml.load(path.read_text("utf-8"), Loader=_LOADER)
