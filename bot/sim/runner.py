"""Executes the steps of a job as real processes on this machine."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.sim.checkout import Checkout
from bot.sim.expressions import ExpressionError, Scope, condition, interpolate, truth
from bot.sim.model import Job, State, Step
from bot.sim.process import Command, JobLog, Processes, Stopping, execute
from bot.sim.workflow import SHELLS, JobSpec, StepSpec

NAMES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE")


class FileFormatError(Exception):
    """A step wrote a line that the runner cannot read."""


@dataclass(frozen=True, slots=True)
class StepFiles:
    """The files of one step."""

    folder: Path
    number: int

    def prepare(self) -> dict[str, str]:
        """Make the files, empty. Return the variables that name them."""
        env = {}
        for name in NAMES:
            path = self._path(name)
            path.write_text("")
            env[name] = str(path)
        return env

    def _path(self, name: str) -> Path:
        return self.folder / f"{name.lower()}_{self.number}"

    def pairs(self, name: str) -> dict[str, str]:
        """Read `GITHUB_ENV` or `GITHUB_OUTPUT`."""
        return parse_pairs(self._path(name).read_text(errors="replace"))

    def lines(self, name: str) -> list[str]:
        """Read `GITHUB_PATH`."""
        return [line for line in self._path(name).read_text(errors="replace").splitlines() if line]


def parse_pairs(text: str) -> dict[str, str]:
    """Read `KEY=value` lines and `KEY<<END` blocks."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if not line:
            continue
        key, mark, end = line.partition("<<")
        if mark and "=" not in key:
            found[key] = _block(lines, end)
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise FileFormatError(f"Invalid format '{line}'")
        found[key] = value
    return found


def _block(lines: Iterator[str], end: str) -> str:
    kept: list[str] = []
    for line in lines:
        if line == end:
            return "\n".join(kept)
        kept.append(line)
    raise FileFormatError(f"Invalid value. Matching delimiter not found '{end}'")


INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")


@dataclass(slots=True)
class Work:
    """A job to execute. `env` is the workflow's, the runner itself sets `variables`."""

    state: State
    job: Job
    spec: JobSpec
    contexts: dict[str, Any]
    env: dict[str, Any]
    variables: dict[str, str]
    folder: Path
    stopping: Stopping
    secrets: list[str] = field(default_factory=list)


