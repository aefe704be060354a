"""Workflow files from anybody: each is read, or refused with a line and a reason."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.policy.loading import PolicyErrors, check_policy
from bot.core.workflows import Missed, SourceFile, transfer
from bot.core.workflows.reading import MAX_BYTES, MAX_DEPTH, Table, read
from tests.core.workflows.transfers import carried, missed, policy_of, workflow

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 50)}]\n"
    for old, new in zip("abcdefghijk", "bcdefghijkl", strict=True)
)


TWO_DOCUMENTS = (
    "is not valid YAML: expected a single document in the stream, but found another document"
)


def refused(raw: bytes | str) -> tuple[int, str]:
    found = read(SourceFile("w.yml", raw if isinstance(raw, bytes) else raw.encode()))
    assert isinstance(found, Missed)
    return found.line, found.reason


@pytest.mark.parametrize(
    ("raw", "line", "reason"),
    [
        (b"", 1, "is empty"),
        (b"# nothing\n", 1, "is empty"),
        (b"\n- a\n", 2, "is no mapping, so it is no workflow"),
        (b"null", 1, "is no mapping, so it is no workflow"),
        (b"a: 1\nb: \xff\n", 2, "is not UTF-8: byte 9 starts no character"),
        (b"a:\n\tb: 1\n", 2, "a tab cannot indent in YAML; use spaces"),
        (b"a: 1\n  b: 2\n", 2, "is not valid YAML: mapping values are not allowed in this context"),
        (b"a: *b\n", 1, "is not valid YAML: found undefined alias"),
        (
            b"a: 1\n---\nb: 1\n",
            2,
            TWO_DOCUMENTS,
        ),
        (b"a: b\x00c\n", 1, "holds the character U+0000, which YAML does not allow"),
        (b"a: 1\nb: 2\na: 3\n", 3, "has `a` twice, first on line 1; GitHub refuses it"),
        (b"a: 1\nb: {on: 1, on: 2}\n", 2, "has `on` twice, first on line 2; GitHub refuses it"),
        (
            b"a: {x: 1}\nb:\n  <<: {y: 1}\n",
            3,
            "has a key that is no word (`<<`, a list or a mapping); GitHub refuses it",
        ),
        (
            b"[a]: 1\n",
            1,
            "has a key that is no word (`<<`, a list or a mapping); GitHub refuses it",
        ),
        (b"a: &x [*x]\n", 1, "holds an alias that leads into itself"),
        (b"a: " + b"[" * 100, 1, f"is nested more than {MAX_DEPTH} deep"),
        (b"#" * (MAX_BYTES + 1), 1, "has 262,145 bytes; at most 262,144 are read"),
    ],
    ids=range(17),
)
def test_what_cannot_be_read_is_refused_with_its_line(raw: bytes, line: int, reason: str) -> None:
    assert refused(raw) == (line, reason)


def test_depth_counts_what_is_open_not_what_there_is() -> None:
    assert isinstance(read(SourceFile("w.yml", b"a: [" + b"[], " * 100 + b"]")), Table)


def test_aliases_of_aliases_are_read_without_growing() -> None:
    result = carried(a=LAUGHS + workflow("on: {pull_request: {paths: [x]}}"))
    assert policy_of(result).suites["a"].paths == ("x",)


def test_a_hundred_jobs_that_share_a_wide_matrix_take_no_time() -> None:
    row = ", ".join(f"npu-{number}" for number in range(256))
    jobs = "".join(
        f"  j{n}: {{runs-on: '${{{{ matrix.r }}}}', strategy: *s}}\n" for n in range(100)
    )
    text = f"x: &s {{matrix: {{r: [{row}]}}}}\non: pull_request\njobs:\n{jobs}"
    assert carried(a=text).workflows[0].reason.startswith("the policy is full")


def test_only_so_many_filters_events_and_times_are_looked_at() -> None:
    row = f"""[{", ".join(["x", "'['"] * 10_000)}]"""
    filters = f"{{paths-ignore: {row}}}"
    crons = f"[{', '.join('{cron: never}' for _ in range(300))}]"
    events = ", ".join(f"e{number}: " for number in range(300))
    text = workflow(f"on: {{schedule: {crons}, pull_request: {filters}, {events}}}")
    reasons = [reason for _, reason in missed(carried(a=text))]
    assert len([one for one in reasons if "cannot start a native suite" in one]) == 198
    assert "has more path filters than the 200 that a suite can hold" in reasons
    assert len(reasons) == 198 + 1


def test_a_file_that_cannot_be_read_leaves_the_others_alone() -> None:
    result = carried(a=b"\xff", b=workflow())
    assert list(policy_of(result).suites) == ["b"]
    assert result.workflows[0].reason == "cannot be read"
    assert missed(result) == [(1, "is not UTF-8: byte 1 starts no character")]


def test_a_byte_order_mark_and_other_line_ends_are_fine() -> None:
    text = workflow().replace("\n", "\r\n").encode("utf-8-sig")
    assert policy_of(carried(a=text)).suites["a"].timeout_minutes == 60


def test_lines_are_counted_as_editors_do() -> None:
    text = f"name: 'a\u2028b\x85c'\n{workflow('on: [pull_request, push]')}"
    assert [line for line, _ in missed(carried(a=text))] == [2]


_WORDS = st.sampled_from(
    [
        "npu-8",
        "a3-16",
        "gpu",
        "",
        "${{ matrix.r }}",
        "x-${{ matrix.r }}",
        "**",
        "!a",
        "[",
        "on",
        "60",
    ]
) | st.text(max_size=8)
_ANY = st.recursive(
    _WORDS | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)


_LABELS = st.sampled_from(["npu-8", "a3-16", "${{ matrix.r }}", "npu", "gpu"])
_PATTERNS = st.lists(
    st.sampled_from(["**", "a/*.py", "!b", "[", "\x85", "on"]) | _WORDS, min_size=1
)


def _table(**keys: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Make mappings with some of ``keys``, now and then with the wrong kind of value."""
    return st.fixed_dictionaries({}, optional={key: of | _ANY for key, of in keys.items()})


