"""Plans the head of a pull request: the difference between what should run and what runs."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.core.messages import NOTHING, Message
from bot.core.model.ids import Sha, short
from bot.core.model.pulls import Pull
from bot.core.model.runs import Rank, Run, State
from bot.core.model.selections import Cost, SelectionDetails, StoredSelection, SuiteSelection
from bot.core.model.views import GateDue
from bot.core.planning.attempts import AttemptMaker, PolicyAt, freeze
from bot.core.planning.commits import Commit, runs_again, start
from bot.core.planning.permissions import by_command
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.planning.trust import Trusted
from bot.core.policy.models import Mode, Start, Suite, Tier
from bot.core.policy.quarantined import quarantines_of
from bot.core.policy.selection import ChangedFile, Choice, Selection

FILES_KEPT = 5  # of those that selected a suite: enough to see why


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The head of a pull request, the suites that its files select, and its trust."""

    pull: Pull
    at: PolicyAt
    selection: Selection
    files: tuple[ChangedFile, ...]
    trust: Trusted
    origin: Message  # "a push of 9f8e7d6"
    fresh: bool  # this commit has just become the head: what did not count runs anew
    pushed: bool  # a push to an open pull request: the debounce applies
    # Of suites that the base's own workflows select, and the head's do not: without trust nobody
    # takes a suite out of the gate by a change of its workflow.
    kept: tuple[Choice, ...] = ()

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Return the choice of each suite for the gate."""
        kept = {} if self.trust.trusted else {choice.suite: choice for choice in self.kept}
        return tuple(kept.get(choice.suite, choice) for choice in self.selection.choices)


def pr_source(number: int) -> str:
    """Return the claimant of a pull request."""
    return f"pr:{number}"


def rank_of(evaluation: Evaluation) -> Rank:
    """Return the class in which the runs of a pull request wait."""
    if evaluation.at.release:
        return Rank.RELEASE
    return Rank.APPROVED if evaluation.trust.approved else Rank.AUTOMATIC


def starts_by_itself(suite: Suite) -> bool:
    """Return True if a selected suite starts without a command."""
    return suite.tier is Tier.STANDARD and suite.start is Start.DISPATCH


def needs_trust(suite: Suite, protected: tuple[str, ...]) -> bool:
    """Return True if something depends on the trust in a commit that selects this suite.

    A native suite starts without it, but does not count if the commit may have rewritten it.
    """
    return starts_by_itself(suite) or (suite.start is Start.NATIVE and bool(protected))


def stored_selection(evaluation: Evaluation) -> StoredSelection:
    """Return the selection as it is stored: all that the gate says."""
    policy, pull = evaluation.at.policy, evaluation.pull
    data = SelectionDetails(
        policy_ref=evaluation.at.ref,
        unprotected=evaluation.at.unprotected,
        mode=policy.mode,
        trusted=evaluation.trust.trusted if evaluation.trust.looked_at else None,
        trust_reason=evaluation.trust.why,
        approve=policy.trust.approve,
        draft=pull.draft and not policy.drafts,
        gate=policy.gate.name,
        changed_files=max(len(evaluation.files), pull.changed_files),
        truncated=evaluation.selection.truncated,
        protected=evaluation.selection.protected[:FILES_KEPT],
        suites=tuple(suite_selection(evaluation.at, choice) for choice in evaluation.choices),
        language=evaluation.at.language,
        comment=policy.report.comment,
    )
    return StoredSelection(pull.repo_id, pull.head_sha, pull.number, evaluation.at.sha, data)


def restated(row: StoredSelection, evaluation: Evaluation, name: str) -> StoredSelection:
    """Return the selection with a suite as its policy has it now, after a person started it.

    The policy may have changed since. One of another branch does not count before the new base
    is looked at.
    """
    at = evaluation.at
    if row.data.policy_ref != at.ref:
        return row
    now = suite_selection(at, Choice(name, True, NOTHING))
    suites = tuple(
        replace(item, essence=now.essence, labels=now.labels, quarantine=now.quarantine)
        if item.choice.suite == name and item.choice.selected
        else item
        for item in row.data.suites
    )
    return replace(row, data=replace(row.data, suites=suites))


def suite_selection(at: PolicyAt, choice: Choice) -> SuiteSelection:
    """Return a choice with all that the gate says of its suite before anything runs."""
    policy, suite = at.policy, at.policy.suites[choice.suite]
    label = suite.runners[0]
    npus, hours = suite.npus_on(label, policy), suite.npu_hours_on(label, policy)
    return SuiteSelection(
        choice=replace(choice, files=choice.files[:FILES_KEPT]),
        cost=Cost(suite.nodes, npus, npu_hours=hours, where=suite.pool or label),
        tier=suite.tier,
        required=suite.is_required,
        auto=starts_by_itself(suite),
        native=suite.start is Start.NATIVE,
        by_command=by_command(suite),
        essence=freeze(at, choice.suite, NOTHING).essence if choice.selected else "",
        labels=suite.runners,
        quarantine=quarantines_of(policy.quarantine, choice.suite),
    )


@dataclass(frozen=True, slots=True)
class ExistingRuns:
    """The attempts at the head, and the open runs that the pull request is a claimant of."""

    at_head: tuple[RunClaimants, ...]
    wanted: tuple[RunClaimants, ...]


def plan_head(evaluation: Evaluation, present: ExistingRuns, maker: AttemptMaker) -> Plan:
    """Plan the runs for the head of a pull request."""
    pull = evaluation.pull
    ours, githubs = _desired(evaluation)
    starting = [*(ours if may_start_by_itself(evaluation) else []), *githubs]
    reasons = {choice.suite: choice.reason for choice in starting}
    started = start(
        _commit(evaluation, maker.now),
        reasons,
        present.at_head,
        lambda run, frozen: runs_again(run, frozen, fresh=evaluation.fresh),
        maker,
    )
    kept = {choice.suite for choice in (*ours, *githubs)}
    return replace(
        started,
        pull=pull,
        selection=stored_selection(evaluation),
        drop_claimants=tuple(_dropped_claimants(evaluation, present, kept)),
        gates=(
            GateDue(pull.repo_id, pull.head_sha, pull.number, name=evaluation.at.policy.gate.name),
        ),
    )


def _commit(evaluation: Evaluation, now: datetime) -> Commit:
    """Return the head as a commit to run suites on.

    After a push nothing starts for some seconds: the next push often follows at once.
    """
    pull, limits = evaluation.pull, evaluation.at.policy.limits
    wait = timedelta(seconds=limits.debounce_seconds) if evaluation.pushed else timedelta()
    return Commit(
        repo_id=pull.repo_id,
        sha=pull.head_sha,
        at=evaluation.at,
        source=pr_source(pull.number),
        rank=rank_of(evaluation),
        origin=evaluation.origin,
        environment=evaluation.selection.environment,
        number=pull.number,
        not_before=now + wait if wait else None,
    )


def _desired(evaluation: Evaluation) -> tuple[list[Choice], list[Choice]]:
    """Return the selected suites that the bot starts by itself, and those that GitHub starts."""
    policy = evaluation.at.policy
    selected = [choice for choice in evaluation.selection.choices if choice.selected]
    ours = [choice for choice in selected if starts_by_itself(policy.suites[choice.suite])]
    started = [choice for choice in selected if policy.suites[choice.suite].start is Start.NATIVE]
    return ours, started if policy.mode is Mode.ON else []


def may_start_by_itself(evaluation: Evaluation) -> bool:
    """Return True if suites may start on this head without a command."""
    policy = evaluation.at.policy
    awake = policy.drafts or not evaluation.pull.draft
    return evaluation.trust.trusted and awake and policy.mode is Mode.ON


def runs_by_itself(run: Run, evaluation: Evaluation) -> bool:
    """Return True if the head would start such a run even if nobody asked for it."""
    ours = {choice.suite for choice in _desired(evaluation)[0]}
    return may_start_by_itself(evaluation) and run.suite in ours and _is_wanted(run, evaluation)


def suites_awaiting_approval(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the suites that an approval of this head would start."""
    trusted = replace(evaluation, trust=Trusted(True, Message("trust_as_if")))
    if evaluation.trust.trusted or not may_start_by_itself(trusted):
        return ()
    return tuple(choice.suite for choice in _desired(evaluation)[0])


