"""RFC 6902 operations against a RayJob manifest: what is well formed, what a backend can use.

A patch with a flaw is refused when it is posted; inside the cluster it would end as a job that
never starts, hours later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

DEADLINE_PATH = "/spec/activeDeadlineSeconds"
MAX_DEADLINE_S = 30 * 24 * 3600  # nothing a CI runs lasts a month

_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_MEMBERS = {
    "add": {"value"},
    "replace": {"value"},
    "test": {"value"},
    "remove": set(),
    "move": {"from"},
    "copy": {"from"},
}


def flaw_in_patches(patches: Sequence[Any]) -> str | None:
    """Name the first operation that RFC 6902 does not allow; `None` when all are well formed."""
    for index, patch in enumerate(patches):
        flaw = _flaw(patch)
        if flaw:
            return f"template_patches[{index}]: {flaw}"
    return None


def _flaw(patch: Any) -> str | None:
    if not isinstance(patch, dict):
        return "an operation is an object"
    op = patch.get("op")
    if not isinstance(op, str) or op not in _MEMBERS:
        return f"`op` must be one of {', '.join(_MEMBERS)}"
    for name in ("path", *sorted(_MEMBERS[op] - {"value"})):
        if not _is_pointer(patch.get(name)):
            return f"`{name}` must be a JSON pointer (starts with /, ~ only as ~0 or ~1)"
    if "value" in _MEMBERS[op] and "value" not in patch:
        return f"`{op}` needs `value`"
    return _deadline_flaw(patch)


def _is_pointer(value: Any) -> bool:
    return isinstance(value, str) and _POINTER.fullmatch(value) is not None


def _deadline_flaw(patch: dict[str, Any]) -> str | None:
    if patch["path"] != DEADLINE_PATH or patch["op"] not in ("add", "replace"):
        return None
    seconds = patch["value"]
    if type(seconds) is int and 0 < seconds <= MAX_DEADLINE_S:
        return None
    return f"activeDeadlineSeconds must be a whole number from 1 to {MAX_DEADLINE_S}"


def deadline_s(patches: Sequence[dict[str, Any]]) -> int | None:
    """Read the time limit that the patches end up with, in seconds; `None` means no limit."""
    limit: int | None = None
    for patch in patches:
        if patch["path"] == DEADLINE_PATH:
            if patch["op"] in ("add", "replace"):
                limit = patch["value"]
            elif patch["op"] == "remove":
                limit = None
    return limit


def not_applied(patches: Sequence[dict[str, Any]]) -> int:
    """Count the operations that mean something to Kubernetes alone."""
    return sum(patch["path"] != DEADLINE_PATH for patch in patches)
