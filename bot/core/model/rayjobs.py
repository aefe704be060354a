"""A RayJob of a run, as its follower sees it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

import msgspec

from bot.core.digest.result import Digest, Progress
from bot.core.model.ids import RunId


class ResumeState(msgspec.Struct):
    """What is remembered of a log between watches and processes; all but `half` as hashes."""

    lines: int = 0
    seq: int = 0
    first: list[int] = []
    last: list[int] = []
    other: list[int] = []
    status: int | None = None
    final: int | None = None
    half: str = ""  # of a line; redacted where it is stored

    def with_half(self, half: str) -> Self:
        """Return the same with another half of a line."""
        return msgspec.structs.replace(self, half=half)


@dataclass(frozen=True, slots=True)
class RayJob:
    """A RayJob of a run as its follower sees it."""

    job_id: str
    run_id: RunId
    seen: str  # who named it: "announcement" | "workflow" | "log"
    # The submitter's record names our Actions run and attempt. Without records: its watch told
    # something, and no other run names this id. A new claim on the id takes it back.
    confirmed: bool
    status: str = ""  # last status event, e.g. "RUNNING"
    deployment: str = ""  # KubeRay's job_deployment_status
    message: str = ""
    final: str | None = None  # "SUCCEEDED" | "FAILED" | "TIMEOUT" | "NOT_FOUND" | "STOPPED"
    final_from: str = ""  # "watch" | "state"
    silent_since: datetime | None = None  # the submitter has not answered since
    last_line_at: datetime | None = None
    lines: int = 0
    progress: Progress | None = None
    digest: Digest | None = None  # at the end, or so far
    resume: ResumeState | None = None
    log_bytes: int = 0  # of the log file that the resume state covers
    complete: bool = False  # nothing more to read


def unconfirmed(run_id: RunId, job_id: str, seen: str, *, submitter: bool) -> RayJob:
    """Return the first row of a RayJob that a workflow or a log named.

    The submitter's record has to confirm it. Without a submitter there is nothing to confirm or to
    read, so the row is complete at once and only the Actions log counts.
    """
    if submitter:
        return RayJob(job_id, run_id, seen, confirmed=False)
    return RayJob(
        job_id,
        run_id,
        seen,
        confirmed=True,
        final="UNKNOWN",
        message="no submitter is configured here",
        complete=True,
    )
