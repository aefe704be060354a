"""The RayJob submitter as the services need it."""

from collections.abc import AsyncGenerator
from typing import Protocol

from bot.core.rayjob.record import Gone, NotOffered, RayJobRecord
from bot.ports.errors import SubmitterRefused, Transient


class Submitter(Protocol):
    """A client of one submitter. A method may raise `Transient` and `SubmitterRefused`."""

    async def health(self) -> Transient | SubmitterRefused | None:
        """Ask whether this bot can use the submitter: `None`, else why not; never raises."""

    async def job(self, job_id: str) -> RayJobRecord | NotOffered | Gone:
        """Read one job. A record whose status is `NOT_FOUND` is a record."""

    async def of_workflow(
        self, actions_run_id: int, actions_attempt: int
    ) -> tuple[RayJobRecord, ...] | NotOffered:
        """List the jobs of one Actions run attempt."""

    def watch(self, job_id: str, *, after: int = 0) -> AsyncGenerator[bytes, None]:
        """Yield the watch's NDJSON body in chunks of any size until the submitter ends it.

        `after` is the last sequence number seen, 0 for none; a submitter may ignore it. Raises
        `Silent` when nothing came for the read timeout, `Transient` when the connection is lost or
        refused for now, `SubmitterRefused` when the watch is refused. Is never retried by the
        client: `Resume` decides what a new watch's first lines are. Close it
        (`contextlib.aclosing`) when leaving early.
        """

    async def delete_workflow(self, actions_run_id: int, actions_attempt: int) -> None:
        """Stop and remove every RayJob of that attempt; returns when nothing is left."""
