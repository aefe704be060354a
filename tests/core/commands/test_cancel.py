"""`/ascend-e2e cancel`: how it is typed, which runs are stopped, and who may stop them."""

import pytest

from bot.core.commands.cancel import CancelCommand
from bot.core.model.ids import RunId
from bot.core.model.levels import Level
from bot.core.model.runs import Run, StopReason
from bot.core.planning.trust import Person, Trusted
from tests.core.building import OLD_SHA, SHA, a_run
from tests.core.commands.commenting import (
    COMMAND,
    READER,
    TRUSTED,
    UNTRUSTED,
    carried_out,
    commented,
    read,
)

UNIT = a_run()
GONE = a_run(id=RunId("01J6"), suite="gone", sha=OLD_SHA)  # its suite has left the policy


@pytest.mark.parametrize(("words", "suites"), [("cancel", ()), ("cancel unit", ("unit",))])
def test_the_command_is_read(words: str, suites: tuple[str, ...]) -> None:
    text = f"{COMMAND} {words}"
    found = read(text)
    assert isinstance(found, CancelCommand)
    assert found.words == suites


@pytest.mark.parametrize(
    ("words", "stopped"),
    [("cancel", [UNIT.id, GONE.id]), ("cancel unit", [UNIT.id]), ("cancel gone", [GONE.id])],
)
def test_the_runs_of_the_pull_request_are_stopped(words: str, stopped: list[RunId]) -> None:
    builder = carried_out(f"{COMMAND} {words}", commented(claimed=(UNIT, GONE)))
    assert [run_id for run_id, _ in builder.stop_requests] == stopped
    assert builder.run_ids == stopped
    assert all(stop.kind is StopReason.CANCEL for _, stop in builder.stop_requests)
    assert all(entry.allowed for entry in builder.audit)


def test_the_audit_names_the_commit_of_the_run() -> None:
    builder = carried_out(f"{COMMAND} cancel gone", commented(claimed=(GONE,)))
    assert [(entry.what, entry.sha) for entry in builder.audit] == [("cancel gone", OLD_SHA)]


@pytest.mark.parametrize("run", [UNIT, GONE])
def test_a_person_without_the_level_stops_nothing(run: Run) -> None:
    context = commented(person=READER, claimed=(run,))
    builder = carried_out(f"{COMMAND} cancel", context)
    assert builder.stop_requests == []
    assert builder.refusals == 1
    assert [entry.allowed for entry in builder.audit] == [False]


def test_the_author_may_stop_their_own() -> None:
    context = commented(person=Person("Ann", Level.PULL), claimed=(UNIT,))
    assert carried_out(f"{COMMAND} cancel", context).stop_requests


def test_an_unknown_suite_stops_nothing() -> None:
    builder = carried_out(f"{COMMAND} cancel unit nope", commented(claimed=(UNIT,)))
    assert builder.stop_requests == []
    assert builder.refusals == 1


@pytest.mark.parametrize(
    ("words", "trust", "said"),
    [
        ("cancel", TRUSTED, "Nothing of this pull request runs"),
        ("cancel unit", UNTRUSTED, f"`{SHA[:7]}` waits for an approval"),
        ("cancel other", UNTRUSTED, "Nothing of this pull request runs"),
    ],
)
def test_where_nothing_runs_it_is_said_and_whether_an_approval_is_missing(
    words: str, trust: Trusted, said: str
) -> None:
    builder = carried_out(f"{COMMAND} {words}", commented(trust=trust))
    assert said in builder.said[0]
    assert builder.refusals == 0
