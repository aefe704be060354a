"""The points of a plot: few, at equal distances, and the same however a log is read."""

from itertools import pairwise

import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.points import MOST_POINTS, point_of
from bot.core.digest.result import StepPoint
from tests.core.digest.corpus import signatures

LINE = "step:{0} - critic/rewards/mean:0.{0} - actor/loss:1 - timing_s/step:{0}.5\n"


def points_of(log: str) -> tuple[StepPoint, ...]:
    digester = Digester(signatures())
    digester.feed(log.encode())
    assert digester.progress is not None
    return digester.progress.points


def test_each_step_of_a_short_training_is_a_point() -> None:
    found = points_of("".join(LINE.format(step) for step in range(1, 6)))
    assert found == tuple(StepPoint(n, n / 10, n + 0.5) for n in range(1, 6))


@pytest.mark.parametrize("steps", [MOST_POINTS, MOST_POINTS + 1, 1_000, 5_001])
def test_a_long_training_has_few_points_at_equal_distances_and_its_last_step(steps: int) -> None:
    found = [point.step for point in points_of("".join(LINE.format(n) for n in range(steps)))]
    assert MOST_POINTS / 2 <= len(found) <= MOST_POINTS + 1
    assert len({after - before for before, after in pairwise(found[:-1])}) == 1
    assert (found[0], found[-1]) == (0, steps - 1)


def test_points_are_the_same_however_the_lines_are_read() -> None:
    lines = [LINE.format(step) for step in range(700)]
    digester = Digester(signatures())
    for line in lines:
        digester.feed(line.encode())
        assert digester.progress is not None
    assert digester.progress is not None
    assert digester.progress.points == points_of("".join(lines))


def test_a_step_that_is_told_again_replaces_what_came_after_it() -> None:
    again = [1, 2, 3, 4, 2, 3]
    assert [point.step for point in points_of("".join(map(LINE.format, again)))] == [1, 2, 3]


def test_steps_without_the_two_metrics_are_no_points() -> None:
    assert points_of("step:1 - actor/loss:1\nstep:2 - actor/loss:1\n") == ()
    assert points_of("step:1 - timing_s/step:4\nstep:2 - a:1\n") == (StepPoint(1, None, 4.0),)


def test_another_trainers_steps_end_the_points() -> None:
    assert points_of(LINE.format(1) + LINE.format(2) + "{'loss': 1.0}\n") == ()


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("-0.5", -0.5),
        ("1e-3", 0.001),
        ("1E+3", 1000.0),
        ("7", 7.0),
        ("nan", None),
        ("1e300", None),
        ("9e999", None),
        ("1e12", None),
        ("1.2.3", None),
        ("np.float64(1.0)", None),
        ("", None),
    ],
)
def test_only_numbers_that_a_plot_can_show_are_read(value: str, number: float | None) -> None:
    line = f"a:1 - critic/rewards/mean:{value} - x/timing_s/step:5".encode()
    assert point_of(3, line) == StepPoint(3, number, None)


def test_a_colour_code_ends_a_number() -> None:
    assert point_of(1, b"timing_s/step:5.5\x1b[0m") == StepPoint(1, None, 5.5)
