"""What to do next about a gate: the command to type, or where to look."""

from bot.core.messages.words import listing, sentences
from bot.core.model.runs import Outcome
from bot.core.model.views import GateView
from bot.core.report.context import MarkdownWriter
from bot.core.report.ends import Ending, advice
from bot.core.report.sections import Section
from bot.core.report.standing import GateReason, Standing, SuiteState, optional_suites
from bot.core.report.waits import github_todo
from bot.core.report.words import can_run_again, is_hidden, is_unknown, is_unknown_alone


def next_command(writer: MarkdownWriter, view: GateView, stand: Standing) -> Section:
    """Return the command to type next."""
    match stand.kind:
        case GateReason.PASSED:
            return _hidden(writer, stand)
        case GateReason.FAILED if not is_rerunnable(stand):
            text = writer.text("gate_gone_app")
        case GateReason.FAILED:
            command = writer.command("rerun", sha=view.sha)
            key = "gate_rerun_group" if of_group(view) else "gate_rerun"
            text = sentences(_mend(writer, stand), writer.text(key, command=command))
        case GateReason.DRAFT:
            drafts = stand.at(SuiteState.DRAFT)
            now = any(line.by_command and not line.heavy for line in drafts)
            start = writer.text("gate_draft_now", command=writer.command("run")) if now else ""
            text = sentences(writer.text("gate_draft_why"), start)
        case GateReason.GITHUB:
            text = github_todo(writer, stand)
        case GateReason.COMMAND:
            wanted = [line for line in stand.required if line.stand is SuiteState.COMMAND]
            names = [line.suite for line in wanted]
            start = writer.start(*names)
            if not all(line.by_command for line in wanted):
                start = writer.command("rerun", *names, sha=view.sha)  # of any suite that has run
            text = writer.text("gate_command_why", command=start)
        case GateReason.NONE:
            text = _start(writer, view, stand)
        case _:
            return ""
    return text


def is_rerunnable(stand: Standing) -> bool:
    """Return True if the bot can run a suite again that is not green."""
    return any(line.run and can_run_again(line.run) for line in stand.at(SuiteState.RED))


def _start(writer: MarkdownWriter, view: GateView, stand: Standing) -> str:
    """Return the command that starts the optional suites that have no run."""
    startable = {SuiteState.COMMAND, SuiteState.DRAFT}  # others have a run, or start by themselves
    names = [
        line.suite
        for line in optional_suites(stand)
        if line.stand in startable and line.run is None and line.by_command and not line.native
    ]
    if not names or of_group(view):
        return ""
    return writer.text("gate_none_start", command=writer.start(*names))


def _hidden(writer: MarkdownWriter, stand: Standing) -> str:
    """Return where to look at tests that GitHub calls green though they died."""
    hidden = [line.suite for line in stand.required if line.run and is_hidden(line.run)]
    named = listing([writer.code(name) for name in hidden])
    return writer.text("gate_hidden", suite=named) if hidden else ""


def _mend(writer: MarkdownWriter, stand: Standing) -> str:
    """Return what to do about the only suite that is red; its check run knows more of a log."""
    red = [line.run for line in stand.required if line.stand is SuiteState.RED and line.run]
    if len(red) != 1:
        return ""
    (run,) = red
    if run.outcome is Outcome.CANCELLED:
        by = run.stop_request.by if run.stop_request else ""
        return writer.text("gate_ask", by=writer.code(by)) if by else ""
    ran = run.started_at is not None
    own = advice(writer, Ending(run, run.outcome or Outcome.BROKEN, on_runner=ran))
    if run.outcome is Outcome.BROKEN and own:
        whose = is_unknown(run) and not is_unknown_alone(run)
        return sentences(writer.text("next", hint=own), writer.text("gate_whose") if whose else "")
    look = writer.text("gate_look", suite=writer.code(run.suite))
    perhaps = run.outcome is Outcome.FAILURE and not run.infra
    return sentences(look, writer.text("gate_perhaps") if perhaps else "")


def of_group(view: GateView) -> bool:
    """Return True if the commit belongs to a merge group; comments cannot control it."""
    return any(item.data.group for item in view.selections)
