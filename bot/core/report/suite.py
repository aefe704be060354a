"""The check run of a suite: first what happened, then whose fault it is, then the next step."""

from datetime import datetime

from bot.core.digest.result import Digest
from bot.core.github.limits import TEXT_BYTES
from bot.core.messages.words import capital
from bot.core.model.runs import Outcome, State
from bot.core.model.views import CheckWrite, SuiteView
from bot.core.report.context import Context, MarkdownWriter, address
from bot.core.report.digest import best, pace
from bot.core.report.failure import annotations, failure_summary, failure_text
from bot.core.report.sections import Section, compose
from bot.core.report.story import followed, now_lines, origin, timeline, what
from bot.core.report.words import outcome_title, rerun_how, state_title

_CONCLUSIONS = {
    Outcome.SUCCESS: "success",
    Outcome.FAILURE: "failure",
    Outcome.TIMED_OUT: "timed_out",
    Outcome.CANCELLED: "cancelled",
    Outcome.SUPERSEDED: "cancelled",
    Outcome.BROKEN: "failure",
}
_IN_PROGRESS = frozenset({State.RUNNING, State.CANCELLING, State.FINISHING})
# A superseded commit is no head: its re-run would be refused.
_NOT_AGAIN = frozenset({None, Outcome.SUCCESS, Outcome.SUPERSEDED})
_BAD = frozenset({Outcome.FAILURE, Outcome.TIMED_OUT, Outcome.BROKEN})


def suite_check(view: SuiteView, ctx: Context, now: datetime) -> CheckWrite:
    """Return the whole check run that shows this run."""
    run = view.run
    writer = MarkdownWriter(ctx, run.snapshot.log.redact)
    shown, problem = best(view)
    outcome = _outcome(view)
    digest = shown if outcome in _BAD else None
    if outcome is None:
        title = state_title(writer, run, pace(view.rayjobs), now)
    else:
        title = outcome_title(writer, run, outcome, digest)
    return CheckWrite(
        name=f"Ascend / {run.suite}",
        head_sha=run.sha,
        external_id=ctx.external_id or run.id,
        status=_status(run.state),
        conclusion=_CONCLUSIONS[outcome] if outcome else None,
        title=writer.fit_title(title),
        summary=_summary(writer, view, outcome, digest, now),
        text=compose(failure_text(writer, digest, problem), TEXT_BYTES) if outcome in _BAD else "",
        details_url=address(writer.page(run) or run.actions_url),
        started_at=run.started_at or run.dispatched_at,
        completed_at=(run.ended_at or now) if outcome else None,
        annotations=annotations(writer, digest) if digest else (),
        buttons=() if outcome in _NOT_AGAIN else (writer.button("rerun"),),
    )


def _outcome(view: SuiteView) -> Outcome | None:
    """Return the outcome of a run; a done run without one counts as broken."""
    if view.run.state is not State.DONE:
        return None
    return view.run.outcome or Outcome.BROKEN


def _status(state: State) -> str:
    if state is State.DONE:
        return "completed"
    return "in_progress" if state in _IN_PROGRESS else "queued"


def _summary(
    writer: MarkdownWriter,
    view: SuiteView,
    outcome: Outcome | None,
    digest: Digest | None,
    now: datetime,
) -> str:
    """Return the summary: the state, the timeline, the suite, the links."""
    if outcome is None:
        news: list[Section] = list(now_lines(writer, view, now))
    elif outcome in _BAD:
        news = list(failure_summary(writer, view, digest))
    else:
        news = list(_ended(writer, view, outcome))
    rest: list[Section] = [
        timeline(writer, view, now),
        followed(writer, view, now),
        what(writer, view, brief=outcome in _BAD),
        origin(writer, view),
    ]
    return compose([*news, *rest], TEXT_BYTES) or writer.text("row_" + view.run.state)


def _ended(writer: MarkdownWriter, view: SuiteView, outcome: Outcome) -> tuple[Section, ...]:
    """Return the reason of the end, and how to run the suite again."""
    run = view.run
    why = capital(writer.prose(run.why))
    lines = [f"{why}." if why else ""]
    if outcome is Outcome.SUPERSEDED:
        lines.append(writer.text("not_counted"))
    if outcome is not Outcome.SUCCESS:
        lines.append(rerun_how(writer, run))
    return tuple(lines)
