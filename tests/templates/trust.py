"""Finds in a workflow what would give a commit under test a token, a secret or a cache.

Two kinds of job, never mixed. One may do something: it executes only what lies in a trusted
checkout, and of the commit under test it copies bytes. The other executes the commit: it may do
nothing. The reading is on the safe side: in a job that may do something, each command must be one
of the few that are known here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import yaml

from tests.templates.shell import Command, UnreadableError, expand, mentions, path_of, pipelines

UNDER_TEST = "pr"  # where the commit under test is put, whatever a file says of it
EVERYWHERE = "*"
# References that only people with write access move.
_OURS = re.compile(r"\$\{\{\s*github\.(sha|ref|ref_name|workflow_sha)\s*\}\}")
_OUTSIDE = re.compile(r"\b(inputs|steps|needs|github\s*\.\s*(event|head_ref))\b")
_SECRET = re.compile(r"\bsecrets\b|\bgithub\s*\.\s*token\b|\bgithub\s*\[|\(\s*github\s*\)", re.I)
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
# Read, copied, counted: no text is executed by these.
_BYTES = {"[", "basename", "cat", "chmod", "cmp", "cp", "diff", "dirname", "du", "echo", "head"}
_BYTES |= {
    "ls",
    "mkdir",
    "mv",
    "printf",
    "rm",
    "sha256sum",
    "stat",
    "tail",
    "tar",
    "tee",
    "test",
    "wc",
}
_HARMLESS = {":", "exit", "false", "set", "shift", "sleep", "true", "umask", "unset", "wait"}
_INTERPRETERS = {"bash", "python3", "sh"}
_PLAIN_OPTIONS = {"--", "-B", "-E", "-I", "-S", "-e", "-eu", "-u", "-x"}
_STEERING = re.compile(
    r"(PYTHON|NODE_|CLASS|GO)?PATH|LD_\w+|BASH_ENV|ENV|IFS|SHELLOPTS|PYTHON(STARTUP|HOME|INSPECT)"
    r"|(NODE_|JAVA_|MAKE|PERL5|RUBY)\w*|GIT_\w+"
)
_TAR_RUNS = re.compile(r"--(to-command|checkpoint-action|use-|rsh|new-vol|info-s)|-[^-]*[IF]")


@dataclass
class _Job:
    """What is known of a job while its steps are read."""

    steps: list[dict[str, Any]]
    variables: dict[str, str]
    trusted: set[str] = field(default_factory=set)
    tainted: set[str] = field(default_factory=set)

    def is_tainted(self, text: str) -> bool:
        text = expand(text, self.variables)
        return EVERYWHERE in self.tainted or any(
            mentions(text, folder) for folder in self.tainted | {UNDER_TEST}
        )

    def is_trusted(self, text: str) -> bool:
        """Return True if a path lies in a trusted checkout, and can lie nowhere else."""
        path = path_of(expand(text, self.variables))
        if self.is_tainted(text) or re.search(r"[$*?\[{`~]", path) or path.startswith(("/", "..")):
            return False
        return any(top == "." or f"{path}/".startswith(f"{top}/") for top in self.trusted)

    def may_be_trusted(self, text: str) -> bool:
        """Return True if a path may lie in a trusted checkout."""
        path = path_of(expand(text, self.variables))
        is_near = path == "." or not path.startswith(("/", "$", ".."))
        return (
            any(is_near if top == "." else mentions(path, top) for top in self.trusted)
            or path == "."
        )


def faults(text: str) -> list[str]:
    """Return what is wrong with a workflow file, each with its job and step."""
    workflow = yaml.safe_load(text)
    found: list[str] = []
    for key, data in workflow["jobs"].items():
        job = _Job(data.get("steps") or [], _variables(workflow, data))
        found += [f"{key}: {fault}" for fault in _checkouts(job)]
        if reasons := ", ".join(powers(workflow, data)):
            found += [f"{key} ({reasons}): {fault}" for fault in _around(data)]
            for number, step in enumerate(job.steps, 1):
                found += [
                    f"{key} ({reasons}), step {number}: {fault}" for fault in _step(job, step)
                ]
        elif job.tainted:
            found += [f"{key}: {fault}" for fault in _caches(job)]
    return found


def _variables(*layers: dict[str, Any]) -> dict[str, str]:
    return {k: str(v) for layer in layers for k, v in (layer.get("env") or {}).items()}


def powers(workflow: dict[str, Any], job: dict[str, Any]) -> Iterator[str]:
    """Yield what a job may do beyond reading the repository."""
    permissions = job.get("permissions", workflow.get("permissions"))
    if permissions is None:
        yield "the default token"
    elif isinstance(permissions, str):
        yield f"permissions: {permissions}"
    else:
        for name, level in permissions.items():
            if level == "write" or (name != "contents" and level != "none"):
                yield f"{name}: {level}"
    texts = json.dumps([workflow.get("env"), job])
    if "secrets" in job or any(_SECRET.search(one) for one in _EXPRESSION.findall(texts)):
        yield "a secret"


def _checkouts(job: _Job) -> Iterator[str]:
    """Sort the checkouts into trusted and tainted; name those that leave credentials behind."""
    for step in job.steps:
        action, given = str(step.get("uses", "")).partition("@")[0], step.get("with") or {}
        path = path_of(str(given.get("path") or "."))
        where = EVERYWHERE if path == "." or "${{" in path else path
        if action.endswith("/download-artifact"):
            job.tainted.add(where)
        if not action.endswith("/checkout"):
            continue
        if str(given.get("persist-credentials")).lower() != "false":
            yield f"the checkout into {path} leaves its credentials there"
        chosen = _OURS.sub("", f"{given.get('ref', '')} {given.get('repository', '')} {path}")
        if "${{" in chosen:
            job.tainted.add(where)
        else:
            job.trusted.add(path)


def _around(job: dict[str, Any]) -> Iterator[str]:
    """Look at what is no step."""
    if "uses" in job:
        yield "a called workflow is not read here"
    for name in ("container", "services"):
        if _OUTSIDE.search(json.dumps(job.get(name) or "")):
            yield f"its {name} is chosen from outside"


def _caches(job: _Job) -> Iterator[str]:
    for step in job.steps:
        action, given = str(step.get("uses", "")).partition("@")[0], step.get("with") or {}
        if "/cache" in action or any(str(name).startswith("cache") for name in given):
            yield f"executes the commit under test and shares a cache: {action}"


def _step(job: _Job, step: dict[str, Any]) -> Iterator[str]:
    """Name what a step of a job that may do something should not do."""
    before = dict(job.variables)
    job.variables |= _variables(step)
    yield from _steering(job.variables)
    uses, folder = str(step.get("uses", "")), step.get("working-directory")
    if uses.startswith("docker://") or (uses.startswith(".") and not job.is_trusted(uses)):
        yield f"uses {uses}"
    if folder and not job.is_trusted(str(folder)):
        yield f"runs in {folder}"
    if step.get("shell", "bash") not in ("bash", "sh"):
        yield f"its shell is {step['shell']}"
    if "run" in step:
        yield from _script(job, str(step["run"]))
    job.variables = before


def _steering(variables: dict[str, str]) -> Iterator[str]:
    for name in variables:
        if _STEERING.fullmatch(name):
            yield f"the variable {name} steers what is executed"


def _script(job: _Job, script: str) -> Iterator[str]:
    try:
        for pipeline in pipelines(script):
            is_tainted = any(
                job.is_tainted(text) for command in pipeline for text in command.texts()
            )
            for command in pipeline:
                job.variables |= command.assigned
                yield from _steering(command.assigned)
                yield from _written(job, command)
                yield from _executed(job, command, is_tainted=is_tainted)
    except UnreadableError as error:
        yield f"cannot be read: {error}"


def _executed(job: _Job, command: Command, *, is_tainted: bool) -> Iterator[str]:
    """Allow reading and copying; without the commit under test, also trusted programs."""
    words = command.words[1:] if command.words[:1] == ["exec"] else command.words
    shown = " ".join(words)
    if words[:1] == ["tar"] and any(map(_TAR_RUNS.match, words[1:])):
        yield f"tar executes: {shown}"
    if not words or words[0] in _BYTES:
        return
    program = next((word for word in words[1:] if word not in _PLAIN_OPTIONS), "-")
    is_ours = words[0] in _INTERPRETERS and program[:1] != "-" and job.is_trusted(program)
    if is_tainted:
        yield f"executes with the commit under test in reach: {shown}"
    elif words[0] not in _HARMLESS and not is_ours:
        yield f"executes what is not known to be trusted: {shown}"


def _written(job: _Job, command: Command) -> Iterator[str]:
    """Forbid changing what is trusted, and what later steps inherit."""
    for place in _places(command):
        if re.search(r"\bGITHUB_(ENV|PATH)\b|github\s*\.\s*(env|path)", place):
            yield f"changes the environment of the next steps: {place}"
        elif job.may_be_trusted(place):
            yield f"writes into what is trusted: {place}"


def _places(command: Command) -> Iterator[str]:
    """Yield where a command may write."""
    yield from (target for target in command.targets if not re.fullmatch(r"\d|-|/dev/\w+", target))
    name, words = command.words[0] if command.words else "", command.words[1:]
    if name in {"cp", "mv", "tar"}:
        yield from words[-1:]
        yield from (after for word, after in pairwise(words) if word[:1] == "-")
        yield from (word.partition("=")[2] for word in words if re.match(r"--[\w-]+=", word))
    elif name in {"tee", "mkdir", "chmod"}:
        yield from words
