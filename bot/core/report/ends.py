"""The end of a run in words: its title, its kind, and a next step that works."""

from dataclasses import dataclass
from typing import assert_never

from bot.core.digest.result import UNKNOWN, Digest, Found
from bot.core.github.limits import TITLE_BYTES
from bot.core.github.markdown import headline, size
from bot.core.messages import Message
from bot.core.messages.words import between, capital, duration, lower, sentences, stop
from bot.core.model.runs import Outcome, Run, StopReason
from bot.core.model.usual import UNKNOWN_USUAL, Usual
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import NO_LOG, Pace, Shown, title_of
from bot.core.report.words import SUSPECT, acquits, at_step, reason

TITLE_CHARS = 120  # GitHub's lists of check runs cut a longer one
LIMITS = frozenset({"run_limit", "run_limit_stop", "run_stalled"})  # what the title says
# Ends that a retry would meet again.
_SAME_AGAIN = ("refused_", "run_hidden", "run_not_started")
_ADVICE = {
    "rayjob_none": "advice_submit",
    "rayjob_not_confirmed": "advice_submit",
    "rayjob_end_unknown": "advice_end",
    "submitter_silent": "advice_submitter",
    "run_skipped": "advice_jobs",
    "run_idle": "advice_jobs",
    "run_startup": "advice_startup",
    "run_too_early": "advice_too_early",
    "run_too_early_unknown": "advice_too_early",
    "run_no_runner": "advice_no_runner",
    "run_not_taken": "advice_github",
    "run_hidden_rerun": "advice_github",
    "run_not_started": "advice_not_started",
    "refused_again": "advice_push",
    "refused_other": "advice_startup",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """A run that is done, and all that its texts depend on."""

    run: Run
    outcome: Outcome
    shown: Shown = NO_LOG
    pace: Pace | None = None
    usual: Usual = UNKNOWN_USUAL

    @property
    def why(self) -> Message:
        """Return why it ended; of an end that stays unknown, why it is."""
        why = reason(self.run)
        inner = why.fields["why"] if why.key == "run_limit_unknown" else why
        assert isinstance(inner, Message)
        return inner

    @property
    def cause(self) -> Digest | None:
        """Return the digest that knows the cause; a run that passed has none."""
        return self.shown.cause


def outcome_title(writer: MarkdownWriter, end: Ending) -> str:
    """Return the title of a run that is done, the cause first."""
    suffix = _retry_suffix(writer, end)
    room = TITLE_BYTES - size(suffix)
    return headline(_title(writer, end), TITLE_CHARS - len(suffix), room) + suffix


def _title(writer: MarkdownWriter, end: Ending) -> str:
    why = lower(writer.words(reason(end.run)))
    match end.outcome:
        case Outcome.SUCCESS:
            return _passed(writer, end)
        case Outcome.FAILURE:
            return _failed(writer, end, why)
        case Outcome.TIMED_OUT:
            return _timed_out(writer, end, why)
        case Outcome.CANCELLED:
            return _cancelled(writer, end.run, why)
        case Outcome.SUPERSEDED:
            return _named(writer, "superseded", why)
        case Outcome.BROKEN:
            if not acquits(end.run):
                return capital(why)
            return writer.text("broken", why=why or writer.text("broken_unknown"))
    assert_never(end.outcome)


def _passed(writer: MarkdownWriter, end: Ending) -> str:
    """Return ``Passed in 22 min (usually 21 min): 15 steps, 41 s a step``."""
    span, usual = between(end.run.started_at, end.run.ended_at), end.usual.took
    if not span:
        text = writer.text("success")
    elif usual is None:
        text = writer.text("success_in", span=span)
    else:
        usually = duration(usual.total_seconds())
        text = writer.text("success_usual", span=span, usual=usually)
    if end.pace is None:
        return text
    steps = writer.count("step", end.pace.step)
    if end.pace.step_s:
        steps += writer.text("step_pace", pace=duration(end.pace.step_s))
    return writer.text("success_steps", passed=text, steps=steps)


def _failed(writer: MarkdownWriter, end: Ending, why: str) -> str:
    """Return the cause that the log names; else the failed step and the last line of the job."""
    if end.cause and (told := writer.words(title_of(end.cause))):
        return told
    if end.shown.digest:
        return _without_cause(writer, end.shown, end.shown.digest, why)
    if reason(end.run).key == "run_failed":
        return writer.text("failure_unread")
    return writer.text("failure", why=why) if why else writer.text("failure_unknown")


def _without_cause(writer: MarkdownWriter, shown: Shown, digest: Digest, why: str) -> str:
    last, step = writer.words(digest.last), writer.words(shown.step)
    stops = digest.found is Found.NOTHING
    if step and not last:
        return writer.text("failure_step_silent", step=step)
    if step:
        return writer.text("failure_step_stops" if stops else "failure_step", step=step, last=last)
    if last and stops:
        return writer.text("failure_stops", last=last)
    if last:
        return writer.text("failure_rayjob" if shown.of_rayjob else "failure", why=last)
    return writer.text("failure", why=why) if why else writer.text("failure_unknown")


def _timed_out(writer: MarkdownWriter, end: Ending, why: str) -> str:
    suite, kind = end.run.snapshot.suite, _stopped(end.run)
    at = "" if end.pace is None else writer.text("timed_out_at", step=at_step(writer, end.pace))
    if kind is StopReason.STALL:
        return writer.text("timed_out_stall", limit=duration(suite.stall_minutes * 60)) + at
    if end.why.key.startswith("rayjob_ended"):
        return writer.text("timed_out_rayjob") + at
    if kind is StopReason.TIME_OUT or not why or end.why.key in LIMITS:
        return writer.text("timed_out_limit", limit=duration(suite.timeout_minutes * 60)) + at
    return writer.text("timed_out", why=why)


def _stopped(run: Run) -> StopReason | None:
    return run.stop_request.kind if run.stop_request else None


def _cancelled(writer: MarkdownWriter, run: Run, why: str) -> str:
    if run.stop_request and run.stop_request.kind is StopReason.CANCEL and run.stop_request.by:
        return writer.text("cancelled_by", by=writer.words(run.stop_request.by))
    return _named(writer, "cancelled", why)


def _named(writer: MarkdownWriter, key: str, why: str) -> str:
    """Return the reason with the outcome, but name the outcome only once."""
    if why.lower().startswith(writer.text(f"row_{key}")):
        return capital(why)
    return writer.text(key, why=why) if why else capital(writer.text(f"row_{key}"))


def _retry_suffix(writer: MarkdownWriter, end: Ending) -> str:
    """Return ``: infrastructure, retrying (2 of 2)``; "" if no attempt follows."""
    run = end.run
    if not run.retry:
        return ""
    attempts = run.snapshot.suite.infra_retries + 1
    infra = end.outcome is Outcome.FAILURE and end.cause and end.cause.infra
    key = "retrying_infra" if infra else "retrying"
    return writer.text(key, attempt=run.retries + 2, attempts=attempts)


def kind(writer: MarkdownWriter, end: Ending) -> str:
    """Return what kind of end it was, as Markdown in bold; it acquits only with evidence."""
    return " · ".join(f"**{words}**" for words in _kinds(writer, end))


def _kinds(writer: MarkdownWriter, end: Ending) -> list[str]:
    if end.outcome is Outcome.BROKEN:
        key = SUSPECT.get(reason(end.run).key, "not_yours")
        return [writer.text(key)]
    if end.cause and end.cause.failure_class != UNKNOWN:
        words = _class(writer, end.cause.failure_class)
        return [writer.text("not_yours"), words] if end.cause.infra else [words]
    if end.outcome is Outcome.TIMED_OUT:
        return [capital(writer.text("row_timed_out"))]
    digest = end.shown.digest
    if digest is None:
        return [capital(writer.text("row_failure"))]
    silent = digest.found is Found.NOTHING
    return [writer.text("kind_stops" if silent else "class_unknown")]


def _class(writer: MarkdownWriter, failure_class: str) -> str:
    key = f"class_{failure_class}"
    if writer.messages.has(key):
        return writer.text(key)
    return capital(writer.prose(failure_class.replace("_", " ")))


def retry_words(writer: MarkdownWriter, end: Ending) -> str:
    """Return a sentence that says if another attempt follows, or why none does."""
    run = end.run
    if run.retry:
        return writer.text("retry_next", attempt=run.attempt + 1)
    key = _never_again(end)
    if key:
        return writer.text(key)
    retries = run.snapshot.suite.infra_retries
    if retries and run.retries >= retries:
        return writer.text("retry_spent", retries=writer.count("retry", retries))
    return writer.text("retry_not" if retries else "retry_none")


def _never_again(end: Ending) -> str:
    """Return why such an end is never retried by itself, "" if it may be."""
    run = end.run
    if _stopped(run) is StopReason.CANCEL:
        return "retry_unwanted"
    if end.outcome is Outcome.FAILURE and not (end.shown.digest and end.shown.digest.infra):
        unknown = "retry_unproven" if end.shown.digest else "retry_unread"
        return "retry_not_infra" if end.cause else unknown
    if end.outcome is Outcome.TIMED_OUT and _stopped(run) is not StopReason.STALL:
        return "retry_limit"
    if reason(run).key.startswith(_SAME_AGAIN):
        return "retry_not_infra"
    return "" if run.snapshot.retryable else "retry_environment"


def advice(writer: MarkdownWriter, end: Ending) -> str:
    """Return a next step that works, "" if running it again is the only one."""
    hint = writer.prose(end.cause.hint) if end.cause else ""
    own = _of_limit(writer, end) or _of_reason(writer, end)
    return sentences(stop(hint), own)


def _of_limit(writer: MarkdownWriter, end: Ending) -> str:
    """Return what to do about a time limit, with the last sign of progress."""
    suite = end.run.snapshot.suite
    if end.outcome is not Outcome.TIMED_OUT:
        return ""
    last = "" if end.pace is None else writer.text("last_step", step=at_step(writer, end.pace))
    if _stopped(end.run) is StopReason.STALL:
        text = writer.text("advice_stall", minutes=suite.stall_minutes)
    else:
        text = writer.text("advice_limit", minutes=suite.timeout_minutes)
    return sentences(last, text)


def _of_reason(writer: MarkdownWriter, end: Ending) -> str:
    key = _ADVICE.get(end.why.key) if end.outcome is Outcome.BROKEN else None
    if key is None:
        return ""
    return writer.text(key, workflow=writer.code(end.run.snapshot.suite.workflow))
