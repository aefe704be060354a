"""What counts as a difference between what was expected and what GitHub shows."""

import pytest

from bot.cli.demo.expected import Expected, differences, gate, suite, unexpected
from bot.cli.demo.github import Check, Seen, read_state

SHA = "1234567890abcdef"
PASSED = Check("Ascend / unit", SHA, "completed", "success", "Passed in 3 s")


def seen(*checks: Check) -> Seen:
    return Seen(checks, (), {})


def test_a_check_run_with_a_piece_of_the_title_is_as_expected() -> None:
    assert differences([suite("unit", SHA, "success", "Passed")], seen(PASSED)) == []


@pytest.mark.parametrize(
    "expected",
    [
        suite("unit", SHA, "failure", "Passed"),
        suite("unit", SHA, "success", "Failed"),
        Expected("Ascend / unit", SHA, "success", "Passed", status="in_progress"),
    ],
)
def test_each_part_that_differs_is_a_difference(expected: Expected) -> None:
    (line,) = differences([expected], seen(PASSED))
    assert "Ascend / unit at 1234567: expected" in line
    assert "is completed success, titled Passed in 3 s" in line


@pytest.mark.parametrize(
    "expected", [gate(SHA, "success", ""), suite("unit", "fedcba9", "success", "Passed")]
)
def test_a_check_run_that_is_not_there_is_named(expected: Expected) -> None:
    (line,) = differences([expected], seen(PASSED))
    assert line.startswith(f"{expected.name} at {expected.sha[:7]}")
    assert line.endswith("there is none")


def test_the_newest_check_run_of_a_name_counts() -> None:
    older = Check("Ascend / unit", SHA, "completed", "failure", "Failed")
    assert differences([suite("unit", SHA, "success", "Passed")], seen(older, PASSED)) == []
    assert differences([suite("unit", SHA, "success", "Passed")], seen(PASSED, older)) != []


def test_a_check_run_that_nobody_expects_is_named() -> None:
    expected = [suite("unit", SHA, "success", "Passed")]
    extra = Check("ascend-ci", SHA, "queued", None, "Looking")
    assert unexpected(expected, seen(PASSED)) == []
    assert unexpected(expected, seen(PASSED, extra)) == [
        "ascend-ci at 1234567: nobody expects it; titled Looking"
    ]


def test_the_state_of_the_simulation_is_decoded() -> None:
    check = {
        "name": "ascend-ci",
        "head_sha": SHA,
        "status": "queued",
        "conclusion": None,
        "title": None,
    }
    runs = [
        {"id": number, "inputs": {"sha": SHA}, "status": "queued", "conclusion": None}
        for number in (7, 8)
    ]
    found = read_state({"check_runs": [check], "dispatches": runs, "comments": []})
    assert found.check("ascend-ci", SHA) == Check("ascend-ci", SHA, "queued", None, "")
    assert found.check("ascend-ci", "other") is None
    newest = found.dispatch(SHA)
    assert newest is not None
    assert newest.run_id == 8
    assert found.dispatch("other") is None
