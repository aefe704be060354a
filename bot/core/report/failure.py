"""The text of a failed suite: the fault, the cause, the next step, then the log."""

from bot.core.digest.result import UNKNOWN, Digest
from bot.core.github.limits import TITLE_CHARS
from bot.core.github.markdown import clean, cut_bytes, table
from bot.core.messages.words import between, capital, number
from bot.core.model.runs import Outcome, Run
from bot.core.model.views import Annotation, SuiteView
from bot.core.report.context import MarkdownWriter, sentences
from bot.core.report.digest import annotations_of, excerpt_of, metrics_of, title_of
from bot.core.report.sections import Block, Rows, Section
from bot.core.report.words import rerun_how, retry_words, where

MESSAGE_BYTES = 60_000  # of an annotation; GitHub takes 64 KB


def failure_summary(
    writer: MarkdownWriter, view: SuiteView, digest: Digest | None
) -> tuple[Section, ...]:
    """Return the headline, the cause and what to do next."""
    run = view.run
    return (_headline(writer, run, digest), _cause(writer, run, digest), _next(writer, run, digest))


def _headline(writer: MarkdownWriter, run: Run, digest: Digest | None) -> str:
    """Return ``**Out of NPU memory** · not retried: … · attempt 1 of … on …, 22 min``."""
    span = between(run.started_at or run.dispatched_at, run.ended_at)
    attempt = writer.text(
        "what_short",
        attempt=run.attempt,
        suite=writer.code(run.suite),
        where=writer.code(where(run)),
        span=f", {span}" if span else "",
    )
    kind = f"**{_kind(writer, run, digest)}**"
    return " · ".join((kind, retry_words(writer, run, digest), attempt))


def _kind(writer: MarkdownWriter, run: Run, digest: Digest | None) -> str:
    if run.outcome not in {Outcome.FAILURE, Outcome.TIMED_OUT}:
        return writer.text("not_yours")
    if digest is None or (digest.failure_class == UNKNOWN and run.outcome is Outcome.TIMED_OUT):
        return capital(writer.text(f"row_{run.outcome}"))
    key = f"class_{digest.failure_class}"
    words = (
        writer.text(key)
        if writer.messages.has(key)
        else capital(writer.prose(digest.failure_class.replace("_", " ")))
    )
    return f"{writer.text('not_yours')}** · **{words}" if digest.infra else words


def _cause(writer: MarkdownWriter, run: Run, digest: Digest | None) -> Section:
    """Return the cause in the words of the log, and the verdict's reason if it adds something."""
    why = capital(writer.prose(run.why))
    cause = writer.prose(digest.cause) if digest else ""
    codes = ", ".join(map(writer.code, digest.codes[:6])) if digest else ""
    return sentences(
        f"{cause}." if cause else "",
        writer.text("codes", codes=codes) if codes else "",
        f"{why}." if why else "",
        _unread(writer, digest),
        writer.text("not_passed") if run.outcome is Outcome.BROKEN else "",
    )


def _unread(writer: MarkdownWriter, digest: Digest | None) -> str:
    """Say that the rest of the log was not read, and why."""
    if digest is None or digest.unread is None:
        return ""
    return writer.text(f"unread_{digest.unread}", lines=writer.count("line", digest.lines))


def _next(writer: MarkdownWriter, run: Run, digest: Digest | None) -> str:
    hint = writer.prose(digest.hint) if digest else ""
    return sentences(writer.text("next", hint=f"{hint}.") if hint else "", rerun_how(writer, run))


def failure_text(writer: MarkdownWriter, digest: Digest | None, problem: str) -> list[Section]:
    """Return the text about the log: excerpt, folded traceback and metrics, or else its last lines.

    Short sections come first, because ``compose`` cuts the later ones.
    """
    if digest is None:
        why = writer.prose(problem) or writer.text("log_missing")
        return [writer.text("log_unread", why=why)]
    excerpt, last = writer.redact(excerpt_of(digest)), "\n".join(digest.tail)
    note = writer.text("cut")
    sections: list[Section] = [Block(excerpt, note)]
    if not excerpt.strip() and digest.unread is None:
        sections.append(writer.text("log_silent_end" if last.strip() else "log_silent"))
    sections += [_metrics(writer, digest), _read(writer, digest, problem)]
    tail, traceback = writer.redact(last), writer.redact(digest.traceback)
    if traceback.strip():
        sections.append(Block(traceback, note, folded=_lines(writer, "traceback", traceback)))
    if tail.strip() and not excerpt.strip():
        folded = _lines(writer, "tail", tail)
        sections.append(Block(tail, note, folded=folded, keep_start=False))
    return sections


def _lines(writer: MarkdownWriter, key: str, text: str) -> str:
    return writer.text(key, lines=writer.count("line", text.strip("\n").count("\n") + 1))


def _read(writer: MarkdownWriter, digest: Digest, problem: str) -> Section:
    """Return how much of the log was read, and which part could not be read."""
    why = writer.prose(problem)
    return sentences(
        writer.text("log_lines", lines=writer.count("line", digest.lines)) if digest.lines else "",
        writer.text("log_unread", why=why) if why else "",
    )


def _metrics(writer: MarkdownWriter, digest: Digest) -> Section:
    metrics = metrics_of(digest)
    if not metrics:
        return ""
    head = table((writer.text("metric_head"), writer.text("metric_value")), ())
    rows = [f"| {writer.code(name)} | {number(value)} |" for name, value in metrics]
    return Rows(head, tuple(rows), lambda left: writer.text("more_lines", count=left))


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
