"""Expressions of workflow files: GitHub's meaning, and refusal of what is not simulated."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.sim.expressions import ExpressionError, Scope, condition, evaluate, interpolate, text_of

CONTEXTS: dict[str, Any] = {
    "inputs": {"runner": "npu", "debug": False},
    "github": {"event": {"labels": [{"name": "a"}, {"name": "b"}]}, "ref_name": "main"},
    "needs": {"build": {"result": "success", "outputs": {"n": "3"}}},
    "env": {"A-B": "x"},
}


def scope(status: str = "success") -> Scope:
    return Scope(CONTEXTS, status)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("inputs.runner", "npu"),
        ("inputs.RUNNER", "npu"),
        ("inputs.missing", None),
        ("inputs.missing.deeper", None),
        ("env['A-B']", "x"),
        ("needs.build.outputs.n == 3", True),
        ("'ABC' == 'abc'", True),
        ("null == ''", True),
        ("true == 1", True),
        ("'x' != 'y' && 'then' || 'else'", "then"),
        ("'' || 'default'", "default"),
        ("!inputs.debug", True),
        ("(1 < 2) && 2 >= 2 && 3 > 2 && 2 <= 2", True),
        ("'a' < 'B'", True),
        ("github.event.labels[1].name", "b"),
        ("github.event.labels[7].name", None),
        ("contains(github.event.labels.*.name, 'a')", True),
        ("contains('Hello', 'ELL')", True),
        ("startsWith(github.ref_name, 'ma') && endsWith('x.yml', '.yml')", True),
        ("format('{0}-{1} {{x}}', 'a', 2)", "a-2 {x}"),
        ("join(github.event.labels.*.name, '+')", "a+b"),
        ("fromJSON('[1, 2]')[1]", 2),
        ("toJSON(fromJSON('{\"a\":1}'))", '{\n  "a": 1\n}'),
        ("'it''s'", "it's"),
        ("success()", True),
        ("failure() || cancelled()", False),
        ("-1.5", -1.5),
    ],
)
def test_an_expression_has_githubs_value(text: str, value: Any) -> None:
    assert evaluate(text, scope()) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("secrets.TOKEN", "context 'secrets'"),
        ("hashFiles('**')", "function 'hashFiles'"),
        ("inputs.", "a name is expected"),
        ("inputs.runner extra", "unexpected 'extra'"),
        ("(1", "expected"),
        ("", "ends too early"),
        ("1 ~ 2", "cannot read"),
        ("== 1", "unexpected"),
        ("fromJSON('{')", "fromJSON"),
        ("format('{3}', 1)", "no argument 3"),
        ("startsWith('a')", "wrong arguments"),
    ],
)
def test_what_is_not_simulated_is_refused(text: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why.replace("(", r"\(")):
        evaluate(text, scope())


@pytest.mark.parametrize(
    ("text", "status", "runs"),
    [
        (None, "success", True),
        (None, "failure", False),
        (True, "failure", False),
        ("inputs.runner == 'npu'", "success", True),
        ("inputs.runner == 'npu'", "failure", False),
        ("always() && inputs.runner == 'npu'", "failure", True),
        ("${{ failure() }}", "failure", True),
        ("failure()", "success", False),
        ("cancelled()", "cancelled", True),
        ("!cancelled()", "failure", True),
        ("success()", "cancelled", False),
    ],
)
def test_a_condition_asks_for_success_unless_it_speaks_of_status(
    text: Any, status: str, runs: bool
) -> None:
    assert condition(text, scope(status)) is runs


def test_a_condition_that_mixes_text_and_expression_is_refused() -> None:
    with pytest.raises(ExpressionError, match="mixes"):
        condition("${{ inputs.runner }} == 'npu'", scope())


def test_interpolation_fills_every_expression_of_a_text() -> None:
    text = "${{ inputs.runner }}-${{ needs.build.outputs.n }}${{ inputs.missing }}"
    assert interpolate(text, scope()) == "npu-3"
    assert [interpolate(value, scope()) for value in (True, 3, None, 1.5)] == [
        "true",
        "3",
        "",
        "1.5",
    ]
    assert (text_of({}), text_of([]), text_of(2.0)) == ("Object", "Array", "2")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_evaluated_or_refused_but_never_breaks(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        evaluate(text, scope())


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=30))
def test_a_quoted_text_is_itself(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    assert evaluate(quoted, scope()) == text
