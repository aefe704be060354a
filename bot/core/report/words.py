"""A run's state, outcome, place and next attempt in words, for titles and tables alike."""

from datetime import datetime
from typing import assert_never

from bot.core.digest.result import UNKNOWN, Digest
from bot.core.github.limits import TITLE_CHARS
from bot.core.github.markdown import title
from bot.core.messages.words import about, between, capital, clock, duration, lower, number, ordinal
from bot.core.model.queue import label_resource
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import Pace, title_of


def resource(run: Run) -> str:
    """Return the label or pool that the run waits for, without its kind."""
    name = run.queue_position.resource if run.queue_position else ""
    written = {label_resource(item.name): item.name for item in run.snapshot.labels}
    return written.get(name, name.removeprefix("label:").removeprefix("pool:"))


def where(run: Run) -> str:
    """Return the pool or label that the run uses, or would use first."""
    if run.snapshot.pool:
        return run.snapshot.pool.name
    return run.label or run.snapshot.labels[0].name


def progress(writer: MarkdownWriter, pace: Pace) -> str:
    """Return ``Step 7 of 15, 41 s a step, about 6 min left``."""
    if pace.total is None:
        out = writer.text("step_open", step=number(pace.step))
    else:
        out = writer.text("step", step=number(pace.step), total=number(pace.total))
    if pace.step_s:
        out += writer.text("step_pace", pace=duration(pace.step_s))
    if pace.left_s:
        out += writer.text("step_left", left=about(pace.left_s))
    return out


def state_title(writer: MarkdownWriter, run: Run, pace: Pace | None, now: datetime) -> str:
    """Return the title of a run that is not done."""
    why = writer.words(run.why)
    match run.state:
        case State.QUEUED:
            return _queued(writer, run, why, now)
        case State.DISPATCHING if run.why.key == "waits_dispatch":
            return writer.text("dispatching_why", why=why)
        case State.WAITING_FOR_RUNNER:
            return writer.text("waiting_for_runner", label=writer.words(run.label or where(run)))
        case State.RUNNING:
            return _running(writer, run, pace, why, now)
        case State.CANCELLING:
            return _cancelling(writer, run, why)
        case _:
            return writer.text(run.state.value)


def _queued(writer: MarkdownWriter, run: Run, why: str, now: datetime) -> str:
    if run.queue_position:
        place, name = ordinal(run.queue_position.ahead + 1), writer.words(resource(run))
        if run.queue_position.start_at and run.queue_position.start_at > now:
            wait = about((run.queue_position.start_at - now).total_seconds())
            return writer.text("queued_place_at", ordinal=place, resource=name, wait=wait)
        return writer.text("queued_place", ordinal=place, resource=name)
    return writer.text("queued_why", why=why) if why else writer.text("queued")


def _running(writer: MarkdownWriter, run: Run, pace: Pace | None, why: str, now: datetime) -> str:
    """Return a problem rather than the progress: the summary shows the progress too."""
    if why:
        return writer.text("running_why", why=why)
    if pace:
        return progress(writer, pace)
    if run.started_at:
        return writer.text("running_since", at=clock(run.started_at, now))
    return writer.text("running")


def _cancelling(writer: MarkdownWriter, run: Run, why: str) -> str:
    stop_request = run.stop_request
    if stop_request and stop_request.kind is StopReason.CANCEL and stop_request.by:
        return writer.text("cancelling_cancel", by=writer.words(stop_request.by))
    reason = writer.words(stop_request.reason) if stop_request and stop_request.reason else why
    return (
        writer.text("cancelling_other", why=reason)
        if reason
        else capital(writer.text("row_cancelling"))
    )


def outcome_title(writer: MarkdownWriter, run: Run, outcome: Outcome, digest: Digest | None) -> str:
    """Return the title of a run that is done."""
    why = lower(writer.words(run.why))
    match outcome:
        case Outcome.SUCCESS:
            span = between(run.started_at, run.ended_at)
            return writer.text("success_in", span=span) if span else writer.text("success")
        case Outcome.FAILURE:
            return _failed(writer, run, digest, why)
        case Outcome.TIMED_OUT:
            return _timed_out(writer, run, why) + retry_suffix(writer, run)
        case Outcome.CANCELLED:
            return _cancelled(writer, run, why)
        case Outcome.SUPERSEDED:
            return _named(writer, "superseded", why)
        case Outcome.BROKEN:
            why = why or writer.text("broken_unknown")
            return _with_suffix(writer.text("broken", why=why), retry_suffix(writer, run))
    assert_never(outcome)


