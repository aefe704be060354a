"""Workflow files: a declared subset of their syntax, and the dispatch of one."""

import json
from dataclasses import dataclass, field
from typing import Any

import yaml

from bot.sim.errors import not_found, refuse
from bot.sim.model import Pull, Repo, State, User, Workflow

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


FOLDER = ".github/workflows"
MAX_INPUTS = 25
MAX_INPUT_CHARACTERS = 65_535


@dataclass(frozen=True, slots=True)
class Start:
    """The parts of a new run: for a dispatch the branch or tag, its tip, the file there."""

    workflow: Workflow
    event: str
    ref: str
    sha: str
    source: str
    by: User
    inputs: dict[str, Any]
    pull: Pull | None = None


class Workflows:
    """Workflow files of the default branch, with stable ids."""

    def __init__(self, state: State) -> None:
        self._state = state

    def of(self, repo: Repo) -> list[Workflow]:
        """Return the workflows on the default branch."""
        tip = repo.git.tip(repo.branch_ref(repo.default_branch))
        paths = repo.git.listing(tip, FOLDER) if tip else []
        return [
            self._known(repo, path, tip or "") for path in paths if path.endswith((".yml", ".yaml"))
        ]

    def _known(self, repo: Repo, path: str, tip: str) -> Workflow:
        key = (repo.id, path)
        if key not in self._state.workflows:
            now = self._state.clock.now()
            name = parse((repo.git.read(tip, path) or b"").decode("utf-8", "replace")).name or path
            self._state.workflows[key] = Workflow(self._state.new_id(), repo, path, name, now)
        return self._state.workflows[key]

    def find(self, repo: Repo, key: str) -> Workflow:
        """Return a workflow by id or file name. If the default branch has none, it is a 404."""
        for workflow in self.of(repo):
            if key in {str(workflow.id), workflow.path.rsplit("/", 1)[-1]}:
                return workflow
        raise not_found()

    def order(self, repo: Repo, key: str, body: dict[str, Any], by: User) -> Start:
        """Check a dispatch as GitHub does: 404 and the 422s with its texts."""
        workflow = self.find(repo, key)
        ref = body.get("ref")
        if not isinstance(ref, str) or not ref:
            refuse("Invalid request.", '"ref" wasn\'t supplied.')
        name = ref.removeprefix("refs/heads/")
        sha = repo.git.tip(repo.branch_ref(name)) or repo.git.tip(f"refs/tags/{name}")
        if sha is None:
            refuse(f"No ref found for: {ref}")
        if workflow.state != "active":
            refuse("Cannot trigger a 'workflow_dispatch' on a disabled workflow")
        data = repo.git.read(sha, workflow.path)
        if data is None:
            raise not_found()
        source = data.decode("utf-8", "replace")
        file = parse(source)
        if "workflow_dispatch" not in file.triggers:
            refuse("Workflow does not have 'workflow_dispatch' trigger")
        inputs = check_inputs(file.inputs, body.get("inputs") or {})
        return Start(workflow, "workflow_dispatch", name, sha, source, by, inputs)


def check_inputs(declared: dict[str, Input], given: Any) -> dict[str, Any]:
    """Return the inputs with their defaults. A wrong input is a 422."""
    if not isinstance(given, dict):
        refuse("Invalid request.", "inputs is not an object")
    if len(given) > MAX_INPUTS:
        refuse("Invalid request.", f"No more than {MAX_INPUTS} properties are allowed")
    if sum(len(str(value)) for value in given.values()) > MAX_INPUT_CHARACTERS:
        refuse("inputs are too large.")
    extra = [name for name in given if name not in declared]
    if extra:
        refuse(f"Unexpected inputs provided: {json.dumps(extra)}")
    for name, value in given.items():
        if not isinstance(value, str):
            refuse(f"Invalid value for input '{name}'")
    filled = {}
    for name, spec in declared.items():
        value = given.get(name)
        if spec.required and value in {None, ""} and spec.default is None:
            refuse(f"Required input '{name}' not provided")
        filled[name] = _typed(spec, value)
    return filled


def _typed(spec: Input, value: str | None) -> Any:
    chosen = spec.default if value is None else value
    if spec.type == "choice" and value is not None and value not in spec.options:
        listed = json.dumps(list(spec.options))
        refuse(f"Provided value '{value}' for input '{spec.name}' not in the list of {listed}")
    if spec.type == "boolean":
        text = str(chosen).lower()
        if value is not None and text not in {"true", "false"}:
            refuse(f"Invalid value for input '{spec.name}'")
        return text == "true"
    return "" if chosen is None else str(chosen)
