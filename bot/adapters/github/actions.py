"""Calls on GitHub Actions: workflow runs, their jobs and their logs."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime

from bot.adapters.github import decode
from bot.adapters.github.api import Api, get, named
from bot.adapters.github.channel import Call, as_is
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun
from bot.ports.errors import LogMissing, Permanent
from bot.ports.github import ActionsJob

RUN = "/repos/{owner}/{repo}/actions/runs/{id}"
SINCE = "?event=workflow_dispatch{&created}&per_page=100"
LOG_RETRY_S = 5.0  # GitHub stores a log some seconds after its job has completed
CONFLICT = 409


class ActionsCalls(Api):
    """The calls on GitHub Actions."""

    async def dispatch(
        self, repo: Repo, workflow: str, ref: str, inputs: dict[str, str]
    ) -> WorkflowRun | None:
        """Start a workflow; None if GitHub does not name the run (204). Never repeated."""
        url = "/repos/{owner}/{repo}/actions/workflows/{workflow}/dispatches"
        # GitHub refuses numbers and booleans, so every input is text.
        body = {"ref": ref, "inputs": {key: str(value) for key, value in inputs.items()}}
        where = named(repo, workflow=workflow)
        call = Call("dispatch", "POST", url, where, body, ordinary=frozenset())
        now = self._clock.now()
        return await self._read(
            repo, call, lambda data: None if data is None else decode.dispatched(data, now)
        )

    async def runs_of_workflow(
        self, repo: Repo, workflow: str, since: datetime
    ) -> tuple[WorkflowRun, ...]:
        """Return dispatched runs of a workflow created since then, newest first."""
        url = "/repos/{owner}/{repo}/actions/workflows/{workflow}/runs" + SINCE
        call = get(repo, "runs_of_workflow", url, workflow=workflow, created=_created(since))
        return await self._list(repo, call, "workflow_runs", decode.actions_run)

    def started_runs(
        self, repo: Repo, event: str, since: datetime, until: datetime | None = None
    ) -> AsyncGenerator[list[WorkflowRun], None]:
        """Yield the repository's runs of an event created in this time, newest first, by pages.

        GitHub shows the newest 1,000.
        """
        url = "/repos/{owner}/{repo}/actions/runs{?event,created}&per_page=100"
        call = get(repo, "started_runs", url, event=event, created=_created(since, until))
        return self._pages(repo, call, "workflow_runs", decode.actions_run)

    async def workflow_states(self, repo: Repo) -> dict[str, str]:
        """Return the state of each workflow that GitHub knows, by its path."""
        call = get(repo, "workflows", "/repos/{owner}/{repo}/actions/workflows?per_page=100")
        return dict(
            await self._list(
                repo, call, "workflows", lambda data: (str(data["path"]), str(data["state"]))
            )
        )

    async def actions_run(self, repo: Repo, run_id: int) -> WorkflowRun:
        """Return a run."""
        return await self._read(repo, get(repo, "actions_run", RUN, id=run_id), decode.actions_run)

    async def actions_attempt(self, repo: Repo, run_id: int, attempt: int) -> WorkflowRun:
        """Return one attempt of a run, also if a newer attempt has begun."""
        url = RUN + "/attempts/{attempt}"
        call = get(repo, "actions_attempt", url, id=run_id, attempt=attempt)
        return await self._read(repo, call, decode.actions_run)

    async def jobs(self, repo: Repo, run_id: int, attempt: int) -> tuple[ActionsJob, ...]:
        """Return the jobs of a run's attempt."""
        url = RUN + "/attempts/{attempt}/jobs?per_page=100"
        call = get(repo, "jobs", url, id=run_id, attempt=attempt)
        return await self._list(repo, call, "jobs", decode.actions_job)

    async def all_jobs(self, repo: Repo, run_id: int) -> tuple[ActionsJob, ...]:
        """Return the jobs of all attempts of a run."""
        call = get(repo, "all_jobs", RUN + "/jobs?filter=all&per_page=100", id=run_id)
        return await self._list(repo, call, "jobs", decode.actions_job)

    async def job_log(self, repo: Repo, job_id: int) -> AsyncGenerator[bytes, None]:
        """Stream the log of a completed job; ``LogMissing`` while it does not exist.

        A log may contain any bytes, not only UTF-8. Close the stream if you leave it early.
        """
        url = "/repos/{owner}/{repo}/actions/jobs/{id}/logs"
        channel = await self._channel(repo)
        try:
            async with aclosing(channel.stream(get(repo, "job_log", url, id=job_id))) as chunks:
                async for chunk in chunks:
                    yield chunk
        except Permanent as exc:
            if exc.status == 404:
                raise LogMissing(str(exc), retry_after_s=LOG_RETRY_S) from exc
            raise

    async def annotations(self, repo: Repo, check_id: int) -> tuple[str, ...]:
        """Return what the annotations of a job's check run say."""
        url = "/repos/{owner}/{repo}/check-runs/{id}/annotations?per_page=100"
        call = get(repo, "annotations", url, id=check_id)
        return await self._list(repo, call, "", lambda data: data.get("message") or "")

    async def cancel(self, repo: Repo, run_id: int) -> bool:
        """Ask GitHub to cancel a run; return False if it can't be cancelled (409)."""
        return await self._stop(repo, "cancel", run_id)

    async def force_cancel(self, repo: Repo, run_id: int) -> bool:
        """Cancel without waiting for always() steps; return False as above."""
        return await self._stop(repo, "force-cancel", run_id)

    async def _stop(self, repo: Repo, how: str, run_id: int) -> bool:
        values = named(repo, id=run_id, how=how)
        call = Call(how.replace("-", "_"), "POST", RUN + "/{how}", values, repeat=True)
        try:
            await self._read(repo, call, as_is)
        except Permanent as exc:
            if exc.status == CONFLICT:
                return False
            raise
        return True

    async def rerun(self, repo: Repo, run_id: int, *, failed_only: bool) -> None:
        """Re-run a finished run, or its failed jobs. Not repeated: it raises ``Lost``."""
        how = "rerun-failed-jobs" if failed_only else "rerun"
        call = Call("rerun", "POST", RUN + "/{how}", named(repo, id=run_id, how=how))
        await self._read(repo, call, as_is)

    async def rerun_job(self, repo: Repo, job_id: int) -> None:
        """Re-run a job of a finished run, and those that need it. Not repeated, as above."""
        url = "/repos/{owner}/{repo}/actions/jobs/{id}/rerun"
        await self._read(repo, Call("rerun_job", "POST", url, named(repo, id=job_id)), as_is)


def _created(since: datetime, until: datetime | None = None) -> str:
    """Return the filter for runs created in this time, in whole seconds."""
    first, *last = (f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for at in (since, until) if at)
    return f"{first}..{last[0]}" if last else f">={first}"
