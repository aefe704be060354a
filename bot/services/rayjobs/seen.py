"""A RayJob that somebody named and no record confirms yet."""

from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Run


def unconfirmed(run: Run, job_id: str, seen: str, *, submitter: bool) -> RayJob:
    """Return its first row: the submitter's record, where there is one, has to confirm it.

    ``seen`` says who named it. Without a submitter there is no record to be had, and nothing to
    read: the Actions log is all there will be.
    """
    if submitter:
        return RayJob(job_id, run.id, seen, confirmed=False)
    return RayJob(
        job_id,
        run.id,
        seen,
        confirmed=True,
        final="UNKNOWN",
        message="no submitter is configured here",
        complete=True,
    )
