"""Runs on commits that are of no pull request: a merge group's, a push's, a night's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.snapshot import Snapshot
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.planning.pull_request import PolicyAt, snapshot
from bot.core.policy import Policy, Trigger
from bot.core.policy.selection import ChangedFile, Selection, select

SOURCES = ("group:", "push:", "nightly:")
"""How the wants of such commits begin."""

UNLISTED = "the changed files are too many or not known, so all paths count as touched"

NewId = Callable[[], str]
Anew = Callable[[Run, Snapshot], bool]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on which suites run, by which policy and for whom."""

    repo_id: RepoId
    sha: Sha
    at: PolicyAt
    source: str  # the want
    rank: Rank
    origin: str  # "merge group of #12"
    files: tuple[ChangedFile, ...] = ()

    def freeze(self, suite: str, reason: str) -> Snapshot:
        """Return the suite as it is now; no pull request's limit holds for it."""
        return replace(snapshot(self.at, suite, self.files, reason), per_pull=None)

    def claimant(self, run_id: RunId) -> Claimant:
        """Return the want of this commit."""
        return Claimant(run_id, self.source, rank=self.rank)


@dataclass(frozen=True, slots=True)
class Suites:
    """The suites to run, with the reason for each, and when a finished attempt does not count."""

    reasons: dict[str, str]
    anew: Anew


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
    commit: Commit, suites: Suites, runs: tuple[RunClaimants, ...], now: datetime, new_id: NewId
) -> Plan:
    """Return the new runs, and the open ones to join; ``runs`` are all attempts at the commit."""
    before = latest(runs)
    new_runs: list[tuple[Run, tuple[Claimant, ...]]] = []
    joined: list[Claimant] = []
    for name, reason in suites.reasons.items():
        frozen, found = commit.freeze(name, reason), before.get(name)
        if found and found.state is not State.DONE:
            joined.append(commit.claimant(found.id))
        elif found is None or suites.anew(found, frozen):
            run = _new_run(commit, frozen, found, now, new_id)
            new_runs.append((run, (commit.claimant(run.id),)))
    return Plan(new_runs=tuple(new_runs), add_claimants=tuple(joined))


def _new_run(
    commit: Commit, frozen: Snapshot, before: Run | None, now: datetime, new_id: NewId
) -> Run:
    return Run(
        id=RunId(new_id()),
        repo_id=commit.repo_id,
        sha=commit.sha,
        suite=frozen.suite,
        attempt=before.attempt + 1 if before else 1,
        snapshot=frozen,
        created_at=now,
        origin=commit.origin,
    )


def drops(runs: Iterable[RunClaimants], source: str, why: str) -> tuple[DropClaimant, ...]:
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


def may_run_again(runs: tuple[RunClaimants, ...], *, group: bool) -> dict[str, RerunCandidate]:
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


def claimants_again(again: RerunCandidate, run_id: RunId, who: str) -> tuple[Claimant, ...]:
    """Return the wants of the next attempt, which a person asked for."""
    return tuple(
        Claimant(
            run_id, claimant.source, auto=False, by=who, rank=min(claimant.rank, Rank.APPROVED)
        )
        for claimant in again.claimants
    )


def to_run_again(known: dict[str, RerunCandidate], clicked: Run | None) -> list[str]:
    """Return what a click asks for: its suite, or (None) all that ended and did not pass."""
    ended = [name for name, item in known.items() if item.run.state is State.DONE]
    if clicked is not None:
        return [name for name in ended if name == clicked.suite]
    return [name for name in ended if known[name].run.outcome is not Outcome.SUCCESS]
