"""`/ascend-e2e approve`: how it is typed, who may approve, and which commit."""

import pytest

from bot.core.commands.approve import ApproveCommand
from bot.core.planning.trust import Person
from bot.core.policy.levels import Level
from tests.accounts import account
from tests.core.building import OLD_SHA, SHA
from tests.core.commands.commenting import (
    COMMAND,
    NAMED,
    READER,
    UNTRUSTED,
    carried_out,
    commented,
    read,
)


def test_the_command_is_read() -> None:
    text = f"{COMMAND} approve --sha={NAMED.upper()}"
    found = read(text)
    assert isinstance(found, ApproveCommand)
    assert found.sha == NAMED


def test_the_head_is_approved() -> None:
    builder = carried_out(f"{COMMAND} approve", commented(trust=UNTRUSTED))
    assert builder.approval is not None
    assert (builder.approval.sha, builder.approval.by) == (SHA, account("bob"))
    assert [entry.allowed for entry in builder.audit] == [True]
    assert f"`{SHA[:7]}`" in builder.said[0]


@pytest.mark.parametrize("person", [READER, Person(account("ann"), Level.ADMIN)])
def test_an_approval_needs_a_level_and_another_persons_commit(person: Person) -> None:
    builder = carried_out(f"{COMMAND} approve", commented(person=person, trust=UNTRUSTED))
    assert builder.approval is None
    assert [entry.allowed for entry in builder.audit] == [False]
    assert builder.refusals == 1


def test_a_former_head_is_not_approved_and_the_line_for_the_head_is_given() -> None:
    builder = carried_out(f"{COMMAND} approve --sha {OLD_SHA[:12]}", commented())
    assert builder.approval is None
    assert f"`{COMMAND} approve --sha {SHA[:12]}`" in builder.said[0]


def test_an_unknown_commit_is_refused() -> None:
    builder = carried_out(f"{COMMAND} approve --sha {'ab' * 8}", commented())
    assert builder.approval is None
    assert builder.refusals == 1