class JobRunner:
    """Runs the steps of one job."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._job = work.job
        self._clock = work.state.clock
        self._log = JobLog(self._clock, work.job.log, work.secrets)
        self._owned = Processes()
        self._status = "success"
        self._timed_out = False
        self._paths: list[str] = []
        self._exported: dict[str, str] = {}
        self._steps: dict[str, Any] = {}
        self.workspace = work.folder / "workspace"
        self.temp = work.folder / "temp"

    async def run(self) -> str:
        """Execute the job. Return its conclusion."""
        for folder in (self.workspace, self.temp, self._work.folder / "home"):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            minutes = float(interpolate(self._work.spec.timeout_minutes or 360, self._scope()))
        except (ExpressionError, ValueError) as error:
            self._log.error(f"timeout-minutes: {error}")
            return "failure"
        limit = asyncio.create_task(self._watch_limit(minutes))
        watch = asyncio.create_task(self._watch_cancel())
        try:
            self._begin()
            for number, spec in enumerate(self._work.spec.steps, 2):
                await self._step(number, spec)
            self._collect_outputs()
        finally:
            limit.cancel()
            watch.cancel()
            await asyncio.gather(limit, watch, return_exceptions=True)
            self._owned.kill()
        self._log.write("Cleaning up orphan processes")
        return self._status

    def _begin(self) -> None:
        log, now = self._log, self._clock.now()
        log.write("Current runner version: '2.330.0'")
        log.write(f"Runner name: '{self._job.runner_name}'")
        log.write(f"Job name: '{self._job.name}'")
        if self._work.spec.container:
            log.write("##[warning]container: is not simulated; the job runs on the host")
        log.write(f"Complete job name: {self._job.name}")
        self._job.steps = [Step(1, "Set up job", "completed", "success", now, now)]

    async def _watch_limit(self, minutes: float) -> None:
        await self._clock.sleep(minutes * 60)
        shown = int(minutes) if minutes.is_integer() else minutes
        self._log.error(
            f"The job running on runner {self._job.runner_name} has exceeded the maximum "
            f"execution time of {shown} minutes."
        )
        self._timed_out = True
        self._work.stopping.asked.set()

    async def _watch_cancel(self) -> None:
        await self._work.stopping.asked.wait()
        self._status = "cancelled"
        self._log.error("The operation was canceled.")

    def _scope(self, env: dict[str, str] | None = None) -> Scope:
        runner = {
            "os": "Linux",
            "arch": "X64",
            "temp": str(self.temp),
            "environment": "self-hosted",
        }
        runner["name"] = self._job.runner_name or ""
        status = "cancelled" if self._work.stopping.asked.is_set() else self._status
        contexts = self._work.contexts | {
            "env": env or self._base_env(),
            "steps": self._steps,
            "job": {"status": status},
            "runner": runner,
            "github": self._work.contexts["github"] | {"workspace": str(self.workspace)},
        }
        return Scope(contexts, status)

    def _base_env(self) -> dict[str, str]:
        env: dict[str, str] = {}
        container = self._work.spec.container
        more = container.get("env") or {} if isinstance(container, dict) else {}
        for layer in (self._work.env, self._work.spec.env, more):
            scope = Scope(self._work.contexts | {"env": env, "steps": self._steps}, self._status)
            env |= {key: interpolate(value, scope) for key, value in layer.items()}
        return env | self._exported

    async def _step(self, number: int, spec: StepSpec) -> None:
        """Run a step if its condition holds. A problem in it fails the job loudly."""
        step = Step(number, spec.name or _title(spec))
        self._job.steps.append(step)
        outcome = "failure"
        try:
            env = self._base_env()
            env |= {key: interpolate(value, self._scope(env)) for key, value in spec.env.items()}
            scope = self._scope(env)
            if self._work.stopping.forced.is_set() or not condition(spec.condition, scope):
                self._end(step, spec, "skipped")
                return
            step.name = interpolate(spec.name, scope) if spec.name else step.name
            step.status, step.started_at = "in_progress", self._clock.now()
            stopped_before = self._work.stopping.asked.is_set()
            outcome = await self._perform(step, spec, env)
            if self._work.stopping.asked.is_set() and not stopped_before:
                outcome = "cancelled"
        except (ExpressionError, FileFormatError, ValueError) as error:
            self._log.error(str(error))
        self._end(step, spec, outcome)

    def _end(self, step: Step, spec: StepSpec, outcome: str) -> None:
        step.status, step.completed_at = "completed", self._clock.now()
        step.started_at = step.started_at or step.completed_at
        forgiven = outcome == "failure" and self._forgives(spec)
        step.conclusion = "success" if forgiven else outcome
        entry = self._steps.setdefault(spec.id or f"__{step.number}", {"outputs": {}})
        entry |= {"outcome": outcome, "conclusion": step.conclusion}
        if step.conclusion == "failure" and self._status == "success":
            self._status = "failure"

    def _forgives(self, spec: StepSpec) -> bool:
        text = interpolate(spec.continue_on_error, self._scope())
        return truth(text) and text != "false"

    async def _perform(self, step: Step, spec: StepSpec, env: dict[str, str]) -> str:
        if spec.uses:
            return await self._use(spec, env)
        code = await self._limited(step, spec, env)
        if code and not self._work.stopping.asked.is_set():
            self._log.error(f"Process completed with exit code {code if code > 0 else 128 - code}.")
        return "failure" if code else "success"

    async def _limited(self, step: Step, spec: StepSpec, env: dict[str, str]) -> int:
        """Run a step's script under its own time limit, if it has one."""
        script = self._script(step, spec, env)
        if not spec.timeout_minutes:
            return await script
        minutes = float(interpolate(spec.timeout_minutes, self._scope(env)))
        task = asyncio.ensure_future(script)
        pause = asyncio.create_task(self._clock.sleep(minutes * 60))
        await asyncio.wait({task, pause}, return_when=asyncio.FIRST_COMPLETED)
        pause.cancel()
        if task.done():
            return task.result()
        self._log.error(f"The action '{step.name}' has timed out after {minutes:g} minutes.")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return 1

    async def _script(self, step: Step, spec: StepSpec, env: dict[str, str]) -> int:
        scope = self._scope(env)
        script = interpolate(spec.run, scope)
        files = StepFiles(self.temp, step.number)
        path = self.temp / f"step_{step.number}.sh"
        path.write_text(script)
        argv = [*SHELLS[spec.shell], str(path)]
        shown = [f"\x1b[36;1m{line}\x1b[0m" for line in script.splitlines()]
        shown.append(f"shell: {' '.join(SHELLS[spec.shell])} {{0}}")
        shown += ["env:", *(f"  {key}: {value}" for key, value in env.items())] if env else []
        self._log.group(f"Run {script.strip().splitlines()[0] if script.strip() else ''}", shown)
        folder = (self.workspace / interpolate(spec.folder or ".", scope)).resolve()
        if not folder.is_dir():
            self._log.error(f"No such file or directory: {folder}")
            return 1
        command = Command(argv, folder, self._environment(env) | files.prepare())
        stopping = self._stopping()
        code = await execute(command, self._log.output, stopping=stopping, owned=self._owned)
        self._exported |= files.pairs("GITHUB_ENV")
        self._paths += files.lines("GITHUB_PATH")
        outputs = files.pairs("GITHUB_OUTPUT")
        self._steps[spec.id or f"__{step.number}"] = {"outputs": outputs}
        return code

    def _stopping(self) -> Stopping:
        """Return how this step stops. One that starts after a cancel is stopped by force alone."""
        whole = self._work.stopping
        if not whole.asked.is_set():
            return whole
        return Stopping(whole.clock, whole.term_s, whole.kill_s, asyncio.Event(), whole.forced)

    def _environment(self, env: dict[str, str]) -> dict[str, str]:
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
        base = inherited | {"HOME": str(self._work.folder / "home")} | self._work.variables
        base |= {"RUNNER_TEMP": str(self.temp), "GITHUB_WORKSPACE": str(self.workspace)}
        base |= {"RUNNER_NAME": self._job.runner_name or "", "RUNNER_OS": "Linux"}
        base |= {"RUNNER_ARCH": "X64", "RUNNER_ENVIRONMENT": "self-hosted"}
        merged = base | env
        merged["PATH"] = ":".join([*reversed(self._paths), merged.get("PATH", "/usr/bin:/bin")])
        return merged

    async def _use(self, spec: StepSpec, env: dict[str, str]) -> str:
        scope = self._scope(env)
        arguments = {key: interpolate(value, scope) for key, value in spec.arguments.items()}
        shown = ["with:", *(f"  {key}: {value}" for key, value in arguments.items())]
        self._log.group(f"Run {spec.uses}", shown)
        if str(spec.uses).startswith("actions/upload-artifact@"):
            self._log.write("##[warning]actions/upload-artifact does nothing in the simulation")
            return "success"
        checkout = Checkout(self._work.state, self._job.run, self.workspace, arguments)
        fine = await checkout.perform(self._log, self._stopping(), self._owned)
        return "success" if fine else "failure"

    def _collect_outputs(self) -> None:
        try:
            for key, value in self._work.spec.outputs.items():
                self._job.outputs[key] = interpolate(value, self._scope())
        except ExpressionError as error:
            self._log.error(str(error))
            self._status = "failure"


def _title(spec: StepSpec) -> str:
    first = (spec.run or "").strip().splitlines()[:1] or [spec.uses or ""]
    return f"Run {first[0]}"
