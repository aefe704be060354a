"""RFC 6902 patches of a RayJob manifest: check their form, and find the values that count.

A bad patch is refused at once. In the cluster it would become a job that never starts.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

DEADLINE_PATH = "/spec/activeDeadlineSeconds"
# Resources of the entrypoint, as RayJob's schema has them: two numbers, and an object as JSON.
CPUS_PATH = "/spec/entrypointNumCpus"
GPUS_PATH = "/spec/entrypointNumGpus"
RESOURCES_PATH = "/spec/entrypointResources"
MAX_DEADLINE_S = 30 * 24 * 3600  # no CI job lasts a month

POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
MEMBERS = {
    "add": {"value"},
    "replace": {"value"},
    "test": {"value"},
    "remove": set(),
    "move": {"from"},
    "copy": {"from"},
}


def flaw_in_patches(patches: Sequence[Any]) -> str | None:
    """Return the first operation that RFC 6902 does not allow; `None` if all are valid."""
    for index, patch in enumerate(patches):
        flaw = _flaw(patch)
        if flaw:
            return f"template_patches[{index}]: {flaw}"
    return None


def _flaw(patch: Any) -> str | None:
    if not isinstance(patch, dict):
        return "an operation is an object"
    op = patch.get("op")
    if not isinstance(op, str) or op not in MEMBERS:
        return f"`op` must be one of {', '.join(MEMBERS)}"
    for name in ("path", *sorted(MEMBERS[op] - {"value"})):
        if not _is_pointer(patch.get(name)):
            return f"`{name}` must be a JSON pointer (starts with /, ~ only as ~0 or ~1)"
    if "value" in MEMBERS[op] and "value" not in patch:
        return f"`{op}` needs `value`"
    return _value_flaw(patch)


def _is_pointer(value: Any) -> bool:
    return isinstance(value, str) and POINTER.fullmatch(value) is not None


def _value_flaw(patch: dict[str, Any]) -> str | None:
    if patch["op"] not in ("add", "replace"):
        return None
    path, value = patch["path"], patch["value"]
    if path == DEADLINE_PATH and not (type(value) is int and 0 < value <= MAX_DEADLINE_S):
        return f"activeDeadlineSeconds must be a whole number from 1 to {MAX_DEADLINE_S}"
    if path in (CPUS_PATH, GPUS_PATH) and not _is_amount(value):
        return f"{path.rpartition('/')[2]} must be a number of at least 0"
    if path == RESOURCES_PATH and resources_in(value) is None:
        return 'entrypointResources must be JSON text such as {"NPU": 1}'
    return None


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def resources_in(text: Any) -> dict[str, float] | None:
    """Return custom resources from their JSON text; `None` if it is invalid."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    if isinstance(found, dict) and all(map(_is_amount, found.values())):
        return found
    return None


def value_at(path: str, patches: Sequence[dict[str, Any]]) -> Any:
    """Return the value that the patches set at a path; `None` if they set none."""
    value = None
    for patch in patches:
        if patch["path"] == path:
            if patch["op"] in ("add", "replace"):
                value = patch["value"]
            elif patch["op"] == "remove":
                value = None
    return value


def accepted(patches: Sequence[dict[str, Any]], used: frozenset[str]) -> str:
    """Return the message for an accepted job, with the number of ignored patches."""
    ignored = sum(patch["path"] not in used for patch in patches)
    return f"accepted; {ignored} template patches mean nothing here" if ignored else "accepted"
