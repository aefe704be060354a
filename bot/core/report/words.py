"""A run's state, outcome, place and next attempt in words, for titles and tables alike."""

from datetime import datetime

from bot.core.messages import NOTHING, Message
from bot.core.messages.words import about, between, capital, clock, duration, lower, number, ordinal
from bot.core.model.queue import label_resource
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.views import SuiteView
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import Pace
from bot.core.runs.hidden import HIDES
from bot.core.runs.phases import runner_of
from bot.core.runs.verdict import TRUSTED_ENDS

_BUTTON_ALONE = {
    "rerun_how": "rerun_button",
    "rerun_fixed": "rerun_fixed_button",
    "rerun_same": "rerun_same_button",
    "rerun_later": "rerun_later_button",
}
_STOPPED_ALONE = ("drop_", "group_", "run_unwanted")
_NAME_STATE = frozenset({"cancelled_by_person", "cancelled_for"})  # "cancelled by carol"
# Reasons that the words of a state say already.
_STATE_SAYS = frozenset({"waits_cancel", "waits_log"})

# Ends for which the change may be to blame as well, and the words that head them.
SUSPECT = {
    "run_too_early": "kind_too_early",
    "run_too_early_unknown": "kind_too_early",
    "rayjob_none": "kind_no_rayjob",
    "run_idle": "kind_no_job",
    "run_skipped": "kind_nothing_ran",
    "run_no_job": "kind_nothing_ran",
    "run_startup": "kind_nothing_ran",
}
_RAN_NOTHING = frozenset({"run_skipped", "run_idle", "run_startup"})
# Of the ends that were never learned, those to which no workflow of a change can have led.
_UNKNOWN_OF_OTHERS = frozenset({"submitter_silent", "run_deleted"})
# Ends that were never learned: they blame nobody, and they acquit nobody.
_NOT_LEARNED = frozenset(
    {
        "run_limit_unknown",
        "rayjob_end_unknown",
        "rayjob_not_confirmed",
        "submitter_silent",
        "run_ended_with",
        "run_deleted",
        "end_unheard",
    }
)


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


def at_step(writer: MarkdownWriter, pace: Pace) -> str:
    """Return ``step 7 of 15, 41 s a step``."""
    if pace.total is None:
        out = writer.text("at_step_open", step=number(pace.step))
    else:
        out = writer.text("at_step", step=number(pace.step), total=number(pace.total))
    return out + (writer.text("step_pace", pace=duration(pace.step_s)) if pace.step_s else "")


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
    why = writer.words(reason(run))
    match run.state:
        case State.QUEUED:
            return _queued(writer, run, why, now)
        case State.DISPATCHING if run.why.key == "waits_dispatch":
            return writer.text("dispatching_why", why=why)
        case State.WAITING_FOR_RUNNER:
            return writer.text("waiting_for_runner", label=writer.words(run.label or where(run)))
        case State.RUNNING if run.why.key == "rayjob_end_unknown":
            return writer.text("gate_waiting", why=why)
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
    why = writer.words(stopped_by(run)) or ("" if run.why.key in _STATE_SAYS else why)
    return (
        writer.text("cancelling_other", why=why) if why else capital(writer.text("row_cancelling"))
    )


def stopped_by(run: Run) -> Message:
    """Return who stops a run, or why; nothing if that is not known."""
    request = run.stop_request
    if request is None:
        return NOTHING
    if request.kind is StopReason.CANCEL and request.by:
        return Message("stop_by", by=request.by)
    return request.reason


def without_rest(run: Run) -> Message:
    """Return why a run waits or ended, without the RayJobs that it left."""
    return _unwrapped(run.why, "run_leftover", "run_deleting")


def is_hidden(run: Run) -> bool:
    """Return True for an end that GitHub calls green though a process of the run died."""
    return run.why.key in HIDES


def hidden_why(writer: MarkdownWriter, run: Run) -> str:
    """Return what a green end hides, in words; the log's part in the reader's language, too."""
    fields = {**run.why.fields}
    if "cause" in fields:
        fields["cause"] = writer.words(str(fields["cause"]))
    return writer.words(Message(run.why.key, **fields))


def reason(run: Run) -> Message:
    """Return why a run waits or ended, without what it left and without GitHub's own words."""
    why = _unwrapped(without_rest(run), "github_said")
    unheard = run.state is State.DONE and run.outcome in {None, Outcome.BROKEN}
    return why or (Message("end_unheard") if unheard else NOTHING)


def left_over(view: SuiteView) -> Message:
    """Return a sentence on RayJobs that could not be deleted, nothing if none lives on."""
    why = view.run.why
    over = bool(view.rayjobs) and all(job.final in TRUSTED_ENDS for job in view.rayjobs)
    if over or why.key not in {"run_leftover", "run_deleting"}:
        return NOTHING
    key = "left_over" if why.key == "run_leftover" else "left_deleting"
    return Message(key, left=str(why.fields["left"]))


