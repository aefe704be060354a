"""What a dispatch sends, and what a refusal says."""

from typing import Any

import pytest

from bot.core.model.runs import Run
from bot.core.runs.dispatch_inputs import inputs_of, may_pass, refusal
from tests.core.building import LABEL, SHA, a_run


def sent(**changes: Any) -> Run:
    return a_run(dispatch_id="01D5", **changes)


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{sha}", SHA),
        ("pr-{pr}", "pr-5"),
        ("{runner}", LABEL),
        ("{run}", "01J5"),
        ("{sha}/{run}", f"{SHA}/01J5"),
        ("{SHA} {} {other}", "{SHA} {} {other}"),
        ("", ""),
    ],
)
def test_placeholders_of_an_own_input(value: str, filled: str) -> None:
    assert inputs_of(sent(inputs={"x": value}), LABEL)["x"] == filled


def test_what_is_always_sent() -> None:
    assert inputs_of(sent(), LABEL) == {
        "ascend_ci": "01D5",
        "sha": SHA,
        "pr": "5",
        "runner": LABEL,
        "timeout_minutes": "60",
    }


def test_no_pull_request_is_an_empty_text() -> None:
    made = inputs_of(sent(number=None, inputs={"x": "[{pr}]"}), LABEL)
    assert (made["pr"], made["x"]) == ("", "[]")


def test_an_own_input_never_replaces_what_is_always_sent() -> None:
    own = dict.fromkeys(("ascend_ci", "sha", "pr", "runner", "timeout_minutes"), "mine")
    assert "mine" not in inputs_of(sent(inputs=own), LABEL).values()


@pytest.mark.parametrize(
    ("status", "message", "says"),
    [
        pytest.param(404, "Not Found", "must lie on the default branch", id="no such workflow"),
        pytest.param(422, "No ref found for: main", "no branch `main` to dispatch", id="no ref"),
        pytest.param(
            422,
            "Workflow does not have 'workflow_dispatch' trigger",
            "it lacks the trigger `workflow_dispatch`",
            id="no trigger",
        ),
        pytest.param(
            422, 'Unexpected inputs provided: ["x"]', "does not declare an input", id="input"
        ),
        pytest.param(422, "The workflow is disabled", "is disabled in the Actions tab", id="off"),
        pytest.param(403, "Resource not accessible", "without `actions:write`", id="permission"),
        pytest.param(422, "Something new", "refused to start `unit.yml` on `main`", id="unknown"),
        pytest.param(None, "odd", "refused to start `unit.yml`", id="no status"),
    ],
)
def test_a_refusal_says_what_to_do(status: int | None, message: str, says: str) -> None:
    text = refusal(a_run(), status, message)
    assert says in text
    assert text.endswith(f"GitHub said: {message}")


@pytest.mark.parametrize(
    ("status", "message", "passes"),
    [
        (403, "Resource not accessible", True),
        (404, "Not Found", True),
        (422, "Something new", True),
        (422, "No ref found for: main", False),
        (422, 'Unexpected inputs provided: ["x"]', False),
    ],
)
def test_only_a_refusal_that_names_no_mistake_may_pass(
    status: int, message: str, passes: bool
) -> None:
    assert may_pass(status, message) is passes


def test_a_refusal_without_words_gives_the_status() -> None:
    assert refusal(a_run(), 500, "  ").endswith("GitHub said: 500")
