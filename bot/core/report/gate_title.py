"""The title of the gate. On a phone people read nothing else."""

from bot.core.messages.words import capital, listing
from bot.core.model.ids import short
from bot.core.model.runs import Outcome
from bot.core.model.views import GateView
from bot.core.report.context import MarkdownWriter
from bot.core.report.standing import GateReason, Standing, SuiteLine, SuiteState

_ONE_RED = {
    Outcome.CANCELLED: "gate_cancelled_one",
    Outcome.BROKEN: "gate_broken_one",
    Outcome.TIMED_OUT: "gate_timed_out_one",
}


def gate_title(writer: MarkdownWriter, view: GateView, stand: Standing) -> str:
    """Return the state of the gate in a few words."""
    match stand.kind:
        case GateReason.CLOSED:
            return capital(writer.words(view.closed))
        case GateReason.DRY_RUN:
            lines = tuple(line for line in stand.lines if line.auto)
            key = "gate_dry_run" if lines else "gate_dry_run_none"
            return writer.text(key, suites=_names(writer, lines))
        case GateReason.FAILED:
            return _failed(writer, stand)
        case GateReason.APPROVAL:
            suites = writer.count("suite", len(stand.at(SuiteState.APPROVAL)))
            return writer.text("gate_approval", suites=suites, sha=short(view.sha))
        case GateReason.COMMAND | GateReason.GITHUB:
            names = _names(writer, _at(stand, SuiteState(stand.kind.value)))
            key = "gate_command" if stand.kind is GateReason.COMMAND else "gate_github"
            return writer.text(key, suites=names)
        case GateReason.RUNNING:
            return _running(writer, stand)
        case GateReason.PASSED:
            return _passed(writer, stand)
        case _:
            return writer.text(f"gate_{stand.kind}")


def _at(stand: Standing, where: SuiteState) -> tuple[SuiteLine, ...]:
    return tuple(line for line in stand.required if line.stand is where)


def _names(writer: MarkdownWriter, lines: tuple[SuiteLine, ...]) -> str:
    return writer.words(listing([line.suite for line in lines]))


def _failed(writer: MarkdownWriter, stand: Standing) -> str:
    red = _at(stand, SuiteState.RED)
    if len(red) > 1 or red[0].run is None:
        suites = writer.count("suite", len(stand.required))
        return writer.text("gate_failed", red=len(red), suites=suites, names=_names(writer, red))
    run, suite = red[0].run, writer.words(red[0].suite)
    if run.outcome is Outcome.CANCELLED and run.stop_request and run.stop_request.by:
        return writer.text("gate_cancelled_by", suite=suite, by=writer.words(run.stop_request.by))
    key = _ONE_RED.get(run.outcome, "gate_failed_one") if run.outcome else "gate_broken_one"
    return writer.text(key, suite=suite)


def _running(writer: MarkdownWriter, stand: Standing) -> str:
    green, total = len(_at(stand, SuiteState.GREEN)), len(stand.required)
    if total == 1:
        return writer.text("gate_running_one", suite=writer.words(stand.required[0].suite))
    still = writer.text("gate_open", count=total - green)
    return writer.text("gate_running", green=green, suites=writer.count("suite", total), open=still)


def _passed(writer: MarkdownWriter, stand: Standing) -> str:
    elsewhere = {line.passed_at for line in stand.required}
    if len(elsewhere) == 1 and (sha := elsewhere.pop()):
        suites = writer.count("suite", len(stand.required))
        return writer.text("gate_same_tree", sha=short(sha), suites=suites)
    if len(stand.required) == 1:
        return writer.text("gate_passed_one", suite=writer.words(stand.required[0].suite))
    return writer.text("gate_passed", suites=writer.count("suite", len(stand.required)))
