"""The parts that every suite's summary shares: where it stands, its timeline, what it is."""

from datetime import datetime

from bot.core.messages.words import capital, clock, count, duration, number
from bot.core.model.queue import Ahead
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Run, State
from bot.core.report.context import Pen, sentences
from bot.core.report.digest import pace
from bot.core.report.sections import Section, Whole
from bot.core.report.views import SuiteView
from bot.core.report.words import progress, resource, where
from bot.core.runs.timeline import told

TIMELINE_ENTRIES = 12  # the first one and the last eleven: what is between is on the page
_JOINT = " · "


def now_lines(pen: Pen, view: SuiteView, now: datetime) -> tuple[Section | None, ...]:
    """Say where a run stands that is not done, and how to end it."""
    run = view.run
    steps = pace(view.rayjobs)
    parts = sentences(
        _place(pen, run, now),
        _waiting(pen, run, now),
        _why(pen, run),
        f"{progress(pen, steps)}." if steps and run.why else "",  # else the title says it
        _limit(pen, run),
    )
    # Comments reach only what runs for a pull request.
    stoppable = run.state not in {State.CANCELLING, State.FINISHING} and run.number is not None
    command = pen.command("cancel", run.suite)
    how = pen.say("cancel_how", command=command) if stoppable else ""
    return (Whole(parts) if parts else None, Whole(how) if how else None)


def _place(pen: Pen, run: Run, now: datetime) -> str:
    """Name who is ahead, and for how long they usually take."""
    place = run.place
    if run.state is not State.QUEUED or place is None:
        return ""
    name = pen.code(resource(run))
    if place.ahead <= 0:
        return pen.say("queued_capacity", resource=name)
    named = [_ahead(pen, item, now) for item in place.before]
    if place.others:
        jobs = count(place.others, "job")
        named.append(pen.say("ahead_others", jobs=jobs))
    if not named:
        return pen.say("queued_ahead", ahead=count(place.ahead, "run"), resource=name)
    before, more = ", ".join(named), place.ahead - place.others - len(place.before)
    if more > 0:
        before = pen.say("queued_more", before=before, more=number(more))
    return pen.say("queued_before", resource=name, before=before)


def _ahead(pen: Pen, item: Ahead, now: datetime) -> str:
    name = pen.prose(item.suite)
    if item.number is not None:
        name = pen.say("ahead_pull", number=f"#{item.number}", suite=name)
    usual = duration(item.usual.total_seconds()) if item.usual else ""
    if item.since is None:
        key = "ahead_waits_usual" if usual else "ahead_waits"
        return pen.say(key, name=name, usual=usual)
    span = duration((now - item.since).total_seconds())
    key = "ahead_runs_usual" if usual else "ahead_runs"
    return pen.say(key, name=name, span=span, usual=usual)


def _waiting(pen: Pen, run: Run, now: datetime) -> str:
    if run.state is not State.WAITING_FOR_RUNNER or run.dispatched_at is None:
        return ""
    label = pen.code(run.label or where(run))
    return pen.say("waiting_since", at=clock(run.dispatched_at, now), label=label)


def _why(pen: Pen, run: Run) -> str:
    why = pen.prose(run.why)
    if not why:
        return ""
    if why.startswith("waiting "):
        return f"{capital(why)}."
    waits = run.state in {State.NEEDS_APPROVAL, State.QUEUED, State.WAITING_FOR_RUNNER}
    return pen.say("waiting_why" if waits else "now_why", why=why)


def _limit(pen: Pen, run: Run) -> str:
    if run.state is not State.RUNNING:
        return ""
    return pen.say("limit", limit=duration(run.snapshot.timeout_minutes * 60))


def timeline(pen: Pen, view: SuiteView, now: datetime) -> Section | None:
    """Return the story in one line: ``14:02 dispatched · 14:03 on runner `a3-16-0007```."""
    shown = [fact for fact in told(view.facts) if pen.prose(str(fact.data["text"]))]
    if len(shown) > TIMELINE_ENTRIES:
        shown = [shown[0], *shown[1 - TIMELINE_ENTRIES :]]
    entries = [f"{clock(fact.at, now)} {pen.prose(fact.data['text'])}" for fact in shown]
    return Whole(_JOINT.join(entries)) if entries else None


def followed(pen: Pen, view: SuiteView, now: datetime) -> Section | None:
    """Say what is known of the RayJobs while that is not over."""
    over = view.run.state is State.DONE
    jobs = [job for job in view.rayjobs if not over or job.final or job.silent_since]
    lines = [_rayjob(pen, job, now) for job in jobs]
    return Whole(" ".join(lines)) if lines else None


def _rayjob(pen: Pen, job: RayJob, now: datetime) -> str:
    name = pen.code(job.job_id)
    status = job.final or job.deployment or job.status
    status = pen.prose(status) if status else pen.say("rayjob_unheard")
    if job.final is None and job.silent_since:
        return pen.say("silent", job=name, at=clock(job.silent_since, now))
    line = pen.say("rayjob" if job.confirmed else "rayjob_unconfirmed", job=name, status=status)
    if job.final is None and job.last_line_at:
        line += " " + pen.say("last_output", at=clock(job.last_line_at, now))
    return line


def what(pen: Pen, view: SuiteView, *, brief: bool) -> Section:
    """Say what runs, where, and why it was selected; a failure's headline has said the half."""
    run = view.run
    name = pen.prose(run.snapshot.title)
    reason = pen.prose(run.snapshot.reason)
    why = pen.say("selected", reason=reason) if reason else ""
    if brief:
        return Whole(sentences(f"{name}." if name else "", why))
    text = pen.say(
        "what",
        attempt=run.attempt,
        suite=pen.code(run.suite),
        title=f" ({name})" if name else "",
        where=pen.code(where(run)),
    )
    return Whole(sentences(text, why))


def _altered(pen: Pen, run: Run) -> str:
    inputs = ", ".join(pen.code(item) for item in run.snapshot.altered)
    return pen.say("altered", inputs=inputs) if inputs else ""


def origin(pen: Pen, view: SuiteView) -> Section | None:
    """Say what started it under which policy, and link where to read on."""
    run = view.run
    unstarted = run.snapshot.native and run.actions_run_id is None  # what selected it started none
    began = "" if unstarted else pen.prose(run.origin)
    text = sentences(
        pen.say("started_by", origin=began) if began else "",
        pen.say("forced", who=pen.prose(run.forced)) if run.forced else "",
        _altered(pen, run),
        pen.policy(run.snapshot.policy_ref, run.snapshot.policy_sha),
    )
    links = [
        pen.link("link_actions", run.actions_url),
        pen.link("link_log", pen.page(run, "/log")),
        pen.link("link_page", pen.page(run)),
    ]
    line = _JOINT.join(link for link in links if link)
    made = "\n\n".join(part for part in (capital(text), line) if part)
    return Whole(made) if made else None
