"""What a training measured in its last step, beside what is usual."""

from bot.core.digest.result import Progress
from bot.core.github.markdown import table
from bot.core.messages.words import number
from bot.core.model.usual import Usual
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import metrics_of
from bot.core.report.sections import Rows, Section


def measured(writer: MarkdownWriter, progress: Progress | None, usual: Usual) -> Section:
    """Return the table of the metrics that tell most, "" without any."""
    metrics = metrics_of(progress)
    if not metrics:
        return ""
    titles = [writer.text("metric_head"), writer.text("metric_value")]
    known = [usual.span(name) for name, _ in metrics]
    if any(known):
        runs = writer.count("good_run", len(usual.runs))
        titles.append(writer.text("metric_usual", ref=writer.code(usual.ref), runs=runs))
    rows = []
    for (name, value), span in zip(metrics, known, strict=True):
        cells = [writer.code(name), number(value), _range(span)][: len(titles)]
        rows.append("| " + " | ".join(cells) + " |")
    return Rows(table(titles, ()), tuple(rows), lambda left: writer.text("more_lines", count=left))


def _range(span: tuple[float, float] | None) -> str:
    """Return ``0.92–0.95``, one number for a range without width."""
    if span is None:
        return ""
    low, high = number(span[0]), number(span[1])
    return low if low == high else f"{low}–{high}"
