"""The literals of a pattern: one of them stands in whatever the pattern matches."""

import pytest

from bot.core.digest.literals import needed, spellings


def found(pattern: str, passes: str = "") -> list[str] | None:
    literals = needed(pattern, lambda literal: "".join(literal) == passes)
    return None if literals is None else sorted("".join(literal) for literal in literals)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("lost", ["lost"]),
        ("^lost$", ["lost"]),
        (r"\blost\b|gone", ["gone", "lost"]),
        ("out of (?:memory|disk)", [r"out\ of\ disk", r"out\ of\ memory"]),
        ("files? lost", [r"file\ lost", r"files\ lost"]),
        ("retry*x{0,1}", ["retr"]),
        (r"node .* (?:is|was) lost", [r"\ is\ lost", r"\ was\ lost"]),
        (r"(?:a|bc)+ gone", [r"\ gone"]),
        ("(?:retry ){2,3}x", [r"retry\ "]),
        ("(?:retry ){0,3}xy", ["xy"]),
        ("(?:x )*xy", ["xy"]),
        (r"\d+\.\d+", [r"\."]),
        (r"[ab]c", ["ac", "bc"]),
        (r"[a-f]cd|[^x]ef|[[:digit:]]gh|[\w]ij", ["cd", "ef", "gh", "ij"]),
        (r"[`\]]x", [r"\]x", "`x"]),
        (r"\tend", ["\\\tend"]),
        ("(?i)Ab-1", [r"[aA][bB]\-1"]),
        ("(?i:ab) ab", [r"[aA][bB]\ ab"]),
        ("x*", None),
        ("lost|.*", None),
    ],
)
def test_the_literals_of_a_pattern(pattern: str, literals: list[str] | None) -> None:
    assert found(pattern) == literals


def test_a_place_stands_for_a_bounded_number_of_literals() -> None:
    assert len(found("[ab]" * 40) or ()) == 32


def test_a_literal_that_passes_is_taken_before_a_longer_one() -> None:
    assert found("short .* very long", r"short\ ") == [r"short\ "]


def test_a_literal_is_spelt_in_both_cases() -> None:
    literals = needed("(?i)ab-c", lambda _: False) or ()
    assert [spellings(literal) for literal in literals] == [{"ab-c", "AB-C", "Ab-c"}]
