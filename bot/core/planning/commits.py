"""Runs on commits that are of no pull request: a merge group's, a push's, a night's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.messages import Message, quote
from bot.core.model.ids import RepoId, Sha
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.snapshot import Snapshot
from bot.core.planning.attempts import (
    AttemptMaker,
    AttemptRequest,
    Claim,
    PolicyAt,
    freeze,
    next_attempt,
)
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.policy import Policy, Trigger
from bot.core.policy.selection import ChangedFile, Selection, select

SOURCES = ("group:", "push:", "nightly:")
"""How the wants of such commits begin."""

UNLISTED = Message("selected_unlisted")

# What force-pushing back to a commit finds again; everything else is run anew.
_COUNTS_AGAIN = {Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMED_OUT}

RunsAgain = Callable[[Run, Snapshot], bool]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on which suites run, by which policy and for whom."""

    repo_id: RepoId
    sha: Sha
    at: PolicyAt
    source: str  # the claimant's
    rank: Rank
    origin: Message  # "the merge group of #12"
    files: tuple[ChangedFile, ...] = ()
    number: int | None = None  # the pull request of which it is the head
    not_before: datetime | None = None  # nothing that the bot starts begins sooner

    def freeze(self, suite: str, reason: Message) -> Snapshot:
        """Return the suite as it is now."""
        return freeze(self.at, suite, self.files, reason)

    def request(self, suite: str, reason: Message, before: Run | None) -> AttemptRequest:
        """Ask for a suite here; ``before`` is its latest attempt."""
        frozen = self.freeze(suite, reason)
        return AttemptRequest(
            repo_id=self.repo_id,
            sha=self.sha,
            number=self.number,
            snapshot=frozen,
            origin=self.origin,
            claims=(Claim(self.source, rank=self.rank),),
            before=before,
            not_before=None if frozen.native else self.not_before,
        )


def select_unlisted(policy: Policy, trigger: Trigger) -> Selection:
    """Return what a change selects whose files a comparison does not list: any may have changed."""
    found = select(policy, (), truncated=True, trigger=trigger)
    named = tuple(
        replace(choice, reason=UNLISTED)
        if choice.selected and policy.suites[choice.suite].paths
        else choice
        for choice in found.choices
    )
    return replace(found, choices=named)


def latest(runs: Iterable[RunClaimants]) -> dict[str, Run]:
    """Return each suite's latest attempt."""
    return {item.run.suite: item.run for item in sorted(runs, key=lambda item: item.run.attempt)}


def start(
    commit: Commit,
    reasons: dict[str, Message],
    runs: Iterable[RunClaimants],
    runs_again: RunsAgain,
    maker: AttemptMaker,
) -> Plan:
    """Start suites at a commit, or join their open attempts.

    ``reasons`` has each suite with the reason for it, ``runs`` are all attempts at the commit, and
    ``runs_again`` decides about a suite whose latest attempt has ended.
    """
    before = latest(runs)
    requests = [commit.request(name, why, before.get(name)) for name, why in reasons.items()]
    return maker.make_or_join(requests, runs_again)


def runs_again(run: Run, frozen: Snapshot, *, fresh: bool) -> bool:
    """Tell whether an ended attempt does not count; ``fresh``: its commit came (back) just now."""
    if run.outcome is Outcome.SUPERSEDED:
        return True
    if not fresh:
        return False
    return run.outcome not in _COUNTS_AGAIN or run.snapshot.work != frozen.work


def drop_source(
    runs: Iterable[RunClaimants], source: str, why: Message
) -> tuple[DropClaimant, ...]:
    """Return the drops of one want, of open runs and of ended ones."""
    return tuple(
        DropClaimant(item.run.id, source, why)
        for item in runs
        if any(claimant.source == source for claimant in item.claimants)
    )


@dataclass(frozen=True, slots=True)
class RerunCandidate:
    """The latest attempt of a suite that somebody may have run again, and for whom it ran."""

    run: Run
    claimants: tuple[Claimant, ...]


def rerun_candidates(runs: tuple[RunClaimants, ...], *, group: bool) -> dict[str, RerunCandidate]:
    """Return each suite's latest attempt for a push, a night, or a ``group`` that still waits."""
    kinds = tuple(kind for kind in SOURCES if group or kind != "group:")
    found: dict[str, RerunCandidate] = {}
    for item in sorted(runs, key=lambda item: item.run.attempt):
        claimants = tuple(
            claimant for claimant in item.claimants if claimant.source.startswith(kinds)
        )
        if claimants:
            found[item.run.suite] = RerunCandidate(item.run, claimants)
    return found


def rerun_request(candidate: RerunCandidate, who: str) -> AttemptRequest:
    """Ask for the next attempt, for the same claimants, because a person wants it."""
    before = candidate.run
    claims = tuple(claim_again(claimant, who) for claimant in candidate.claimants)
    return replace(next_attempt(before, quote(who)), claims=claims, continues=before)


def claim_again(claimant: Claimant, who: str) -> Claim:
    """Return the claim of the same claimant to an attempt that a person asked for."""
    return Claim(claimant.source, auto=False, by=who, rank=Rank(min(claimant.rank, Rank.APPROVED)))


def suites_to_rerun(known: dict[str, RerunCandidate], clicked: Run | None) -> list[str]:
    """Return what a click asks for: its suite, or (None) all that ended and did not pass."""
    ended = [name for name, item in known.items() if item.run.state is State.DONE]
    if clicked is not None:
        return [name for name in ended if name == clicked.suite]
    return [name for name in ended if known[name].run.outcome is not Outcome.SUCCESS]
