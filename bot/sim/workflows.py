"""The workflows of a repository, and the check of a dispatch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bot.sim.errors import GitHubError, not_found, refuse
from bot.sim.model import Repo, State, Workflow
from bot.sim.workflow import Input, WorkflowFile, parse

FOLDER = ".github/workflows"
MAX_INPUTS = 25
MAX_INPUT_CHARACTERS = 65_535


@dataclass(frozen=True, slots=True)
class Order:
    """A dispatch that GitHub accepts: the branch or tag, its tip, the file there, the inputs."""

    workflow: Workflow
    ref: str
    sha: str
    source: str
    file: WorkflowFile
    inputs: dict[str, Any]


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

    def order(self, repo: Repo, key: str, body: dict[str, Any]) -> Order:
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
            raise GitHubError(404, "Not Found")
        source = data.decode("utf-8", "replace")
        file = parse(source)
        if "workflow_dispatch" not in file.triggers:
            refuse("Workflow does not have 'workflow_dispatch' trigger")
        inputs = check_inputs(file.inputs, body.get("inputs") or {})
        return Order(workflow, name, sha, source, file, inputs)


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
