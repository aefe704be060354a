"""The cases that nobody tuned on have valid labels, and each is in one half."""

from typing import Any

import pytest

from tests.core.digest.unseen_cases import Half, Unseen, load_unseen, parse

CASES = load_unseen()
RIGHT: dict[str, Any] = {
    "name": "a",
    "class": "disk",
    "infra": True,
    "source": "https://example.com/1",
    "log": "| begins\n> full\n= full again\n|\n",
}


def test_a_case_gives_the_log_without_marks_and_the_label() -> None:
    case = parse({**RIGHT, "or": ["environment"]})
    assert case.raw == b"begins\nfull\nfull again\n\n"
    assert (case.expected["root_cause_line"], case.expected["class"]) == (2, "disk")
    assert case.expected["root_cause_line_alternatives"] == [3]
    assert case.expected["class_alternatives"] == ["environment"]


def test_surroundings_move_the_root_line_and_their_marks_take_turns() -> None:
    case = parse({**RIGHT, "inside": "mark", "marks": ["a: ", "b: "]})
    lines = case.raw.decode().splitlines()
    assert lines[0].startswith("a: ")
    assert lines[1].startswith("b: ")
    root = case.expected["root_cause_line"]
    assert isinstance(root, int)
    assert lines[root - 1] == "full"


def test_a_log_of_actions_has_its_time_stamps_and_its_end_unless_it_was_cut() -> None:
    whole, cut = (
        parse({**RIGHT, "inside": "actions"}),
        parse({**RIGHT, "inside": "actions", "cut": True}),
    )
    assert whole.raw.startswith(b"2026-09-01T02:00:00.0000000Z Current runner version")
    assert whole.raw.endswith(b"Cleaning up orphan processes\n")
    assert cut.raw.endswith(b"Z \n")


@pytest.mark.parametrize(
    "wrong",
    [
        {"class": "no_such_class"},
        {"or": ["no_such_class"]},
        {"infra": "unknown"},
        {"source": "somewhere"},
        {"hint": "x"},
        {"inside": "nowhere"},
        {"log": "begins\n> full\n"},
        {"log": "| begins\n| full\n"},
        {"log": "> begins\n> full\n"},
    ],
)
def test_a_wrong_label_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a: "):
        parse({**RIGHT, **wrong})


def test_every_principle_has_several_cases_and_a_name_is_used_once() -> None:
    counted = {n: sum(one.principle == n for one in CASES) for n in range(1, 10)}
    assert len({one.case.name for one in CASES}) == len(CASES) >= 80
    assert min(counted.values()) >= 5


def test_the_halves_are_about_equal_and_a_name_decides() -> None:
    held_out = [one for one in CASES if one.half is Half.HELD_OUT]
    assert 0.4 <= len(held_out) / len(CASES) <= 0.6
    first = CASES[0]
    assert Unseen(first.case, 9, "").half is first.half


def test_every_log_is_small() -> None:
    assert all(5 <= one.case.raw.count(b"\n") <= 200 for one in CASES)
