"""The state of a commit's gate, and the suites that decide it.

failure > action_required > in_progress > success over the latest attempts of the required suites;
superseded attempts do not count, nor do those of another policy. An unknown result is in
progress: silence is never green.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bot.core.model.runs import Outcome, Run, State
from bot.core.model.selections import Cost, SelectionDetails, SuiteSelection
from bot.core.model.views import GateView
from bot.core.policy.models import Mode, Tier
from bot.core.policy.quarantined import QuarantineStand, stand_at
from bot.core.runs.native import on_github


@dataclass(frozen=True, slots=True)
class GateState:
    """The state that GitHub should show; a completed gate with another state is replaced."""

    status: str  # "in_progress" | "completed"
    conclusion: str | None


class GateReason(StrEnum):
    """The reason for the conclusion of the gate."""

    CLOSED = "closed"
    POLICY = "policy"
    UNKNOWN = "unknown"
    LOOKING = "looking"
    DRY_RUN = "dry_run"
    NONE = "none"
    FAILED = "failed"
    DRAFT = "draft"
    APPROVAL = "approval"
    GITHUB = "github"
    COMMAND = "command"
    RUNNING = "running"
    PASSED = "passed"


CONCLUSIONS: dict[GateReason, str | None] = {
    GateReason.CLOSED: "cancelled",
    GateReason.POLICY: "failure",
    GateReason.UNKNOWN: None,
    GateReason.LOOKING: None,
    GateReason.DRY_RUN: "neutral",  # meant for trying out: it is not to be required then
    GateReason.NONE: "success",
    GateReason.FAILED: "failure",
    GateReason.DRAFT: "action_required",
    GateReason.APPROVAL: "action_required",
    GateReason.GITHUB: "action_required",
    GateReason.COMMAND: "action_required",
    GateReason.RUNNING: None,
    GateReason.PASSED: "success",
}


class SuiteState(StrEnum):
    """The state of one suite for the gate, worst first."""

    RED = "red"
    DRAFT = "draft"
    APPROVAL = "approval"
    GITHUB = "github"  # somebody has to do something there
    COMMAND = "command"
    OPEN = "open"
    GREEN = "green"


_KINDS = {
    SuiteState.RED: GateReason.FAILED,
    SuiteState.DRAFT: GateReason.DRAFT,
    SuiteState.APPROVAL: GateReason.APPROVAL,
    SuiteState.GITHUB: GateReason.GITHUB,
    SuiteState.COMMAND: GateReason.COMMAND,
    SuiteState.OPEN: GateReason.RUNNING,
    SuiteState.GREEN: GateReason.PASSED,
}


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """A selected suite with its reason, cost, latest run and state."""

    suite: str
    reason: str
    required: bool
    auto: bool  # starts by itself
    heavy: bool
    native: bool  # GitHub starts it
    by_command: bool  # a command that names it starts it
    cost: Cost
    run: Run | None
    stand: SuiteState
    passed_at: str = ""  # a commit with the same files, where it passed
    quarantine: QuarantineStand | None = None  # at its result, or now
    excused: bool = False  # by its quarantine it is not required, whatever its result


_Selected = tuple[SelectionDetails, SuiteSelection]


@dataclass(frozen=True, slots=True)
class Standing:
    """The gate's reason and the suites behind it."""

    kind: GateReason
    lines: tuple[SuiteLine, ...] = ()

    @property
    def required(self) -> tuple[SuiteLine, ...]:
        """Return the suites that the gate counts."""
        return tuple(line for line in self.lines if line.required)

    def at(self, *stands: SuiteState) -> tuple[SuiteLine, ...]:
        """Return the suites in these states."""
        return tuple(line for line in self.lines if line.stand in stands)


def gate_state(view: GateView) -> GateState:
    """Return the state that the gate of this commit shows."""
    conclusion = CONCLUSIONS[standing(view).kind]
    return GateState("completed" if conclusion else "in_progress", conclusion)


def is_shown(line: SuiteLine) -> bool:
    """Leave out suites that start only by command and were not started; heavy ones have a line."""
    return line.run is not None or line.auto or line.required


def optional_suites(stand: Standing) -> tuple[SuiteLine, ...]:
    """Return the suites that are shown and do not count."""
    return tuple(
        line
        for line in stand.lines
        if is_shown(line) and not (line.required or line.excused) and not is_not_in(line.run)
    )


def excused_suites(stand: Standing) -> tuple[SuiteLine, ...]:
    """Return the suites that would count if they were not in quarantine."""
    return tuple(line for line in stand.lines if line.excused)


def standing(view: GateView) -> Standing:
    """Return the gate's reason and its suites."""
    lines = tuple(_lines(view))
    return Standing(_kind(view, lines), lines)


def _kind(view: GateView, lines: tuple[SuiteLine, ...]) -> GateReason:
    if view.closed:
        return GateReason.CLOSED
    if view.unknown:
        return GateReason.UNKNOWN
    if view.policy_errors:
        return GateReason.POLICY
    if not view.selections:
        return GateReason.LOOKING
    if all(item.data.mode is Mode.DRY_RUN for item in view.selections):
        return GateReason.DRY_RUN
    stands = {line.stand for line in lines if line.required}
    worst = next((stand for stand in SuiteState if stand in stands), None)
    return _KINDS[worst] if worst else GateReason.NONE


