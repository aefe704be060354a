"""The one maker of runs: a caller says what should run, for whom and after which attempt."""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.messages import Message
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.runs import Claimant, Rank, Run, State
from bot.core.model.snapshot import Label, Snapshot, SnapshotPool
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning.plan import BY_ITSELF, AuditEntry, Plan, RunClaimants
from bot.core.policy.models import Language, Policy, Start, Suite
from bot.core.policy.quarantined import quarantines_of

NewId = Callable[[], str]
NewRun = tuple[Run, tuple[Claimant, ...]]


@dataclass(frozen=True, slots=True)
class PolicyAt:
    """A policy and where it came from."""

    policy: Policy
    ref: str
    sha: str
    release: bool = False  # of a release branch: listed in the default branch's policy
    base: str = ""  # the base branch that it was read for: GitHub takes native workflows from there
    unprotected: str = ""  # the base, if it is listed and GitHub does not protect it

    @property
    def language(self) -> Language:
        """Return the language of the texts."""
        return self.policy.report.language

    def as_release(self, default: Policy) -> "PolicyAt":
        """Return the policy of a release branch, which names no gate of its own.

        A commit has one gate, whatever the bases of its pull requests. Under another name it would
        leave the one that is required as it was.
        """
        return replace(
            self, policy=self.policy.model_copy(update={"gate": default.gate}), release=True
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimant of a run that has no id yet."""

    source: str  # as in Claimant
    auto: bool = True  # False: a person asked
    by: Account = NOBODY
    rank: Rank = Rank.AUTOMATIC

    def on(self, run_id: RunId) -> Claimant:
        """Return the claimant of a run."""
        return Claimant(run_id, self.source, self.auto, self.by, self.rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """A suite that should run at a commit, and for whom."""

    repo_id: RepoId
    sha: Sha
    number: int | None  # the pull request shown to people, if any
    snapshot: Snapshot
    origin: Message  # what asks for it, in words
    claims: tuple[Claim, ...] = ()
    before: Run | None = None  # the suite's latest attempt at this commit
    counting: Run | None = None  # the latest whose result speaks for the snapshot
    not_before: datetime | None = None
    forced: str = ""  # who overrides the limits for it
    retries: int = 0
    continues: Run | None = None  # the failed jobs of its Actions run are to run again
    adopts: WorkflowRun | None = None  # nobody here has started it


def next_attempt(before: Run, origin: Message) -> AttemptRequest:
    """Return the request for the same work at the same commit."""
    return AttemptRequest(
        repo_id=before.repo_id,
        sha=before.sha,
        number=before.number,
        snapshot=before.snapshot,
        origin=origin,
        before=before,
    )


def latest_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """Return the latest attempt of each suite."""
    return {run.suite: run for run in sorted(runs, key=lambda run: run.attempt)}


def latest(runs: Iterable[RunClaimants]) -> dict[str, Run]:
    """Return the latest attempt of each suite, without its claimants."""
    return latest_runs(item.run for item in runs)


@dataclass(frozen=True, slots=True)
class AttemptMaker:
    """Makes attempts at one moment."""

    now: datetime
    new_id: NewId

    def make(self, request: AttemptRequest) -> NewRun:
        """Make the next attempt and its claimants."""
        run = Run(
            id=RunId(self.new_id()),
            repo_id=request.repo_id,
            sha=request.sha,
            suite=request.snapshot.name,
            attempt=request.before.attempt + 1 if request.before else 1,
            snapshot=request.snapshot,
            created_at=self.now,
            origin=request.origin,
            number=request.number,
            retries=request.retries,
            not_before=request.not_before,
            forced=request.forced,
        )
        if request.continues:
            run = _continued(run, request.continues)
        if request.adopts:
            run = replace(
                run,
                state=State.WAITING_FOR_RUNNER,
                label=request.before.label if request.before else None,
                actions_run_id=request.adopts.id,
                actions_attempt=request.adopts.attempt,
                actions_url=request.adopts.html_url,
                dispatched_at=self.now,
            )
        return run, tuple(claim.on(run.id) for claim in request.claims)

    def make_or_join(
        self, requests: Iterable[AttemptRequest], runs_again: Callable[[Run, Snapshot], bool]
    ) -> Plan:
        """Make the attempts that are missing; an open attempt that counts gets the claims instead.

        ``runs_again`` decides about a suite whose attempt that counts has ended. An open attempt
        that does not count may go on for others.
        """
        new_runs: list[NewRun] = []
        joined: list[Claimant] = []
        for request in requests:
            last = request.counting or request.before
            if last and last.state is State.DONE and not runs_again(last, request.snapshot):
                continue
            if request.counting and request.counting.state is not State.DONE:
                joined += [claim.on(request.counting.id) for claim in request.claims]
            else:
                new_runs.append(self.make(request))
        return Plan(new_runs=tuple(new_runs), add_claimants=tuple(joined))


def _continued(run: Run, before: Run) -> Run:
    """Run the Actions run of an earlier attempt again, if the label it used still fits."""
    fitting = tuple(item for item in run.snapshot.labels if item.name == before.label)
    if before.actions_run_id is None or not (fitting or run.snapshot.native):
        return run
    labels = run.snapshot.labels if run.snapshot.native else fitting  # GitHub chose a native's
    return replace(
        run,
        snapshot=replace(run.snapshot, labels=labels, own_jobs=before.snapshot.own_jobs),
        rerun_of=before.actions_run_id,
        actions_attempt=before.actions_attempt,
    )


def audit_of(run: Run, what: str, rule: str, now: datetime, *, who: str = BY_ITSELF) -> AuditEntry:
    """Return the audit's row of something that was done to a run."""
    return AuditEntry(now, who, what, True, rule, run.repo_id, run.number, run.sha)


def freeze(
    at: PolicyAt, name: str, reason: Message, *, environment: Container[str] = ()
) -> Snapshot:
    """Freeze a suite for a run: later changes of the policy do not reach it.

    ``environment`` are the suites whose environment the commit changes.
    """
    policy, suite = at.policy, at.policy.suites[name]
    if suite.on_hidden_failure is None:
        suite = suite.model_copy(update={"on_hidden_failure": policy.on_hidden_failure})
    pool = SnapshotPool(suite.pool, policy.pools[suite.pool].npus) if suite.pool else None
    return Snapshot(
        name=name,
        suite=suite,
        ref=_workflow_ref(at, suite),
        labels=tuple(_label(policy, label) for label in suite.runners),
        policy_ref=at.ref,
        policy_sha=at.sha,
        pool=pool,
        limits=policy.limits,
        log=policy.log,
        retryable=name not in environment,
        reason=reason,
        language=at.language,
        gate=policy.gate.name,
        quarantine=quarantines_of(policy.quarantine, name),
    )


def _workflow_ref(at: PolicyAt, suite: Suite) -> str:
    if suite.start is Start.NATIVE:
        return at.base or at.ref
    return at.policy.dispatch_ref or at.ref


def _label(policy: Policy, name: str) -> Label:
    runner = policy.runners[name]
    return Label(name, runner.npus, runner.slots, runner.chip)
