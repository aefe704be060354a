"""Reads the commands of a `run:` text; on the safe side: what cannot be read is an error."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from posixpath import normpath

# Words that only order the commands after them.
_ORDER = {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"}
_ENDS = {"fi", "done", "}", "esac"}
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?:[^}\w][^}]*)?\}?")
_SUBSTITUTION = re.compile(r"\$\((.*)\)|`(.*)`", re.DOTALL)
# Ways to say "where the checkouts are".
_WORKSPACE = re.compile(r"\$\{?(GITHUB_WORKSPACE|PWD)\}?/?|\$\{\{\s*github\.workspace\s*\}\}/?")


class UnreadableError(Exception):
    """The text is no shell text that ends."""


@dataclass(slots=True)
class Command:
    """A simple command: its words, where its redirections go, and variables set for it."""

    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    assigned: dict[str, str] = field(default_factory=dict)

    def texts(self) -> list[str]:
        return [*self.words, *self.targets, *self.assigned.values()]


def pipelines(script: str) -> Iterator[list[Command]]:
    """Yield the pipelines of a text in their order, those of substitutions too."""
    for tokens in _lines(script):
        pipeline: list[Command] = []
        current: list[str] = []
        for token in [*tokens, ";"]:
            if token[0] in ";&|()" or token[:2] in ("<(", ">("):
                pipeline += [_command(current)] if current else []
                current = []
                if token not in ("|", "|&") and pipeline:
                    yield from _inside(pipeline)
                    yield pipeline
                    pipeline = []
            else:
                current.append(token)


def _inside(pipeline: list[Command]) -> Iterator[list[Command]]:
    for command in pipeline:
        for text in command.texts():
            for match in _SUBSTITUTION.finditer(text):
                yield from pipelines(match[1] or match[2] or "")


def _lines(script: str) -> Iterator[list[str]]:
    """Yield the tokens of each line; a quote or backslash that goes on joins the next one."""
    text = ""
    for line in script.splitlines():
        if not text and line.lstrip().startswith("#"):
            continue
        text += line
        if line.endswith("\\"):
            text = text[:-1]
            continue
        lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>")
        lexer.commenters, lexer.whitespace_split = "", True
        try:
            tokens = list(lexer)
        except ValueError:
            text += "\n"
            continue
        text = ""
        if tokens:
            yield tokens
    if text.strip():
        raise UnreadableError(text)


def _command(tokens: list[str]) -> Command:
    command = Command()
    rest = iter(tokens)
    for token in rest:
        assignment = None if command.words else _ASSIGNMENT.fullmatch(token)
        if token and set(token) <= set("<>&"):
            if command.words and command.words[-1].isdigit():
                command.words.pop()  # the number of a stream
            command.targets.append(next(rest, ""))
        elif assignment:
            command.assigned[assignment[1]] = assignment[2]
        elif command.words or token not in _ORDER | _ENDS | {"export"}:
            command.words.append(token)
    if command.words[:1] == ["for"]:
        command.assigned[command.words[1]] = " ".join(command.words[2:])
        command.words = []
    return command


def expand(text: str, variables: dict[str, str]) -> str:
    """Put known variables in; a variable of a variable too."""
    for _ in range(3):
        text = _VARIABLE.sub(lambda m: variables.get(m[1], m[0]), text)
    return text


def path_of(text: str) -> str:
    """Return a word as a path of the workspace, `.` for the workspace itself."""
    return normpath(_WORKSPACE.sub("", text) or ".")


def mentions(text: str, folder: str) -> bool:
    """Return True if a text names a folder or something in it, in whatever way."""
    wanted = folder.split("/")
    for piece in re.split(r"[=:,{}\s'\"]+", _WORKSPACE.sub("./", text)):
        parts = normpath(piece).split("/") if piece else []
        starts = range(len(parts) - len(wanted) + 1)
        if any(all(map(fnmatchcase, wanted, parts[at:])) for at in starts):
            return True
    return False