def _failed(writer: MarkdownWriter, run: Run, digest: Digest | None, why: str) -> str:
    told = writer.words(title_of(digest)) if digest else ""
    if not told:
        told = writer.text("failure", why=why) if why else writer.text("failure_unknown")
    return _with_suffix(told, retry_suffix(writer, run))


def _with_suffix(text: str, suffix: str) -> str:
    """Add the suffix; if the title is too long, shorten the sentence and keep the suffix."""
    return title(text, TITLE_CHARS - len(suffix)) + suffix


def _timed_out(writer: MarkdownWriter, run: Run, why: str) -> str:
    kind = run.stop_request.kind if run.stop_request else None
    if kind is StopReason.STALL:
        return writer.text("timed_out_stall", limit=duration(run.snapshot.suite.stall_minutes * 60))
    if kind is StopReason.TIME_OUT or not why:
        return writer.text(
            "timed_out_limit", limit=duration(run.snapshot.suite.timeout_minutes * 60)
        )
    return writer.text("timed_out", why=why)


def _cancelled(writer: MarkdownWriter, run: Run, why: str) -> str:
    if run.stop_request and run.stop_request.kind is StopReason.CANCEL and run.stop_request.by:
        return writer.text("cancelled_by", by=writer.words(run.stop_request.by))
    return _named(writer, "cancelled", why)


def _named(writer: MarkdownWriter, key: str, why: str) -> str:
    """Return the reason with the outcome, but name the outcome only once."""
    if why.lower().startswith(writer.text(f"row_{key}")):
        return capital(why)
    return writer.text(key, why=why) if why else capital(writer.text(f"row_{key}"))


def retry_suffix(writer: MarkdownWriter, run: Run) -> str:
    """Return ``: infrastructure, retrying (2 of 2)``; "" if no attempt follows."""
    if not run.retry:
        return ""
    attempts = run.snapshot.suite.infra_retries + 1
    return writer.text("retrying_title", attempt=run.retries + 2, attempts=attempts)


def retry_words(writer: MarkdownWriter, run: Run, digest: Digest | None) -> str:
    """Return a sentence that says if another attempt follows, or why none does."""
    infra = digest is not None and digest.infra
    if run.retry:
        return writer.text("retry_next", attempt=run.attempt + 1)
    if run.stop_request and run.stop_request.kind is StopReason.CANCEL:
        return writer.text("retry_unwanted")
    if run.outcome is Outcome.FAILURE and not infra:
        known = digest is not None and digest.failure_class != UNKNOWN
        return writer.text("retry_not_infra" if known else "retry_unproven")
    if run.outcome is Outcome.TIMED_OUT and not (
        run.stop_request and run.stop_request.kind is StopReason.STALL
    ):
        return writer.text("retry_not_stalled")
    if not run.snapshot.retryable:
        return writer.text("retry_environment")
    if run.retries < run.snapshot.suite.infra_retries or not run.snapshot.suite.infra_retries:
        return writer.text("retry_none")
    retries = writer.count("retry", run.snapshot.suite.infra_retries)
    return writer.text("retry_spent", retries=retries)


def row_state(writer: MarkdownWriter, run: Run, now: datetime) -> str:
    """Return a run's state for a table's cell: a few words of Markdown with the reason."""
    state = _row_word(writer, run, now)
    if run.attempt > 1:
        state = writer.text("row_attempt", state=state, attempt=run.attempt)
    offline = run.outcome is Outcome.SUCCESS or run.queue_position is not None
    why = "" if offline else lower(writer.prose(run.cause or run.why))
    if why.lower().startswith(state):
        return why  # "cancelled by carol" says it once
    return writer.text("row_why", state=state, why=why) if why else state


def _row_word(writer: MarkdownWriter, run: Run, now: datetime) -> str:
    if run.outcome is Outcome.SUCCESS:
        span = between(run.started_at, run.ended_at)
        return writer.text("row_success_in", span=span) if span else writer.text("row_success")
    if run.outcome:
        return writer.text(f"row_{run.outcome}")
    if run.state is State.QUEUED and run.queue_position:
        # Without its place, which changes too often for tables.
        return writer.text("row_queued_place", resource=writer.prose(resource(run)))
    if run.state is State.RUNNING and run.started_at:
        return writer.text("row_running_since", at=clock(run.started_at, now))
    return (
        writer.text(f"row_{run.state}")
        if run.state is not State.DONE
        else writer.text("row_broken")
    )


def rerun_how(writer: MarkdownWriter, run: Run) -> str:
    """Return how to run it again; comments can only control runs of a pull request."""
    if run.number is None:
        return writer.text("rerun_button")
    return writer.text("rerun_how", command=writer.command("rerun", run.suite, sha=run.sha))
