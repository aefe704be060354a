"""Plots are small PNGs with the curves of both metrics."""

import io

import pytest
from PIL import Image, ImageColor

from bot.adapters.plots import PANEL, WIDTH, draw, ticks
from bot.core.digest.result import StepPoint

REWARD, SECONDS = ImageColor.getrgb("#0969da"), ImageColor.getrgb("#bc4c00")


def drawn(points: list[StepPoint]) -> Image.Image:
    data = draw(points)
    assert len(data) < 60_000
    picture = Image.open(io.BytesIO(data))
    assert picture.format == "PNG"
    return picture.convert("RGB")


def rows_of(picture: Image.Image, colour: tuple[int, ...]) -> list[int]:
    """Return the rows of a picture that have a colour, nearly."""
    found = [
        at // picture.width
        for at, pixel in enumerate(picture.get_flattened_data())
        if isinstance(pixel, tuple)
        and max(abs(a - b) for a, b in zip(pixel, colour, strict=True)) < 12
    ]
    return sorted(set(found))


def test_both_metrics_have_a_curve_that_rises_and_falls_with_them() -> None:
    picture = drawn([StepPoint(n, float(n), 40.0 + n % 2) for n in range(201)])
    assert picture.size == (WIDTH, 2 * PANEL)
    upper, lower = rows_of(picture, REWARD), rows_of(picture, SECONDS)
    assert 0 < upper[0] < upper[-1] < PANEL < lower[0] < lower[-1] < 2 * PANEL
    assert upper[-1] - upper[0] > PANEL / 2
    left, right = (picture.crop((x, 0, x + 20, PANEL)) for x in (110, WIDTH - 60))
    assert max(rows_of(right, REWARD)) < min(rows_of(left, REWARD))  # rows count downwards


def test_a_metric_that_was_not_printed_has_no_panel() -> None:
    picture = drawn([StepPoint(n, None, 40.0) for n in (1, 2)])
    assert picture.size == (WIDTH, PANEL)
    assert rows_of(picture, SECONDS)
    assert not rows_of(picture, REWARD)


@pytest.mark.parametrize(
    ("low", "high", "least", "told"),
    [
        (0, 100, 0, [0, 20, 40, 60, 80, 100]),
        (-0.3, 0.4, 0, [-0.4, -0.2, 0, 0.2, 0.4]),
        (1, 3, 1, [1, 2, 3]),
        (0, 0, 0, [-1e-6, -5e-7, 0, 5e-7, 1e-6]),
        (5, 5, 0, [4.4, 4.6, 4.8, 5, 5.2, 5.4, 5.6]),
        (-9e11, 9e11, 0, [-1e12, -5e11, 0, 5e11, 1e12]),
    ],
)
def test_ticks_are_round_and_reach_around_the_values(
    low: float, high: float, least: float, told: list[float]
) -> None:
    assert ticks(low, high, least=least) == pytest.approx(told)
