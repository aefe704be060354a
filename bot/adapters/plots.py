"""Draws a training's reward and step time over its steps, as a PNG.

Pillow, the extra `plots`, is imported only to draw. The function is called in a worker process.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bot.core.digest.result import StepPoint

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

    _Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

WIDTH, PANEL = 800, 240
_SCALE = 2  # drawn larger and made smaller again, so that lines are smooth
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 24, 34, 44
_TICKS = 5
_COLOURS = 32  # of the file, which is some 10 kB then
_INK, _GRID, _PAPER = "#1f2328", "#d1d9e0", "#ffffff"


@dataclass(frozen=True, slots=True)
class _Panel:
    """One curve with its axes; `top` is where it begins in the picture."""

    title: str
    colour: str
    curve: Sequence[tuple[float, float]]
    top: int

    @property
    def x_ticks(self) -> list[float]:
        """Return the numbers below the curve: steps are whole."""
        return ticks(self.curve[0][0], self.curve[-1][0], least=1.0)

    @property
    def y_ticks(self) -> list[float]:
        """Return the numbers beside the curve."""
        values = [value for _, value in self.curve]
        return ticks(min(values), max(values))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies in the picture."""
        low, high = self.y_ticks[0], self.y_ticks[-1]
        first, last = self.x_ticks[0], self.x_ticks[-1]
        across = (x - first) / (last - first) * (WIDTH - _LEFT - _RIGHT)
        up = (y - low) / (high - low) * (PANEL - _TOP - _BOTTOM)
        return _LEFT + across, self.top + PANEL - _BOTTOM - up


def can_draw() -> bool:
    """Return True if the extra is installed."""
    return find_spec("PIL") is not None


def draw(points: Sequence[StepPoint]) -> bytes:
    """Return the plot of the metrics that have two points at least; there must be one."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415  an extra

    curves = [
        ("reward (critic/rewards/mean)", "#0969da", [(p.step, p.reward) for p in points]),
        ("seconds per step (timing_s/step)", "#bc4c00", [(p.step, p.seconds) for p in points]),
    ]
    panels: list[_Panel] = []
    for title, colour, curve in curves:
        known = [(float(step), value) for step, value in curve if value is not None]
        if len(known) > 1:
            panels.append(_Panel(title, colour, known, len(panels) * PANEL))
    size = (WIDTH * _SCALE, len(panels) * PANEL * _SCALE)
    picture = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(13 * _SCALE)
    for panel in panels:
        _axes(pen, font, panel)
        line = [_scaled(*panel.at(x, y)) for x, y in panel.curve]
        pen.line(line, fill=panel.colour, width=2 * _SCALE, joint="curve")
    file = io.BytesIO()
    picture.reduce(_SCALE).quantize(_COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def _axes(pen: "ImageDraw.ImageDraw", font: "_Font", panel: _Panel) -> None:
    low, first = panel.y_ticks[0], panel.x_ticks[0]
    high, last = panel.y_ticks[-1], panel.x_ticks[-1]
    for y in panel.y_ticks:
        pen.line([_scaled(*panel.at(first, y)), _scaled(*panel.at(last, y))], _GRID, _SCALE)
        left, at = panel.at(first, y)
        pen.text(_scaled(left - 8, at), f"{y:.6g}", _INK, font, anchor="rm")
    for x in panel.x_ticks:
        across, bottom = panel.at(x, low)
        pen.line([_scaled(across, bottom), _scaled(across, bottom + 4)], _INK, _SCALE)
        pen.text(_scaled(across, bottom + 7), f"{x:.9g}", _INK, font, anchor="mt")
    corners = [panel.at(first, high), panel.at(first, low), panel.at(last, low)]
    pen.line([_scaled(*corner) for corner in corners], _INK, _SCALE)
    pen.text(_scaled(_LEFT, panel.top + 10), panel.title, _INK, font, anchor="lt")
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    pen.text(_scaled(middle, panel.top + PANEL - 6), "step", _INK, font, anchor="ms")


def _scaled(x: float, y: float) -> tuple[float, float]:
    return x * _SCALE, y * _SCALE


def ticks(low: float, high: float, *, least: float = 0.0) -> list[float]:
    """Return round numbers at equal distances that reach from below `low` to above `high`."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # flat
        around = max(abs(low) / 10, 1e-6)
        low, high = low - around, high + around
    raw = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    step = max(next(size * n for n in (1, 2, 5, 10) if size * n >= raw * 0.999), least)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]
