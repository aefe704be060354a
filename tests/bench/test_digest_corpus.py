"""What the bench of the digest prints: a rate a corpus and a principle, and each miss."""

import pytest

from bot.core.digest.result import Digest
from tests.bench.digest_corpus import Read, by_principle, main, misses, report
from tests.core.digest.unseen_cases import Half, Unseen, load_unseen

CASES = load_unseen()
FULL = next(one for one in CASES if one.case.name == "copy-without-space")
WELL = next(one for one in CASES if one.case.name == "good-end-of-a-job")


def read(one: Unseen, found: Digest, corpus: str = "unseen, tune") -> Read:
    return Read(corpus, one.case, found, one.principle)


RIGHT = read(
    FULL,
    Digest(
        failure_class="disk",
        infra=True,
        root_cause_line=FULL.case.expected["root_cause_line"],  # type: ignore[arg-type]
    ),
)
WRONG = read(FULL, Digest(failure_class="disk", infra=False, root_cause_line=1))


def test_a_case_is_right_when_class_root_and_infra_are() -> None:
    assert RIGHT.all_right
    assert (WRONG.class_right, WRONG.root_right, WRONG.infra_right) == (True, False, False)


def test_a_log_that_ended_well_is_right_without_a_root() -> None:
    assert read(WELL, Digest()).all_right
    assert not read(WELL, Digest(root_cause_line=3)).root_right


def test_a_corpus_has_a_line_with_its_rates() -> None:
    lines = report([RIGHT, WRONG, read(WELL, Digest(), "own cases")])
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "unseen, tune 2 2 100% 1 50% 1 50% 1 50%",
        "own cases 1 1 100% 1 100% 1 100% 1 100%",
        "all 3 3 100% 2 67% 2 67% 2 67%",
    ]


def test_a_principle_has_a_line_for_each_half() -> None:
    lines = by_principle([RIGHT, read(FULL, Digest(), "unseen, held out")], {9: "Chinese"})
    assert lines[2] == "9 Chinese"
    assert [line.split()[:-8] for line in lines[3:]] == [["tune", "1"], ["held", "out", "1"]]


def test_a_miss_says_what_was_expected_and_what_came() -> None:
    assert misses([RIGHT]) == []
    said = misses([WRONG])
    assert said[1] == "copy-without-space (unseen, tune, principle 9): root, infra"
    assert said[2].startswith("  expected disk, infra True, line 10: cp: 写入 ")
    assert said[3] == "  got      disk, infra False, line 1: + set -e"


def test_the_misses_of_the_half_held_out_are_shown_only_when_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--misses"])
    said = capsys.readouterr().out
    held_out = [one.case.name for one in CASES if one.half is Half.HELD_OUT]
    assert "unseen, held out" in said
    assert not [name for name in held_out if f"{name} (" in said]
