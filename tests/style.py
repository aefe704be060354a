"""Reads a source and names what the house style forbids and no linter of ours looks for."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50

VAGUE_NAMES = frozenset({"common", "helper", "helpers", "manager", "misc", "util", "utils"})

# Work left undone belongs in an issue; code that says it can't is not finished.
UNDONE = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b|(?<!['\"])\bNotImplementedError\b")
# Standard modules may be bent, our own code may not: a fake with state stands in for it.
_STANDARD = "|".join(sorted(sys.stdlib_module_names))
MOCKS = re.compile(
    r"unittest\.mock|from unittest import mock"
    rf"|monkeypatch\.(?:set|del)(?:attr|item) \((?! (?:{_STANDARD})\b)"
)
WITHOUT_REASON = re.compile(r"#\s*(noqa|type:\s*ignore)(?!:|\[)|#\s*pragma:\s*no\s*cover\s*$")
# Reading tokens takes long; few files have such a word anywhere.
_SUSPECT = re.compile(rf"mock|monkeypatch|{UNDONE.pattern}|{WITHOUT_REASON.pattern}", re.MULTILINE)


def sources() -> list[Path]:
    """Return every Python file of the project."""
    return sorted(path for top in ("bot", "tests") for path in (ROOT / top).rglob("*.py"))


def faults(source: str, path: Path) -> list[str]:
    """Return what the style forbids in a source, each with its line."""
    found = [*_sizes(source, path), *_words(source, path)]
    if path.stem in VAGUE_NAMES:
        found.append(f"{path}: is named for nothing")
    return found


def _sizes(source: str, path: Path) -> Iterator[str]:
    lines = source.count("\n")
    if lines > MAX_FILE_LINES:
        yield f"{path}: {lines} lines, {MAX_FILE_LINES} at most"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines"


def _words(source: str, path: Path) -> Iterator[str]:
    """Look at comments and code, not at texts: a digest may well quote one of these words."""
    if not _SUSPECT.search(source):
        return
    for line, text in _without_texts(source).items():
        for pattern in (UNDONE, MOCKS, WITHOUT_REASON):
            if hit := pattern.search(text):
                yield f"{path}:{line}: {hit[0].strip()}"


def _without_texts(source: str) -> dict[int, str]:
    """Return the source's lines, by number, without what stands in quotes."""
    lines: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in {tokenize.STRING, tokenize.NL, tokenize.NEWLINE}:
            line = token.start[0]
            glue = "" if token.string == "." or lines.get(line, "").endswith(".") else " "
            lines[line] = lines.get(line, "") + glue + token.string
    return lines
