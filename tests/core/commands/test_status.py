"""`/ascend-e2e status`: how it is typed, and that the latest attempts are shown."""

from bot.core.commands.status import StatusCommand
from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, State
from tests.core.building import SHA, a_run
from tests.core.commands.commenting import (
    COMMAND,
    UNTRUSTED,
    carried_out,
    commented,
    mistake,
    read,
)


def test_the_command_is_read() -> None:
    assert isinstance(read(f"{COMMAND} status"), StatusCommand)


def test_it_takes_no_words() -> None:
    assert "`now` is one word too many" in mistake(f"{COMMAND} status now")


def test_the_latest_attempts_are_shown() -> None:
    first = a_run(state=State.DONE, outcome=Outcome.FAILURE)
    second = a_run(id=RunId("01J6"), attempt=2)
    builder = carried_out(f"{COMMAND} status", commented(runs=(first, second)))
    assert builder.run_ids == [second.id]
    assert builder.said == []


def test_where_nothing_has_run_it_is_said_and_whether_an_approval_is_missing() -> None:
    assert f"`{SHA[:7]}`" in carried_out(f"{COMMAND} status", commented()).said[0]
    (said,) = carried_out(f"{COMMAND} status", commented(trust=UNTRUSTED)).said
    assert "waits for an approval" in said
