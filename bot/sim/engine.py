"""Executes workflow runs, each in a task: the order of jobs, runners, concurrency, cancelling."""

import asyncio
import json
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.sim import matrix
from bot.sim.checks import Checks
from bot.sim.expressions import ExpressionError, Scope, condition, evaluate, interpolate
from bot.sim.model import Job, Run, State
from bot.sim.process import JobLog, Stopping
from bot.sim.runner import JobRunner, Work
from bot.sim.runners import Groups, Runner, Runners
from bot.sim.shapes import pull_json, repo_json, run_context, run_json
from bot.sim.webhooks import Webhooks
from bot.sim.workflow import JobSpec, WorkflowFile, parse

WORST = ("failure", "timed_out", "cancelled", "success")


class Progress:
    """The one place that changes the status of runs and jobs."""

    def __init__(self, state: State, hooks: Webhooks, checks: Checks) -> None:
        self._state = state
        self._hooks = hooks
        self._checks = checks

    def note(self, run: Run) -> None:
        """Remember the run as it is now, for the lists that lag."""
        run.updated_at = self._state.clock.now()
        run.past.append((run.updated_at, run_json(self._state, run)))

    def requested(self, run: Run) -> None:
        """Send the event of a new run. GitHub sends none for further attempts."""
        self.note(run)
        self._checks.open_suite(run.suite, still=True, by=run.triggering_actor)
        if run.attempt == 1:
            self._hooks.workflow_run(run, "requested")

    def queued(self, job: Job) -> None:
        """Send the event of a job that waits for a runner, and make its check run."""
        self._hooks.workflow_job(job, "queued")
        self._open_check(job)

    def _open_check(self, job: Job) -> None:
        body = {"name": job.name, "details_url": f"{self._page(job)}/job/{job.id}"}
        job.check = self._checks.open_in(job.run.suite, body, job.run.triggering_actor)

    def _page(self, job: Job) -> str:
        run = job.run
        return f"{self._state.url}/{run.repo.full_name}/actions/runs/{run.id}"

    def started(self, job: Job, runner_id: int, runner_name: str) -> None:
        """Give a job its runner. The first one starts the run."""
        job.runner_id, job.runner_name = runner_id, runner_name
        job.status, job.started_at = "in_progress", self._state.clock.now()
        if job.run.status == "queued":
            job.run.status = "in_progress"
            self.note(job.run)
            self._hooks.workflow_run(job.run, "in_progress")
        self._hooks.workflow_job(job, "in_progress")
        if job.check is not None:
            by = job.run.triggering_actor
            self._checks.update(job.check, {"status": "in_progress"}, by)

    def skipped(self, job: Job) -> None:
        """End a job that never waited for a runner: GitHub tells of it once."""
        self._open_check(job)
        self.finished(job, "skipped")

    def finished(self, job: Job, conclusion: str) -> None:
        """End a job."""
        now = self._state.clock.now()
        job.status, job.conclusion, job.completed_at = "completed", conclusion, now
        job.started_at = job.started_at or now
        self._hooks.workflow_job(job, "completed")
        if job.check is not None:
            body = {"status": "completed", "conclusion": conclusion}
            self._checks.update(job.check, body, job.run.triggering_actor)

    def ended(self, run: Run, conclusion: str | None = None) -> None:
        """End a run. Without a conclusion the worst one of its jobs counts."""
        found = {job.conclusion for job in run.latest()}
        worst = next((one for one in WORST if one in found), "skipped")
        run.status, run.conclusion = "completed", conclusion or worst
        self.note(run)
        self._checks.open_suite(run.suite, still=False, by=run.triggering_actor)
        self._hooks.workflow_run(run, "completed")


@dataclass(slots=True)
class RunnerOptions:
    """How steps are stopped (in seconds), and what the runner's machine adds to the environment."""

    term_s: float = 7.5
    kill_s: float = 2.5
    env: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Live:
    """A run that is executing."""

    task: asyncio.Task[None]
    stopping: Stopping


