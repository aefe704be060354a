"""A run's state, outcome, place and next attempt in words, for titles and tables alike."""

from datetime import datetime
from typing import assert_never

from bot.core.messages.words import (
    about,
    between,
    capital,
    clock,
    count,
    duration,
    lower,
    number,
    ordinal,
)
from bot.core.model.runs import Outcome, Run, State, WishKind
from bot.core.report.context import Pen
from bot.core.report.digest import UNKNOWN, Pace, Shown
from bot.core.report.markdown import title


def resource(run: Run) -> str:
    """Return what the run waits for: a label or a pool, without the kind before it."""
    name = run.place.resource if run.place else ""
    return name.removeprefix("label:").removeprefix("pool:")


def where(run: Run) -> str:
    """Return the pool or label that the run takes, or would take first."""
    if run.snapshot.pool:
        return run.snapshot.pool.name
    return run.label or run.snapshot.labels[0].name


def progress(pen: Pen, pace: Pace) -> str:
    """Return ``Step 7 of 15, 41 s a step, about 6 min left``."""
    if pace.total is None:
        out = pen.say("step_open", step=number(pace.step))
    else:
        out = pen.say("step", step=number(pace.step), total=number(pace.total))
    if pace.step_s:
        out += pen.say("step_pace", pace=duration(pace.step_s))
    if pace.left_s:
        out += pen.say("step_left", left=about(pace.left_s))
    return out


def state_title(pen: Pen, run: Run, pace: Pace | None, now: datetime) -> str:
    """Return the title of a run that is not done."""
    why = pen.words(run.why)
    match run.state:
        case State.QUEUED:
            return _queued(pen, run, why, now)
        case State.WAITING_FOR_RUNNER:
            return pen.say("waiting_for_runner", label=pen.words(run.label or where(run)))
        case State.RUNNING:
            return _running(pen, run, pace, why, now)
        case State.CANCELLING:
            return _cancelling(pen, run, why)
        case _:
            return pen.say(run.state.value)


def _queued(pen: Pen, run: Run, why: str, now: datetime) -> str:
    if run.place:
        place, name = ordinal(run.place.ahead + 1), pen.words(resource(run))
        if run.place.start_at and run.place.start_at > now:
            wait = about((run.place.start_at - now).total_seconds())
            return pen.say("queued_place_at", ordinal=place, resource=name, wait=wait)
        return pen.say("queued_place", ordinal=place, resource=name)
    return pen.say("queued_why", why=why) if why else pen.say("queued")


def _running(pen: Pen, run: Run, pace: Pace | None, why: str, now: datetime) -> str:
    """Prefer what is wrong to how far it is: the progress stands in the summary as well."""
    if why:
        return pen.say("running_why", why=why)
    if pace:
        return progress(pen, pace)
    if run.started_at:
        return pen.say("running_since", at=clock(run.started_at, now))
    return pen.say("running")


def _cancelling(pen: Pen, run: Run, why: str) -> str:
    wish = run.wish
    if wish and wish.kind is WishKind.CANCEL and wish.by:
        return pen.say("cancelling_cancel", by=pen.words(wish.by))
    reason = pen.words(wish.reason) if wish and wish.reason else why
    return pen.say("cancelling_other", why=reason) if reason else capital(pen.say("row_cancelling"))


def outcome_title(pen: Pen, run: Run, outcome: Outcome, shown: Shown | None) -> str:
    """Return the title of a run that is done."""
    why = lower(pen.words(run.why))
    match outcome:
        case Outcome.SUCCESS:
            span = between(run.started_at, run.ended_at)
            return pen.say("success_in", span=span) if span else pen.say("success")
        case Outcome.FAILURE:
            return _failed(pen, run, shown, why)
        case Outcome.TIMED_OUT:
            return _timed_out(pen, run, why) + retry_suffix(pen, run)
        case Outcome.CANCELLED:
            return _cancelled(pen, run, why)
        case Outcome.SUPERSEDED:
            return _named(pen, "superseded", why)
        case Outcome.BROKEN:
            why = why or pen.say("broken_unknown")
            return _with_suffix(pen.say("broken", why=why), retry_suffix(pen, run))
    assert_never(outcome)


