"""The plot of a training in its check run: which run has one, and what is said of it."""

from collections.abc import Iterable

from bot.core.digest.result import StepPoint
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Run, State
from bot.core.model.views import Image
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import progress_of

_LEAST_POINTS = 2  # one is no line


def plot_points(run: Run, rayjobs: Iterable[RayJob]) -> tuple[StepPoint, ...]:
    """Return what the plot of an ended run shows; nothing if no metric has two points."""
    progress = progress_of(rayjobs)
    if run.state is not State.DONE or progress is None:
        return ()
    points = progress.points
    rewards = [point for point in points if point.reward is not None]
    times = [point for point in points if point.seconds is not None]
    return points if max(len(rewards), len(times)) >= _LEAST_POINTS else ()


def images(writer: MarkdownWriter, run: Run, rayjobs: Iterable[RayJob]) -> tuple[Image, ...]:
    """Return the plot of reward and step time, if the bot can show it."""
    links, points = writer.ctx.plots, plot_points(run, rayjobs)
    if links is None or not points:
        return ()
    steps = {"first": points[0].step, "last": points[-1].step}
    alt, caption = writer.text("plot_alt", **steps), writer.text("plot_caption", **steps)
    return (Image(alt, links.address(run.id), caption),)
