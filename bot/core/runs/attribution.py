"""Of which pull requests a native run is: GitHub runs the workflow as it is after a merge.

It does not say into which base. So a run counts for a base only if it can be of no other one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from bot.core.messages import Message
from bot.core.model.pulls import Pull, PullAt
from bot.core.model.runs import Run
from bot.core.model.workflow_runs import WorkflowRun

# GitHub starts a run seconds after the change that it is of, or minutes later under load.
STARTS_WITHIN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Attribution:
    """What can be told of an Actions run that GitHub started by itself."""

    pulls: tuple[Pull, ...] = ()  # open with its commit as their head, and surely its own
    bases: frozenset[str] = frozenset()  # into which it may merge; "": into an earlier one of them
    doubted: tuple[Pull, ...] = ()  # it is of one of these, and of which can't be told
    quiet: tuple[int, ...] = ()  # pull requests that it is not of, as nothing happened to them

    @property
    def why(self) -> Message:
        """Return for people why a run follows nobody."""
        if len(self.doubted) == 1:
            return Message("run_older")
        named = tuple(
            Message("run_unclear_pull", number=pull.number, base=pull.base_ref)
            for pull in self.doubted
        )
        return Message("run_unclear", pulls=named)


def attribute(seen: WorkflowRun, known: Iterable[PullAt]) -> Attribution:
    """Return of which pull requests an Actions run is; ``known`` have or had its commit."""
    known = tuple(known)
    if seen.event == "push":  # of the commit as it is, whatever the base
        here = (item.pull for item in known if _is_here(seen, item.pull))
        return Attribution(tuple(pull for pull in here if _is_from(seen, pull)))
    possible = [item for item in known if _may_be_of(seen, item)]
    quiet: tuple[int, ...] = ()
    if len(_bases(seen, possible)) > 1:
        active = [item for item in possible if not _is_quiet(seen, item)]
        if active:
            quiet = tuple(item.pull.number for item in possible if item not in active)
            possible = active
    bases, pulls = _bases(seen, possible), tuple(item.pull for item in possible)
    if len(bases) > 1 or "" in bases:
        return Attribution(bases=bases, doubted=pulls, quiet=quiet)
    own = tuple(
        pull
        for pull in pulls
        if _is_here(seen, pull) and (not seen.pulls or pull.number in seen.pulls)
    )
    return Attribution(own, bases, quiet=quiet)


def is_mistaken(run: Run, found: Attribution) -> bool:
    """Return True if a run does not surely follow an Actions run of its own base."""
    return bool(found.bases) and found.bases != {run.snapshot.ref}


def _bases(seen: WorkflowRun, possible: Iterable[PullAt]) -> frozenset[str]:
    return frozenset("" if _is_older(seen, item.pull) else item.pull.base_ref for item in possible)


def _may_be_of(seen: WorkflowRun, item: PullAt) -> bool:
    """Return True if GitHub may have started a run for a pull request."""
    pull = item.pull
    if not _is_from(seen, pull):
        return False
    if seen.head_branch and pull.head_ref and seen.head_branch != pull.head_ref:
        return False
    if seen.created_at is None:
        return True
    if item.since and seen.created_at < item.since:
        return False
    if _is_here(seen, pull):
        return True
    # It has left the commit. Had it done so before the run began, it would be unchanged since.
    return not (pull.updated_at and pull.updated_at < seen.created_at)


def _is_here(seen: WorkflowRun, pull: Pull) -> bool:
    return pull.open and pull.head_sha == seen.head_sha


def _is_from(seen: WorkflowRun, pull: Pull) -> bool:
    """Return True if the head of a pull request may be in the repository of the run's commit."""
    return seen.head_repo_id is None or pull.head_repo_id in {None, seen.head_repo_id}


def _is_older(seen: WorkflowRun, pull: Pull) -> bool:
    return bool(pull.based_at and seen.created_at and seen.created_at <= pull.based_at)


def _is_quiet(seen: WorkflowRun, item: PullAt) -> bool:
    """Return True if nothing happened to a pull request that could start the run.

    What was quiet when the run began stays so, whatever happens to it later.
    """
    changed = item.pull.updated_at
    if not (changed and seen.created_at):
        return False
    if seen.created_at - changed > STARTS_WITHIN:
        return item.asked or item.was_quiet
    return item.was_quiet and changed > seen.created_at
