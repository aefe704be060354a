"""The parts of every suite's summary: its state, its timeline, its suite and origin."""

from datetime import datetime

from bot.core.messages.words import capital, clock, duration, number
from bot.core.model.queue import Ahead
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Run, State
from bot.core.model.views import SuiteView
from bot.core.report.context import MarkdownWriter, sentences
from bot.core.report.digest import pace
from bot.core.report.sections import Section
from bot.core.report.words import progress, resource, where
from bot.core.runs.timeline import told

TIMELINE_ENTRIES = 12  # the first one and the last eleven: what is between is on the page
_JOINT = " · "
# Reasons that say "waiting" themselves.
_SAY_WAITING = frozenset({"waits_push", "waits_label", "waits_runner", "waits_github"})


def now_lines(writer: MarkdownWriter, view: SuiteView, now: datetime) -> tuple[Section, ...]:
    """Return the state of a run that is not done, and how to cancel it."""
    run = view.run
    steps = pace(view.rayjobs)
    parts = sentences(
        _place(writer, run, now),
        _waiting(writer, run, now),
        _why(writer, run),
        f"{progress(writer, steps)}." if steps and run.why else "",  # else the title says it
        _limit(writer, run),
    )
    # Comments reach only what runs for a pull request.
    stoppable = run.state not in {State.CANCELLING, State.FINISHING} and run.number is not None
    command = writer.command("cancel", run.suite)
    how = writer.text("cancel_how", command=command) if stoppable else ""
    return (parts, how)


def _place(writer: MarkdownWriter, run: Run, now: datetime) -> str:
    """Return the runs ahead in the queue, with their usual durations."""
    place = run.queue_position
    if run.state is not State.QUEUED or place is None:
        return ""
    name = writer.code(resource(run))
    if place.ahead <= 0:
        return writer.text("queued_capacity", resource=name)
    named = [_ahead(writer, item, now) for item in place.before]
    if place.others:
        jobs = writer.count("job", place.others)
        named.append(writer.text("ahead_others", jobs=jobs))
    if not named:
        return writer.text("queued_ahead", ahead=writer.count("run", place.ahead), resource=name)
    before, more = ", ".join(named), place.ahead - place.others - len(place.before)
    if more > 0:
        before = writer.text("queued_more", before=before, more=number(more))
    return writer.text("queued_before", resource=name, before=before)


def _ahead(writer: MarkdownWriter, item: Ahead, now: datetime) -> str:
    name = writer.prose(item.suite)
    if item.number is not None:
        name = writer.text("ahead_pull", number=f"#{item.number}", suite=name)
    usual = {"usual": duration(item.usual.total_seconds())} if item.usual else {}
    if item.since is None:
        key = "ahead_waits_usual" if usual else "ahead_waits"
        return writer.text(key, name=name, **usual)
    span = duration((now - item.since).total_seconds())
    key = "ahead_runs_usual" if usual else "ahead_runs"
    return writer.text(key, name=name, span=span, **usual)


def _waiting(writer: MarkdownWriter, run: Run, now: datetime) -> str:
    if run.state is not State.WAITING_FOR_RUNNER or run.dispatched_at is None:
        return ""
    label = writer.code(run.label or where(run))
    return writer.text("waiting_since", at=clock(run.dispatched_at, now), label=label)


def _why(writer: MarkdownWriter, run: Run) -> str:
    why = writer.prose(run.why)
    if not why:
        return ""
    if run.why.key in _SAY_WAITING:
        return f"{capital(why)}."
    waits = run.state in {State.NEEDS_APPROVAL, State.QUEUED, State.WAITING_FOR_RUNNER}
    return writer.text("waiting_why" if waits else "now_why", why=why)


def _limit(writer: MarkdownWriter, run: Run) -> str:
    if run.state is not State.RUNNING:
        return ""
    return writer.text("limit", limit=duration(run.snapshot.suite.timeout_minutes * 60))


def timeline(writer: MarkdownWriter, view: SuiteView, now: datetime) -> Section:
    """Return the timeline in one line: ``14:02 dispatched · 14:03 on runner `a3-16-0007```."""
    lines = [(at, writer.prose(line)) for at, line in told(view.run_events)]
    shown = [(at, line) for at, line in lines if line]
    if len(shown) > TIMELINE_ENTRIES:
        shown = [shown[0], *shown[1 - TIMELINE_ENTRIES :]]
    entries = [f"{clock(at, now)} {line}" for at, line in shown]
    return _JOINT.join(entries) if entries else ""


def followed(writer: MarkdownWriter, view: SuiteView, now: datetime) -> Section:
    """Return the known state of the RayJobs of a run that is not done."""
    over = view.run.state is State.DONE
    jobs = [job for job in view.rayjobs if not over or job.final or job.silent_since]
    lines = [_rayjob(writer, job, now) for job in jobs]
    return " ".join(lines) if lines else ""


def _rayjob(writer: MarkdownWriter, job: RayJob, now: datetime) -> str:
    name = writer.code(job.job_id)
    status = job.final or job.deployment or job.status
    status = writer.prose(status) if status else writer.text("rayjob_unheard")
    if job.final is None and job.silent_since:
        return writer.text("silent", job=name, at=clock(job.silent_since, now))
    line = writer.text("rayjob" if job.confirmed else "rayjob_unconfirmed", job=name, status=status)
    if job.final is None and job.last_line_at:
        line += " " + writer.text("last_output", at=clock(job.last_line_at, now))
    return line


def what(writer: MarkdownWriter, view: SuiteView, *, brief: bool) -> Section:
    """Return the suite, its place, and the reason of its selection; ``brief``: only the reason."""
    run = view.run
    name = writer.prose(run.snapshot.title)
    reason = writer.prose(run.snapshot.reason)
    why = writer.text("selected", reason=reason) if reason else ""
    if brief:
        return sentences(f"{name}." if name else "", why)
    text = writer.text(
        "what",
        attempt=run.attempt,
        suite=writer.code(run.suite),
        title=f" ({name})" if name else "",
        where=writer.code(where(run)),
    )
    return sentences(text, why)


def origin(writer: MarkdownWriter, view: SuiteView) -> Section:
    """Return the origin of the run, its policy, and the links."""
    run = view.run
    unstarted = run.snapshot.native and run.actions_run_id is None  # what selected it started none
    inputs = ", ".join(writer.code(item) for item in run.snapshot.altered)
    began = "" if unstarted else writer.prose(run.origin)
    text = sentences(
        writer.text("started_by", origin=began) if began else "",
        writer.text("forced", who=writer.prose(run.forced)) if run.forced else "",
        writer.text("altered", inputs=inputs) if inputs else "",
        writer.policy(run.snapshot.policy_ref, run.snapshot.policy_sha),
    )
    links = [
        writer.link("link_actions", run.actions_url),
        writer.link("link_log", writer.page(run, "/log")),
        writer.link("link_page", writer.page(run)),
    ]
    line = _JOINT.join(link for link in links if link)
    return "\n\n".join(part for part in (capital(text), line) if part)
