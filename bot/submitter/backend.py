"""A job as the API shows it, and the limits of the service."""

from dataclasses import asdict, dataclass
from typing import Any

from bot.submitter.request import JobRequest

# The fields of a request that tell its run.
OF_RUN = ("repository", "github_run_id", "github_run_attempt", "commit_sha")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one service; anything beyond is refused or shortened, with a message."""

    live_jobs: int = 256
    watches: int = 1000
    watches_a_job: int = 100
    watches_a_peer: int = 300
    line_bytes: int = 8 * 1024 * 1024
    log_bytes: int = 4 * 1024**3
    grace_s: float = 3.0  # a cancelled Actions step lives 7.5 s, and the DELETE must answer sooner
    keep_days: float = 14.0
    free_bytes: int = 64 * 1024 * 1024  # with less space the log of a new job would be lost

    def fullness(self, live: list[int | None], repository_id: int | None) -> str | None:
        """Return why no further job may live; `live` are the repositories of those that do.

        A repository that has proven itself leaves half of the places to others.
        """
        if len(live) >= self.live_jobs:
            return f"{self.live_jobs} jobs are alive already"
        most = max(self.live_jobs // 2, 1)
        if repository_id is not None and live.count(repository_id) >= most:
            return f"{most} jobs of this repository are alive already"
        return None


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
    """A job and its state, as the API shows it; times are RFC 3339 UTC.

    `repository_id` is GitHub's number of the repository that proved itself by its OIDC token.
    `None`: who submitted holds the shared token, and the repository and run are what they say.
    """

    job_id: str
    request: JobRequest
    repository_id: int | None
    created_at: str
    state: JobState

    def as_json(self) -> dict[str, Any]:
        """Return the object that the API answers with."""
        state = asdict(self.state)
        ended_at = state.pop("ended_at")
        return {
            "job_id": self.job_id,
            **state,
            **{name: getattr(self.request, name) for name in OF_RUN},
            "repository_id": self.repository_id,
            "created_at": self.created_at,
            "ended_at": ended_at,
        }
