"""GitHub Actions: dispatch, native runs, re-runs, cancels, and runs scripted by a test."""

from typing import Any

from bot.sim.checks import Checks
from bot.sim.clock import log_stamp
from bot.sim.engine import Engine, Progress
from bot.sim.errors import CannotError, GitHubError
from bot.sim.expressions import ExpressionError, Scope, interpolate
from bot.sim.model import Job, Pull, Repo, Run, State, User, Workflow
from bot.sim.runners import Runners
from bot.sim.workflow import Start, Workflows, parse

MAX_ATTEMPTS = 50
_NOT_PASSED = {"failure", "timed_out", "cancelled", "skipped"}
HELD = "action_required"
WORKFLOW_TROUBLE = "workflow"  # this job has the log if the file cannot run at all


class Actions:
    """Workflow runs. `scripted=True`: nothing executes, a test calls `start` and `finish`.

    Then a job's `if` counts only where it needs no other job; the test decides on the rest.
    """

    def __init__(
        self, state: State, checks: Checks, progress: Progress, engine: Engine, *, scripted: bool
    ) -> None:
        self._state = state
        self._checks = checks
        self._progress = progress
        self._engine = engine
        self.scripted = scripted
        self.workflows = Workflows(state)

    @property
    def runners(self) -> Runners:
        """Return the runners."""
        return self._engine.runners

    def runs(self, repo: Repo | None = None) -> list[Run]:
        """Return all runs, oldest first."""
        return [run for run in self._state.runs.values() if repo is None or run.repo is repo]

    def dispatch(self, repo: Repo, key: str, body: dict[str, Any], by: User) -> Run:
        """Start a run as the dispatch call does. Its `head_sha` is the dispatched ref's tip."""
        return self._begin(repo, self.workflows.order(repo, key, body, by))

    def native(
        self, pull: Pull, file: str, *, held: bool = False, event: str = "pull_request"
    ) -> Run:
        """Start a workflow for a pull request as GitHub itself would, on `pull_request` or another.

        A `held` run is of an author who is new here. It is `completed` with `action_required` and
        has no jobs until a person approves it.
        """
        repo = pull.repo
        workflow = self.workflows.find(repo, file)
        target = event == "pull_request_target"  # it runs the workflow as the base has it
        at = pull.base_sha if target else self._source_of(pull, workflow.path)
        source = (repo.git.read(at, workflow.path) or b"").decode("utf-8", "replace")
        ref = f"refs/heads/{pull.base_ref}" if target else f"refs/pull/{pull.number}/merge"
        start = Start(workflow, event, ref, pull.head_sha, source, pull.author, {}, pull)
        return self._begin(repo, start, held=held)

    def _source_of(self, pull: Pull, path: str) -> str:
        """Return the commit that has a file as the merge of base and head has it."""
        git = pull.repo.git
        base = git.tip(pull.repo.branch_ref(pull.base_ref)) or pull.base_sha
        since = git.merge_base(base, pull.head_sha)
        kept = git.read(since, path) == git.read(pull.head_sha, path)
        return base if kept else pull.head_sha

    def approve(self, run: Run) -> None:
        """Approve a held run. The same run begins, in its first attempt."""
        if run.conclusion != HELD:
            raise GitHubError(403, "This run is not from a fork pull request or is not waiting")
        run.status, run.conclusion = "queued", None
        self._attempt(run, None)

    def triggered(
        self,
        file: str,
        event: str,
        by: User,
        *,
        branch: str | None = None,
        fields: dict[str, Any] | None = None,
        repo: Repo | None = None,
    ) -> Run:
        """Start a workflow at a branch's tip as GitHub does on `schedule` or `workflow_run`.

        ``fields`` are of the event: `{"schedule": "0 17 * * *"}`.
        """
        repo = repo or self._state.repo()
        workflow, branch = self.workflows.find(repo, file), branch or repo.default_branch
        sha = repo.git.tip(repo.branch_ref(branch))
        assert sha is not None
        source = (repo.git.read(sha, workflow.path) or b"").decode("utf-8", "replace")
        start = Start(workflow, event, branch, sha, source, by, {}, fields=fields or {})
        return self._begin(repo, start)

    def _begin(self, repo: Repo, start: Start, *, held: bool = False) -> Run:
        state, now = self._state, self._state.clock.now()
        app = state.actions_app
        assert app is not None
        branch = start.pull.head_ref if start.pull else start.ref
        suite = self._checks.suite_for(repo, app, start.sha, branch, fresh=True)
        if start.pull is not None and start.pull.is_fork:
            suite.head_branch = None
        run = Run(
            id=state.new_id(),
            repo=repo,
            workflow=start.workflow,
            event=start.event,
            ref=start.ref,
            head_sha=start.sha,
            actor=start.by,
            triggering_actor=start.by,
            number=1 + sum(1 for one in state.runs.values() if one.workflow is start.workflow),
            title=start.workflow.name,
            suite=suite,
            created_at=now,
            started_at=now,
            updated_at=now,
            source=start.source,
            head_branch=branch,
            inputs=start.inputs,
            pull=start.pull,
            fields=start.fields,
        )
        run.title = self._title(run)
        state.runs[run.id] = run
        if held:
            self._progress.requested(run)
            self._progress.ended(run, HELD)
        else:
            self._attempt(run, None)
        return run

    def _title(self, run: Run) -> str:
        file = parse(run.source)
        if not file.run_name:
            return run.pull.title if run.pull else (file.name or run.workflow.path)
        scope = Scope(self._engine.contexts(run))
        try:
            return interpolate(file.run_name, scope)
        except ExpressionError as error:
            return f"run-name: {error}"

    def _attempt(self, run: Run, keys: set[str] | None) -> None:
        """Make the jobs of an attempt, all of them or those named, and start it."""
        specs = parse(run.source).jobs
        known = [
            (spec.key, *made)
            for spec in specs.values()
            for made in self._engine.job_names(run, spec)
        ]
        for key, name, labels in known or [(WORKFLOW_TROUBLE, WORKFLOW_TROUBLE, [])]:
            if keys is None or key in keys or name in keys:
                now, number = self._state.clock.now(), self._state.new_id()
                run.jobs.append(Job(number, run, run.attempt, key, name, labels, now))
        self._progress.requested(run)
        left_out = []
        for job in run.of_attempt(run.attempt):
            spec = specs.get(job.key)
            if self.scripted and spec and not spec.needs and not self._engine.wants(job, spec):
                left_out.append(job)
            elif not (spec and spec.needs) or self.scripted:
                self._progress.queued(job)
        if not self.scripted:
            self._engine.launch(run)
            return
        for job in left_out:
            self._progress.skipped(job)
        self._end_if_over(run)

    def _end_if_over(self, run: Run) -> None:
        if all(job.status == "completed" for job in run.of_attempt(run.attempt)):
            self._progress.ended(run)

    def rerun_job(self, job: Job, by: User) -> Run:
        """Run one job again, and those that need it; GitHub refuses one of a called workflow."""
        specs = parse(job.run.source).jobs
        if specs[job.key].uses is not None:
            raise GitHubError(403, "This workflow job cannot be re-run")
        keys, found = {job.key}, {job.name}
        while more := {key for key, spec in specs.items() if set(spec.needs) & keys} - keys:
            keys |= more
            found |= more
        return self.rerun(job.run, by, only=found)

    def rerun(
        self, run: Run, by: User, *, failed_only: bool = False, only: set[str] | None = None
    ) -> Run:
        """Run again as the Actions tab and the API do: with the same id, as the next attempt."""
        if run.status != "completed":
            raise GitHubError(403, "The workflow run is already running")
        if run.attempt > MAX_ATTEMPTS:
            raise GitHubError(403, "Unable to retry this workflow run: too many attempts")
        if run.workflow.state != "active":
            raise GitHubError(403, "Unable to retry a run of a disabled workflow")
        keys = self._failed(run) if failed_only else only
        if keys is not None and not keys:
            raise GitHubError(403, "This workflow run has no failed jobs")
        run.attempt += 1
        run.status, run.conclusion = "queued", None
        run.cancelled = run.forced = False
        run.triggering_actor = by
        run.started_at = self._state.clock.now()
        self._attempt(run, keys)
        return run

    def _failed(self, run: Run) -> set[str]:
        first = {job.key for job in run.latest() if job.conclusion not in {"success", "skipped"}}
        specs = parse(run.source).jobs
        while True:  # a job that needs one of these runs again too
            more = {key for key, spec in specs.items() if set(spec.needs) & first} - first
            if not more:
                return first
            first |= more

    def cancel(self, run: Run, *, force: bool = False) -> None:
        """Cancel as the API does: 409 when the run is over."""
        if run.status == "completed":
            raise GitHubError(409, "Cannot cancel a workflow run that is completed.")
        run.cancelled = True
        run.forced = run.forced or force
        if self.scripted:
            for job in run.of_attempt(run.attempt):
                if job.status == "queued":
                    self._progress.finished(job, "cancelled")
            if all(job.status == "completed" for job in run.of_attempt(run.attempt)):
                self._progress.ended(run, "cancelled")
            return
        self._engine.cancel(run)

    def start(self, run: Run, runner: str = "scripted") -> None:
        """Scripted: a runner takes the jobs of the current attempt."""
        self._only_scripted()
        for job in run.of_attempt(run.attempt):
            if job.status == "queued":
                self._progress.started(job, 1, runner)

    def start_job(self, run: Run, name: str) -> Job:
        """Scripted: a runner takes one job of the current attempt."""
        self._only_scripted()
        job = next(job for job in run.of_attempt(run.attempt) if job.name == name)
        self._progress.started(job, 1, "scripted")
        return job

    def finish_job(
        self, run: Run, name: str | Job, conclusion: str = "success", log: str = ""
    ) -> Job:
        """Scripted: end one job; what needs a failed one is skipped, and the last ends the run."""
        self._only_scripted()
        named = (job for job in run.of_attempt(run.attempt) if job.name == name)
        job = name if isinstance(name, Job) else next(named)
        now = log_stamp(self._state.clock.now())
        job.log += [f"{now} {line}" for line in log.splitlines()]
        self._progress.finished(job, conclusion)
        self._skip_what_needs(run)
        self._end_if_over(run)
        return job

    def _skip_what_needs(self, run: Run) -> None:
        """Skip the jobs that wait for one that did not pass, and those that wait for them."""
        specs = parse(run.source).jobs
        while True:
            bad = {job.key for job in run.latest() if job.conclusion in _NOT_PASSED}
            waiting = [
                job
                for job in run.of_attempt(run.attempt)
                if job.status == "queued" and bad & set(specs[job.key].needs)
            ]
            if not waiting:
                return
            for job in waiting:
                self._progress.finished(job, "skipped")

    def finish(
        self,
        run: Run,
        conclusion: str = "success",
        *,
        log: str = "",
        jobs: dict[str, str] | None = None,
    ) -> None:
        """Scripted: end the attempt. `jobs` gives single jobs (by key) another conclusion."""
        self._only_scripted()
        self.start(run)
        now = log_stamp(self._state.clock.now())
        for job in run.of_attempt(run.attempt):
            if job.status != "completed":
                job.log += [f"{now} {line}" for line in log.splitlines()]
                self._progress.finished(job, (jobs or {}).get(job.key, conclusion))
        self._progress.ended(run, conclusion)

    def _only_scripted(self) -> None:
        if not self.scripted:
            raise CannotError("start and finish belong to scripted runs; this one executes")

    def disable(self, workflow: Workflow) -> None:
        """Disable a workflow by hand."""
        workflow.state = "disabled_manually"

    def enable(self, workflow: Workflow) -> None:
        """Enable it again."""
        workflow.state = "active"
