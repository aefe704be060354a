"""The changes of workflow runs and jobs, with the events that they send."""

from __future__ import annotations

from bot.sim.checks import Checks
from bot.sim.model import Job, Run, State
from bot.sim.shapes import run_json
from bot.sim.webhooks import Webhooks

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
