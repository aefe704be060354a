"""Which tests made a job fail, and when that is not sure."""

import pytest

from bot.core.digest.digester import Digester
from tests.core.digest.corpus import signatures

EXIT = "##[error]Process completed with exit code 1."
FLAKY = "tests/a.py::test_b[npu-0]"
REPORT = [
    "##[group]Run pytest tests",
    "pytest tests",
    "shell: /usr/bin/bash -e {0}",
    "##[endgroup]",
    "============================= test session starts ==============================",
    "tests/a.py F.                                                            [100%]",
    "=================================== FAILURES ===================================",
    "_________________________________ test_b[npu-0] ________________________________",
    "    def test_b(device):",
    ">       assert run(device) == 1",
    "E       RuntimeError: the device hangs",
    "tests/a.py:7: RuntimeError",
    "----------------------------- Captured stderr call -----------------------------",
    "Traceback (most recent call last):",
    '  File "x.py", line 3, in <module>',
    "RuntimeError: exit code 137",
    "=========================== short test summary info ============================",
    f"FAILED {FLAKY} - RuntimeError: the device hangs",
    "========================= 1 failed, 1 passed in 3.21s ==========================",
    EXIT,
]
OTHER = "FAILED tests/c.py::test_d - AssertionError: assert 1 == 2"
SUM = "========================= 2 failed, 1 passed in 3.21s =========================="


def failed(*lines: str) -> tuple[str, ...]:
    digester = Digester(signatures())
    digester.feed("".join(f"2026-12-01T10:00:00.0000000Z {line}\n" for line in lines).encode())
    return digester.end().failed_tests


def edited(old: str, *new: str) -> list[str]:
    """Return the report with other lines in the place of one."""
    (at,) = (number for number, line in enumerate(REPORT) if line.startswith(old))
    return [*REPORT[:at], *new, *REPORT[at + 1 :]]


def test_a_session_that_ends_the_job_tells_its_failed_tests() -> None:
    assert failed(*REPORT) == (FLAKY,)


def test_several_tests_and_several_sessions_are_told_together() -> None:
    two = [REPORT[17], OTHER, SUM, EXIT]
    assert failed(*REPORT[:17], *two) == (FLAKY, "tests/c.py::test_d")
    again = ["===== test session starts =====", "=== short test summary info ===", OTHER]
    sums = ["=== 1 failed in 2.00s ===", EXIT]
    assert failed(*REPORT[:-1], *again, *sums) == (FLAKY, "tests/c.py::test_d")


def test_a_quiet_session_tells_them_too() -> None:
    assert failed(*REPORT[:4], *REPORT[6:-2], "1 failed, 1 passed in 3.21s", EXIT) == (FLAKY,)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(edited("FAILED"), id="a test without a line"),
        pytest.param(edited("FAILED", REPORT[17], OTHER), id="a line without a test"),
        pytest.param(edited("FAILED", "ERROR tests/a.py - ImportError: no"), id="collection"),
        pytest.param(
            edited("=========================== short", "=== ERRORS ===", REPORT[16]), id="set-up"
        ),
        pytest.param(
            edited("========================= 1", "= 1 failed, 1 error in 3.2s ="), id="error"
        ),
        pytest.param(
            edited("========================= 1", "!!! stopping after 1 failures !!!", REPORT[18]),
            id="stopped early",
        ),
        pytest.param(
            edited("E   ", "E   worker 'gw0' crashed while running 'tests/a.py::test_b'"),
            id="crashed worker",
        ),
        pytest.param(edited(EXIT, EXIT.replace("1.", "2.")), id="interrupted"),
        pytest.param(edited(EXIT, EXIT.replace("1.", "139.")), id="signal"),
        pytest.param(edited(EXIT, "python check.py", EXIT), id="something came after it"),
        pytest.param(REPORT[:-1], id="no exit code"),
        pytest.param(REPORT[:-2], id="no sum"),
        pytest.param([*REPORT, *REPORT], id="two steps failed"),
        pytest.param(
            [
                *REPORT[:4],
                "Traceback (most recent call last):",
                '  File "check.py", line 3, in <module>',
                "ValueError: the change is wrong",
                *REPORT[4:],
            ],
            id="a crash before it",
        ),
        pytest.param(["The operation was canceled.", EXIT], id="no session"),
        pytest.param(edited("FAILED", f"FAILED {'x' * 301} - no"), id="a name too long"),
        pytest.param(edited("E   ", "##[error]The operation was canceled."), id="kill"),
    ],
)
def test_a_doubt_leaves_no_test(lines: list[str]) -> None:
    assert failed(*lines) == ()


def test_more_tests_than_are_kept_are_none() -> None:
    lines = [f"FAILED tests/a.py::test_{number} - no" for number in range(51)]
    many = "======================== 51 failed, 1 passed in 3.21s ========================="
    assert failed(*REPORT[:17], *lines[:50], many.replace("51", "50"), EXIT) != ()
    assert failed(*REPORT[:17], *lines, many, EXIT) == ()


def test_a_green_job_has_none() -> None:
    digester = Digester(signatures())
    digester.feed("\n".join(REPORT).encode())
    assert digester.end(passed=True).failed_tests == ()
