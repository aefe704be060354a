"""What a backend does: `local` runs processes; others hand the job to a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.submitter.request import JobRequest


@dataclass(frozen=True, slots=True)
class JobState:
    """Where a job stands, in the words of Ray and KubeRay; `ended_at` is `None` while it lives."""

    status: str
    message: str
    rayjob_status: str
    job_deployment_status: str
    ended_at: str | None


@dataclass(frozen=True, slots=True)
class JobView:
    """A job and its state, as the API shows it; times are RFC 3339 UTC."""

    job_id: str
    request: JobRequest
    created_at: str
    state: JobState

    def as_json(self) -> dict[str, Any]:
        """Return the object that the API answers with."""
        return {
            "job_id": self.job_id,
            "status": self.state.status,
            "message": self.state.message,
            "rayjob_status": self.state.rayjob_status,
            "job_deployment_status": self.state.job_deployment_status,
            "github_run_id": self.request.github_run_id,
            "github_run_attempt": self.request.github_run_attempt,
            "commit_sha": self.request.commit_sha,
            "created_at": self.created_at,
            "ended_at": self.state.ended_at,
        }


class Backend(Protocol):
    """Runs jobs, keeps their events and survives a restart of the service."""

    name: str

    async def start(self) -> None:
        """Find the jobs of an earlier life again."""
        ...

    async def close(self, *, stop_jobs: bool) -> None:
        """End open watches; the jobs go on unless `stop_jobs`."""
        ...

    async def problem(self) -> str | None:
        """Say why new jobs can't be run at present; `None` when all is well."""
        ...

    async def submit(self, request: JobRequest, key: str | None) -> tuple[str, bool]:
        """Start a job; answers its id and whether it is new (`False`: the key was known).

        Raises `RefusedError`: 422 when the key belongs to another request, 429 when full, 503 when
        it can't be written down.
        """
        ...

    async def state(self, job_id: str) -> JobView | None:
        """Look a job up; `None` when it is unknown."""
        ...

    async def jobs_of(self, run_id: str, attempt: str | None) -> list[JobView]:
        """List the jobs of an Actions run, of all its attempts when `attempt` is `None`."""
        ...

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Stop jobs and wait for their end; answers the ids that still live."""
        ...

    def events(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Yield pieces of NDJSON after a sequence number until `final`.

        An empty piece says that nothing happened for a while. Pieces need not end at a line's end.
        The stream ends early when the service closes. Raises `RefusedError` (429) when
        too many watch.
        """
        ...
