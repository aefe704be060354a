"""New attempts that a person asked for, by command, click or button, on a trusted commit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.core.messages import Texts
from bot.core.messages.words import clock, number
from bot.core.model.ids import RepoId, RunId
from bot.core.model.levels import Level
from bot.core.model.pulls import Approval
from bot.core.model.runs import Rank, Run, State, Want, Wish
from bot.core.planning.permissions import COMMAND, Allowed, Asked, Refusal, latest, may_start
from bot.core.planning.plan import AuditEntry, Changes, RunWants
from bot.core.planning.pull_request import Chosen, short, snapshot
from bot.core.policy import Start, Suite
from bot.core.policy.selection import may_set
from bot.core.queue.usage import Spent, used
from bot.core.report.markdown import code
from bot.core.report.views import Gate

ASKED = "asked for by {who}"  # why
BY_COMMAND = "{who}, by command"  # what started it


@dataclass(slots=True)
class Gathered:
    """What the commands of a comment, or one click, add up to."""

    new_runs: list[tuple[Run, tuple[Want, ...]]] = field(default_factory=list)
    add_wants: list[Want] = field(default_factory=list)
    run_ids: list[RunId] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    refusals: int = 0
    wishes: list[tuple[RunId, Wish]] = field(default_factory=list)
    forced: list[tuple[RunId, str]] = field(default_factory=list)
    approval: Approval | None = None
    changes: Changes | None = None  # of a plan made on the way

    def refuse(self, refusal: Refusal) -> None:
        """Say why something was not started."""
        self.refusals += 1
        if refusal.text not in self.said:
            self.said.append(refusal.text)

    @contextmanager
    def judging(self, place: int) -> Iterator[None]:
        """Write down as refused the command of which nothing came but refusals."""
        refusals, done = self.refusals, self._done()
        yield
        if self.refusals > refusals and self._done() == done:
            self.audit[place] = replace(self.audit[place], allowed=False)

    def barred(self, rule: str) -> tuple[AuditEntry, ...]:
        """Return the audit of commands that a rule refuses, all of them."""
        entries = (item if not item.allowed else replace(item, rule=rule) for item in self.audit)
        return tuple(replace(item, allowed=False) for item in entries)

    def _done(self) -> tuple[int, bool]:
        made = len(self.new_runs) + len(self.add_wants) + len(self.wishes)
        return made, self.approval is not None


@dataclass(frozen=True, slots=True)
class Order:
    """One commit on which suites are asked for."""

    chosen: Chosen
    asked: Asked
    source: str  # the want: `pr:N`, or `pin:COMMENT` for a former head
    runs: tuple[RunWants, ...]  # at that commit
    failed_only: bool = False  # re-run failed jobs where GitHub can
    runner: str | None = None  # the label asked for, None: any of the suite's
    settings: tuple[tuple[str, str], ...] = ()  # inputs to set, in the order given
    force: bool = False  # the limits of the day and of the pull request are overridden
    spent: Spent = field(default_factory=Spent)  # NPU-hours of the last day


class Starts:
    """Makes the runs that people ask for."""

    def __init__(self, say: Texts, new_id: Callable[[], str]) -> None:
        self._say = say
        self._new_id = new_id

    def start(self, order: Order, names: list[str], into: Gathered, now: datetime) -> None:
        """Start suites, join those that are open already, and say what may not be started."""
        for name in names:
            answer, rule = self._decide(order, name, now)
            entry = _entry(order, name, rule, now)
            if isinstance(answer, Refusal):
                into.audit.append(replace(entry, allowed=False))
                into.refuse(answer)
                continue
            into.audit.append(entry)
            if answer.approves:
                into.audit.append(replace(entry, what="approve", rule="approve"))
                into.approval = approval(order.chosen.pull.repo_id, order.asked, "start", now)
            self._add(order, name, into, now)

    def _decide(self, order: Order, name: str, now: datetime) -> tuple[Allowed | Refusal, str]:
        """Return whether a suite may be started, and by which rule."""
        answer = may_start(self._say, order.chosen.at.policy, name, order.asked)
        if isinstance(answer, Refusal):
            return answer, "trust"
        if misfit := self._misfit(order, name):
            return misfit, "policy"
        if beyond := self._beyond(order, name, now):
            return beyond, "limits.npu_hours_per_day"
        return answer, "trust"

    def _misfit(self, order: Order, name: str) -> Refusal | None:
        """Refuse a label that the suite does not run on, and inputs that nobody may set."""
        suite = order.chosen.at.policy.suites[name]
        if order.runner is not None and order.runner not in suite.runners:
            known = ", ".join(code(label) for label in suite.runners)
            values = {"suite": code(name), "label": code(order.runner), "known": known}
            return Refusal(self._say("refuse_runner", **values))
        if suite.start is Start.NATIVE and _on_github(order, name) is None:
            sha = code(short(order.asked.sha))
            return Refusal(self._say("refuse_unstarted", suite=code(name), sha=sha))
        for key, value in order.settings:
            if not may_set(suite, key, value):
                return self._not_settable(name, suite, key, value)
        before = latest(order.runs).get(name)
        if before is None or before.state is State.DONE:
            return None
        values = {"suite": code(name), "command": code(f"{COMMAND} cancel {name}")}
        if order.settings:
            return Refusal(self._say("refuse_set_open", **values))
        if order.runner is not None and _may_run_elsewhere(before, order.runner):
            label = code(order.runner)
            return Refusal(self._say("refuse_runner_open", label=label, **values))
        return None

    def _not_settable(self, name: str, suite: Suite, key: str, value: str) -> Refusal:
        may = ", ".join(f"{code(one)} ({code(glob)})" for one, glob in suite.settable.items())
        values = {"suite": code(name), "key": code(key), "value": code(value)}
        if not may:
            return Refusal(self._say("refuse_set_none", **values))
        return Refusal(self._say("refuse_set", may=may, **values))

    def _beyond(self, order: Order, name: str, now: datetime) -> Refusal | None:
        """Refuse what the day's NPU-hours do not allow, and a force by who may not use it."""
        limit, person = order.chosen.at.policy.limits.npu_hours_per_day, order.asked.person
        if order.force:
            if person.level.at_least(Level.MAINTAIN):
                return None
            level = self._say(f"level_{person.level}")
            return Refusal(self._say("refuse_force", suite=code(name), level=level))
        if order.spent.total < limit:
            return None
        until = order.spent.below(limit, now)
        values = {
            "suite": code(name),
            "spent": used(order.spent.total),
            "limit": number(limit),
            "when": self._say("refuse_hours_when", at=clock(until, now)) if until else "",
            "command": code(f"{COMMAND} {name} --force"),
        }
        return Refusal(self._say("refuse_hours", **values))

    def _add(self, order: Order, name: str, into: Gathered, now: datetime) -> None:
        before = latest(order.runs).get(name)
        if before is not None and before.state is not State.DONE:
            into.run_ids.append(before.id)
            into.add_wants.append(self._want(before.id, order))
            into.forced += [(before.id, order.asked.person.login)] if order.force else []
            return
        run = self._new_run(order, name, before, now)
        into.run_ids.append(run.id)
        into.new_runs.append((run, (self._want(run.id, order),)))

    def _want(self, run_id: RunId, order: Order) -> Want:
        who = order.asked.person.login
        return Want(run_id, order.source, auto=False, by=who, rank=Rank.APPROVED)

    def _new_run(self, order: Order, name: str, before: Run | None, now: datetime) -> Run:
        chosen, who = order.chosen, order.asked.person.login
        choice = chosen.selection.choice(name)
        reason = choice.reason if choice and choice.selected else ASKED.format(who=who)
        frozen = snapshot(chosen.at, name, chosen.files, reason)
        if order.runner:
            only = tuple(label for label in frozen.labels if label.name == order.runner)
            frozen = replace(frozen, labels=only)
        if order.settings:
            inputs = {**frozen.inputs, **dict(order.settings)}
            altered = tuple(f"{key}={value}" for key, value in order.settings)
            frozen = replace(frozen, inputs=inputs, altered=altered)
        run = Run(
            id=RunId(self._new_id()),
            repo_id=chosen.pull.repo_id,
            sha=order.asked.sha,
            suite=name,
            attempt=before.attempt + 1 if before else 1,
            snapshot=frozen,
            created_at=now,
            origin=who,
            number=chosen.pull.number,
            forced=who if order.force else "",
        )
        if frozen.native:
            before = _on_github(order, name)
        return continued(run, before) if order.failed_only and before else run

    def again(self, before: Run, who: str, now: datetime) -> Run:
        """Return the next attempt of a run of no pull request, with its own snapshot."""
        run = Run(
            id=RunId(self._new_id()),
            repo_id=before.repo_id,
            sha=before.sha,
            suite=before.suite,
            attempt=before.attempt + 1,
            snapshot=before.snapshot,
            created_at=now,
            origin=who,
            number=before.number,
        )
        return continued(run, before)


