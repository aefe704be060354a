"""Quarantines: what may be written, and what holds on which day, whatever day it was written."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.policy.changes import Change, Effect, changes, compare
from bot.core.policy.loading import PolicyErrors, check_policy
from bot.core.policy.models import policy_schema
from bot.core.policy.quarantine import Quarantine
from bot.core.policy.quarantined import MAX_DAYS, quarantines_of, stand_at
from bot.core.policy.quarantined import QuarantineStage as Stage
from tests.core.policies import BASE, errors, loaded

TODAY = date(2026, 12, 1)
REST = "owner: alice, reason: fails now and then, issue: 12"


def written(*entries: str) -> str:
    """Return a policy with entries from its line 10 on."""
    return BASE + "quarantine:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries)


def entry(until: str, test: str | None = None) -> Quarantine:
    told = {"owner": "alice", "reason": "flaky", "issue": 12}
    return Quarantine.model_validate({"suite": "unit", "test": test, "until": until, **told})


def midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        (f"suite: unti, until: 2026-12-31, {REST}", ".suite", "did you mean `unit`?"),
        (
            f"suite: unit, until: 2026-02-30, {REST}",
            ".until",
            "must be a day in UTC, like 2026-12-31",
        ),
        (f"suite: unit, until: soon, {REST}", ".until", "must be a day in UTC"),
        (
            f"suite: unit, until: 20261231, {REST}",
            ".until",
            'must be text: put it in quotes, "20261231"',
        ),
        (f"suite: unit, {REST}", ".until", "`until` is required"),
        (
            "suite: unit, until: 2026-12-31, owner: a b, reason: x, issue: 1",
            ".owner",
            "must be a login",
        ),
        ("suite: unit, until: 2026-12-31, owner: a, reason: ' ', issue: 1", ".reason", "one line"),
        ("suite: unit, until: 2026-12-31, owner: a, reason: x, issue: 0", ".issue", "the number"),
        ("suite: unit, until: 2026-12-31, owner: a, reason: x, issue: yes", ".issue", "its URL"),
        ("suite: unit, until: 2026-12-31, owner: a, reason: x, issue: '#1'", ".issue", "its URL"),
        (f'suite: unit, test: "", until: 2026-12-31, {REST}', ".test", "must be one line of text"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_told_at_its_key(line: str, key: str, words: str) -> None:
    ((at, number, message),) = errors(written(line))
    assert (at, number) == (f"quarantine[0]{key}", 11)
    assert words in message


def test_an_entry_that_is_no_mapping_and_one_written_twice_are_told() -> None:
    line = f"suite: unit, until: 2026-12-31, {REST}"
    assert [at for at, _, _ in errors(BASE + "quarantine: [unit]\n")] == ["quarantine[0]"]
    ((at, _, words),) = errors(written(line, line.replace("12-31", "12-30")))
    assert (at, "keep one" in words) == ("quarantine[1]", True)
    assert len(loaded(written(line, f'test: "*", {line}')).quarantine) == 2


def test_tests_of_a_rayjob_are_not_quarantined_alone() -> None:
    text = BASE + "    rayjob: true\n"
    text += f'quarantine: [{{suite: unit, test: "*", until: 2026-12-31, {REST}}}]\n'
    ((at, _, words),) = errors(text)
    assert (at, "leave `test` out" in words) == ("quarantine[0].test", True)


@pytest.mark.parametrize(("days", "wrong"), [(1, False), (MAX_DAYS, False), (MAX_DAYS + 1, True)])
def test_more_than_30_days_are_an_error_only_where_the_day_of_writing_is_known(
    days: int, *, wrong: bool
) -> None:
    until = TODAY + timedelta(days=days)
    text = written(f"suite: unit, until: {until}, {REST}")
    checked = check_policy(text, today=TODAY)
    assert isinstance(checked.result, PolicyErrors) is wrong
    if isinstance(checked.result, PolicyErrors):
        assert "at most 30 days: until 2026-12-31 or earlier" in str(checked.result)
        assert compare(BASE, text, TODAY).errors == checked.result.errors
    assert not check_policy(text).warnings
    loaded(text)  # as every policy in force is read: its age breaks no gate


def test_an_entry_that_is_over_is_a_warning() -> None:
    text = written(f"suite: unit, until: {TODAY}, {REST}")
    (warning,) = check_policy(text, today=TODAY).warnings
    assert (warning.path, "remove the entry" in warning.message) == ("quarantine[0].until", True)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ((), ("2026-12-31",), (Effect.LOOSENED, "what_quarantine", None, ("2026-12-31",))),
        (
            ("2026-12-30",),
            ("2026-12-31",),
            (Effect.LOOSENED, "what_quarantine_longer", ("2026-12-30", "2026-12-31"), ()),
        ),
        (
            ("2026-12-31",),
            ("2026-12-30",),
            (Effect.TIGHTENED, "what_quarantine_shorter", ("2026-12-31", "2026-12-30"), ()),
        ),
        (("2026-12-31",), (), (Effect.TIGHTENED, "what_quarantine_removed", None, ())),
    ],
)
def test_a_new_quarantine_and_a_later_end_loosen_a_policy(
    old: tuple[str, ...], new: tuple[str, ...], told: tuple[object, ...]
) -> None:
    texts = [
        written(*(f"suite: unit, until: {day}, {REST}" for day in days)) for days in (old, new)
    ]
    before, after = (loaded(text if "unit, until" in text else BASE) for text in texts)
    (change,) = changes(before, after)
    assert change.path.startswith("quarantine.unit")
    assert (change.kind, change.what, change.value, change.added) == told


def test_tests_are_quarantines_of_their_own_and_words_alone_loosen_nothing() -> None:
    whole = f"suite: unit, until: 2026-12-31, {REST}"
    before = loaded(written(whole))
    after = loaded(written(f'test: "a.py::*", {whole.replace("alice", "bob")}'))
    assert {(change.path, change.kind) for change in changes(before, after)} == {
        ("quarantine.unit a.py::*", Effect.LOOSENED),
        ("quarantine.unit", Effect.TIGHTENED),
    }
    moved = changes(before, loaded(written(whole.replace("alice", "bob"))))
    assert moved == (Change(Effect.CHANGED, "quarantine.unit.owner", ("alice", "bob")),)


@pytest.mark.parametrize(
    ("at", "stage"),
    [
        ("2026-11-30", Stage.EARLY),
        ("2026-12-01", Stage.HELD),
        ("2026-12-30", Stage.HELD),
        ("2026-12-31", Stage.ENDED),
        ("2027-12-31", Stage.ENDED),
    ],
)
def test_an_entry_holds_in_the_30_days_before_its_end(at: str, stage: Stage) -> None:
    stand = stand_at([entry("2026-12-31")], midnight(at))
    assert stand is not None
    assert stand.stage is stage


def test_a_suite_without_entries_has_no_quarantine() -> None:
    assert stand_at((), midnight("2026-12-01")) is None
    assert quarantines_of([entry("2026-12-31")], "other") == ()
    assert quarantines_of([entry("2026-12-31")], "unit") == (entry("2026-12-31"),)


@given(days=st.lists(st.dates(date(2026, 1, 1), date(2027, 6, 1)), min_size=1, max_size=6))
def test_no_choice_of_days_in_one_policy_gives_a_suite_more_than_30(days: list[date]) -> None:
    entries = [entry(day.isoformat(), f"t{number}") for number, day in enumerate(days)]
    start = midnight("2025-06-01")
    moments = [start + timedelta(days=number) for number in range(800)]
    stands = [stand_at(entries, moment) for moment in moments]
    held = [stand for stand in stands if stand and stand.stage is Stage.HELD]
    assert 0 < len(held) <= MAX_DAYS


@pytest.mark.parametrize(
    ("tests", "failed", "excused"),
    [
        ([None], [], True),
        ([None], ["a.py::t"], True),
        (["a.py::t[*"], ["a.py::t[x 1]"], True),
        (["a.py::*", "*::u"], ["a.py::t", "b.py::u"], True),
        (["a.py::*"], ["a.py::t", "b.py::u"], False),
        (["*"], [], False),  # a crash, a collection error: no test is known to have failed
        (["a.py::*", None], [], True),
    ],
)
def test_a_failure_is_excused_if_all_its_tests_are_covered(
    tests: list[str | None], failed: list[str], *, excused: bool
) -> None:
    entries = [entry("2026-12-31", test) for test in tests]
    for at, holds in (("2026-12-05", True), ("2026-11-01", False), ("2026-12-31", False)):
        stand = stand_at(entries, midnight(at))
        assert stand is not None
        assert stand.excuses(failed) is (excused and holds)
        assert (stand.whole is not None) is (None in tests and holds)


def test_an_issue_may_be_a_number_or_an_address() -> None:
    line = f"suite: unit, until: 2026-12-31, {REST}"
    url = "https://example.org/o/r/issues/1?a=b"
    texts = [written(line), written(line.replace("issue: 12", f'issue: "{url}"'))]
    assert [loaded(text).quarantine[0].issue for text in texts] == [12, url]


def test_the_schema_names_the_day_and_both_forms_of_an_issue() -> None:
    keys = policy_schema()["$defs"]["Quarantine"]["properties"]
    assert keys["until"]["format"] == "date"
    assert {one["type"] for one in keys["issue"]["anyOf"]} == {"integer", "string"}
