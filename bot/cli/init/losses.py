"""What a script would lose if another took its place: arguments and variables, compared by name.

A script may build the names of its arguments in a loop, so only their last part counts:
`actor.megatron.use_mbridge` and `$prefix.use_mbridge` are one argument.
"""

import re
from collections.abc import Iterator

# The most that is listed; the diff shows the rest.
MOST_SHOWN = 12

_COMMENT = re.compile(r"(?m)(^|\s)#.*$")
_ARGUMENT = re.compile(
    r"""(?<![\w./{}$-])['"]?(?P<name>[+~]{0,2}[A-Za-z_$][\w.${}]*|--[A-Za-z][\w-]*)=
        (?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"')]*)""",
    re.VERBOSE,
)
_FLAG = re.compile(r"(?<!\S)--[A-Za-z][\w-]*(?=\s|$)")
_EXPORT = re.compile(r"(?m)^\s*export\s+([A-Za-z_]\w*)=(\S*)")
_ASKED = re.compile(r"\$\{([A-Za-z_]\w*):?[-=?]")
_PLAIN_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


def losses(before: str, after: str) -> list[str]:
    """Return the arguments and variables of ``before`` that ``after`` has not, as written."""
    kept = _values(after)
    lost = [
        f"{name}={value}" if value else name
        for name, value in _said(before)
        if not _holds(kept.get(_last(name)), value)
    ]
    return list(dict.fromkeys(lost))


def _holds(values: set[str] | None, value: str) -> bool:
    """Return True if a script has an argument, and does not set it to something else."""
    if values is None:
        return False
    return "$" in value or value in values or any("$" in one for one in values)


def _values(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, value in _said(text):
        found.setdefault(_last(name), set()).add(value)
    return found


def _said(text: str) -> Iterator[tuple[str, str]]:
    """Yield the arguments, exports and variables with a default, each with its value."""
    plain = _COMMENT.sub(r"\1", text)
    for match in _EXPORT.finditer(plain):
        yield match[1], _bare(match[2])
    for match in _ARGUMENT.finditer(plain):
        at_start = plain[match.start() - 1 : match.start()] == "\n" and "." not in match["name"]
        if not at_start and not _PLAIN_NAME.fullmatch(match["name"]):  # else a variable
            yield match["name"], _bare(match["value"])
    for match in _FLAG.finditer(plain):
        yield match[0], ""
    for match in _ASKED.finditer(plain):
        yield match[1], ""


def _last(name: str) -> str:
    return name.lstrip("+~").rpartition(".")[2]


def _bare(value: str) -> str:
    """Return a value as the command gets it: quotes and braces of the shell mean nothing."""
    return re.sub(r"""["'\\]""", "", value).rstrip(";")
