"""The title of the gate. On a phone people read nothing else."""

from collections.abc import Iterable
from datetime import datetime

from bot.core.messages import NOTHING, Message
from bot.core.messages.words import capital, clock, listing, lower
from bot.core.model.ids import short
from bot.core.model.runs import Outcome, Run
from bot.core.model.views import GateView
from bot.core.report.context import MarkdownWriter
from bot.core.report.open_suites import Phase, open_phases
from bot.core.report.standing import (
    GateReason,
    Standing,
    SuiteLine,
    SuiteState,
    excused_suites,
    optional_suites,
)
from bot.core.report.words import (
    acquits,
    hidden_why,
    is_hidden,
    is_unknown,
    reason,
    resource,
    stopped_by,
    where,
)
from bot.core.runs.not_started import is_not_started

# Reasons that add nothing to "failed".
_SAY_NOTHING = frozenset({"run_failed", "run_timed_out"})
# The title of a gate that can't be judged; its summary has the whole reason.
_UNKNOWN = {
    "gate_unanswered": "gate_unanswered_title",
    "gate_often": "gate_often_title",
    "gate_policy_gone": "gate_policy_gone_title",
    "gate_policy_renamed": "gate_policy_renamed_title",
}
_ONE_RED = {
    Outcome.FAILURE: ("gate_failed_one", "gate_failed_one_why"),
    Outcome.TIMED_OUT: ("gate_timed_out_one", "gate_timed_out_one_why"),
    Outcome.CANCELLED: ("gate_cancelled_one", ""),  # the reason says "cancelled" again
    Outcome.BROKEN: ("gate_failed_one", "gate_broken_one_why"),
}
_INFRA_RED = ("gate_failed_one", "gate_infra_one_why")
# Broken runs of which nobody learned the end, and those that the change may have broken.
_UNKNOWN_RED = ("gate_failed_one", "gate_unknown_one_why")
_SUSPECT_RED = ("gate_failed_one", "gate_unpassed_one_why")


def gate_title(writer: MarkdownWriter, view: GateView, stand: Standing, now: datetime) -> str:
    """Return the state of the gate in a few words."""
    match stand.kind:
        case GateReason.FAILED:
            return _failed(writer, stand)
        case GateReason.APPROVAL:
            suites = writer.count("suite", len(stand.at(SuiteState.APPROVAL)))
            return writer.text("gate_approval", suites=suites, sha=short(view.sha))
        case GateReason.DRAFT | GateReason.COMMAND | GateReason.GITHUB:
            return _waiting_for_people(writer, stand)
        case GateReason.RUNNING:
            return _running(writer, stand, now)
        case GateReason.PASSED:
            return _with_excused(writer, stand, _passed(writer, stand))
        case GateReason.NONE if excused := excused_suites(stand):
            return writer.text("gate_none_excused_title", suites=_names(writer, excused))
        case GateReason.NONE if optional := optional_suites(stand):
            return writer.text("gate_none_optional_title", suites=_names(writer, optional))
        case _:
            return _without_suites(writer, view, stand)


def _without_suites(writer: MarkdownWriter, view: GateView, stand: Standing) -> str:
    """Return the title of a gate that no suite decides."""
    match stand.kind:
        case GateReason.CLOSED:
            return capital(writer.words(view.closed))
        case GateReason.UNKNOWN:
            return writer.text(_UNKNOWN[view.unknown.key], **view.unknown.fields)
        case GateReason.POLICY:
            error = view.policy_errors[0]
            return writer.text(
                "gate_policy_base",
                n=len(view.policy_errors),
                ref=writer.words(policy_ref(writer, error)),
                error=writer.words(_inner(error)),
            )
        case GateReason.DRY_RUN:
            lines = tuple(line for line in stand.lines if line.auto)
            if lines:
                return writer.text("gate_dry_run", suites=_names(writer, lines))
            return writer.text("gate_dry_run_none" if stand.lines else "gate_dry_run_empty")
        case _:
            return writer.text(f"gate_{stand.kind}")


def policy_ref(writer: MarkdownWriter, error: Message) -> str:
    """Return the branch whose policy has an error."""
    return str(error.fields.get("ref", writer.ctx.policy_ref))


def _inner(error: Message) -> str:
    """Return an error without its branch."""
    inner = error.fields["error"] if error.key == "policy_error_at" else error
    assert isinstance(inner, str)
    if isinstance(inner, Message) and inner.key == "policy_error":
        return Message("policy_error_short", **inner.fields)  # a title has one colon
    return inner


def _at(stand: Standing, where: SuiteState) -> tuple[SuiteLine, ...]:
    return tuple(line for line in stand.required if line.stand is where)


def _waiting_for_people(writer: MarkdownWriter, stand: Standing) -> str:
    """Return which suites somebody has to start, or why GitHub does not start them."""
    names = _names(writer, _at(stand, SuiteState(stand.kind.value)))
    runs = [line.run for line in _at(stand, SuiteState.GITHUB) if line.run]
    reasons = {run.why if is_not_started(run) else NOTHING for run in runs}
    if not any(reasons):
        return writer.text(f"gate_{stand.kind}", suites=names)
    if len(reasons) > 1:
        return writer.text("gate_github_help", suites=names)
    why = capital(writer.words(reasons.pop()))
    return writer.text("gate_not_started", why=why, suites=names)