def _failed(pen: Pen, run: Run, shown: Shown | None, why: str) -> str:
    told = pen.words(shown.title) if shown else ""
    if not told:
        told = pen.say("failure", why=why) if why else pen.say("failure_unknown")
    return _with_suffix(told, retry_suffix(pen, run))


def _with_suffix(text: str, suffix: str) -> str:
    """Cut the sentence, never the news that another attempt follows."""
    return title(text, 255 - len(suffix)) + suffix


def _timed_out(pen: Pen, run: Run, why: str) -> str:
    kind = run.wish.kind if run.wish else None
    if kind is WishKind.STALL:
        return pen.say("timed_out_stall", limit=duration(run.snapshot.stall_minutes * 60))
    if kind is WishKind.TIME_OUT or not why:
        return pen.say("timed_out_limit", limit=duration(run.snapshot.timeout_minutes * 60))
    return pen.say("timed_out", why=why)


def _cancelled(pen: Pen, run: Run, why: str) -> str:
    if run.wish and run.wish.kind is WishKind.CANCEL and run.wish.by:
        return pen.say("cancelled_by", by=pen.words(run.wish.by))
    return _named(pen, "cancelled", why)


def _named(pen: Pen, key: str, why: str) -> str:
    """Say the outcome once: the reason often begins with its name."""
    if why.lower().startswith(pen.say(f"row_{key}")):
        return capital(why)
    return pen.say(key, why=why) if why else capital(pen.say(f"row_{key}"))


def retry_suffix(pen: Pen, run: Run) -> str:
    """Return ``: infrastructure, retrying (2 of 2)``, "" when no attempt follows."""
    if not run.retry:
        return ""
    attempts = run.snapshot.infra_retries + 1
    return pen.say("retrying_title", attempt=run.retries + 2, attempts=attempts)


def retry_words(pen: Pen, run: Run, shown: Shown | None) -> str:
    """Return whether another attempt follows, and why not."""
    infra = shown is not None and shown.infra
    if run.retry:
        return pen.say("retry_next", attempt=run.attempt + 1)
    if run.wish and run.wish.kind is WishKind.CANCEL:
        return pen.say("retry_unwanted")
    if run.outcome is Outcome.FAILURE and not infra:
        known = shown is not None and shown.kind != UNKNOWN
        return pen.say("retry_not_infra" if known else "retry_unproven")
    if run.outcome is Outcome.TIMED_OUT and not (run.wish and run.wish.kind is WishKind.STALL):
        return pen.say("retry_not_stalled")
    if not run.snapshot.retryable:
        return pen.say("retry_environment")
    if run.retries < run.snapshot.infra_retries or not run.snapshot.infra_retries:
        return pen.say("retry_none")
    retries = count(run.snapshot.infra_retries, "automatic retry is", "automatic retries are")
    return pen.say("retry_spent", retries=retries)


def row_state(pen: Pen, run: Run, now: datetime) -> str:
    """Return a run's state for a table's cell: Markdown, a few words and the reason."""
    state = _row_word(pen, run, now)
    if run.attempt > 1:
        state = pen.say("row_attempt", state=state, attempt=run.attempt)
    quiet = run.outcome is Outcome.SUCCESS or run.place is not None
    why = "" if quiet else lower(pen.prose(run.cause or run.why))
    if why.lower().startswith(state):
        return why  # "cancelled by carol" says it once
    return pen.say("row_why", state=state, why=why) if why else state


def _row_word(pen: Pen, run: Run, now: datetime) -> str:
    if run.outcome is Outcome.SUCCESS:
        span = between(run.started_at, run.ended_at)
        return pen.say("row_success_in", span=span) if span else pen.say("row_success")
    if run.outcome:
        return pen.say(f"row_{run.outcome}")
    if run.state is State.QUEUED and run.place:
        place = ordinal(run.place.ahead + 1)
        return pen.say("row_queued_place", ordinal=place, resource=pen.prose(resource(run)))
    if run.state is State.RUNNING and run.started_at:
        return pen.say("row_running_since", at=clock(run.started_at, now))
    return pen.say(f"row_{run.state}") if run.state is not State.DONE else pen.say("row_broken")


def rerun_how(pen: Pen, run: Run) -> str:
    """Say how to run it again; comments reach only what runs for a pull request."""
    if run.number is None:
        return pen.say("rerun_button")
    return pen.say("rerun_how", command=pen.command("rerun", run.suite))
