import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.progress import ProgressClock, moment, verl_metrics
from bot.core.digest.result import Progress, StepPoint
from tests.core.digest.corpus import signatures


def progress(log: bytes) -> Progress | None:
    digester = Digester(signatures())
    digester.feed(log)
    return digester.progress


def test_a_log_without_steps_has_no_progress() -> None:
    assert progress(b"hello\n") is None


def test_a_verl_step_gives_its_number_and_metrics() -> None:
    found = progress(
        b"(T pid=1) step:6 - actor/loss:9\n"
        b"(T pid=1) step:7 - actor/loss:0.5 - name:text - timing_s/step:41.0 - a/error:1e-3\n"
    )
    metrics = {"actor/loss": 0.5, "timing_s/step": 41.0, "a/error": 0.001}
    assert found == Progress(7, None, 41.0, metrics, 2, (StepPoint(7, None, 41.0),))


def test_a_bar_gives_total_and_speed() -> None:
    found = progress(
        b"step:2 - a:1\n"
        b"Training Progress:  13%|#3        | 2/15 [00:82<08:53, 41.02s/it]\n"
        b"Fetching files:  50%|##   | 1/2 [00:01<00:01, 1.02s/it]\n"
    )
    assert found is not None
    assert (found.step, found.total, found.seconds_per_step) == (2, 15, 41.02)


def test_a_bar_in_steps_a_second_is_turned_over() -> None:
    found = progress(b"step:2 - a:1\nTraining Progress: 1%| | 2/15 [00:01<00:05, 4.00it/s]\n")
    assert found is not None
    assert found.seconds_per_step == 0.25


def test_a_bar_that_is_not_finished_tells_nothing() -> None:
    found = progress(b"step:2 - a:1\nTraining Progress: 0%| | 0/15 [00:00<?, ?it/s]\n")
    assert found is not None
    assert found.total is None


def test_a_trainers_dictionary_counts_as_a_step() -> None:
    found = progress(
        b"{'loss': 1.22, 'grad_norm': '0.5', 'note': 'x'}\n{'loss': 1.1, 'grad_norm': 0.4}\n"
    )
    assert found == Progress(2, None, None, {"loss": 1.1, "grad_norm": 0.4}, 2)


def test_a_megatron_iteration_counts_as_a_step() -> None:
    found = progress(
        b" iteration       10/     100 | consumed samples: 160 | "
        b"elapsed time per iteration (ms): 5210.5 | lm loss: 9.1E+00 |\n iteration 11/ 100 | x: 1\n"
    )
    assert found is not None
    assert (found.step, found.total, found.seconds_per_step) == (11, 100, 5.2105)


def test_words_that_look_like_a_metric_line_are_none() -> None:
    assert progress(b"error in 'loss' of iteration 3 failed\n") is None


def test_numbers_that_are_none_are_left_out() -> None:
    assert verl_metrics("a:1e999 - b:nan - :3 - c:1" + "0" * 60 + " - d:2") == {"d": 2.0}


def test_of_too_many_metrics_the_liked_ones_are_kept() -> None:
    text = " - ".join([f"x/{i}:{i}" for i in range(60)] + ["timing_s/step:3", "critic/score:4"])
    found = verl_metrics(text)
    assert len(found) <= 43
    assert {"timing_s/step", "critic/score", "x/0"} <= set(found)
    assert "x/59" not in found


STEADY = ["2026-01-01T00:00:00.0", "2026-01-01T00:20:00.0", "2026-01-01T00:40:00.0"]


@pytest.mark.parametrize(
    ("marks", "end", "steady"),
    [
        (STEADY, "2026-01-01T00:59:00.0", True),
        (STEADY, "2026-01-01T02:59:00.0", False),
        (STEADY[:1], "2026-01-01T00:01:00.0", False),
        ([], "2026-01-01T00:01:00.0", False),
    ],
)
def test_a_stall_is_told_from_slow_steps_by_time(
    marks: list[str], end: str, *, steady: bool
) -> None:
    clock = ProgressClock()
    for no, wall in enumerate(marks):
        clock.seen(no, wall)
    assert clock.steady(100, end) is steady


@pytest.mark.parametrize(("no", "steady"), [(12, True), (100, False)])
def test_without_times_the_distance_in_lines_tells_a_stall(no: int, *, steady: bool) -> None:
    clock = ProgressClock()
    for mark in (8, 9, 10):
        clock.seen(mark, "")
    assert clock.steady(no, "") is steady


def test_a_broken_time_stamp_is_none() -> None:
    assert moment("2026-99-99T00:00:00.0") is None
    assert moment("") is None
