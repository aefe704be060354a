"""`/ascend-e2e rerun`: how it is typed, and which suites run again."""

import pytest

from bot.core.commands.rerun import RerunCommand
from bot.core.model.runs import Outcome, State
from tests.core.building import SHA, a_run
from tests.core.commands.commenting import (
    COMMAND,
    NAMED,
    carried_out,
    commented,
    read,
    started,
)

FAILED = a_run(state=State.DONE, outcome=Outcome.FAILURE)
GREEN = a_run(state=State.DONE, outcome=Outcome.SUCCESS)


@pytest.mark.parametrize(
    ("words", "suites", "sha"),
    [("RERUN unit", ("unit",), None), (f"rerun --sha {NAMED}", (), NAMED)],
)
def test_the_command_is_read(words: str, suites: tuple[str, ...], sha: str | None) -> None:
    text = f"{COMMAND} {words}"
    found = read(text)
    assert isinstance(found, RerunCommand)
    assert (found.words, found.sha) == (suites, sha)


def test_without_a_name_the_suites_that_are_not_green_run_again() -> None:
    builder = carried_out(f"{COMMAND} rerun", commented(runs=(FAILED,)))
    ((run, _),) = builder.new_runs
    assert (run.suite, run.attempt) == ("unit", 2)


def test_a_green_suite_runs_again_by_its_name() -> None:
    builder = carried_out(f"{COMMAND} rerun unit", commented(runs=(GREEN,)))
    assert started(builder) == ["unit"]


def test_where_all_is_green_nothing_runs_again() -> None:
    builder = carried_out(f"{COMMAND} rerun", commented(runs=(GREEN,)))
    assert started(builder) == []
    assert f"`{SHA[:7]}`" in builder.said[0]


@pytest.mark.parametrize("words", ["rerun nope", f"rerun --sha {'ab' * 8}"])
def test_an_unknown_suite_or_commit_is_refused(words: str) -> None:
    builder = carried_out(f"{COMMAND} {words}", commented(runs=(FAILED,)))
    assert started(builder) == []
    assert builder.refusals == 1