class Engine:
    """Executes runs on the registered runners."""

    def __init__(self, state: State, progress: Progress, options: RunnerOptions) -> None:
        self._state = state
        self._progress = progress
        self.options = options
        self.runners = Runners(state)
        self._groups = Groups()
        self._live: dict[int, Live] = {}

    def launch(self, run: Run) -> None:
        """Start executing the run's current attempt."""
        options = self.options
        stopping = Stopping(self._state.clock, options.term_s, options.kill_s)
        task = asyncio.get_running_loop().create_task(self._run(run, stopping))
        self._live[run.id] = Live(task, stopping)

    def cancel(self, run: Run) -> None:
        """Ask a run to stop. A forced one is killed."""
        live = self._live.get(run.id)
        if live is not None:
            live.stopping.asked.set()
            if run.forced:
                live.stopping.forced.set()

    async def wait(self, run: Run) -> None:
        """Return when the run's current attempt is over."""
        while run.status != "completed" and run.id in self._live:
            task = self._live[run.id].task
            await asyncio.wait({task})
            if not task.cancelled():
                task.result()  # an error of the simulation itself must be seen
            if self._live[run.id].task is task:
                return

    async def close(self) -> None:
        """Kill every run and wait for its end."""
        tasks = [live.task for live in self._live.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def contexts(self, run: Run) -> dict[str, Any]:
        """Return the contexts every expression of a run may use."""
        repo = run.repo
        event: dict[str, Any] = {"repository": repo_json(self._state, repo)}
        event["inputs"] = {key: _plain(value) for key, value in run.inputs.items()}
        event |= run.fields
        if run.pull is not None:
            event["pull_request"] = pull_json(self._state, run.pull)
            event["number"] = run.pull.number
        shared = run_context(run)
        github = {
            **shared,
            "run_attempt": str(run.attempt),
            "ref_name": shared["ref"].removeprefix("refs/heads/").removeprefix("refs/"),
            "actor": run.actor.login,
            "triggering_actor": run.triggering_actor.login,
            "server_url": self._state.url,
            "api_url": self._state.url,
            "token": f"ghs_job_{run.id}",
            "event": event,
        }
        return {
            "github": github,
            "inputs": run.inputs,
            "vars": repo.vars,
            "secrets": repo.secrets | {"GITHUB_TOKEN": github["token"]},
            "needs": {},
            "env": {},
        }

    def job_name(self, run: Run, spec: JobSpec) -> tuple[str, list[str]]:
        """Return a job's name and labels. A bad expression stays as written, for the log."""
        scope = Scope(self.contexts(run))
        try:
            return interpolate(spec.name, scope), _labels(spec.labels, scope)
        except ExpressionError as error:
            spec.problems.append(f"job {spec.key}: {error}")
            return spec.name, []

    def job_names(self, run: Run, spec: JobSpec) -> list[tuple[str, list[str]]]:
        """Return the names and labels of all jobs that a scripted run makes of one."""
        if spec.strategy is None and spec.uses is None:
            return [self.job_name(run, spec)]
        made = list(matrix.names(spec.name, spec.strategy, self.contexts(run)))
        if spec.uses is not None:
            return [(f"{name} / run", []) for name, _ in made]
        return [(name, _labels(spec.labels, scope)) for name, scope in made]

    def wants(self, job: Job, spec: JobSpec, *, cancelled: bool = False) -> bool:
        """Return True if the job's `if` lets it run, after the jobs that it needs."""
        contexts = self._job_contexts(job, spec)
        is_fine = all(need["result"] == "success" for need in contexts["needs"].values())
        status = "cancelled" if cancelled else "success" if is_fine else "failure"
        return condition(spec.condition, Scope(contexts, status))

    async def _run(self, run: Run, stopping: Stopping) -> None:
        file = parse(run.source)
        name, displace = self._group_of(run, file)
        try:
            if name and not await self._enter(run, name, displace=displace, stopping=stopping):
                run.cancelled = True
                stopping.asked.set()
            await self._jobs(run, file, stopping)
        finally:
            if name:
                self._groups.leave(run, name)
        self._progress.ended(run)

    def _group_of(self, run: Run, file: WorkflowFile) -> tuple[str, bool]:
        raw = file.concurrency
        if raw is None:
            return "", False
        spec = raw if isinstance(raw, dict) else {"group": raw}
        scope = Scope(self.contexts(run))
        try:
            displace = interpolate(spec.get("cancel-in-progress", False), scope) == "true"
            return interpolate(spec.get("group", ""), scope), displace
        except ExpressionError as error:
            file.problems.append(f"concurrency: {error}")
            return "", False

    async def _enter(self, run: Run, name: str, *, displace: bool, stopping: Stopping) -> bool:
        def cancel(other: Run) -> None:
            other.cancelled = True
            self.cancel(other)

        entering = self._groups.enter(run, name, displace=displace, cancel=cancel)
        return await _unless_stopped(entering, stopping) is True

    async def _jobs(self, run: Run, file: WorkflowFile, stopping: Stopping) -> None:
        jobs = run.of_attempt(run.attempt)
        done = {job.key: asyncio.Event() for job in jobs}
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(self._job(job, file, done, stopping))

    async def _job(
        self, job: Job, file: WorkflowFile, done: dict[str, asyncio.Event], stopping: Stopping
    ) -> None:
        spec = file.jobs.get(job.key)
        try:
            if spec is None or file.problems:
                self._refuse(job, file.problems)
                return
            self.job_name(job.run, spec)
            for need in spec.needs:
                if need in done:
                    await done[need].wait()
            if job.check is None:
                self._progress.queued(job)
            await self._execute(job, file, stopping)
        finally:
            done[job.key].set()

    def _refuse(self, job: Job, problems: list[str]) -> None:
        """Fail a job that the simulation cannot run, with the reason in its log."""
        if job.check is None:
            self._progress.queued(job)
        log = JobLog(self._state.clock, job.log, [])
        for problem in problems:
            log.error(problem)
        log.error("This workflow uses what the simulation does not know; nothing was run.")
        self._progress.finished(job, "failure")

    async def _execute(self, job: Job, file: WorkflowFile, stopping: Stopping) -> None:
        spec = file.jobs[job.key]
        problems = list(spec.problems)
        try:
            wanted = self.wants(job, spec, cancelled=stopping.asked.is_set())
        except ExpressionError as error:
            problems.append(f"job {job.key}: {error}")
            wanted = True
        if problems:
            self._refuse(job, problems)
        elif not wanted or stopping.forced.is_set():
            self._progress.finished(job, "cancelled" if stopping.asked.is_set() else "skipped")
        else:
            await self._on_runner(job, file, stopping)

    async def _on_runner(self, job: Job, file: WorkflowFile, stopping: Stopping) -> None:
        waiting = self.runners.acquire(job.labels)
        runner = await (waiting if stopping.asked.is_set() else _unless_stopped(waiting, stopping))
        if runner is None:
            JobLog(self._state.clock, job.log, []).error("The operation was canceled.")
            self._progress.finished(job, "cancelled")
            return
        assert isinstance(runner, Runner)
        try:
            self._progress.started(job, runner.id, runner.name)
            work = self._work(job, file, stopping)
            conclusion = await JobRunner(work).run()
        finally:
            job.oidc_secret = None
            self.runners.release(runner)
        self._progress.finished(job, conclusion)

    def _job_contexts(self, job: Job, spec: JobSpec) -> dict[str, Any]:
        latest = {one.key: one for one in job.run.latest()}
        needs = {
            key: {"result": latest[key].conclusion or "skipped", "outputs": latest[key].outputs}
            for key in spec.needs
            if key in latest
        }
        contexts = self.contexts(job.run)
        contexts["github"]["job"] = job.key
        return contexts | {"needs": needs}

    def _work(self, job: Job, file: WorkflowFile, stopping: Stopping) -> Work:
        spec = file.jobs[job.key]
        contexts = self._job_contexts(job, spec)
        folder = self._state.folder / "jobs" / str(job.id)
        folder.mkdir(parents=True, exist_ok=True)
        github = contexts["github"]
        (folder / "event.json").write_text(json.dumps(github["event"]))
        variables = {
            f"GITHUB_{key.upper()}": str(value)
            for key, value in github.items()
            if key not in {"event", "token"}
        }
        variables |= {"CI": "true", "GITHUB_ACTIONS": "true"} | self.options.env
        variables["GITHUB_EVENT_PATH"] = str(folder / "event.json")
        if _may_sign(spec.permissions if spec.permissions is not None else file.permissions):
            job.oidc_secret = secrets.token_hex(16)
            variables["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = job.oidc_secret
            url = f"{self._state.url}/_oidc/token/{job.id}?api-version=2.0"
            variables["ACTIONS_ID_TOKEN_REQUEST_URL"] = url
        return Work(
            state=self._state,
            job=job,
            spec=spec,
            contexts=contexts,
            env=file.env,
            variables=variables,
            folder=Path(folder),
            stopping=stopping,
            secrets=[*job.run.repo.secrets.values(), github["token"], job.oidc_secret or ""],
        )


def _may_sign(permissions: Any) -> bool:
    if isinstance(permissions, dict):
        return bool(permissions.get("id-token") == "write")
    return bool(permissions == "write-all")


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _labels(raw: Any, scope: Scope) -> list[str]:
    if isinstance(raw, list):
        return [interpolate(label, scope) for label in raw]
    text = str(raw or "").strip()
    if text.startswith("${{") and text.endswith("}}") and text.count("${{") == 1:
        value = evaluate(text[3:-2], scope)
        return [str(one) for one in value] if isinstance(value, list) else [str(value)]
    return [interpolate(text, scope)]


async def _unless_stopped(waiting: Coroutine[Any, Any, Any], stopping: Stopping) -> Any:
    """Await something. Return `None` as soon as a stop is asked for."""
    task = asyncio.create_task(waiting)
    asked = asyncio.create_task(stopping.asked.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in (task, asked):
            one.cancel()
        await asyncio.gather(task, asked, return_exceptions=True)
