"""New attempts that a person asks for, by a command, a click or a button."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.core.github.markdown import code
from bot.core.messages import NOTHING, Message, Messages, quote
from bot.core.messages.words import clock, joined, number
from bot.core.model.ids import RepoId, short
from bot.core.model.people import Account
from bot.core.model.pulls import Approval
from bot.core.model.runs import Rank, Run, State
from bot.core.model.selections import StoredSelection
from bot.core.model.snapshot import Snapshot
from bot.core.model.views import GateDue
from bot.core.planning import attempts
from bot.core.planning.commits import rerun_request, speaks_for
from bot.core.planning.offers import line, start_line
from bot.core.planning.permissions import Allowed, Refusal, Requester, by_command, may_start
from bot.core.planning.plan import AuditEntry, Restated, RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.pull_request import Evaluation, restated
from bot.core.policy.levels import Level
from bot.core.policy.models import Start, Suite
from bot.core.policy.selection import may_set
from bot.core.queue.usage import Spent, used


@dataclass(frozen=True, slots=True)
class StartRequest:
    """Who wants suites to run on which commit, and how."""

    evaluation: Evaluation
    requester: Requester
    source: str  # the claimant's: `pr:N`, or `pin:N:COMMENT` for a former head
    runs: tuple[RunClaimants, ...]  # at that commit
    failed_only: bool = False  # re-run failed jobs where GitHub can
    runner: str | None = None  # the label asked for, None: any of the suite's
    settings: tuple[tuple[str, str], ...] = ()  # inputs to set, in the order given
    force: bool = False  # the limits of the day and of the pull request are overridden
    spent: Spent = field(default_factory=Spent)  # NPU-hours of the last day
    selection: StoredSelection | None = None  # as the commit's gate has it; None: a former head

    @property
    def gate(self) -> GateDue:
        """Return the gate of the commit, which has to be looked at again."""
        pull, policy = self.evaluation.pull, self.evaluation.at.policy
        return GateDue(pull.repo_id, self.requester.sha, pull.number, name=policy.gate.name)


class Starter:
    """Makes the runs that people ask for."""

    def __init__(self, messages: Messages, new_id: attempts.NewId) -> None:
        self._messages = messages
        self._new_id = new_id

    def start(
        self, asked: StartRequest, names: list[str], builder: PlanBuilder, now: datetime
    ) -> None:
        """Start suites or join their open attempts; say which may not be started, and why."""
        for name in names:
            request = _with_label(asked, name)
            answer, rule = self._decide(request, name, now)
            entry = _entry(request, name, rule, now)
            if isinstance(answer, Refusal):
                builder.audit.append(replace(entry, allowed=False))
                builder.refuse(answer)
                continue
            builder.audit.append(entry)
            if answer.approves:
                builder.audit.append(replace(entry, what="approve", rule="approve"))
                builder.approval = approval(
                    request.evaluation.pull.repo_id, request.requester, "start", now
                )
            self._add(request, name, builder, now)

    def _decide(
        self, request: StartRequest, name: str, now: datetime
    ) -> tuple[Allowed | Refusal, str]:
        """Return whether a suite may be started, and the rule that decides."""
        policy, again = request.evaluation.at.policy, _again(request, name)
        answer = may_start(self._messages, policy, name, request.requester, again)
        if isinstance(answer, Refusal):
            return answer, "trust"
        if refusal := self._against_policy(request, name):
            return refusal, "policy"
        if refusal := self._against_limits(request, name, now):
            return refusal, "limits.npu_hours_per_day"
        return answer, "trust"

    def _against_policy(self, request: StartRequest, name: str) -> Refusal | None:
        """Refuse a label that the suite does not run on, and inputs that may not be set."""
        suite = request.evaluation.at.policy.suites[name]
        if request.runner is not None and request.runner not in suite.runners:
            known = joined(map(code, suite.runners))
            values = {"suite": code(name), "label": code(request.runner), "known": known}
            return Refusal(self._messages("refuse_runner", **values))
        if suite.start is Start.NATIVE and _on_github(request, name) is None:
            sha = code(short(request.requester.sha))
            return Refusal(self._messages("refuse_unstarted", suite=code(name), sha=sha))
        for key, value in request.settings:
            if not may_set(suite, key, value):
                return self._not_settable(name, suite, key, value)
        return self._against_open(request, name)

    def _against_open(self, request: StartRequest, name: str) -> Refusal | None:
        """Refuse to join an open attempt that has other inputs, or may run on other labels."""
        before = _open_attempt(request, name)
        if before is None:
            return None
        values = {"suite": code(name), "todo": self._end_first(request, before)}
        if request.settings:
            return Refusal(self._messages("refuse_set_open", **values))
        open_labels = [item.name for item in before.snapshot.labels]
        names = [before.label] if before.label else open_labels
        if request.runner is not None and names != [request.runner]:
            label = code(request.runner)
            return Refusal(self._messages("refuse_runner_open", label=label, **values))
        return None

    def _end_first(self, request: StartRequest, open_run: Run) -> str:
        """Say how to end an open attempt: a cancel ends only what runs for this pull."""
        claimants = next(item.claimants for item in request.runs if item.run == open_run)
        if {claimant.number for claimant in claimants} == {request.evaluation.pull.number}:
            return self._messages("cancel_first", command=code(line("cancel", open_run.suite)))
        return self._messages("wait_first")

    def _not_settable(self, name: str, suite: Suite, key: str, value: str) -> Refusal:
        may = joined(f"{code(one)} ({code(glob)})" for one, glob in suite.settable.items())
        values = {"suite": code(name), "key": code(key), "value": code(value)}
        if not may:
            return Refusal(self._messages("refuse_set_none", **values))
        return Refusal(self._messages("refuse_set", may=may, **values))

    def _against_limits(self, request: StartRequest, name: str, now: datetime) -> Refusal | None:
        """Refuse a start if the NPU-hours of the day are used; a maintainer may force it."""
        limit = request.evaluation.at.policy.limits.npu_hours_per_day
        level = request.requester.person.level
        if request.force:
            if level.at_least(Level.MAINTAIN):
                return None
            values = {"suite": code(name), "level": self._messages(f"level_{level}")}
            again = code(_again(request, name, "--force"))
            return Refusal(self._messages("refuse_force", command=again, **values))
        if request.spent.total < limit:
            return None
        again = _again(request, name, "--force")
        todo = self._messages("refuse_hours_force", command=code(again)) if again else ""
        if limit <= 0:
            return Refusal(self._messages("refuse_no_hours", suite=code(name), todo=todo))
        until = request.spent.below(limit, now)
        values = {
            "suite": code(name),
            "spent": used(request.spent.total),
            "limit": number(limit),
            "when": self._messages("refuse_hours_when", at=clock(until, now)) if until else "",
            "todo": todo,
        }
        return Refusal(self._messages("refuse_hours", **values))

    def _add(self, request: StartRequest, name: str, builder: PlanBuilder, now: datetime) -> None:
        maker = attempts.AttemptMaker(now, self._new_id)
        made = maker.make_or_join([_attempt(request, name)], lambda _run, _frozen: True)
        joined = [claimant.run_id for claimant in made.add_claimants]
        builder.run_ids += [*joined, *(run.id for run, _ in made.new_runs)]
        builder.new_runs += made.new_runs
        stored = request.selection
        if made.new_runs and stored:
            before = builder.restated or Restated(stored, stored)
            now_stored = restated(before.now, request.evaluation, name)
            builder.restated = replace(before, now=now_stored)
        builder.add_claimants += made.add_claimants
        if request.force:
            builder.forced += [(run_id, request.requester.person.login) for run_id in joined]

    def again(self, candidate: RunClaimants, who: Account, now: datetime) -> attempts.NewRun:
        """Make the next attempt of a run that is of no pull request, with its own snapshot."""
        return attempts.AttemptMaker(now, self._new_id).make(rerun_request(candidate, who))


def _with_label(request: StartRequest, name: str) -> StartRequest:
    """Write the label that was asked for as the suite writes it: in capitals it is the same."""
    suite, asked = request.evaluation.at.policy.suites.get(name), request.runner
    labels = {label.lower(): label for label in suite.runners} if suite else {}
    return replace(request, runner=labels.get(asked.lower(), asked)) if asked else request


def _again(request: StartRequest, name: str, force: str = "") -> str:
    """Return the line that asks for a suite as it was asked for; "" if none can force its start."""
    suite, sha = request.evaluation.at.policy.suites.get(name), request.requester.sha
    if suite is None or (force and not by_command(suite)):
        return ""
    if request.failed_only and not force:
        return line("rerun", name, sha=sha)
    runner = ("--runner", request.runner) if request.runner else ()
    settings = [word for key, value in request.settings for word in ("--set", f"{key}={value}")]
    return start_line(name, *runner, *settings, *filter(None, [force]), sha=sha)


def _attempt(request: StartRequest, name: str) -> attempts.AttemptRequest:
    """Return the request for an attempt of a suite, as the person wants it."""
    evaluation, who = request.evaluation, request.requester.person.account
    frozen = _frozen(request, name)
    same = [item for item in request.runs if speaks_for(item.run, frozen)]
    counting = attempts.latest(same).get(name)
    earlier = _on_github(request, name) if frozen.native else counting
    return attempts.AttemptRequest(
        repo_id=evaluation.pull.repo_id,
        sha=request.requester.sha,
        number=evaluation.pull.number,
        snapshot=frozen,
        origin=quote(who.login),
        claims=(attempts.Claim(request.source, auto=False, by=who, rank=Rank.APPROVED),),
        before=attempts.latest(request.runs).get(name),
        counting=counting,
        forced=who.login if request.force else "",
        continues=earlier if request.failed_only else None,
    )


def _frozen(request: StartRequest, name: str) -> Snapshot:
    """Freeze a suite with the label and the inputs that the person asked for."""
    evaluation, who = request.evaluation, request.requester.person.login
    choice = evaluation.selection.choice(name)
    reason = choice.reason if choice and choice.selected else Message("selected_asked", who=who)
    frozen = attempts.freeze(
        evaluation.at, name, reason, environment=evaluation.selection.environment
    )
    if request.runner:
        only = tuple(label for label in frozen.labels if label.name == request.runner)
        frozen = replace(frozen, labels=only)
    if request.settings:
        inputs = {**frozen.suite.inputs, **dict(request.settings)}
        suite = frozen.suite.model_copy(update={"inputs": inputs})
        altered = tuple(f"{key}={value}" for key, value in request.settings)
        frozen = replace(frozen, suite=suite, altered=altered)
    return frozen


def _open_attempt(request: StartRequest, name: str) -> Run | None:
    """Return the open attempt that a request would join, or would run beside with other inputs.

    One of another base's policy goes on by itself.
    """
    frozen = attempts.freeze(request.evaluation.at, name, NOTHING)
    found = [
        run
        for run in (item.run for item in request.runs if item.run.suite == name)
        if run.state is not State.DONE and run.snapshot.is_from(frozen)
    ]
    if not request.settings:
        found = [run for run in found if speaks_for(run, frozen)]
    return max(found, key=lambda run: run.attempt, default=None)


def _entry(request: StartRequest, name: str, rule: str, now: datetime) -> AuditEntry:
    """Return the audit entry of an allowed start."""
    verb = "rerun" if request.failed_only else "start"
    options = " --force" if request.force else ""
    options += "".join(f" --set {key}={value}" for key, value in request.settings)
    pull, who = request.evaluation.pull, request.requester.person.account
    where = (pull.repo_id, pull.number, request.requester.sha)
    what = f"{verb} {name}{options}"
    return AuditEntry(now, who.login, what, True, rule, *where, who_id=who.id)


def _on_github(request: StartRequest, name: str) -> Run | None:
    """Return the latest attempt of a suite, as it is, that has an Actions run; None: none has."""
    frozen = attempts.freeze(request.evaluation.at, name, NOTHING)
    found = [item.run for item in request.runs if item.run.suite == name]
    same = [run for run in found if speaks_for(run, frozen)]
    started = [run for run in same if run.actions_run_id is not None]
    return max(started, key=lambda run: run.attempt, default=None)


def approval(repo_id: RepoId, requester: Requester, via: str, now: datetime) -> Approval:
    """Return a person's approval of a commit, as a row."""
    person = requester.person
    return Approval(repo_id, requester.sha, person.account, person.level, via, now)