def _names(writer: MarkdownWriter, lines: Iterable[SuiteLine]) -> str:
    return writer.words(listing([*dict.fromkeys(line.suite for line in lines)]))


def _failed(writer: MarkdownWriter, stand: Standing) -> str:
    red = _at(stand, SuiteState.RED)
    if len(red) > 1:
        suites = writer.count("suite", len(stand.required))
        return writer.text("gate_failed", red=len(red), suites=suites, names=_names(writer, red))
    (run,) = (line.run for line in red)
    assert run is not None  # only a run is red
    suite = writer.words(run.suite)
    if run.outcome is Outcome.CANCELLED and run.stop_request and run.stop_request.by:
        return writer.text("gate_cancelled_by", suite=suite, by=writer.words(run.stop_request.by))
    key, with_why = _one_red(run)
    why = _cause(writer, run)
    if why and with_why:
        return writer.text(with_why, suite=suite, why=why)
    return writer.text(key, suite=suite)


def _one_red(run: Run) -> tuple[str, str]:
    """Return the sentences for a suite that is not green, without its reason and with it."""
    outcome = run.outcome or Outcome.BROKEN
    if run.infra:
        return _INFRA_RED
    if outcome is not Outcome.BROKEN or acquits(run):
        return _ONE_RED[outcome]
    return _UNKNOWN_RED if is_unknown(run) else _SUSPECT_RED


def _cause(writer: MarkdownWriter, run: Run) -> str:
    if run.why.key in _SAY_NOTHING and not run.cause:
        return ""
    return lower(writer.words(run.cause or reason(run)))


def _running(writer: MarkdownWriter, stand: Standing, now: datetime) -> str:
    """Return what the suites that have not ended do; those that are furthest come first."""
    found = open_phases(_at(stand, SuiteState.OPEN))
    (first, lines), *rest = found.items()
    title = _phase(writer, first, lines, now)
    passed = len(_at(stand, SuiteState.GREEN))
    counts = [(phase.short, len(more)) for phase, more in rest]
    for name, many in [*counts, ("passed", passed)]:
        if many:
            title = writer.text("gate_and", first=title, more=writer.text(f"gate_n_{name}", n=many))
    return title


def _phase(writer: MarkdownWriter, phase: Phase, lines: list[SuiteLine], now: datetime) -> str:
    """Return what suites do, and of a single one since when or what for."""
    names = _names(writer, lines)
    run = lines[0].run
    if phase is Phase.WAITING:
        return _waiting(writer, names, lines)
    if run and len(lines) == 1 and (more := _detail(writer, phase, run, now)):
        return writer.text("gate_detail", said=writer.text(f"gate_{phase}", names=names), more=more)
    return writer.text(f"gate_{phase}", names=names)


def _waiting(writer: MarkdownWriter, names: str, lines: list[SuiteLine]) -> str:
    """Return the reason for which suites wait, if it is one for all."""
    reasons = {writer.words(line.run.why) for line in lines if line.run}
    if len(reasons) > 1:
        return writer.text("gate_waiting", why=names)
    text = writer.text("gate_waiting", why=reasons.pop())
    if len(lines) == 1:
        return text
    return writer.text("gate_and", first=text, more=writer.count("suite", len(lines)))


def _detail(writer: MarkdownWriter, phase: Phase, run: Run, now: datetime) -> str:
    if phase is Phase.NOW and run.why:
        return writer.words(run.why)
    if phase is Phase.NOW and run.started_at:
        return writer.text("gate_since", at=clock(run.started_at, now))
    if phase is Phase.STOPPING:
        return writer.words(stopped_by(run))
    if phase is Phase.RUNNER:
        return writer.words(run.label or where(run))
    if phase is Phase.QUEUED and run.queue_position:
        return writer.text("gate_for", resource=writer.words(resource(run)))
    return ""


def _with_excused(writer: MarkdownWriter, stand: Standing, passed: str) -> str:
    excused = excused_suites(stand)
    if not excused:
        return passed
    return writer.text("gate_passed_excused", passed=passed, suites=_names(writer, excused))


def _passed(writer: MarkdownWriter, stand: Standing) -> str:
    elsewhere = {line.passed_at for line in stand.required}
    if len(elsewhere) == 1 and (sha := elsewhere.pop()):
        suites = writer.count("suite", len(stand.required))
        return writer.text("gate_same_tree", sha=short(sha), suites=suites)
    for line in stand.required:
        if line.run and is_hidden(line.run):
            suite, why = writer.words(line.suite), hidden_why(writer, line.run)
            return writer.text("gate_passed_but", suite=suite, why=why)
    if len(stand.required) == 1:
        return writer.text("gate_passed_one", suite=writer.words(stand.required[0].suite))
    return writer.text("gate_passed", suites=writer.count("suite", len(stand.required)))
