"""The parts of every suite's summary: its state, its timeline, its suite and origin."""

from collections import Counter
from datetime import datetime

from bot.core.messages import Message
from bot.core.messages.words import capital, clock, duration, joined, lower, number, sentences, stop
from bot.core.model.queue import Ahead
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.views import SuiteView
from bot.core.planning.permissions import by_command
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import pace
from bot.core.report.sections import Section
from bot.core.report.waits import wait_how
from bot.core.report.words import left_over, progress, ran_nothing, reason, resource, where
from bot.core.runs.phases import RunPhase, Span, phases
from bot.core.runs.timeline import remarks

REMARKS = 12  # the first one and the last eleven: what is between is on the page
_JOINT = " · "
# Reasons of a selection that the origin says again.
_SAY_ORIGIN = frozenset({"selected_asked", "selected_nightly", "selected_by_github"})
# Reasons that the state of a run says.
_SAID = frozenset({"waits_cancel", "waits_label", "waits_runner", "waits_dispatched", "waits_log"})


def now_line(writer: MarkdownWriter, view: SuiteView, title: str, now: datetime) -> Section:
    """Return what a run that is not done waits for or does."""
    run = view.run
    steps = pace(view.rayjobs)
    return sentences(
        _place(writer, run, now),
        _why(writer, view, title),
        wait_how(writer, run),
        stop(progress(writer, steps)) if steps and run.why else "",  # else the title says it
        _limit(writer, run),
    )


def cancel_how(writer: MarkdownWriter, run: Run) -> str:
    """Return how to cancel a run; comments reach only what runs for a pull request."""
    over = run.state in {State.CANCELLING, State.FINISHING, State.DONE}
    if over or run.number is None:
        return ""
    return writer.text("cancel_how", command=writer.command("cancel", run.suite))


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
    before: str = joined(named)
    more = place.ahead - place.others - len(place.before)
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


def _why(writer: MarkdownWriter, view: SuiteView, title: str) -> str:
    """Return why it waits or what is wrong, unless the title says it."""
    run = view.run
    left = writer.prose(left_over(view))
    told = writer.words(reason(run)).lower() in title.lower() or run.why.key in _SAID
    if told or left:
        return stop(left)
    why = writer.prose(run.why)
    if run.why.key == "waits_offline":
        return stop(capital(why))
    waits = run.state in {State.NEEDS_APPROVAL, State.QUEUED, State.WAITING_FOR_RUNNER}
    return writer.text("waiting_why" if waits else "now_why", why=lower(why))


def _limit(writer: MarkdownWriter, run: Run) -> str:
    if run.state is not State.RUNNING:
        return ""
    return writer.text("limit", limit=duration(run.snapshot.suite.timeout_minutes * 60))


def timeline(writer: MarkdownWriter, view: SuiteView, title: str, now: datetime) -> Section:
    """Return the phases with their durations in one line, and what else happened in another.

    A single phase whose beginning the title tells is left out.
    """
    idle = ran_nothing(view)  # it waited for no runner
    shown = [span for span in phases(view) if not (idle and span.phase is RunPhase.RUNNER)]
    if len(shown) == 1 and shown[0].end is None and clock(shown[0].start, now) in title:
        shown = []
    if view.run.why.key == "rayjob_end_unknown" and shown and shown[-1].end is None:
        shown.pop()  # whether it still runs is not known
    told = [_phase(writer, span, view, now) for span in shown]
    lines = (capital(_JOINT.join(told)), _remarks(writer, view, now))
    return "\n\n".join(line for line in lines if line)


def _phase(writer: MarkdownWriter, span: Span, view: SuiteView, now: datetime) -> str:
    """Return ``queued 12 min``, ``runner `a3-16-0007` 40 s`` or ``training since 14:09``."""
    key, fields = f"phase_{span.phase}", {"name": writer.code(span.name)} if span.name else {}
    if span.phase is RunPhase.RUNNER and not span.name:
        key = "phase_waiting"
    if span.phase is RunPhase.RUNNING and pace(view.rayjobs):
        key = "phase_training"
    if span.phase is RunPhase.RUNNING and ran_nothing(view):
        key = "phase_actions"
    if span.end is None:
        fields["at"] = clock(span.start, now)
        return writer.text(f"{key}_since", **fields)
    seconds = (span.end - span.start).total_seconds()
    if seconds < 1:
        return writer.text(f"{key}_at", **fields)
    return writer.text(key, **fields, span=duration(seconds))


