"""No sentence that people read on GitHub stands outside the tables of messages."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.core.messages.uses import ROOT, sources

# Files and folders whose sentences nobody reads on GitHub, and who reads them instead.
ELSEWHERE = {
    "core/digest": "what is looked for in logs, and hints that a signature may overrule",
    "core/explain/simulation.py": "the command line's words about its input",
    "core/github/payloads.py": "why a webhook is ignored, for operators",
    "core/model/rayjobs.py": "kept beside the submitter's own words",
    "core/model/times.py": "the command line's help",
    "core/planning/audit.py": "the audit's names of rules",
    "core/planning/schedule.py": "notes of a schedule's firing, for the command line and the API",
    "core/policy/models.py": "the descriptions of keys in the policy's JSON schema",
    "core/policy/quarantine.py": "the descriptions of keys in the policy's JSON schema",
    "core/rayjob": "lines of the submitter's log",
    "core/report/policy_change.py": "a command to type",
    "core/runs/dispatch_inputs.py": "what GitHub says",
    "core/secrets": "patterns",
    "core/workflows": "what the command `init` says of workflows that it reads",
    "services/events/check_run.py": "the audit's names of rules",
    "services/events/workflow_run.py": "notes of a webhook, for operators",
    "services/operator.py": "answers to an operator's command line, and the audit's names",
    "services/rayjobs": "answers to a workflow, kept beside the submitter's own words",
    "services/schedules.py": "notes of a schedule's firing, for the command line and the API",
}
_LOGS = {"debug", "info", "warning", "error", "exception", "critical"}
_WORD = re.compile(r"[A-Za-z'`]{2,}")
_TAG = re.compile(r"<[^>]*>?")


def _text(node: ast.AST) -> str:
    """Return the text of a literal; values in it are left out."""
    if isinstance(node, ast.JoinedStr):
        return " ".join(_text(part) for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_sentence(text: str) -> bool:
    return " " in text.strip() and len(_WORD.findall(_TAG.sub("", text))) >= 3


def _for_developers(node: ast.AST) -> Iterator[ast.AST]:
    """Yield docstrings, what is raised, asserted or logged, and the parts of a longer text."""
    match node:
        case ast.JoinedStr():
            yield from (part for part in node.values if isinstance(part, ast.Constant))
        case ast.Expr(value=ast.Constant()):
            yield node.value
        case ast.Raise():
            yield node
        case ast.Assert(msg=ast.expr() as msg):
            yield msg
        case ast.Assign(targets=[ast.Name(id="msg")], value=value):
            yield value
        case ast.Call(func=ast.Attribute(attr=name)) if name in _LOGS:
            yield from node.args
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"))):
            yield from node.args


def _sentences(tree: ast.Module) -> list[str]:
    known = {
        id(inner)
        for node in ast.walk(tree)
        for part in _for_developers(node)
        for inner in ast.walk(part)
    }
    return [
        text
        for node in ast.walk(tree)
        if id(node) not in known and _is_sentence(text := _text(node))
    ]


@cache
def _found() -> dict[str, list[str]]:
    found = {
        path.relative_to(ROOT).as_posix(): _sentences(tree)
        for path, tree in sources()
        if path.relative_to(ROOT).parts[0] in {"core", "services"}
    }
    return {place: texts for place, texts in found.items() if texts}


def _exempt(place: str) -> bool:
    return any(place == name or place.startswith(f"{name}/") for name in ELSEWHERE)


def test_every_sentence_comes_from_the_tables() -> None:
    assert {place: texts for place, texts in _found().items() if not _exempt(place)} == {}


def test_every_exemption_is_needed() -> None:
    found = _found()
    unused = [
        name
        for name in ELSEWHERE
        if not any(place == name or place.startswith(f"{name}/") for place in found)
    ]
    assert unused == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('why = "the log was lost"', 1),
        ('why = f"{name} was lost too"', 1),
        ('why = Message("log_lost")', 0),
        ('"""The log was lost."""', 0),
        ('log.info("the log was lost")', 0),
        ('raise ValueError("the log was lost")', 0),
    ],
)
def test_a_sentence_is_told_from_other_texts(source: str, count: int) -> None:
    assert len(_sentences(ast.parse(source))) == count
