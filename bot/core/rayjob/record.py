"""Parse the submitter's record of one RayJob."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.core.model.repos import Repo
from bot.core.rayjob.words import FinalStatus, RayJobId

# KubeRay does nothing more for a job in one of these states of `job_deployment_status`.
_DEPLOYMENT_ENDED = frozenset({"Complete", "Failed", "ValidationFailed"})
# The known final words. Others are stages ("PENDING"), unless the record has an end.
_ENDED_WORDS = frozenset(FinalStatus) - {FinalStatus.OTHER}


@dataclass(frozen=True, slots=True)
class NotOffered:
    """The submitter does not have this call (it answered 404, 405 or 501)."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The submitter has the call but does not know the job; the RayJob itself may still exist."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class RayJobRecord:
    """The submitter's record of one RayJob; every field except the id may be empty or `None`.

    `repository_id` is the number of the repository whose workflow has proven itself. Without it the
    record is as good as the word of who submitted: anybody with the submitter's token.
    """

    job_id: RayJobId
    status: str = ""
    message: str = ""
    rayjob_status: str = ""
    job_deployment_status: str = ""
    github_run_id: int | None = None
    github_run_attempt: int | None = None
    commit_sha: str = ""
    repository: str = ""
    repository_id: int | None = None
    created_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def final(self) -> FinalStatus | None:
        """Return how the job ended; `None` if it still runs or the record does not say.

        The submitter's own `status` comes first. KubeRay's words count only if it is empty.
        """
        if self.status in _ENDED_WORDS:
            return FinalStatus.of(self.status)
        if self.status:
            return FinalStatus.OTHER if self.ended_at else None
        if self.job_deployment_status not in _DEPLOYMENT_ENDED:
            return None
        if self.job_deployment_status != "Complete":
            return FinalStatus.FAILED
        return FinalStatus.of(self.rayjob_status)

    @property
    def is_proven(self) -> bool:
        """Return True if the submitter knows whose job it is by more than its body."""
        return self.repository_id is not None

    def is_of(self, repo: Repo) -> bool:
        """Return True if the record names this repository, by its number if that is proven.

        A record without a repository is that of a submitter that keeps none.
        """
        if self.repository_id is not None:
            return self.repository_id == repo.id
        return self.repository.casefold() in {"", repo.full_name.casefold()}

    def belongs_to(self, repo: Repo, actions_run_id: int, actions_attempt: int) -> bool:
        """Return True if the record names this Actions run attempt of this repository.

        Return `False` if the record names none: an unconfirmed job cannot make a run green.
        """
        named = self.github_run_id, self.github_run_attempt
        return self.is_of(repo) and named == (actions_run_id, actions_attempt)


def parse_record(data: object, job_id: str = "") -> RayJobRecord | None:
    """Read a decoded JSON value as a record; `None` if it is not an object or names no job.

    `job_id` is the requested id, for an answer without one.
    """
    if not isinstance(data, Mapping):
        return None
    named = _text(data.get("job_id")) or job_id
    if not named:
        return None
    return RayJobRecord(
        job_id=RayJobId(named),
        status=_text(data.get("status")),
        message=_text(data.get("message")),
        rayjob_status=_text(data.get("rayjob_status")),
        job_deployment_status=_text(data.get("job_deployment_status")),
        github_run_id=_number(data.get("github_run_id")),
        github_run_attempt=_number(data.get("github_run_attempt")),
        commit_sha=_text(data.get("commit_sha")),
        repository=_text(data.get("repository")),
        repository_id=_number(data.get("repository_id")),
        created_at=parse_time(data.get("created_at")),
        ended_at=parse_time(data.get("ended_at")),
    )


def parse_records(data: object) -> tuple[RayJobRecord, ...] | None:
    """Read `{"jobs": [...]}`; skip entries that name no job; `None` if it is not a list."""
    jobs = data.get("jobs") if isinstance(data, Mapping) else None
    if not isinstance(jobs, list):
        return None
    parsed = (parse_record(job) for job in jobs)
    return tuple(record for record in parsed if record is not None)


def parse_time(value: object) -> datetime | None:
    """Read an RFC 3339 time as aware UTC; `None` if it is invalid or has no offset."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value.strip())
        return time.astimezone(UTC) if time.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    """Read an id sent as a number or, as the submit call does, as a string of digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    # 20 digits hold every 64-bit number. A longer string is not an id.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        return int(value)
    return None
