"""Runs on a commit: the head of a pull request, a merge group, a push, or a scheduled one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.messages import Message, quote
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import Account
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.snapshot import Snapshot
from bot.core.planning import attempts
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.policy.models import Policy, Trigger
from bot.core.policy.selection import Selection, select
from bot.core.policy.triggers import PullTriggers

SOURCES = ("group:", "push:", "nightly:", "github:")
"""How the claimants of commits without a pull request begin."""

UNLISTED = Message("selected_unlisted")
DEAR = Message("selected_dear")
OFTEN = Message("selected_often")

# After a force-push back to a commit, these results of it count again.
_COUNTS_AGAIN = {Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMED_OUT}

RunsAgain = Callable[[Run, Snapshot], bool]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on which suites run, the policy that says how, and the claimant."""

    repo_id: RepoId
    sha: Sha
    at: attempts.PolicyAt
    source: str  # the claimant's
    rank: Rank
    origin: Message  # "the merge group of #12"
    environment: frozenset[str] = frozenset()  # suites whose environment it changes
    number: int | None = None  # the pull request of which it is the head
    not_before: datetime | None = None  # nothing that the bot starts begins sooner

    def freeze(self, suite: str, reason: Message) -> Snapshot:
        """Freeze a suite as the policy has it now."""
        return attempts.freeze(self.at, suite, reason, environment=self.environment)

    def request(self, suite: str, reason: Message, own: list[Run]) -> attempts.AttemptRequest:
        """Return the request for a suite; ``own`` are its own at this commit."""
        frozen = self.freeze(suite, reason)
        counting = [run for run in own if speaks_for(run, frozen)]
        return attempts.AttemptRequest(
            repo_id=self.repo_id,
            sha=self.sha,
            number=self.number,
            snapshot=frozen,
            origin=self.origin,
            claims=(attempts.Claim(self.source, rank=self.rank),),
            before=attempts.latest_runs(own).get(suite),
            counting=attempts.latest_runs(counting).get(suite),
            not_before=None if frozen.native else self.not_before,
        )


def select_unlisted(
    policy: Policy,
    trigger: Trigger,
    why: Message = UNLISTED,
    workflows: PullTriggers | None = None,
) -> Selection:
    """Select suites for a change whose files are not known or not compared: all may match."""
    found = select(policy, (), truncated=True, trigger=trigger, workflows=workflows)
    named = tuple(
        replace(choice, reason=why) if choice.reason.key == "selected_many" else choice
        for choice in found.choices
    )
    return replace(found, choices=named)


def start(
    commit: Commit,
    reasons: dict[str, Message],
    runs: Iterable[RunClaimants],
    runs_again: RunsAgain,
    maker: attempts.AttemptMaker,
) -> Plan:
    """Start suites at a commit, or join their open attempts.

    ``reasons`` has each suite with the reason for it, ``runs`` are all attempts at the commit, and
    ``runs_again`` decides about a suite whose attempt that counts has ended.
    """
    known = [item.run for item in runs]
    requests = [
        commit.request(name, why, [run for run in known if run.suite == name])
        for name, why in reasons.items()
    ]
    return maker.make_or_join(requests, runs_again)


def runs_again(run: Run, frozen: Snapshot, *, fresh: bool) -> bool:
    """Return True if the result of an ended attempt does not count.

    ``fresh``: its commit has just become the head, perhaps once more.
    """
    if run.outcome is Outcome.SUPERSEDED:
        return True
    if not (run.snapshot.altered or speaks_for(run, frozen)):
        return True
    if not fresh:
        return False
    return run.outcome not in _COUNTS_AGAIN or run.snapshot.work != frozen.work


def speaks_for(run: Run, frozen: Snapshot) -> bool:
    """Return True if the result of a run is one of the suite as it is frozen."""
    return run.speaks_for(frozen.essence, [label.name for label in frozen.labels])


def drop_source(
    runs: Iterable[RunClaimants], source: str, why: Message
) -> tuple[DropClaimant, ...]:
    """Take one claimant off its runs, open ones and ended ones."""
    return tuple(
        DropClaimant(item.run.id, source, why)
        for item in runs
        if any(claimant.source == source for claimant in item.claimants)
    )


def rerun_candidates(runs: tuple[RunClaimants, ...], *, group: bool) -> dict[str, RunClaimants]:
    """Return the latest attempt of each suite that ran for a push, a schedule or a merge group.

    ``group``: the merge group still waits for its checks; else its runs are left alone.
    """
    kinds = tuple(kind for kind in SOURCES if group or kind != "group:")
    found: dict[str, RunClaimants] = {}
    for item in sorted(runs, key=lambda item: item.run.attempt):
        claimants = tuple(
            claimant for claimant in item.claimants if claimant.source.startswith(kinds)
        )
        if claimants:
            found[item.run.suite] = RunClaimants(item.run, claimants)
    return found


def rerun_request(candidate: RunClaimants, who: Account) -> attempts.AttemptRequest:
    """Return the request for the next attempt, for the same claimants."""
    before = candidate.run
    claims = tuple(claim_again(claimant, who) for claimant in candidate.claimants)
    return replace(attempts.next_attempt(before, quote(who.login)), claims=claims, continues=before)


def claim_again(claimant: Claimant, who: Account) -> attempts.Claim:
    """Return the claim of the same claimant to an attempt that a person asked for.

    The attempt waits in the class of what people ask for, or in a higher one.
    """
    return attempts.Claim(
        claimant.source, auto=False, by=who, rank=Rank(min(claimant.rank, Rank.APPROVED))
    )


def suites_to_rerun(known: dict[str, RunClaimants], clicked: Run | None) -> list[str]:
    """Return the suites that a click runs again.

    ``clicked`` is the run of the check run; None: the gate, for all that ended and did not pass.
    """
    ended = [name for name, item in known.items() if item.run.state is State.DONE]
    if clicked is not None:
        return [name for name in ended if name == clicked.suite]
    return [name for name in ended if known[name].run.outcome is not Outcome.SUCCESS]
