"""The end of a run in words: its title, its kind, and a next step that works."""

from dataclasses import dataclass, replace
from typing import assert_never

from bot.core.digest.result import UNKNOWN, Digest, Found
from bot.core.github.limits import SHOWN_TITLE_CHARS, TITLE_BYTES
from bot.core.github.markdown import headline, size
from bot.core.messages import Message
from bot.core.messages.words import between, capital, duration, lower, sentences, stop
from bot.core.model.runs import Outcome, Run, StopReason
from bot.core.model.usual import UNKNOWN_USUAL, Usual
from bot.core.policy.selection import POLICY_PATH
from bot.core.report.advices import ADVICE, FIX_FIRST, IF_RAN
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import NO_LOG, Pace, Shown, is_proven, title_of
from bot.core.report.hangs import hung_advice, hung_at
from bot.core.report.quarantine import is_excused
from bot.core.report.words import (
    SUSPECT,
    acquits,
    at_step,
    can_run_again,
    hidden_why,
    is_hidden,
    is_unknown,
    is_unknown_alone,
    reason,
    rerun_how,
    stopped_alone,
)

LIMITS = frozenset(
    {"run_limit", "run_limit_stop", "run_stalled", "run_timed_out", "rayjob_ended"}
)  # what the title says


@dataclass(frozen=True, slots=True)
class Ending:
    """A run that is done, and all that its texts depend on."""

    run: Run
    outcome: Outcome
    shown: Shown = NO_LOG
    pace: Pace | None = None
    usual: Usual = UNKNOWN_USUAL
    on_runner: bool = True  # a runner took a job of it
    before_rayjob: bool = False  # it should have had a RayJob, and none was seen

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

    @property
    def silent(self) -> bool:
        """Return True if it failed, and its log was read and says nothing."""
        digest = self.shown.digest
        failed = self.outcome is Outcome.FAILURE and self.cause is None
        return failed and digest is not None and not (digest.last or digest.tail)


def outcome_title(writer: MarkdownWriter, end: Ending) -> str:
    """Return the title of a run that is done, the cause first."""
    suffix, told = _suffix(writer, end), _title(writer, end)
    if is_excused(end.run):
        told = writer.text("title_excused", title=told)
    room = TITLE_BYTES - size(suffix)
    return headline(told, SHOWN_TITLE_CHARS - len(suffix), room) + suffix


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
            if stopped_alone(end.run):
                return writer.text("stopped_why", why=why)
            return _named(writer, "superseded", why)
        case Outcome.BROKEN:
            return _broken(writer, end.run, why)
        case Outcome.SKIPPED:
            return capital(why or writer.text("row_skipped"))
    assert_never(end.outcome)


def _broken(writer: MarkdownWriter, run: Run, why: str) -> str:
    if is_unknown(run):
        return writer.text("result_unknown_why", why=why)
    return writer.text("broken", why=why) if acquits(run) else capital(why)


def _passed(writer: MarkdownWriter, end: Ending) -> str:
    """Return ``Passed in 22 min (usually 21 min): 15 steps, 41 s a step``."""
    if is_hidden(end.run):
        return writer.text("success_but", why=hidden_why(writer, end.run))
    span, usual = between(end.run.started_at, end.run.ended_at), end.usual.took
    if not span:
        text = writer.text("success")
    elif usual is None:
        text = writer.text("success_in", span=span)
    else:
        usually = duration(usual.total_seconds())
        text = writer.text("success_usual", span=span, usual=usually)
    if end.run.snapshot.altered:
        text = writer.text("success_apart", passed=text)
    if end.pace is None:
        return text
    steps = writer.count("step", end.pace.step)
    if end.pace.step_s:
        steps += writer.text("step_pace", pace=duration(end.pace.step_s))
    return writer.text("success_steps", passed=text, steps=steps)


def _failed(writer: MarkdownWriter, end: Ending, why: str) -> str:
    """Return the cause that the log names; else the failed step and the last line of the job."""
    told = writer.words(title_of(end.cause)) if end.cause else ""
    if end.why.key == "run_needs":
        return writer.text("failure_needs", why=capital(why), cause=told) if told else capital(why)
    if told:
        return told
    if end.why.key in {"died_short", "died_unexplained"}:
        return writer.text("failure", why=why)
    if end.shown.digest and (told := _without_cause(writer, end.shown, end.shown.digest)):
        return told
    if end.why.key.startswith("rayjob_ended"):
        return capital(why)
    if why and reason(end.run).key not in {"run_failed", "run_own_failed"}:
        return writer.text("failure", why=why)
    if end.shown.digest:
        return writer.text("failure_silent")
    return writer.text("failure_preparing" if end.before_rayjob else "failure_unread")


