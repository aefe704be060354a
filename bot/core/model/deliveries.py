"""A stored webhook."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored webhook."""

    guid: str
    event: str
    action: str
    repo_id: int | None
    subject: str  # one at a time per subject: "repo:number", "repo", or "app"
    received_at: datetime
    body: bytes | None  # None: not kept
    tries: int = 0
