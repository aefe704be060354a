"""Numbers and times read well; every sentence exists, is used, and states its facts calmly."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.core import report
from bot.core.messages import TABLES, Messages, words
from bot.core.messages.en import EN
from bot.core.model.runs import Outcome, State

NOW = datetime(2026, 8, 22, 15, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "claimant"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (41.2, "41 s"),
        (60, "1 min"),
        (95, "1 min 35 s"),
        (599, "9 min 59 s"),
        (1_349, "22 min"),
        (3_600, "1 h"),
        (4_359, "1 h 12 min"),
        (86_399, "23 h 59 min"),
        (183_600, "2 d 3 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, claimant: str) -> None:
    assert words.duration(seconds) == claimant


@pytest.mark.parametrize(
    ("seconds", "claimant"), [(41, "41 s"), (61, "2 min"), (328, "6 min"), (7_300, "2 h 2 min")]
)
def test_an_estimate_is_rounded_up_to_minutes(seconds: float, claimant: str) -> None:
    assert words.about(seconds) == claimant


def test_a_span_needs_both_ends() -> None:
    assert words.between(None, NOW) == words.between(NOW, None) == ""
    assert words.between(NOW.replace(hour=14), NOW) == "1 h"


@pytest.mark.parametrize(
    ("at", "claimant"),
    [
        (NOW.replace(hour=9, minute=5), "09:05"),
        (NOW.replace(day=3), "3 Aug 15:02"),
        (NOW.replace(year=2025), "2025-08-22 15:02"),
    ],
)
def test_a_time_has_its_date_only_when_it_is_not_today(at: datetime, claimant: str) -> None:
    assert words.clock(at, NOW) == claimant


@pytest.mark.parametrize(
    ("number", "claimant"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (102, "102nd"), (111, "111th")],
)  # fmt: skip
def test_ordinals(number: int, claimant: str) -> None:
    assert words.ordinal(number) == claimant


@pytest.mark.parametrize(
    ("value", "claimant"),
    [(32.0, "32"), (1200, "1,200"), (59.13, "59.1"), (0.01234, "0.012"), (-2.55, "-2.5")],
)
def test_numbers(value: float, claimant: str) -> None:
    assert words.number(value) == claimant


@pytest.mark.parametrize(
    ("items", "claimant"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_lists(items: list[str], claimant: str) -> None:
    assert words.listing(items) == claimant


def test_counts_and_cases() -> None:
    assert words.count(1, "suite") == "1 suite"
    assert words.count(1_300, "suite") == "1,300 suites"
    assert words.count(2, "retry is", "retries are") == "2 retries are"
    assert words.capital("") == ""
    assert words.capital("it ends") == "It ends"
    assert words.lower("The RayJob") == "the RayJob"
    assert words.lower("RayJob") == "RayJob"


def test_another_language_says_in_english_what_it_lacks() -> None:
    tables = {"en": {"a": "one {n}", "b": "two"}, "zz": {"b": "zwei"}}
    messages = Messages("zz", tables)
    assert [messages("a", n=1), messages("b")] == ["one 1", "zwei"]
    assert Messages("none", tables)("b") == "two"
    assert messages.has("a")
    assert not messages.has("c")


def _used() -> set[str]:
    """Return every word in quotes in the sources that say something."""
    bot = Path(report.__file__).parents[2]
    says = [*bot.glob("core/**/*.py"), *bot.glob("services/**/*.py")]
    says = [path for path in says if path.parent.name != "en"]
    return set(re.findall(r"""["']([a-z_]+)["']""", "".join(path.read_text() for path in says)))


# Said with a part that is a value: states, outcomes, kinds of gates, classes of failures.
_BUILT = re.compile(r"row_|class_|help_|starts_|kind_|level_|gate_(?:none|looking|draft|policy)$")


def test_every_sentence_is_said_somewhere() -> None:
    states = {str(item) for item in (*State, *Outcome)}
    unused = EN.keys() - _used() - states
    assert not [key for key in unused if not _BUILT.match(key)]


def test_every_state_and_outcome_has_its_words() -> None:
    assert all(f"row_{item}" in EN for item in (*State, *Outcome) if item is not State.DONE)


@pytest.mark.parametrize("language", TABLES)
def test_a_language_has_the_placeholders_of_english(language: str) -> None:
    holes = re.compile(r"{(\w+)}")
    table = TABLES[language]
    assert table.keys() <= EN.keys()
    assert all(set(holes.findall(table[k])) == set(holes.findall(EN[k])) for k in table)