def _without_cause(writer: MarkdownWriter, shown: Shown, digest: Digest) -> str:
    """Return the failed step and the last line that says something, "" if the log has neither."""
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
    return ""


def _timed_out(writer: MarkdownWriter, end: Ending, why: str) -> str:
    suite, kind = end.run.snapshot.suite, _stopped(end.run)
    at = "" if end.pace is None else writer.text("timed_out_at", step=at_step(writer, end.pace))
    if kind is StopReason.STALL:
        return writer.text("timed_out_stall", limit=duration(suite.stall_minutes * 60)) + at
    if hung := hung_at(end.run, end.pace):
        step = at_step(writer, replace(hung, step_s=None))  # the next step tells the pace
        at = writer.text("timed_out_hung", step=step)
    if end.why.key.startswith("rayjob_ended"):
        return writer.text("timed_out_rayjob") + at
    if end.why.key == "run_timed_out":
        return writer.text("timed_out_job") + at
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


def _suffix(writer: MarkdownWriter, end: Ending) -> str:
    """Return `` (infrastructure; attempt 2 follows)``, or what there is of it."""
    infra = end.outcome is Outcome.FAILURE and end.cause and is_proven(end.run, end.cause)
    if not end.run.retry:
        return writer.text("by_infra") if infra else ""
    key = "retrying_infra" if infra else "retrying"
    return writer.text(key, attempt=end.run.attempt + 1)


def kind(writer: MarkdownWriter, end: Ending) -> str:
    """Return what kind of end it was, as Markdown in bold; it acquits only with evidence."""
    return " · ".join(f"**{words}**" for words in _kinds(writer, end))


def _kinds(writer: MarkdownWriter, end: Ending) -> list[str]:
    if end.outcome is Outcome.BROKEN:
        unknown = "result_unknown" if is_unknown(end.run) else "not_yours"
        if is_unknown_alone(end.run):
            unknown = "result_unknown_ours"
        return [writer.text(SUSPECT.get(reason(end.run).key, unknown))]
    if end.cause and end.cause.failure_class != UNKNOWN:
        words = _class(writer, end.cause.failure_class)
        if not end.cause.infra:
            return [writer.text("maybe_yours"), words] if end.run.number else [words]
        return [
            writer.text("not_yours" if is_proven(end.run, end.cause) else "not_yours_probably"),
            words,
        ]
    if end.outcome is Outcome.TIMED_OUT:
        return [writer.text("kind_timed_out")]
    digest = end.shown.digest
    if digest is None or end.silent:
        return [writer.text("class_unknown")]
    stops = digest.found is Found.NOTHING
    return [writer.text("kind_stops" if stops else "kind_unrecognised")]


def _class(writer: MarkdownWriter, failure_class: str) -> str:
    key = f"class_{failure_class}"
    if writer.messages.has(key):
        return writer.text(key)
    return capital(writer.prose(failure_class.replace("_", " ")))


def retry_words(writer: MarkdownWriter, end: Ending) -> str:
    """Return a sentence that says if another attempt follows, or why none does."""
    run = end.run
    if run.retry:
        retry = {"retry": run.retries + 1, "retries": run.snapshot.suite.infra_retries}
        return writer.text("retry_next", attempt=run.attempt + 1, **retry)
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
        return "retry_not" if is_unknown_alone(run) else "retry_unwanted"
    if end.outcome is Outcome.FAILURE and not (end.shown.digest and end.shown.digest.infra):
        return _unproven(end)
    if end.outcome is Outcome.TIMED_OUT and _stopped(run) is not StopReason.STALL:
        return "retry_limit"
    if reason(run).key == "refused_again":
        return "retry_refused"
    if reason(run).key in FIX_FIRST:
        return "retry_fix_first"
    return "" if run.snapshot.retryable else "retry_environment"


def _unproven(end: Ending) -> str:
    """Return why a failure is not retried that no log lays on the infrastructure."""
    if end.cause:
        return "retry_not_infra"
    if end.shown.digest:
        return "retry_not" if end.silent else "retry_unproven"
    told = not end.why or end.why.key == "run_failed"  # the title says that it is unread
    return "retry_not" if told else "retry_unread"