def _dropped_claimants(
    evaluation: Evaluation, present: ExistingRuns, kept: set[str]
) -> list[DropClaimant]:
    """Give up the runs on former heads, and those that would not start by themselves any more.

    What a person started stays here: it is asked for again before its dispatch.
    """
    pull, policy = evaluation.pull, evaluation.at.policy
    source = pr_source(pull.number)
    drops = []
    for item in present.wanted:
        run = item.run
        auto = any(claimant.auto for claimant in item.claimants if claimant.source == source)
        if run.sha != pull.head_sha:
            why = Message("superseded_by", sha=short(pull.head_sha))
            drops.append(DropClaimant(run.id, source, why))
        elif auto and not evaluation.trust.trusted and not run.snapshot.native:
            why = Message("drop_untrusted", why=evaluation.trust.why)
            drops.append(DropClaimant(run.id, source, why))
        elif auto and (run.suite not in kept or not _is_wanted(run, evaluation)):
            drops.append(DropClaimant(run.id, source, Message("drop_base")))
        elif auto and pull.draft and not policy.drafts and _has_not_begun(run):
            drops.append(DropClaimant(run.id, source, Message("drop_draft")))
    return drops


def _is_wanted(run: Run, evaluation: Evaluation) -> bool:
    """Return True if a result of this run speaks of the suite as the policy has it now."""
    return run.snapshot.essence == freeze(evaluation.at, run.suite, NOTHING).essence


def _has_not_begun(run: Run) -> bool:
    """Return True if a run waits, and the bot starts it: GitHub starts its own for drafts."""
    return run.state is State.QUEUED and not run.snapshot.native


def plan_closed(pull: Pull, wanted: tuple[RunClaimants, ...], why: Message) -> Plan:
    """Plan the end of a pull request: its runs lose their claimant, and its gate is closed."""
    source = pr_source(pull.number)
    drops = tuple(DropClaimant(item.run.id, source, why) for item in wanted)
    gate = GateDue(pull.repo_id, pull.head_sha, pull.number, closed=why)
    return Plan(pull=replace(pull, open=False), drop_claimants=drops, gates=(gate,))


def gate_of_former_head(sha: Sha, pull: Pull) -> GateDue:
    """Return the closed gate of a commit that is no longer the head."""
    why = Message("superseded_by", sha=short(pull.head_sha))
    return GateDue(pull.repo_id, sha, pull.number, closed=why)
