"""What a pull request's head should run, against what runs: the difference as data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.core.model.ids import Json, RunId, Sha
from bot.core.model.pulls import Pull, StoredSelection
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.snapshot import Label, Pool, Snapshot
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.planning.trust import Trusted
from bot.core.policy import Mode, Policy, Start, Suite, Tier
from bot.core.policy.selection import ChangedFile, Choice, Selection, touches_environment
from bot.core.report.views import Gate

FILES_KEPT = 5  # of those that selected a suite: enough to see why
# What force-pushing back to a commit finds again; everything else is run anew.
_COUNTS_AGAIN = {Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMED_OUT}


@dataclass(frozen=True, slots=True)
class PolicyAt:
    """A policy and where it came from."""

    policy: Policy
    ref: str
    sha: str
    release: bool = False  # of a release branch: listed in the default branch's policy


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A pull request's head, what its files select and whether it is trusted."""

    pull: Pull
    at: PolicyAt
    selection: Selection
    files: tuple[ChangedFile, ...]
    trust: Trusted
    origin: str  # "a push of 9f8e7d6"
    fresh: bool  # this commit has just become the head: what did not count runs anew
    pushed: bool  # a push to an open pull request: the debounce applies


def pr_source(number: int) -> str:
    """Return the want of a pull request."""
    return f"pr:{number}"


def short(sha: str) -> str:
    """Return a commit as people write it."""
    return sha[:7]


def rank_of(evaluation: Evaluation) -> Rank:
    """Return the class in which a pull request's own runs wait."""
    if evaluation.at.release:
        return Rank.RELEASE
    return Rank.APPROVED if evaluation.trust.approved else Rank.AUTOMATIC


def starts_by_itself(suite: Suite) -> bool:
    """Tell whether a selected suite is started without anybody asking."""
    return suite.tier is Tier.STANDARD and suite.start is Start.DISPATCH


def selection_row(evaluation: Evaluation) -> StoredSelection:
    """Return what is kept of a selection: all that the gate says."""
    policy = evaluation.at.policy
    data: Json = {
        "policy": {"ref": evaluation.at.ref, "sha": evaluation.at.sha},
        "mode": policy.mode.value,
        "trusted": evaluation.trust.trusted if evaluation.trust.looked_at else None,
        "trust_reason": evaluation.trust.why,
        "approve": policy.trust.approve.value,
        "draft": evaluation.pull.draft and not policy.drafts,
        "gate": policy.gate.name,
        "changed_files": max(len(evaluation.files), evaluation.pull.changed_files),
        "truncated": evaluation.selection.truncated,
        "protected": list(evaluation.selection.protected[:FILES_KEPT]),
        "suites": [suite_row(policy, choice) for choice in evaluation.selection.choices],
    }
    pull = evaluation.pull
    return StoredSelection(pull.repo_id, pull.head_sha, pull.number, evaluation.at.sha, data)


def suite_row(policy: Policy, choice: Choice) -> Json:
    """Return what the gate says of a suite before anything runs."""
    suite = policy.suites[choice.suite]
    label = suite.runners[0]
    npus = suite.npus_on(label, policy)
    hours = suite.npu_hours_on(label, policy)
    where = suite.pool or label
    return {
        "name": choice.suite,
        "selected": choice.selected,
        "reason": choice.reason,
        "pattern": choice.pattern,
        "files": list(choice.files[:FILES_KEPT]),
        "tier": suite.tier.value,
        "required": suite.is_required,
        "auto": starts_by_itself(suite),
        "native": suite.start is Start.NATIVE,
        "cost": {"nodes": suite.nodes, "npus": npus, "hours": hours, "where": where},
    }


def snapshot(at: PolicyAt, name: str, files: tuple[ChangedFile, ...], reason: str) -> Snapshot:
    """Freeze a suite for a run: later changes of the policy do not reach it."""
    policy, suite = at.policy, at.policy.suites[name]
    pool = Pool(suite.pool, policy.pools[suite.pool].npus) if suite.pool else None
    return Snapshot(
        suite=name,
        title=suite.title or name,
        workflow=suite.workflow,
        ref=policy.dispatch_ref or at.ref,
        labels=tuple(_label(policy, label) for label in suite.runners),
        policy_ref=at.ref,
        policy_sha=at.sha,
        inputs=dict(suite.inputs),
        nodes=suite.nodes,
        npus=suite.npus,
        pool=pool,
        rayjob=suite.rayjob,
        native=suite.start is Start.NATIVE,
        tier=suite.tier.value,
        required=suite.is_required,
        timeout_minutes=suite.timeout_minutes,
        stall_minutes=suite.stall_minutes,
        min_minutes=suite.min_minutes,
        infra_retries=suite.infra_retries,
        per_pull=policy.limits.runs_per_pr,
        hours_per_day=policy.limits.npu_hours_per_day,
        retryable=not touches_environment(suite, files),
        reason=reason,
        repo_roots=policy.log.repo_roots,
        redact=policy.log.redact,
        signatures=tuple(item.as_json() for item in policy.log.signatures),
    )


def _label(policy: Policy, name: str) -> Label:
    runner = policy.runners[name]
    return Label(name, runner.npus, runner.slots, runner.chip)


@dataclass(frozen=True, slots=True)
class ExistingRuns:
    """What is there: every attempt at the head, and the open runs this pull request wants."""

    at_head: tuple[RunClaimants, ...]
    wanted: tuple[RunClaimants, ...]


