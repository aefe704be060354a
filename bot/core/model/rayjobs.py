"""A RayJob of a run, as its follower sees it."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.ids import Json, RunId


@dataclass(frozen=True, slots=True)
class RayJob:
    """A RayJob of a run as its follower sees it."""

    job_id: str
    run_id: RunId
    seen: str  # "announcement" | "workflow" | "log"
    confirmed: bool  # the submitter's record names our Actions run and attempt
    status: str = ""  # last status event, e.g. "RUNNING"
    deployment: str = ""  # KubeRay's job_deployment_status
    message: str = ""
    final: str | None = None  # "SUCCEEDED" | "FAILED" | "TIMEOUT" | "NOT_FOUND" | "STOPPED"
    final_from: str = ""  # "watch" | "state"
    silent_since: datetime | None = None  # the submitter has not answered since
    last_line_at: datetime | None = None
    lines: int = 0
    progress: Json | None = None  # core.digest Progress
    digest: Json | None = None  # core.digest Digest, at the end or so far
    resume: Json | None = None  # core.rayjob Resume
    log_bytes: int = 0  # of the log file that the resume state covers
    complete: bool = False  # nothing more to read