_FILTERS = _table(
    paths=_PATTERNS, **{"paths-ignore": _PATTERNS}, branches=_PATTERNS, types=_PATTERNS
)
_ON = st.fixed_dictionaries({"pull_request": _FILTERS}, optional={"schedule": _ANY, "push": _ANY})
_STRATEGY = st.fixed_dictionaries(
    {"matrix": _table(r=st.lists(_LABELS), include=_ANY, exclude=_ANY)}
)
_JOB = st.fixed_dictionaries(
    {"runs-on": _LABELS | st.lists(_LABELS) | _ANY},
    optional={"strategy": _STRATEGY, "needs": _ANY, "timeout-minutes": _ANY, "if": _ANY},
)
_WORKFLOW = st.fixed_dictionaries(
    {"on": _ON, "jobs": st.dictionaries(_WORDS, _JOB, min_size=1, max_size=3)},
    optional={"name": _WORDS},
)


@settings(max_examples=80)
@given(
    st.lists(_WORKFLOW, min_size=1, max_size=3),
    st.lists(st.text(max_size=6), min_size=3, max_size=3),
)
def test_whatever_the_workflows_the_policy_is_right(trees: list[object], stems: list[str]) -> None:
    sources = [
        SourceFile(
            f".github/workflows/{stem}.yml", yaml.safe_dump(tree, allow_unicode=True).encode()
        )
        for stem, tree in zip(stems, trees, strict=False)
    ]
    result = transfer(sources)
    assert len(result.workflows) == len(sources)
    if result.policy is not None:
        assert not isinstance(check_policy(result.policy).result, PolicyErrors), result.policy


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.text(alphabet="onjb:-[]{}*&!|>'\"#\n\t ,a8", max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes | str) -> None:
    found = read(SourceFile("w.yml", raw if isinstance(raw, bytes) else raw.encode()))
    assert isinstance(found, Table) or (found.line >= 1 and found.reason)
