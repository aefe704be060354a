"""What a failed suite says: whose fault it is, the one cause, the next step, then the log."""

from dataclasses import replace

from bot.core.messages.words import between, capital, count, number
from bot.core.model.runs import Outcome, Run
from bot.core.report.context import Pen, sentences
from bot.core.report.digest import UNKNOWN, Shown
from bot.core.report.markdown import clean, cut_bytes, table
from bot.core.report.sections import Block, Rows, Section, Whole
from bot.core.report.views import Annotation, SuiteView
from bot.core.report.words import rerun_how, retry_words, where

MESSAGE_BYTES = 60_000  # of an annotation; GitHub takes 64 KB
TITLE_CHARS = 255


def failure_summary(pen: Pen, view: SuiteView, told: Shown | None) -> tuple[Section | None, ...]:
    """Return the headline, the cause and what to do next."""
    run = view.run
    return (
        Whole(_headline(pen, run, told)),
        _cause(pen, run, told),
        Whole(_next(pen, run, told)),
    )


def _headline(pen: Pen, run: Run, told: Shown | None) -> str:
    """Return ``**Out of NPU memory** · not retried: … · attempt 1 of … on …, 22 min``."""
    span = between(run.started_at or run.dispatched_at, run.ended_at)
    attempt = pen.say(
        "what_short",
        attempt=run.attempt,
        suite=pen.code(run.suite),
        where=pen.code(where(run)),
        span=f", {span}" if span else "",
    )
    return " · ".join((f"**{_kind(pen, run, told)}**", retry_words(pen, run, told), attempt))


def _kind(pen: Pen, run: Run, told: Shown | None) -> str:
    if run.outcome not in {Outcome.FAILURE, Outcome.TIMED_OUT}:
        return pen.say("not_yours")
    if told is None or (told.kind == UNKNOWN and run.outcome is Outcome.TIMED_OUT):
        return capital(pen.say(f"row_{run.outcome}"))
    key = f"class_{told.kind}"
    words = pen.say(key) if pen.say.has(key) else capital(pen.prose(told.kind.replace("_", " ")))
    return f"{pen.say('not_yours')}** · **{words}" if told.infra else words


def _cause(pen: Pen, run: Run, told: Shown | None) -> Section | None:
    """Return the cause in the log's words, and the verdict's reason where it says more."""
    why = capital(pen.prose(run.why))
    cause = pen.prose(told.cause) if told else ""
    codes = ", ".join(map(pen.code, told.codes[:6])) if told else ""
    text = sentences(
        f"{cause}." if cause else "",
        pen.say("codes", codes=codes) if codes else "",
        f"{why}." if why else "",
        pen.say("not_passed") if run.outcome is Outcome.BROKEN else "",
    )
    return Whole(text) if text else None


def _next(pen: Pen, run: Run, told: Shown | None) -> str:
    hint = pen.prose(told.hint) if told else ""
    return sentences(
        pen.say("next", hint=f"{hint}.") if hint else "",
        rerun_how(pen, run),
    )


def failure_text(pen: Pen, told: Shown | None, problem: str) -> list[Section | None]:
    """Return the log's part: the excerpt, the traceback folded, metrics; else its end, or why not.

    The small and sure come first: what is long gives way (``compose``).
    """
    if told is None:
        why = pen.prose(problem) or pen.say("log_missing")
        return [Whole(pen.say("log_unread", why=why))]
    excerpt = pen.redact(told.excerpt)
    note = pen.say("cut")
    sections: list[Section | None] = [Block(excerpt, note) if excerpt.strip() else None]
    if not excerpt.strip():
        sections.append(Whole(pen.say("log_silent_end" if told.tail.strip() else "log_silent")))
    sections += [_metrics(pen, told), _read(pen, told, problem)]
    tail, traceback = pen.redact(told.tail), pen.redact(told.traceback)
    if traceback.strip():
        sections.append(Block(traceback, note, folded=_lines(pen, "traceback", traceback)))
    if tail.strip() and not excerpt.strip():
        folded = _lines(pen, "tail", tail)
        sections.append(Block(tail, note, folded=folded, keep_start=False))
    return sections


def _lines(pen: Pen, key: str, text: str) -> str:
    return pen.say(key, lines=count(text.strip("\n").count("\n") + 1, "line"))


def _read(pen: Pen, told: Shown, problem: str) -> Section | None:
    """Say how much was read, and what could not be."""
    why = pen.prose(problem)
    text = sentences(
        pen.say("log_lines", lines=count(told.lines, "line")) if told.lines else "",
        pen.say("log_unread", why=why) if why else "",
    )
    return Whole(text) if text else None


def _metrics(pen: Pen, told: Shown) -> Section | None:
    if not told.metrics:
        return None
    head = table((pen.say("metric_head"), pen.say("metric_value")), ())
    rows = [f"| {pen.code(name)} | {number(value)} |" for name, value in told.metrics]
    return Rows(head, tuple(rows), lambda left: pen.say("more_lines", count=left))


def annotations(pen: Pen, told: Shown) -> tuple[Annotation, ...]:
    """Return the lines of the diff to point at, within GitHub's limits."""
    title = pen.fit_title(pen.words(told.title))[:TITLE_CHARS]
    return tuple(
        replace(
            item,
            message=cut_bytes(clean(pen.redact(item.message)), MESSAGE_BYTES) or title or item.path,
            title=pen.fit_title(pen.words(item.title)) or title,
        )
        for item in told.annotations
    )