def _lines(view: GateView) -> Iterable[SuiteLine]:
    """Yield one line for each selected suite.

    Several pull requests may share the commit. If their policies differ in a suite, it has a line
    for each of them.
    """
    runs = [run for run in _in_time(view) if run.outcome is not Outcome.SUPERSEDED]
    found: dict[tuple[str, str, tuple[str, ...]], list[_Selected]] = {}
    for selection in view.selections:
        for item in selection.data.suites:
            if item.choice.selected:
                key = (item.choice.suite, item.essence, item.labels)
                found.setdefault(key, []).append((selection.data, item))
    for (name, _, _), chosen in found.items():
        yield _line(view, chosen, [run for run in runs if run.suite == name])


def _line(view: GateView, found: list[_Selected], attempts: list[Run]) -> SuiteLine:
    """Return the line of a suite; ``attempts`` may belong to other policies too."""
    choices, first = [data for data, _ in found], found[0][1]
    counted = [run for run in attempts if run.speaks_for(first.essence, first.labels)]
    run = max(counted, key=lambda run: run.attempt, default=None)
    elsewhere = "" if run else first.passed_at or ""
    auto = any(item.auto for _, item in found)
    native = any(item.native for _, item in found)
    rewritten = native and _is_rewritten(choices)
    needed = any(item.required for _, item in found) and (rewritten or not is_not_in(run))
    at = run.ended_at if run and run.ended_at else view.at
    stands = [stand_at(item.quarantine, at) for _, item in found]
    excused = needed and not rewritten and all(_is_excused(it, run, elsewhere) for it in stands)
    return SuiteLine(
        suite=first.choice.suite,
        reason=first.choice.reason,
        required=needed and not excused,
        auto=auto,
        heavy=first.tier is Tier.HEAVY,
        native=native,
        by_command=all(item.by_command for _, item in found),
        cost=first.cost,
        run=run,
        passed_at=elsewhere,
        quarantine=next(filter(None, stands), None),
        excused=excused,
        stand=SuiteState.GREEN
        if elsewhere
        else SuiteState.APPROVAL
        if rewritten
        else SuiteState.OPEN
        if native and run is None  # silence is never green, whatever the rest says
        else _stand(choices, run, auto=auto and not _needs_command(choices, attempts)),
    )


def _is_excused(quarantine: QuarantineStand | None, run: Run | None, elsewhere: str) -> bool:
    """Return True if a suite does not count: it has not passed, and is in quarantine.

    A result counts by the time at which it came: what a quarantine excused stays so, and an end of
    it turns no gate red that was green. A suite without a result counts again from then on.
    """
    if quarantine is None or elsewhere:
        return False
    if run is None or run.state is not State.DONE:
        return quarantine.whole is not None
    return run.outcome is not Outcome.SUCCESS and quarantine.excuses(run.failed_tests)


def is_not_in(run: Run | None) -> bool:
    """Return True if the conditions of a suite's jobs leave it out, as GitHub itself says."""
    return run is not None and run.outcome is Outcome.SKIPPED


def _needs_command(choices: list[SelectionDetails], attempts: list[Run]) -> bool:
    """Return True if only a command starts the suite, because an attempt that does not count ran.

    It had inputs that a person set, or was another pull request's, of another policy.
    """
    if any(run.snapshot.altered for run in attempts):
        return True
    ended = bool(attempts) and all(run.state is State.DONE for run in attempts)
    return ended and _trusted(choices)


def _is_rewritten(choices: list[SelectionDetails]) -> bool:
    """Return True if nobody trusts the commit, and it may have changed what GitHub runs by itself.

    GitHub runs the workflow as the commit has it, so its result says nothing, whatever it is.
    """
    return not _trusted(choices) and any(data.protected for data in choices)


def _trusted(choices: list[SelectionDetails]) -> bool:
    return any(data.trusted for data in choices)  # an approval may not count: of one's own commit


def _stand(choices: list[SelectionDetails], run: Run | None, *, auto: bool) -> SuiteState:
    if run and run.state is State.DONE:
        passed = run.outcome is Outcome.SUCCESS or is_not_in(run)
        return SuiteState.GREEN if passed else SuiteState.RED
    approved = _trusted(choices)
    if run and on_github(run):
        return SuiteState.GITHUB
    if run:
        waits = run.state is State.NEEDS_APPROVAL and not approved
        return SuiteState.APPROVAL if waits else SuiteState.OPEN
    if all(data.draft for data in choices):
        return SuiteState.DRAFT
    if not auto:
        return SuiteState.COMMAND
    return SuiteState.OPEN if approved else SuiteState.APPROVAL


def _in_time(view: GateView) -> Iterable[Run]:
    """Leave out runs made after a merge group was over, such as those of a schedule."""
    groups = [item.data.group for item in view.selections]
    times = [group.over_at for group in groups if group and group.over_at]
    if not times or len(times) < len(groups):
        return view.runs
    return [run for run in view.runs if run.created_at <= max(times)]
