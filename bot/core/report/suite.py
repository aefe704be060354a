"""The check run of a suite: first what happened, then whose fault it is, then the next step."""

from datetime import datetime

from bot.core.github.limits import SHOWN_TITLE_CHARS, TEXT_BYTES
from bot.core.messages import NOTHING
from bot.core.messages.words import capital, stop
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.views import CheckWrite, SuiteView
from bot.core.report.context import Context, MarkdownWriter, address
from bot.core.report.digest import NO_LOG, best, pace, progress_of
from bot.core.report.ends import Ending, advice, outcome_title
from bot.core.report.environment import since_green
from bot.core.report.failure import (
    annotations,
    failure_summary,
    failure_text,
    next_step,
)
from bot.core.report.images import images
from bot.core.report.measured import measured
from bot.core.report.quarantine import of_run
from bot.core.report.sections import Section, compose
from bot.core.report.story import (
    cancel_how,
    followed,
    not_counted,
    now_line,
    origin,
    timeline,
    what,
)
from bot.core.report.words import can_run_again, is_hidden, left_over, reason, state_title
from bot.core.runs.observed import fold
from bot.core.runs.phases import rayjob_seen, runner_of

_CONCLUSIONS = {
    Outcome.SUCCESS: "success",
    Outcome.FAILURE: "failure",
    Outcome.TIMED_OUT: "timed_out",
    Outcome.CANCELLED: "cancelled",
    Outcome.SUPERSEDED: "cancelled",
    Outcome.BROKEN: "failure",
    Outcome.SKIPPED: "skipped",  # as GitHub shows its jobs; the gate alone is to be required
}
_IN_PROGRESS = frozenset({State.RUNNING, State.CANCELLING, State.FINISHING})
# A superseded commit is no head: its re-run would be refused.
_NOT_AGAIN = frozenset({Outcome.SUCCESS, Outcome.SUPERSEDED, Outcome.SKIPPED})
_BAD = frozenset({Outcome.FAILURE, Outcome.TIMED_OUT, Outcome.BROKEN})


def suite_check(view: SuiteView, ctx: Context, now: datetime) -> CheckWrite:
    """Return the whole check run that shows this run."""
    run = view.run
    writer = MarkdownWriter(ctx, run.snapshot.log.redact)
    end = _ending(view)
    bad = end if end and _is_explained(end.run, end.outcome) else None
    if end is None:
        told = _open_title(writer, view, now)
        title = writer.fit_title(told, SHOWN_TITLE_CHARS)
    else:
        title = outcome_title(writer, end)
    return CheckWrite(
        name=f"Ascend / {run.suite}",
        head_sha=run.sha,
        external_id=ctx.external_id or run.id,
        status=_status(run.state),
        conclusion=_CONCLUSIONS[end.outcome] if end else None,
        title=title,
        summary=_summary(writer, view, end, title, now),
        text=compose(failure_text(writer, view, bad), TEXT_BYTES) if bad else "",
        details_url=address(writer.page(run) or run.actions_url),
        started_at=run.started_at or run.dispatched_at,
        completed_at=(run.ended_at or now) if end else None,
        annotations=annotations(writer, bad.cause) if bad and bad.cause else (),
        buttons=(writer.button("rerun"),) if end and _again(end) else (),
        images=images(writer, run, view.rayjobs),
    )


def _open_title(writer: MarkdownWriter, view: SuiteView, now: datetime) -> str:
    run = view.run
    if run.state is State.FINISHING:
        why = NOTHING if run.why.key == "waits_log" else reason(run)
        if why:
            return writer.text("finishing_why", why=capital(writer.words(why)))
        failed = fold(run, view.run_events).conclusion == "failure"
        return writer.text("finishing_failed" if failed else "finishing")
    return state_title(writer, run, pace(view.rayjobs), now)


def _ending(view: SuiteView) -> Ending | None:
    """Return the end of a run, None before; a done run without an outcome counts as broken."""
    if view.run.state is not State.DONE:
        return None
    outcome = view.run.outcome or Outcome.BROKEN
    shown = best(view) if _is_explained(view.run, outcome) else NO_LOG
    return Ending(
        view.run,
        outcome,
        shown,
        pace(view.rayjobs),
        view.usual,
        on_runner=bool(runner_of(view)),
        before_rayjob=view.run.snapshot.suite.rayjob and not rayjob_seen(view),
    )


def _is_explained(run: Run, outcome: Outcome) -> bool:
    """Return True for an end that the log explains."""
    return outcome in _BAD or is_hidden(run)


def _again(end: Ending) -> bool:
    """Return True if a person may run it again; a retry that follows by itself is enough."""
    return end.outcome not in _NOT_AGAIN and not end.run.retry and can_run_again(end.run)


def _status(state: State) -> str:
    if state is State.DONE:
        return "completed"
    return "in_progress" if state in _IN_PROGRESS else "queued"


def _summary(
    writer: MarkdownWriter, view: SuiteView, end: Ending | None, title: str, now: datetime
) -> str:
    """Return the summary: the state, the timeline, the suite, the links."""
    bad = end is not None and end.outcome in _BAD
    if end is None:
        news: list[Section] = [now_line(writer, view, title, now)]
    elif bad:
        news = list(failure_summary(writer, view, end, title))
    else:
        news = list(_ended(writer, view, end, title))
    rest: list[Section] = [
        of_run(writer, view, now),
        since_green(writer, view, now) if bad else "",
        timeline(writer, view, title, now),
        followed(writer, view, now),
        what(writer, view, brief=bad),
        origin(writer, view),
        cancel_how(writer, view.run),
    ]
    return compose([*news, *rest], TEXT_BYTES) or writer.text("row_" + view.run.state)


def _ended(writer: MarkdownWriter, view: SuiteView, end: Ending, title: str) -> tuple[Section, ...]:
    """Return what was measured, or the reason of the end and how to run the suite again."""
    run, why = view.run, writer.prose(reason(view.run))
    if is_hidden(run):
        return (writer.text("next", hint=advice(writer, end)),)
    if end.outcome is Outcome.SUCCESS:
        said = stop(capital(why)) if run.why.key == "rayjob_succeeded" else ""
        return (
            not_counted(writer, run),
            measured(writer, progress_of(view.rayjobs), view.usual),
            said,
        )
    said = "" if writer.words(reason(run)).lower() in title.lower() else stop(capital(why))
    left = writer.prose(left_over(view))
    if end.outcome is Outcome.SKIPPED:
        return (writer.text("not_in_why"),)
    if end.outcome is Outcome.SUPERSEDED:
        return (said, stop(left), _not_counted(writer, run))
    return (said, stop(left), next_step(writer, end))


def _not_counted(writer: MarkdownWriter, run: Run) -> str:
    """Return whether somebody has to do something about a run that was stopped or replaced."""
    if run.why.key in {"superseded_by", "superseded_night"}:
        return writer.text("replaced")
    if run.why.key in {"drop_rights", "drop_untrusted"}:
        return writer.text("not_counted_gate", gate=writer.code(writer.ctx.gate))
    return writer.text("not_counted")
