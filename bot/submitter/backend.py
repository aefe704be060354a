"""The interface of a backend, and the limits of the service."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.submitter.request import JobRequest


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one service; anything beyond is refused or shortened, with a message."""

    live_jobs: int = 256
    watches: int = 1000
    watches_a_job: int = 100
    line_bytes: int = 8 * 1024 * 1024
    log_bytes: int = 4 * 1024**3
    grace_s: float = 3.0  # a cancelled Actions step lives 7.5 s, and the DELETE must answer sooner
    keep_days: float = 14.0
    free_bytes: int = 64 * 1024 * 1024  # with less space the log of a new job would be lost


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job in the words of Ray and KubeRay; `ended_at` is `None` before its end."""

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
    """Runs jobs, keeps their events, and survives a restart of the service."""

    name: str

    async def start(self) -> None:
        """Find the jobs of the previous process."""

    async def close(self, *, stop_jobs: bool) -> None:
        """End open watches; the jobs continue unless `stop_jobs`."""

    async def problem(self) -> str | None:
        """Return why new jobs can't run at present; `None` if they can."""

    async def submit(self, request: JobRequest, key: str | None) -> tuple[str, bool]:
        """Start a job; return its id, and whether it is new (`False`: the key was known).

        Raise `RefusedError`: 422 if the key belongs to another request, 429 if the service is full,
        503 if the job can't be stored.
        """

    async def state(self, job_id: str) -> JobView | None:
        """Return a job with its state; `None` if it is unknown."""

    async def jobs_of(self, run_id: str, attempt: str | None) -> list[JobView]:
        """Return the jobs of an Actions run, of all its attempts if `attempt` is `None`."""

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Stop jobs and wait for their end; return the ids that are still alive."""

    def events(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Yield pieces of NDJSON after a sequence number until `final`.

        An empty piece means that nothing happened for a while. A piece may end inside a line. The
        stream ends early when the service closes. Raise `RefusedError` (429) if too many watch.
        """