def plan(
    evaluation: Evaluation, present: ExistingRuns, now: datetime, new_id: Callable[[], str]
) -> Plan:
    """Return the difference between what should run for a pull request and what does."""
    pull = evaluation.pull
    ours, githubs = _desired(evaluation)
    starting = [*(ours if may_start(evaluation) else []), *githubs]
    new_runs: list[tuple[Run, tuple[Claimant, ...]]] = []
    add_claimants: list[Claimant] = []
    for choice in starting:
        found = _latest(present.at_head, choice.suite)
        frozen = snapshot(evaluation.at, choice.suite, evaluation.files, choice.reason)
        if found and found.run.state is not State.DONE:
            add_claimants.append(_claimant(evaluation, found.run.id))
        elif found is None or runs_again(found.run, frozen, fresh=evaluation.fresh):
            new_runs.append(_new_run(evaluation, frozen, found, now, new_id))
    kept = {choice.suite for choice in (*ours, *githubs)}
    return Plan(
        pull=pull,
        selection=selection_row(evaluation),
        new_runs=tuple(new_runs),
        add_claimants=tuple(add_claimants),
        drop_claimants=tuple(_drops(evaluation, present, kept)),
        gates=(
            Gate(pull.repo_id, pull.head_sha, pull.number, name=evaluation.at.policy.gate.name),
        ),
    )


def _desired(evaluation: Evaluation) -> tuple[list[Choice], list[Choice]]:
    """Return the selected suites that start by themselves here, and those GitHub starts."""
    policy = evaluation.at.policy
    selected = [choice for choice in evaluation.selection.choices if choice.selected]
    ours = [choice for choice in selected if starts_by_itself(policy.suites[choice.suite])]
    started = [choice for choice in selected if policy.suites[choice.suite].start is Start.NATIVE]
    return ours, started if policy.mode is Mode.ON else []


def may_start(evaluation: Evaluation) -> bool:
    """Tell whether anything of this head starts by itself."""
    policy = evaluation.at.policy
    awake = policy.drafts or not evaluation.pull.draft
    return evaluation.trust.trusted and awake and policy.mode is Mode.ON


def waiting(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the suites that an approval of this head would start."""
    trusted = replace(evaluation, trust=Trusted(True, "as if approved"))
    if evaluation.trust.trusted or not may_start(trusted):
        return ()
    return tuple(choice.suite for choice in _desired(evaluation)[0])


def _latest(runs: tuple[RunClaimants, ...], suite: str) -> RunClaimants | None:
    attempts = [item for item in runs if item.run.suite == suite]
    return max(attempts, key=lambda item: item.run.attempt, default=None)


def runs_again(run: Run, frozen: Snapshot, *, fresh: bool) -> bool:
    """Tell whether an ended attempt does not count; ``fresh``: its commit came (back) just now."""
    if run.outcome is Outcome.SUPERSEDED:
        return True
    if not fresh:
        return False
    return run.outcome not in _COUNTS_AGAIN or essence(run.snapshot) != essence(frozen)


def essence(frozen: Snapshot) -> Snapshot:
    """Return what makes two runs of a suite the same work."""
    return replace(
        frozen,
        reason="",
        policy_ref="",
        policy_sha="",
        retryable=True,
        per_pull=None,
        hours_per_day=None,
    )


def _new_run(
    evaluation: Evaluation,
    frozen: Snapshot,
    before: RunClaimants | None,
    now: datetime,
    new_id: Callable[[], str],
) -> tuple[Run, tuple[Claimant, ...]]:
    pull, policy = evaluation.pull, evaluation.at.policy
    waits = evaluation.pushed and not frozen.native
    wait = timedelta(seconds=policy.limits.debounce_seconds) if waits else timedelta()
    run = Run(
        id=RunId(new_id()),
        repo_id=pull.repo_id,
        sha=pull.head_sha,
        suite=frozen.suite,
        attempt=before.run.attempt + 1 if before else 1,
        snapshot=frozen,
        created_at=now,
        origin=evaluation.origin,
        number=pull.number,
        not_before=now + wait if wait else None,
    )
    return run, (_claimant(evaluation, run.id),)


def _claimant(evaluation: Evaluation, run_id: RunId) -> Claimant:
    return Claimant(run_id, pr_source(evaluation.pull.number), rank=rank_of(evaluation))


def _drops(evaluation: Evaluation, present: ExistingRuns, kept: set[str]) -> list[DropClaimant]:
    """Return the wants that no longer hold: of other commits, and of suites not chosen now."""
    pull, policy = evaluation.pull, evaluation.at.policy
    source = pr_source(pull.number)
    drops = []
    for item in present.wanted:
        run = item.run
        auto = any(claimant.auto for claimant in item.claimants if claimant.source == source)
        if run.sha != pull.head_sha:
            drops.append(DropClaimant(run.id, source, f"superseded by {short(pull.head_sha)}"))
        elif auto and run.suite not in kept:
            drops.append(DropClaimant(run.id, source, "the new base does not select this suite"))
        elif auto and pull.draft and not policy.drafts and _may_wait(run):
            drops.append(DropClaimant(run.id, source, "the pull request became a draft"))
    return drops


def _may_wait(run: Run) -> bool:
    """Tell whether a run has not begun and need not: GitHub starts its own for drafts, too."""
    return run.state is State.QUEUED and not run.snapshot.native


def close(pull: Pull, wanted: tuple[RunClaimants, ...], why: str) -> Plan:
    """Return what closing a pull request leads to: nobody wants its runs any more."""
    source = pr_source(pull.number)
    drops = tuple(DropClaimant(item.run.id, source, why) for item in wanted)
    gate = Gate(pull.repo_id, pull.head_sha, pull.number, closed=why)
    return Plan(pull=replace(pull, open=False), drop_claimants=drops, gates=(gate,))


def leave(sha: Sha, pull: Pull) -> Gate:
    """Return the gate of a commit that is no head any more."""
    why = f"superseded by {short(pull.head_sha)}"
    return Gate(pull.repo_id, sha, pull.number, closed=why)
