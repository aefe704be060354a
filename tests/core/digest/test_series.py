"""Lines of progress that are read at once tell what they tell when they are read one by one."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.digest.digester import Digester
from bot.core.digest.progress import ProgressClock
from bot.core.digest.series import ProgressForm, are_alike, pattern_of
from tests.core.digest.corpus import signatures

WALL = "2026-07-09T18:41:{:02d}.1234567Z "
STEP = "(TaskRunner pid=2210) step:{} - actor/loss:0.5 - timing_s/step:{}.5"
BAR = "Training Progress:  10%|9   | {}/99 [38:11<5:57:21, {}.68s/it]"
ITERATION = (
    " iteration {:8d}/  100 | consumed samples: 64 | elapsed time per iteration (ms): {}.5 |"
    " lm loss: 9.1E+00 |"
)
RECORD = "{{'loss': 1.{}, 'grad_norm': {}.5}}"
FORMS = {
    ProgressForm.STEP: STEP,
    ProgressForm.BAR: BAR,
    ProgressForm.ITERATION: ITERATION,
    ProgressForm.RECORD: RECORD,
}
# What tells more, or less, than its neighbours.
ODD = (
    "Fetching files:  50%|##  | 1/2 [00:01<00:01, {}.02s/it]",
    "Training Progress: {}%|9   | 100/99 [38:11<5:57:21, 3.68s/it]",
    "Training Progress: {}%|9   | 1/99 [38:11<5:57:21, 3.68s/it] RuntimeError: boom",
    " iteration {}/ 0 | elapsed time per iteration (ms): 5.5 | lm loss: 1 |",
    " iteration {}/ 9 | lm loss: 1 |",
    " iteration 1/ 9 | elapsed time per iteration (ms): 5.5 | timing_s/step: {} |",
    " iteration 1/ 9 | elapsed time per iteration (ms): 5.5 | step:{} - a:1 |",
    "{{'loss': 1.{}, 'timing_s/step': 9}}",
    "{{'loss': 1.0}} iteration {}/ 9 | lm loss: 1 |",
    "{{'loss': 1.0}} step:{} - a:1",
    "01234567890T step:{} - a:1",
    "{{'loss': 1.0, 'x': '" + "y" * 2_100 + "{}'}}",
    "nothing {}",
    "RuntimeError: boom {}",
)


def clock_of(lines: list[str], *, at_once: bool) -> tuple[dict[str, object], object]:
    digester = Digester(signatures())
    for line in lines:
        digester.feed(f"{line}\n".encode())
        if not at_once:
            assert digester.lines
    digest = digester.end()
    clock: ProgressClock = digester.state.scanner.sink.clock  # type: ignore[attr-defined]
    return asdict(clock), digest


@st.composite
def logs(draw: st.DrawFn) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        form = draw(st.sampled_from([*FORMS.values(), *ODD]))
        times = draw(st.integers(1, 5))
        walls = draw(st.lists(st.booleans(), min_size=times, max_size=times))
        for number, wall in enumerate(walls):
            text = form.format(draw(st.integers(0, 99)), number)
            lines.append(f"{WALL.format(number) if wall else ''}{text}")
    return lines


@given(logs())
def test_a_series_tells_what_its_lines_tell_one_by_one(lines: list[str]) -> None:
    assert clock_of(lines, at_once=True) == clock_of(lines, at_once=False)


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_each_form_are_read_at_once(form: ProgressForm) -> None:
    block = "".join(f"{FORMS[form].format(n, n)}\n" for n in range(20)).encode()
    found = pattern_of(form).match(block)
    assert found is not None
    assert found.end() == len(block)
    assert are_alike(form, block)


@pytest.mark.parametrize("form", FORMS)
def test_few_lines_of_a_series_are_read(form: ProgressForm) -> None:
    read: list[int] = []
    digester = Digester(signatures())
    reader = digester.state.scanner.sink
    one = reader.read

    def noted(no: int, raw: bytes) -> None:
        read.append(no)
        one(no, raw)

    reader.read = noted  # type: ignore[method-assign]
    digester.feed("".join(f"{FORMS[form].format(n % 99, n)}\n" for n in range(500)).encode())
    assert digester.lines == 500
    assert read == [1, 500]


SINGLY = {
    "a bar of more than it has": [BAR.format(1, 1), BAR.format(2, 2), BAR.format(100, 3)],
    "a bar with a failure": [BAR.format(1, 1), f"{BAR.format(2, 2)} boom failed", BAR.format(3, 3)],
    "a record with a step": [
        RECORD.format(1, 1),
        f"{RECORD.format(2, 2)} step:9",
        RECORD.format(3, 3),
    ],
    "time stamps that begin": [
        STEP.format(1, 1),
        WALL.format(1) + STEP.format(2, 2),
        STEP.format(3, 3),
    ],
    "a failure below": [
        STEP.format(1, 1),
        STEP.format(2, 2),
        "RuntimeError: boom",
        STEP.format(3, 3),
    ],
}


@pytest.mark.parametrize("name", SINGLY)
def test_lines_that_differ_are_read_one_by_one(name: str) -> None:
    lines = SINGLY[name]
    assert clock_of(lines, at_once=True) == clock_of(lines, at_once=False)
