"""A run at its time limit that probably hung: its steps would have taken a small part of it."""

from bot.core.messages.words import about, duration, number
from bot.core.model.runs import Run
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import Pace

STARTS_S = 3_600  # for the cluster and the models; nothing starts for longer


def hung_at(run: Run, pace: Pace | None) -> Pace | None:
    """Return the last step of a run that probably hung, None if its pace does not show that."""
    if pace is None or not (pace.total and pace.step_s and run.started_at and run.ended_at):
        return None
    took = (run.ended_at - run.started_at).total_seconds()
    return pace if took > 2 * pace.total * pace.step_s + STARTS_S else None


def hung_advice(writer: MarkdownWriter, pace: Pace) -> str:
    """Return the sum that shows that a run hung, and where to look."""
    total, step_s = pace.total or 0, pace.step_s or 0
    return writer.text(
        "advice_hung",
        pace=duration(step_s),
        steps=writer.count("step", total),
        span=about(total * step_s),
        step=number(pace.step),
    )