def _entry(order: Order, name: str, rule: str, now: datetime) -> AuditEntry:
    """Return the audit's row of a start that is allowed."""
    verb = "rerun" if order.failed_only else "start"
    options = " --force" if order.force else ""
    options += "".join(f" --set {key}={value}" for key, value in order.settings)
    pull = order.chosen.pull
    return AuditEntry(
        at=now,
        who=order.asked.person.login,
        what=f"{verb} {name}{options}",
        allowed=True,
        rule=rule,
        repo_id=pull.repo_id,
        number=pull.number,
        sha=order.asked.sha,
    )


def _may_run_elsewhere(run: Run, label: str) -> bool:
    """Tell whether an open run has taken another label, or may."""
    names = [run.label] if run.label else [item.name for item in run.snapshot.labels]
    return names != [label]


def _on_github(order: Order, name: str) -> Run | None:
    """Return the latest attempt of a suite that GitHub has started, None when it never has."""
    found = [item.run for item in order.runs if item.run.suite == name]
    started = [run for run in found if run.actions_run_id is not None]
    return max(started, key=lambda run: run.attempt, default=None)


def continued(run: Run, before: Run) -> Run:
    """Let a re-run continue its Actions run, if that used a label that still fits."""
    labels = tuple(item for item in run.snapshot.labels if item.name == before.label)
    if before.actions_run_id is None or not (labels or run.snapshot.native):
        return run
    if run.snapshot.native:
        labels = run.snapshot.labels  # GitHub chose them
    return replace(
        run,
        snapshot=replace(run.snapshot, labels=labels),
        rerun_of=before.actions_run_id,
        actions_attempt=before.actions_attempt,
    )


def approval(repo_id: RepoId, asked: Asked, via: str, now: datetime) -> Approval:
    """Return the record of somebody's approval of a commit."""
    person = asked.person
    return Approval(repo_id, asked.sha, person.login, person.level, via, now)


def gate_of(order: Order) -> Gate:
    """Return the gate of the commit, to be looked at anew."""
    pull = order.chosen.pull
    return Gate(pull.repo_id, order.asked.sha, pull.number, name=order.chosen.at.policy.gate.name)


def merged(gathered: Gathered, gate: Gate) -> Changes:
    """Return one change out of all that was gathered."""
    base = gathered.changes or Changes()
    gates = base.gates if any(item.sha == gate.sha for item in base.gates) else (*base.gates, gate)
    return replace(
        base,
        approval=gathered.approval,
        new_runs=(*base.new_runs, *gathered.new_runs),
        add_wants=(*base.add_wants, *gathered.add_wants),
        wishes=(*base.wishes, *gathered.wishes),
        forced=(*base.forced, *gathered.forced),
        gates=gates,
        audit=(*base.audit, *gathered.audit),
    )
