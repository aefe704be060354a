"""The text of a failed suite: the fault, the cause, the next step, then the log."""

from bot.core.digest.result import Digest, Found
from bot.core.digest.weak import exit_codes
from bot.core.github.limits import TITLE_CHARS
from bot.core.github.markdown import clean, cut_bytes
from bot.core.messages import NOTHING, Message
from bot.core.messages.words import between, capital, joined, sentences, stop
from bot.core.model.runs import Outcome
from bot.core.model.views import Annotation, SuiteView
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import Shown, annotations_of, excerpt_of, progress_of, title_of
from bot.core.report.ends import LIMITS, Ending, advice, again, kind, retry_words
from bot.core.report.measured import measured
from bot.core.report.sections import Block, Section
from bot.core.report.words import is_unknown, left_over, ran_nothing, reason, where, without_rest

# Refusals that GitHub's own words explain further; they name the input, or the reason.
_ADDS = frozenset({"refused_inputs", "refused_permission", "refused_other"})
_SAY_NOTHING = frozenset({"", "Not Found", "Gone", "Forbidden", "403", "404", "410", "422"})
MESSAGE_BYTES = 60_000  # of an annotation; GitHub takes 64 KB


def failure_summary(
    writer: MarkdownWriter, view: SuiteView, end: Ending, title: str
) -> tuple[Section, ...]:
    """Return the headline, what the title does not say yet, and what to do next."""
    return (_headline(writer, view, end), _cause(writer, view, end, title), next_step(writer, end))


def next_step(writer: MarkdownWriter, end: Ending) -> str:
    """Return what to do next: what helps, and how to run it again unless that happens by itself."""
    what = advice(writer, end)
    if end.run.retry:
        wait = writer.text("retry_wait", attempt=end.run.attempt + 1)
        more = what and not is_unknown(end.run)
        return sentences(wait, writer.text("retry_then", hint=what) if more else "")
    return sentences(writer.text("next", hint=what) if what else "", again(writer, end))


def _headline(writer: MarkdownWriter, view: SuiteView, end: Ending) -> str:
    """Return ``**Out of NPU memory** · not retried: … · attempt 1 of … on …, 22 min``."""
    run = end.run
    span = NOTHING if ran_nothing(view) else between(run.started_at, run.ended_at)
    attempt = writer.text(
        "what_short",
        attempt=run.attempt,
        suite=writer.code(run.suite),
        where=writer.code(where(run)),
        span=writer.text("after_comma", text=span) if span else "",
    )
    return " · ".join((kind(writer, end), retry_words(writer, end), attempt))


def _cause(writer: MarkdownWriter, view: SuiteView, end: Ending, title: str) -> Section:
    """Return the cause in the words of the log, and the reason, where the title lacks them."""
    why = _reason(writer, end, title)
    log = "" if why and end.shown.of_rayjob and not end.cause else _of_log(writer, end, title)
    found = (log, why, writer.prose(left_over(view)))
    broken = end.outcome is Outcome.BROKEN
    return sentences(
        *map(stop, found),
        _unread(writer, end.shown.digest),
        writer.text("not_passed") if broken else "",
    )


def _of_log(writer: MarkdownWriter, end: Ending, title: str) -> str:
    """Return the cause with its codes; of a bare exit code, that code."""
    digest = end.shown.digest
    if digest is None or digest.found is Found.NOTHING:
        return ""
    if digest.found is Found.EXIT_CODE:
        code = next((code for code, _ in exit_codes(digest.cause)), None)
        return "" if code is None else capital(writer.text("exit_code", code=code))
    codes = writer.messages.render(joined(map(writer.code, digest.codes[:6])))
    cause = writer.prose(digest.cause)
    if _says(title, writer.words(digest.cause)):
        cause = ""
    elif not any(digest.cause in text for _, text in digest.excerpt_lines):
        cause = capital(cause)  # a line of the log stays as it is
    if not codes:
        return cause
    if not cause:
        return capital(writer.text("codes_alone", codes=codes))
    return writer.text("cause_codes", cause=cause, codes=codes)


def _says(title: str, cause: str) -> bool:
    """Return True if a title holds a cause already, with or without its exception's name."""
    detail = cause.partition(": ")[2] or cause
    return detail in title


