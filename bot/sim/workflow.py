"""Workflow files: a declared subset of their syntax. Anything else becomes a problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
WORKFLOW_KEYS = {"name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"}
JOB_KEYS = {"name", "runs-on", "needs", "if", "permissions", "env", "defaults", "steps", "outputs"}
JOB_KEYS |= {"timeout-minutes", "container"}
STEP_KEYS = {"id", "name", "if", "run", "uses", "with", "env", "shell", "working-directory"}
STEP_KEYS |= {"timeout-minutes", "continue-on-error"}
INPUT_KEYS = {"description", "required", "default", "type", "options", "deprecationMessage"}
SHELLS = {
    None: ["bash", "-e"],
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
    "sh": ["sh", "-e"],
    "python": ["python3"],
}
USES = ("actions/checkout", "actions/upload-artifact")


@dataclass(frozen=True, slots=True)
class Input:
    """A declared input of `workflow_dispatch`."""

    name: str
    required: bool
    default: Any
    type: str
    options: tuple[str, ...]


@dataclass(slots=True)
class StepSpec:
    """A step as written."""

    id: str | None
    name: str | None
    run: str | None
    uses: str | None
    arguments: dict[str, Any]
    env: dict[str, Any]
    condition: Any
    shell: str | None
    folder: str | None
    timeout_minutes: Any
    continue_on_error: Any


@dataclass(slots=True)
class JobSpec:
    """A job as written. The simulation refuses it for its `problems`."""

    key: str
    name: str
    labels: Any
    needs: list[str]
    condition: Any
    env: dict[str, Any]
    steps: list[StepSpec]
    outputs: dict[str, Any]
    permissions: Any
    timeout_minutes: Any
    container: Any
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class WorkflowFile:
    """A workflow file as written. Its `problems` concern all of it."""

    name: str | None
    run_name: str | None
    triggers: dict[str, Any]
    inputs: dict[str, Input]
    env: dict[str, Any]
    permissions: Any
    concurrency: Any
    jobs: dict[str, JobSpec]
    problems: list[str] = field(default_factory=list)


def parse(text: str) -> WorkflowFile:
    """Read a workflow file. It never raises: the run fails with the problems."""
    try:
        data = yaml.load(text, Loader=_LOADER)  # noqa: S506 - one of the two safe ones
    except yaml.YAMLError as error:
        return _broken(f"not YAML: {error}")
    if not isinstance(data, dict):
        return _broken("a workflow is a mapping")
    data = {("on" if key is True else key): value for key, value in data.items()}
    triggers = _triggers(data.get("on"))
    problems = _unknown(data, WORKFLOW_KEYS, "workflow")
    jobs = data.get("jobs")
    if not isinstance(jobs, dict) or not jobs:
        jobs = {}
        problems.append("a workflow needs jobs")
    defaults = data.get("defaults")
    return WorkflowFile(
        name=data.get("name"),
        run_name=data.get("run-name"),
        triggers=triggers,
        inputs=_inputs(triggers, problems),
        env=data.get("env") or {},
        permissions=data.get("permissions"),
        concurrency=data.get("concurrency"),
        jobs={str(key): _job(str(key), job or {}, defaults) for key, job in jobs.items()},
        problems=problems,
    )


def _broken(problem: str) -> WorkflowFile:
    return WorkflowFile(None, None, {}, {}, {}, None, None, {}, [problem])


def _unknown(data: dict[str, Any], known: set[str], where: str) -> list[str]:
    return [f"{where}: key {key!r} is not simulated" for key in data if key not in known]


def _triggers(on: Any) -> dict[str, Any]:
    if isinstance(on, str):
        return {on: {}}
    if isinstance(on, list):
        return {str(name): {} for name in on}
    return {str(name): value or {} for name, value in (on or {}).items()}


def _inputs(triggers: dict[str, Any], problems: list[str]) -> dict[str, Input]:
    found = {}
    declared = (triggers.get("workflow_dispatch") or {}).get("inputs") or {}
    for name, raw in declared.items():
        spec = raw or {}
        problems += _unknown(spec, INPUT_KEYS, f"input {name}")
        found[name] = Input(
            name=name,
            required=bool(spec.get("required", False)),
            default=spec.get("default"),
            type=spec.get("type", "string"),
            options=tuple(str(option) for option in spec.get("options") or ()),
        )
    return found


def _job(key: str, data: dict[str, Any], defaults: Any) -> JobSpec:
    problems = _unknown(data, JOB_KEYS, f"job {key}")
    needs = data.get("needs") or []
    run_defaults = ((defaults or {}).get("run") or {}) | (
        (data.get("defaults") or {}).get("run") or {}
    )
    steps = []
    for number, raw in enumerate(data.get("steps") or [], 1):
        problems += _step_problems(raw, f"job {key}, step {number}")
        steps.append(_step(raw, run_defaults))
    if not steps:
        problems.append(f"job {key}: has no steps")
    return JobSpec(
        key=key,
        name=str(data.get("name", key)),
        labels=data.get("runs-on"),
        needs=[needs] if isinstance(needs, str) else list(needs),
        condition=data.get("if"),
        env=data.get("env") or {},
        steps=steps,
        outputs=data.get("outputs") or {},
        permissions=data.get("permissions"),
        timeout_minutes=data.get("timeout-minutes"),
        container=data.get("container"),
        problems=problems,
    )


def _step(raw: dict[str, Any], defaults: dict[str, Any]) -> StepSpec:
    return StepSpec(
        id=raw.get("id"),
        name=raw.get("name"),
        run=raw.get("run"),
        uses=raw.get("uses"),
        arguments=raw.get("with") or {},
        env=raw.get("env") or {},
        condition=raw.get("if"),
        shell=raw.get("shell", defaults.get("shell")),
        folder=raw.get("working-directory", defaults.get("working-directory")),
        timeout_minutes=raw.get("timeout-minutes"),
        continue_on_error=raw.get("continue-on-error", False),
    )


def _step_problems(raw: dict[str, Any], where: str) -> list[str]:
    problems = _unknown(raw, STEP_KEYS, where)
    if ("run" in raw) == ("uses" in raw):
        problems.append(f"{where}: needs either run or uses")
    name, _, version = str(raw.get("uses", "")).partition("@")
    if "uses" in raw and (name not in USES or not version):
        problems.append(f"{where}: `uses: {raw['uses']}` is not simulated")
    if raw.get("shell") not in SHELLS:
        problems.append(f"{where}: shell {raw['shell']!r} is not simulated")
    return problems
