"""What counts as a difference between what was expected and what GitHub shows."""

from dataclasses import replace

import pytest

from bot.cli.demo.expected import Answer, Expected, differences, gate, suite, unexpected
from bot.cli.demo.github import Check, Comment, Seen, read_state
from bot.core.report import reply_marker

SHA = "1234567890abcdef"
PASSED = Check(11, "Ascend / unit", SHA, "completed", "success", "Passed in 3 s")
BOT = "ascend-ci[bot]"
REPLY = Comment(3, BOT, f"| `unit` | passed, 3 s |\n\n{reply_marker(7)}")
ANSWER = Answer(7, ("`unit`", "passed"))


def seen(*checks: Check) -> Seen:
    return Seen(checks, (), (), {})


def said(*comments: Comment) -> Seen:
    return Seen((), (), comments, {})


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
    older = replace(PASSED, id=10, conclusion="failure")
    newer = replace(PASSED, id=12, conclusion="failure")
    for checks in ([older, PASSED], [PASSED, older]):
        assert differences([suite("unit", SHA, "success", "Passed")], seen(*checks)) == []
    assert differences([suite("unit", SHA, "success", "Passed")], seen(PASSED, newer)) != []


def test_a_check_run_that_was_to_be_replaced_does_not_count() -> None:
    again = replace(suite("unit", SHA, "success", "Passed"), after=PASSED.id)
    (line,) = differences([again], seen(PASSED))
    assert line.endswith("there is none newer than 11")
    assert differences([again], seen(PASSED, replace(PASSED, id=12))) == []


def test_a_reply_with_all_pieces_is_as_expected() -> None:
    assert differences([ANSWER], said(Comment(3, "mia", "/ascend-e2e unit"), REPLY)) == []


@pytest.mark.parametrize(
    ("comments", "found"),
    [
        ([], 0),
        ([replace(REPLY, user="mia")], 0),
        ([replace(REPLY, body=f"passed `unit` {reply_marker(8)}")], 0),
        ([REPLY, REPLY], 2),
    ],
)
def test_no_reply_and_a_second_one_are_differences(comments: list[Comment], found: int) -> None:
    (line,) = differences([ANSWER], said(*comments))
    assert line == f"the reply to comment 7: expected one, there are {found}"


def test_a_reply_that_stops_short_is_a_difference_that_names_what_is_missing() -> None:
    (line,) = differences([ANSWER], said(replace(REPLY, body=f"`unit` runs {reply_marker(7)}")))
    assert line.startswith("the reply to comment 7: expected passed; is `unit` runs")


def test_a_comment_of_the_bot_that_nobody_expects_is_named() -> None:
    people = Comment(3, "mia", "thanks")
    assert unexpected([ANSWER], said(people, REPLY)) == []
    (line,) = unexpected([], said(people, REPLY))
    assert line.startswith("a comment on #3: nobody expects it; is | `unit` | passed, 3 s |")


def test_a_check_run_that_nobody_expects_is_named() -> None:
    expected = [suite("unit", SHA, "success", "Passed")]
    extra = Check(12, "ascend-ci", SHA, "queued", None, "Looking")
    assert unexpected(expected, seen(PASSED)) == []
    assert unexpected(expected, seen(PASSED, extra)) == [
        "ascend-ci at 1234567: nobody expects it; titled Looking"
    ]


def test_the_state_of_the_simulation_is_decoded() -> None:
    check = {
        "id": 5,
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
    comment = {"id": 6, "pull": 3, "user": BOT, "body": "Done", "reactions": []}
    found = read_state({"check_runs": [check], "dispatches": runs, "comments": [comment]})
    assert found.comments == (Comment(3, BOT, "Done"),)
    assert found.check("ascend-ci", SHA) == Check(5, "ascend-ci", SHA, "queued", None, "")
    assert found.check("ascend-ci", "other") is None
    newest = found.dispatch(SHA)
    assert newest is not None
    assert newest.run_id == 8
    assert found.dispatch("other") is None