def _reason(writer: MarkdownWriter, end: Ending, title: str) -> str:
    """Return the verdict's reason, "" where the log or the title says more."""
    run = end.run
    why = without_rest(run)
    if end.outcome is Outcome.FAILURE and (end.cause or why.key == "run_failed"):
        return ""
    if end.outcome is Outcome.TIMED_OUT and why.key in LIMITS:
        return ""
    if writer.words(reason(run)).lower() not in title.lower():
        return capital(writer.prose(why if _says_more(why) else reason(run)))
    if not _says_more(why):
        return ""
    return writer.text("github_says", said=writer.prose(str(why.fields["said"])))


def _says_more(why: Message) -> bool:
    """Return True if GitHub's own words explain a refusal further."""
    if why.key != "github_said":
        return False
    inner = why.fields["why"]
    known = isinstance(inner, Message) and inner.key in _ADDS
    return known and why.fields["said"] not in _SAY_NOTHING


def _unread(writer: MarkdownWriter, digest: Digest | None) -> str:
    """Say that the rest of the log was not read, and why."""
    if digest is None or digest.unread is None:
        return ""
    return writer.text(f"unread_{digest.unread}", lines=writer.count("line", digest.lines))


def failure_text(writer: MarkdownWriter, view: SuiteView, end: Ending) -> list[Section]:
    """Return the text about the log: excerpt, folded traceback and metrics, or else its last lines.

    Short sections come first, because ``compose`` cuts the later ones.
    """
    shown, digest = end.shown, end.shown.digest
    if digest is None:
        return [_unread_log(writer, end)]
    note = writer.text("cut")
    measures = measured(writer, progress_of(view.rayjobs) or digest.progress, view.usual)
    sections: list[Section] = []
    if end.cause:
        sections.append(Block(writer.redact(excerpt_of(digest)), note))
    sections += [measures, _read(writer, shown)]
    traceback = writer.redact(digest.traceback)
    if end.cause and traceback.strip():
        sections.append(Block(traceback, note, folded=_lines(writer, "traceback", traceback)))
    if not end.cause:
        return [*_tail(writer, shown, digest), *sections]
    return sections


def _tail(writer: MarkdownWriter, shown: Shown, digest: Digest) -> list[Section]:
    """Return the last lines that say something, unfolded, under what they are."""
    tail = writer.redact("\n".join(digest.tail))
    if not tail.strip():
        return []
    lines = len(digest.tail)
    if shown.step:
        head = writer.text("tail_step", n=lines, step=writer.code(shown.step))
    else:
        head = writer.text("tail_log", n=lines)
    return [head, Block(tail, writer.text("cut"), keep_start=False)]


def _unread_log(writer: MarkdownWriter, end: Ending) -> str:
    """Say why no log was read; a run that has none needs no excuse."""
    why = writer.prose(end.shown.problem)
    if not why and (end.run.started_at is None or end.outcome is not Outcome.FAILURE):
        return ""
    return writer.text("log_unread", why=why or writer.text("log_missing"))


def _lines(writer: MarkdownWriter, key: str, text: str) -> str:
    return writer.text(key, lines=writer.count("line", text.strip("\n").count("\n") + 1))


def _read(writer: MarkdownWriter, shown: Shown) -> Section:
    """Return how much of the log was read, and which part could not be read."""
    why, lines = writer.prose(shown.problem), shown.digest.lines if shown.digest else 0
    return sentences(
        writer.text("log_lines", lines=writer.count("line", lines)) if lines else "",
        writer.text("log_unread", why=why) if why else "",
    )


def annotations(writer: MarkdownWriter, digest: Digest) -> tuple[Annotation, ...]:
    """Return annotations for lines of the diff, within GitHub's limits."""
    title = writer.fit_title(writer.words(title_of(digest)))[:TITLE_CHARS]
    return tuple(
        Annotation(
            item.path, item.line, _message(writer, item.message) or title or item.path, title
        )
        for item in annotations_of(digest)
    )


def _message(writer: MarkdownWriter, message: str) -> str:
    return cut_bytes(clean(writer.redact(message)), MESSAGE_BYTES)
