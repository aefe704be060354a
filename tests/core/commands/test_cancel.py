"""`/ascend-e2e cancel`: how it is typed, which runs are stopped, and who may stop them."""

from dataclasses import replace

import pytest

from bot.core.commands.cancel import CancelCommand
from bot.core.model.ids import RunId
from bot.core.model.pulls import Head
from bot.core.model.runs import Claimant, Run, StopReason
from bot.core.planning.plan import RunClaimants
from bot.core.planning.trust import Person, Trusted
from bot.core.policy.levels import Level
from tests.accounts import account
from tests.core.building import OLD_SHA, SHA, a_run, at
from tests.core.commands.commenting import (
    COMMAND,
    HEAD,
    OLD_HEAD,
    READER,
    TRUSTED,
    UNTRUSTED,
    carried_out,
    commented,
    read,
)


def claimed(run: Run, *others: str) -> RunClaimants:
    """Return a run of the pull request, which others may have too."""
    sources = ("pr:5", *others)
    return RunClaimants(run, tuple(Claimant(run.id, source) for source in sources))


UNIT = claimed(a_run())
LATE = replace(HEAD, seen_at=at(11))  # a minute after the comment
# Its suite has left the policy.
GONE = claimed(a_run(id=RunId("01J6"), suite="gone", sha=OLD_SHA))


@pytest.mark.parametrize(("words", "suites"), [("cancel", ()), ("cancel unit", ("unit",))])
def test_the_command_is_read(words: str, suites: tuple[str, ...]) -> None:
    text = f"{COMMAND} {words}"
    found = read(text)
    assert isinstance(found, CancelCommand)
    assert found.words == suites


@pytest.mark.parametrize(
    ("words", "stopped"),
    [
        ("cancel", [UNIT.run.id, GONE.run.id]),
        ("cancel unit", [UNIT.run.id]),
        ("cancel gone", [GONE.run.id]),
    ],
)
def test_the_runs_of_the_pull_request_are_stopped(words: str, stopped: list[RunId]) -> None:
    builder = carried_out(f"{COMMAND} {words}", commented(claimed=(UNIT, GONE)))
    assert [drop.run_id for drop in builder.drop_claimants] == stopped
    assert builder.run_ids == stopped
    stops = [drop.stop for drop in builder.drop_claimants]
    assert all(stop and stop.kind is StopReason.CANCEL for stop in stops)
    assert all(entry.allowed for entry in builder.audit)


def test_a_comment_that_is_older_than_the_head_stops_no_run_of_it() -> None:
    context = commented(claimed=(UNIT, GONE), heads=(OLD_HEAD, LATE))
    builder = carried_out(f"{COMMAND} cancel", context)
    assert builder.run_ids == [GONE.run.id]
    assert "To stop them, write `/ascend-e2e cancel` again" in builder.said[0]


@pytest.mark.parametrize(
    "heads", [(replace(HEAD, since=at(11)),), (OLD_HEAD, replace(HEAD, since=at(10)))]
)
def test_a_comment_that_may_mean_the_head_stops_its_runs(heads: tuple[Head, ...]) -> None:
    builder = carried_out(f"{COMMAND} cancel", commented(claimed=(UNIT,), heads=heads))
    assert builder.run_ids == [UNIT.run.id]


OTHERS = ("push:main", "nightly:deep@2026-08-22", "pin:operator-01J9")


def test_each_claimant_is_named_in_words() -> None:
    shared = claimed(a_run(), "pr:5", *OTHERS)
    (said,) = carried_out(f"{COMMAND} cancel", commented(claimed=(shared,))).said
    assert said.endswith("It goes on for pushes to `main`, the schedule `deep` and an operator.")


def test_a_run_that_others_have_too_goes_on_for_them() -> None:
    shared = claimed(a_run(), "pin:5:77", "pr:6", "pin:7:78", "group:abc", *OTHERS)
    builder = carried_out(f"{COMMAND} cancel", commented(claimed=(shared,)))
    assert [drop.source for drop in builder.drop_claimants] == ["pr:5", "pin:5:77"]
    assert builder.run_ids == []
    assert builder.said == [
        (
            "`unit` no longer runs for this pull request. It goes on for #6, #7, a merge group and "
            "3 more."
        )
    ]


@pytest.mark.parametrize(
    ("overruled", "dropped"), [({6}, ["pr:5", "pr:6"]), ({5}, ["pr:5"]), ({5, 6}, ["pr:5"])]
)
def test_a_pull_request_that_does_not_count_keeps_no_run_of_one_that_does(
    overruled: set[int], dropped: list[str]
) -> None:
    context = commented(claimed=(claimed(a_run(), "pr:6"),), overruled=frozenset(overruled))
    builder = carried_out(f"{COMMAND} cancel", context)
    assert [drop.source for drop in builder.drop_claimants] == dropped
    assert bool(builder.run_ids) is (len(dropped) == 2)


def test_the_audit_names_the_commit_of_the_run() -> None:
    builder = carried_out(f"{COMMAND} cancel gone", commented(claimed=(GONE,)))
    assert [(entry.what, entry.sha) for entry in builder.audit] == [("cancel gone", OLD_SHA)]


@pytest.mark.parametrize("run", [UNIT, GONE])
def test_a_person_without_the_level_stops_nothing(run: RunClaimants) -> None:
    context = commented(person=READER, claimed=(run,))
    builder = carried_out(f"{COMMAND} cancel", context)
    assert builder.drop_claimants == []
    assert builder.refusals == 1
    assert [entry.allowed for entry in builder.audit] == [False]


def test_the_author_may_stop_their_own() -> None:
    context = commented(person=Person(account("Ann"), Level.READ), claimed=(UNIT,))
    assert carried_out(f"{COMMAND} cancel", context).drop_claimants


def test_an_unknown_suite_stops_nothing() -> None:
    builder = carried_out(f"{COMMAND} cancel unit nope", commented(claimed=(UNIT,)))
    assert builder.drop_claimants == []
    assert builder.refusals == 1


@pytest.mark.parametrize(
    ("words", "trust", "said"),
    [
        ("cancel", TRUSTED, "is queued or running"),
        ("cancel unit", UNTRUSTED, f"`{SHA[:7]}` waits for an approval"),
        ("cancel other", UNTRUSTED, "Neither queued nor running"),
    ],
)
def test_where_nothing_runs_it_is_said_and_whether_an_approval_is_missing(
    words: str, trust: Trusted, said: str
) -> None:
    builder = carried_out(f"{COMMAND} {words}", commented(trust=trust))
    assert said in builder.said[0]
    assert builder.refusals == 0
