"""Which workflows GitHub starts by itself for a pull request: `on:`, and what keeps it from that.

Written from GitHub's "Workflow syntax" and "Skipping workflow runs" alone, so that it can differ
from what the bot believes.
"""

import re
from collections.abc import Sequence
from typing import Any

EVENTS = ("pull_request", "pull_request_target")
DEFAULT_TYPES = ("opened", "synchronize", "reopened")
MOST_FILES = 300  # of a difference that path filters look at
SKIPS = ("[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]")
_TRAILER = re.compile(r"\n\n\nskip-checks: ?true\s*\Z")


def is_skipped(message: str) -> bool:
    """Return True if a commit's message asks for no runs."""
    return any(mark in message for mark in SKIPS) or bool(_TRAILER.search(message))


def starts(filters: Any, action: str, base: str, files: Sequence[Sequence[str]]) -> bool:
    """Return True if an event's filters let an activity of a pull request start the workflow.

    ``files`` are the changed ones, each with its names: a renamed one has two.
    """
    filters = filters or {}
    if action not in (_list(filters.get("types")) or DEFAULT_TYPES):
        return False
    only, ignored = (_list(filters.get(key)) for key in ("branches", "branches-ignore"))
    if (only and not _decides(only, base)) or (ignored and _decides(ignored, base)):
        return False
    seen = [name for names in files[:MOST_FILES] for name in names]
    if paths := _list(filters.get("paths")):
        return any(_decides(paths, path) for path in seen)
    if skipped := _list(filters.get("paths-ignore")):
        return any(not _decides(skipped, path) for path in seen)
    return True


def _list(value: Any) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [str(one) for one in found if one is not None]


def _decides(patterns: list[str], name: str) -> bool:
    """Return True if the last pattern that matches is not one with `!`."""
    answer = False
    for pattern in patterns:
        if re.fullmatch(_expression(pattern.removeprefix("!")), name, re.DOTALL):
            answer = not pattern.startswith("!")
    return answer


def _expression(pattern: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char, rest = pattern[at], pattern[at:]
        step = 1
        if rest.startswith("**/") and (at == 0 or pattern[at - 1] == "/"):
            parts.append("(?:.*/)?")
            step = 3
        elif rest.startswith("**"):
            parts.append("(?:.*)")
            step = 2
        elif char == "*":
            parts.append("(?:[^/]*)")
        elif char in "?+" and parts:
            parts[-1] += char
        elif char == "[":
            step = rest.index("]") + 1
            parts.append(rest[:step])
        elif char == "\\":
            parts.append(re.escape(rest[1:2]))
            step = 2
        else:
            parts.append(re.escape(char))
        at += step
    return "".join(parts)