# How to run it again, where that alone does not help.
_RERUN = {
    "retry_not_infra": "rerun_same",
    "retry_refused": "rerun_later",
    "retry_fix_first": "rerun_fixed",
}
# Another run would end in the same way until somebody mends the workflow or the runner.
_SAME_AGAIN = frozenset({"run_idle", "run_skipped", "run_no_runner"})


def again(writer: MarkdownWriter, end: Ending) -> str:
    """Return how a person runs it again, and what comes first where that alone fails again."""
    if end.run.retry or not can_run_again(end.run):
        return ""
    plain = "rerun_fixed" if reason(end.run).key in _SAME_AGAIN else "rerun_how"
    return rerun_how(writer, end.run, _RERUN.get(_never_again(end), plain))


def advice(writer: MarkdownWriter, end: Ending) -> str:
    """Return a next step that works, "" if running it again is the only one."""
    own = _of_limit(writer, end) or _of_reason(writer, end) or _of_log(writer, end)
    if end.cause is None or (own and end.cause.failure_class == "timeout_hang"):
        return own  # which names the limit, as the hint of the log can't
    hint = stop(writer.prose(end.cause.hint))
    hint = sentences(own, hint) if is_hidden(end.run) else sentences(hint, own)
    return hint or ("" if end.run.retry else _without_hint(writer, end, end.cause))


def _without_hint(writer: MarkdownWriter, end: Ending, cause: Digest) -> str:
    """Return the next step where a cause is known that has no hint."""
    if cause.infra:
        return writer.text("advice_infra")
    if cause.excerpt_lines:
        return writer.text("advice_cause")
    return writer.text("advice_unread", actions=writer.actions(end.run))


def _of_limit(writer: MarkdownWriter, end: Ending) -> str:
    """Return what to do about a time limit, with the last sign of progress."""
    if end.outcome is not Outcome.TIMED_OUT:
        return ""
    hung = hung_at(end.run, end.pace)
    if hung and _stopped(end.run) is not StopReason.STALL:
        return hung_advice(writer, hung)
    last = "" if end.pace is None else writer.text("last_step", step=at_step(writer, end.pace))
    return sentences(last, _limit_advice(writer, end))


def _limit_advice(writer: MarkdownWriter, end: Ending) -> str:
    """Return who raises the limit that fired, and where."""
    suite, workflow = end.run.snapshot.suite, writer.code(end.run.snapshot.suite.workflow)
    if _stopped(end.run) is StopReason.STALL:
        return writer.text("advice_stall", minutes=suite.stall_minutes)
    if end.why.key.startswith("rayjob_ended"):
        return writer.text("advice_limit_rayjob", workflow=workflow)
    if end.why.key == "run_timed_out":
        return writer.text("advice_limit_job", workflow=workflow)
    path = writer.code(POLICY_PATH)
    return writer.text("advice_limit", minutes=suite.timeout_minutes, path=path)


def _of_reason(writer: MarkdownWriter, end: Ending) -> str:
    told = end.outcome is Outcome.BROKEN or is_hidden(end.run)
    key = ADVICE.get(end.why.key) if told else None
    if key is None:
        return ""
    workflow = writer.code(end.run.snapshot.suite.workflow)
    if key == "advice_submit" and end.run.retry:
        return writer.text("advice_submit_again", workflow=workflow)
    key = IF_RAN.get(key, key) if end.on_runner else key
    actions = writer.actions(end.run)
    return writer.text(key, workflow=workflow, path=writer.code(POLICY_PATH), actions=actions)


def _of_log(writer: MarkdownWriter, end: Ending) -> str:
    """Return where to look at a failure of which the log here does not say the cause."""
    if end.outcome is not Outcome.FAILURE or end.cause:
        return ""
    digest = end.shown.digest
    if digest is None:
        return _unread(writer, end)
    if end.silent:
        return writer.text("advice_silent", actions=writer.actions(end.run))
    if digest.found is Found.NOTHING:
        return writer.text("advice_stops")
    return writer.text("advice_below_step" if end.shown.step else "advice_below_log")


def _unread(writer: MarkdownWriter, end: Ending) -> str:
    """Return where to look at a failure whose log nobody has here."""
    actions = writer.actions(end.run)
    if end.why.key == "run_job_failed":
        job = writer.code(str(end.why.fields["job"]))
        return writer.text("advice_unread_job", job=job, actions=actions)
    if end.why.key.startswith("rayjob_ended"):
        return writer.text("advice_unread_rayjob", actions=actions)
    return writer.text("advice_unread", actions=actions)