def _remarks(writer: MarkdownWriter, view: SuiteView, now: datetime) -> str:
    """Return what is no phase, with its time; seconds tell times of one minute apart."""
    found = [(at, writer.prose(line)) for at, line in remarks(view)]
    shown = [(at, line) for at, line in found if line]
    if len(shown) > REMARKS:
        shown = [shown[0], *shown[1 - REMARKS :]]
    minutes = Counter(clock(at, now) for at, _ in shown)
    exact = max(minutes.values(), default=0) > 1
    times = [(clock(at, now, seconds=exact), line) for at, line in shown]
    return _JOINT.join(writer.text("time_said", at=at, said=line) for at, line in times)


def followed(writer: MarkdownWriter, view: SuiteView, now: datetime) -> Section:
    """Return what is known of the RayJobs beside the phases, which name a single one."""
    over = view.run.state is State.DONE
    named = {span.name for span in phases(view)}
    alone = len(view.rayjobs) == 1 and view.rayjobs[0].job_id in named
    if over and (alone or view.run.outcome is Outcome.SUCCESS):
        jobs = [job for job in view.rayjobs if not job.final and job.silent_since]
    else:
        jobs = [job for job in view.rayjobs if not over or job.final or job.silent_since]
    return sentences(*(_rayjob(writer, job, view, now, alone=alone) for job in jobs))


def _rayjob(
    writer: MarkdownWriter, job: RayJob, view: SuiteView, now: datetime, *, alone: bool
) -> str:
    """Return a RayJob's state; one that the phases name alone has only its news."""
    name = writer.code(job.job_id)
    if job.final is None and job.silent_since:
        if alone and _tells_silence(view.run.why):
            return ""  # the title says it
        at = clock(job.silent_since, now)
        return (
            writer.text("silent_alone", at=at) if alone else writer.text("silent", job=name, at=at)
        )
    last = job.last_line_at if job.final is None else None
    output = writer.text("last_output", at=clock(last, now)) if last else ""
    if alone:
        return sentences("" if job.confirmed else writer.text("unconfirmed_alone"), output)
    status = job.final or job.deployment or job.status
    status = writer.prose(status) if status else writer.text("rayjob_unheard")
    key = "rayjob" if job.confirmed else "rayjob_unconfirmed"
    return sentences(writer.text(key, job=name, status=status), output)


def _tells_silence(why: Message) -> bool:
    inner = why.fields["why"] if why.key == "run_limit_unknown" else why
    return isinstance(inner, Message) and inner.key in {"submitter_silent", "submitter_down"}


def what(writer: MarkdownWriter, view: SuiteView, *, brief: bool) -> Section:
    """Return the suite and its place; ``brief``: only its title, as the rest is said already."""
    run = view.run
    name = writer.prose(run.snapshot.title)
    named = name if run.snapshot.title != run.suite else ""
    if brief:
        return stop(named)
    return writer.text(
        "what",
        attempt=run.attempt,
        suite=writer.code(run.suite),
        title=writer.text("in_brackets", text=named) if named else "",
        where=writer.code(where(run)),
    )


def origin(writer: MarkdownWriter, view: SuiteView) -> Section:
    """Return why and by whom the run was started, its policy, and the links."""
    run = view.run
    inputs = joined(map(writer.code, run.snapshot.altered))
    passed = run.outcome is Outcome.SUCCESS  # which says it first
    text = sentences(
        *_started(writer, run),
        writer.text("forced", who=writer.prose(run.forced)) if run.forced else "",
        writer.text("altered", inputs=inputs) if inputs and not passed else "",
        writer.policy(run.snapshot.policy_ref, run.snapshot.policy_sha),
    )
    links = [
        writer.link("link_actions", run.actions_url),
        writer.link("link_log", writer.page(run, "/log")),
        writer.link("link_page", writer.page(run)),
    ]
    line = _JOINT.join(link for link in links if link)
    return "\n\n".join(part for part in (text, line) if part)


def not_counted(writer: MarkdownWriter, run: Run) -> Section:
    """Say of a run with inputs set by hand that it does not count, and how to get one that does."""
    if not run.snapshot.altered:
        return ""
    inputs = joined(map(writer.code, run.snapshot.altered))
    offered = run.number is not None and by_command(run.snapshot.suite)
    start = writer.start(run.suite)
    return sentences(
        writer.text("altered", inputs=inputs),
        writer.text("altered_next", command=start) if offered else "",
    )


def _started(writer: MarkdownWriter, run: Run) -> tuple[str, str]:
    """Return why the suite was selected and what started it; each fact once."""
    unstarted = run.snapshot.native and run.actions_run_id is None  # what selected it started none
    began = "" if unstarted else writer.prose(run.origin)
    reason = run.snapshot.reason
    again = reason.key in _SAY_ORIGIN and bool(began)
    why = "" if again else capital(writer.prose(reason))
    return (
        stop(why),
        writer.text("started_by", origin=began) if began else "",
    )
