import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.policy.loading import PolicyErrors, check_policy, load_policy
from bot.core.policy.models import Policy
from tests.core.policies import BASE, errors, loaded, with_suite

EVERYTHING_WRONG = """\
version: 2
mode: off
suits: {}
runners:
  npu-8: {npus: "8", slot: 2}
suites:
  two words:
    worfklow: a.yml
    runners: [npu-9, 5]
    on: [pull_request]
    triggers: [pull_requests]
    npus:
    npus: 4
trust: {auto: reader, heavy: none}
nightly: [{suites: [unti]}]
"""


EVERY_ERROR = """\
line 1: version: must be 1, the only version of this format so far
line 2: mode: `off` is not one of `on`, `dry_run`
line 3: suits: unknown key `suits`; did you mean `suites`?
line 5: runners.npu-8.npus: must be a whole number, not the text "8"
line 5: runners.npu-8.slot: unknown key `slot`; did you mean `slots`?
line 7: suites.two words: names hold only letters, digits, `.`, `_` and `-`, at most 64, \
a letter or digit first
line 7: suites.two words.workflow: `workflow` is required
line 8: suites.two words.worfklow: unknown key `worfklow`; did you mean `workflow`?
line 9: suites.two words.runners[1]: must be text: put it in quotes, "5"
line 9: suites.two words.runners[0]: unknown runner label `npu-9`; did you mean `npu-8`?
line 10: suites.two words: the key `on` is read as true or false by YAML 1.1; \
put it in quotes if it is a name; what starts a suite is called `triggers`
line 11: suites.two words.triggers[0]: `pull_requests` is not one of `pull_request`, `command`, \
`nightly`, `schedule`, `push`; did you mean `pull_request`?
line 13: suites.two words.npus: is written twice, first on line 12
line 14: trust.auto: `reader` is not one of `read`, `triage`, `write`, `maintain`, `admin`; \
did you mean `read`?
line 14: trust.heavy: `none` would admit anybody; the lowest is `read`
line 15: nightly[0].suites[0]: unknown suite `unti`; known: `two words`"""


def test_every_error_is_told_at_once_in_the_order_of_the_file() -> None:
    assert str(load_policy(EVERYTHING_WRONG)) == EVERY_ERROR


def test_a_policy_without_errors_is_a_policy() -> None:
    assert isinstance(load_policy(BASE.encode()), Policy)


def test_a_file_that_cannot_be_read_has_one_error_of_the_file() -> None:
    ((path, line, message),) = errors(b"\xff")
    assert (path, line) == ("file", 1)
    assert "UTF-8" in message


def test_errors_print_as_a_person_reads_them() -> None:
    result = load_policy("version: 1\n")
    assert str(result) == "line 1: runners: `runners` is required"


def test_an_unreadable_value_is_told_once() -> None:
    assert [path for path, _, _ in errors(with_suite("timeout_minutes: 1:30"))] == [
        "suites.unit.timeout_minutes"
    ]


def test_names_from_the_file_are_shown_on_one_short_line() -> None:
    ((path, _, message),) = errors(BASE + f'"{"x" * 100}\\n\\e": 1\n')
    assert path == "x" * 77 + "..."
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"key{number}: 1\n" for number in range(5000)),
        "a: 1\n" * 10_000,
        BASE + "nightly:\n  - suites:\n" + "    - x*\n" * 5000,
        BASE.replace("[npu-8]", "[" + "npu8, " * 9000 + "]"),
    ],
)
def test_of_very_many_errors_the_first_few_hundred_are_told(text: str) -> None:
    found = errors(text)
    assert 200 <= len(found) <= 500
    assert found[-1] == (
        "file",
        text.count("\n"),
        "has so many errors that not all are shown",
    )


def test_warnings_stand_beside_a_policy_that_works() -> None:
    checked = check_policy(with_suite("paths: [/a]"))
    assert isinstance(checked.result, Policy)
    assert [(warning.path, warning.line) for warning in checked.warnings] == [
        ("suites.unit.paths[0]", 10)
    ]


def test_warnings_wait_until_the_errors_are_gone() -> None:
    checked = check_policy(with_suite("paths: [/a]", "nodes: 0"))
    assert isinstance(checked.result, PolicyErrors)
    assert checked.warnings == ()


def test_mode_on_needs_no_quotes() -> None:
    assert loaded(BASE + "mode: on\n").mode == "on"
    assert loaded(BASE + 'mode: "on"\n').mode == "on"
    assert loaded(BASE + "mode: dry_run\n").mode == "dry_run"


def check_lines(source: str | bytes) -> None:
    result = load_policy(source)
    if isinstance(result, PolicyErrors):
        assert result.errors
        mark = b"\n" if isinstance(source, bytes) else "\n"
        count = source.count(mark) + 1  # type: ignore[arg-type]  # of the same kind, as chosen
        assert all(1 <= error.line <= count for error in result.errors)


@settings(max_examples=200)
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_text_makes_the_loader_raise(source: str | bytes) -> None:
    check_lines(source)


WORDS = """version runners suites npus paths triggers on 1 8 yes ~ npu-8 unit [ ] { } : - , * & !
? | > # ' " << *a &a !!int !x .inf 0x1 1:30 nightly cron workflow a.yml pool trust auto"""
words = st.sampled_from(WORDS.split())
separators = st.sampled_from([" ", "\n", "\n  ", "\n    ", ": ", "", "\t", "\r\n", "\u2028"])


@settings(max_examples=300)
@given(st.lists(st.tuples(words, separators), max_size=40))
def test_no_heap_of_policy_words_makes_the_loader_raise(parts: list[tuple[str, str]]) -> None:
    check_lines("".join(word + separator for word, separator in parts))


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 20) | st.floats() | st.sampled_from(["unit", "x*"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["npus", "unit", "suites", "name"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(
    st.dictionaries(st.sampled_from(sorted(Policy.model_fields)), json_like, max_size=6),
    st.dictionaries(
        st.sampled_from(["workflow", "runners", "pool", "npus", "nodes", "triggers", "start"]),
        json_like,
        max_size=5,
    ),
)
def test_no_value_under_a_known_key_makes_the_loader_raise(top: object, suite: object) -> None:
    policy = {"version": 1, "runners": {"a": {}}, "suites": {"s": suite}}
    check_lines(yaml.dump(top, Dumper=yaml.CSafeDumper))
    check_lines(yaml.dump(policy, Dumper=yaml.CSafeDumper))
