"""Workflow files: a declared subset of their syntax, and the dispatch of one."""

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import yaml

from bot.sim.errors import not_found, refuse
from bot.sim.model import Pull, Repo, State, User, Workflow

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Spec = TypeVar("Spec", bound=msgspec.Struct)
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


class StepSpec(
    msgspec.Struct,
    rename={
        "arguments": "with",
        "condition": "if",
        "folder": "working-directory",
        "timeout_minutes": "timeout-minutes",
        "continue_on_error": "continue-on-error",
    },
):
    """A step as written."""

    id: Any = None
    name: Any = None
    run: Any = None
    uses: Any = None
    arguments: Any = {}
    env: Any = {}
    condition: Any = None
    shell: Any = None
    folder: Any = None
    timeout_minutes: Any = None
    continue_on_error: Any = False


class JobSpec(
    msgspec.Struct,
    rename={
        "labels": "runs-on",
        "condition": "if",
        "timeout_minutes": "timeout-minutes",
        "arguments": "with",
    },
):
    """A job as written. The simulation does not execute it for its `problems`."""

    name: Any = None
    labels: Any = None
    needs: Any = []
    condition: Any = None
    env: Any = {}
    defaults: Any = {}
    steps: Any = []
    outputs: Any = {}
    permissions: Any = None
    timeout_minutes: Any = None
    container: Any = None
    environment: Any = None  # its secrets are the repository's here
    strategy: Any = None  # of a scripted run only
    uses: Any = None  # so, too: the workflow that it calls has one job, `run`
    arguments: Any = {}
    key: str = ""
    problems: list[str] = []


class WorkflowFile(msgspec.Struct, rename={"run_name": "run-name", "triggers": "on"}):
    """A workflow file as written. Its `problems` concern all of it."""

    name: Any = None
    run_name: Any = None
    triggers: Any = {}
    permissions: Any = None
    env: Any = {}
    defaults: Any = {}
    concurrency: Any = None
    jobs: Any = {}
    inputs: dict[str, Input] = {}
    problems: list[str] = []


def parse(text: str) -> WorkflowFile:
    """Read a workflow file. It never raises: the run fails with the problems."""
    try:
        data = yaml.load(text, Loader=_LOADER)  # noqa: S506 - one of the two safe ones
    except yaml.YAMLError as error:
        return WorkflowFile(problems=[f"not YAML: {error}"])
    if not isinstance(data, dict):
        return WorkflowFile(problems=["a workflow is a mapping"])
    data = {("on" if key is True else key): value for key, value in data.items()}
    file, file_problems = _read(data, WorkflowFile, "workflow")
    file.triggers = _triggers(file.triggers)
    file.inputs = _inputs(file.triggers, file_problems)
    if not isinstance(file.jobs, dict) or not file.jobs:
        file.jobs = {}
        file_problems.append("a workflow needs jobs")
    file.jobs = {str(key): _job(str(key), job or {}, file) for key, job in file.jobs.items()}
    file.problems = file_problems
    return file


def _read(data: dict[str, Any], kind: type[Spec], where: str) -> tuple[Spec, list[str]]:
    """Read a mapping without its empty keys; return it, and a line for each unknown key."""
    known = {*kind.__struct_encode_fields__} - {"key", "inputs", "problems"}
    given = {key: value for key, value in data.items() if key in known and value is not None}
    return msgspec.convert(given, kind), _unknown(data, known, where)


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


def _job(key: str, data: dict[str, Any], file: WorkflowFile) -> JobSpec:
    job, problems = _read(data, JobSpec, f"job {key}")
    defaults = (file.defaults.get("run") or {}) | (job.defaults.get("run") or {})
    steps = []
    for number, raw in enumerate(job.steps, 1):
        where = f"job {key}, step {number}"
        step, unknown = _read(defaults | raw, StepSpec, where)
        problems += [*unknown, *_step_problems(raw, where)]
        steps.append(step)
    for name in ("strategy", "uses"):
        if data.get(name) is not None:
            problems.append(f"job {key}: key {name!r} is not simulated")
    if not steps and not job.uses:
        problems.append(f"job {key}: has no steps")
    job.key, job.name, job.steps, job.problems = key, str(job.name or key), steps, problems
    job.needs = [job.needs] if isinstance(job.needs, str) else list(job.needs)
    return job


def _step_problems(raw: dict[str, Any], where: str) -> list[str]:
    problems = []
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
    fields: dict[str, Any] = field(default_factory=dict)  # of the event, such as `schedule`


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