def acquits(run: Run) -> bool:
    """Return True if the end of a broken run shows that the change is not to blame."""
    return reason(run).key not in SUSPECT and not is_unknown(run)


def is_unknown(run: Run) -> bool:
    """Return True if nobody learned how a broken run ended."""
    return reason(run).key in _NOT_LEARNED


def is_unknown_alone(run: Run) -> bool:
    """Return True if nobody learned how a run ended, and the change can't be the reason."""
    why = reason(run)
    inner = why.fields["why"] if why.key == "run_limit_unknown" else why
    return isinstance(inner, Message) and inner.key in _UNKNOWN_OF_OTHERS


def ran_nothing(view: SuiteView) -> bool:
    """Return True if the Actions run ended, and no runner took a job of it."""
    return reason(view.run).key in _RAN_NOTHING and not runner_of(view)


def stopped_alone(run: Run) -> bool:
    """Return True if no newer run took a superseded run's place: it was only stopped."""
    return reason(run).key.startswith(_STOPPED_ALONE)


def can_run_again(run: Run) -> bool:
    """Return True if the bot can start the run again: it can't where the app is gone."""
    return reason(run).key != "run_app_removed"


def _unwrapped(why: Message, *keys: str) -> Message:
    while why.key in keys:
        inner = why.fields["why"]
        assert isinstance(inner, Message)
        why = inner
    return why


def row_state(writer: MarkdownWriter, run: Run, now: datetime) -> str:
    """Return a run's state for a table's cell: a few words of Markdown with the reason."""
    state = _row_word(writer, run, now)
    if run.outcome is Outcome.SUCCESS and (span := between(run.started_at, run.ended_at)):
        state = writer.text("row_success_in", span=span)
    offline = run.outcome is Outcome.SUCCESS or run.queue_position is not None
    told = stopped_by(run) if run.state is State.CANCELLING else _row_reason(run)
    why = "" if offline else lower(writer.prose(told))
    if _names_state(run, state, why):
        state, why = why, ""
    if run.attempt > 1:
        state = writer.text("row_attempt", state=state, attempt=run.attempt)
    return writer.text("row_why", state=state, why=why) if why else state


def row_parts(writer: MarkdownWriter, run: Run, now: datetime) -> tuple[str, str, str]:
    """Return a run's state, its cause and its duration for three cells; "" for what is not known.

    A run that has not ended has no cause: the reason for which it waits changes too often.
    """
    state, span = _row_word(writer, run, now), ""
    why = ""
    if run.state is State.DONE:
        span = writer.prose(between(run.started_at, run.ended_at))
        why = "" if run.outcome is Outcome.SUCCESS else writer.prose(_row_reason(run))
    if _names_state(run, state, why):
        state, why = lower(why), ""
    if run.attempt > 1:
        state = writer.text("row_attempt", state=state, attempt=run.attempt)
    return state, why, span


def _names_state(run: Run, state: str, why: str) -> bool:
    """Return True if a reason says the state too, as "cancelled by carol" does."""
    told = run.state is State.DONE and not run.cause and reason(run).key in _NAME_STATE
    return told or why.lower().startswith(state.lower())


def _row_reason(run: Run) -> str:
    """Return why a run waits or ended; nothing that its state says already."""
    said = frozenset({"run_failed"}) if run.outcome is Outcome.FAILURE else _STATE_SAYS
    return run.cause or (NOTHING if reason(run).key in said else reason(run))


def _row_word(writer: MarkdownWriter, run: Run, now: datetime) -> str:
    if run.outcome is Outcome.BROKEN and not acquits(run):
        return writer.text("row_unknown" if is_unknown(run) else "row_unpassed")
    if run.outcome is Outcome.SUPERSEDED and stopped_alone(run):
        return writer.text("row_stopped")
    if run.infra:
        return writer.text("row_infra")
    if run.outcome:
        return writer.text(f"row_{run.outcome}")
    if run.state is State.QUEUED and run.queue_position:
        # Without its place, which changes too often for tables.
        return writer.text("row_queued_place", resource=writer.prose(resource(run)))
    if run.state is State.RUNNING and run.started_at:
        return writer.text("row_running_since", at=clock(run.started_at, now))
    return writer.text("row_unknown" if run.state is State.DONE else f"row_{run.state}")


def rerun_how(writer: MarkdownWriter, run: Run, key: str) -> str:
    """Return how to run it again; comments can only control runs of a pull request."""
    if run.number is None:
        return writer.text(_BUTTON_ALONE[key])
    return writer.text(key, command=writer.command("rerun", run.suite, sha=run.sha))
