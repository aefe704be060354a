"""What a green end hides: a process of the job ended badly, and nobody looked at its status."""

from collections.abc import Iterable

from bot.core.digest.result import Digest, Found
from bot.core.messages import NOTHING, Message
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run
from bot.core.policy.models import OnHiddenFailure
from bot.core.runs.observed import Observed
from bot.core.runs.verdict import Decided

HIDES = ("died", "died_at", "died_short", "died_unexplained")  # the keys of what a green end hides


def is_looked_for(run: Run) -> bool:
    """Return True if the log of a green end is read for what it hides."""
    return run.snapshot.suite.on_hidden_failure is not OnHiddenFailure.IGNORE


def judge_hidden(
    run: Run, observed: Observed, rayjobs: Iterable[RayJob], green: Decided
) -> Decided:
    """Return the verdict on a green end, now that its logs were read."""
    digests = [job.digest for job in rayjobs if job.digest]
    if observed.log and observed.log.digest:
        digests.append(observed.log.digest)
    why = next((_why(digest) for digest in digests if digest.hidden), NOTHING)
    if not why or not is_looked_for(run):
        return green
    fails = run.snapshot.suite.on_hidden_failure is OnHiddenFailure.FAIL
    return Decided(Outcome.FAILURE if fails else Outcome.SUCCESS, why)


def _why(digest: Digest) -> Message:
    progress = digest.progress
    short = progress is not None and progress.total is not None and progress.step < progress.total
    cause = digest.what if digest.found is Found.CAUSE else ""
    if progress is None or not short:
        return Message("died", cause=cause) if cause else Message("died_unexplained")
    fields = {"step": progress.step, "total": progress.total or 0}
    return Message("died_at", cause=cause, **fields) if cause else Message("died_short", **fields)
