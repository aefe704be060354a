"""The bot's own decisions as rows of the audit: what started, what did not, and by which rule."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.core.messages import quote
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.repos import Repo
from bot.core.model.runs import Claimant
from bot.core.model.selections import (
    Cost,
    MergeGroup,
    SelectionDetails,
    StoredSelection,
    SuiteSelection,
)
from bot.core.planning.audit import audited
from bot.core.planning.merge_group import end_group
from bot.core.planning.plan import BY_ITSELF, AuditEntry, DropClaimant, Plan
from bot.core.policy.models import Mode
from bot.core.policy.selection import Choice
from tests.accounts import account
from tests.core.building import a_run, a_stop_request

NOW = datetime(2026, 3, 4, tzinfo=UTC)
REPO = Repo(RepoId(7), "octo", "project", "main")
SHA = Sha("a" * 40)


def selection(**more: Any) -> StoredSelection:
    suites = (
        SuiteSelection(Choice("unit", True, quote("why")), Cost()),
        SuiteSelection(Choice("heavy", True, quote("why")), Cost(), auto=False),
        SuiteSelection(Choice("other", False, quote("why")), Cost()),
    )
    details = SelectionDetails(suites=suites, trusted=True, trust_reason=quote("both may"))
    return StoredSelection(REPO.id, SHA, 3, "p", replace(details, **more))


def told(changes: Plan) -> list[tuple[str, bool, str]]:
    found = audited(changes, NOW, "guid").audit
    assert {item.delivery for item in found} <= {"guid"}
    return [(item.what, item.allowed, item.rule) for item in found]


@pytest.mark.parametrize(
    ("more", "allowed", "rule"),
    [
        ({}, True, "trust: both may"),
        ({"trusted": False, "trust_reason": "a stranger"}, False, "trust: a stranger"),
        ({"draft": True}, False, "drafts: false"),
        ({"mode": Mode.DRY_RUN, "draft": True}, False, "mode: dry_run"),
    ],
)
def test_a_head_is_one_decision_with_its_rule(
    more: dict[str, Any], allowed: bool, rule: str
) -> None:
    changes = Plan(selection=selection(**more), new_runs=((a_run(), ()),))
    assert told(changes) == [("start unit", allowed, rule)]
    [entry] = audited(changes, NOW, None).audit
    assert (entry.who, entry.repo_id, entry.number, entry.sha) == (BY_ITSELF, REPO.id, 3, SHA)


def test_a_head_that_selects_nothing_is_no_decision() -> None:
    assert told(Plan(selection=selection(suites=()))) == []


def test_the_end_of_a_merge_group_is_not_its_start_again() -> None:
    begun = selection(group=MergeGroup(3))
    assert told(Plan(selection=begun)) == [("start unit", True, "trust: both may")]
    assert told(end_group(begun, (), "merged", NOW)) == []


def test_what_starts_for_no_pull_request_names_what_wants_it() -> None:
    auto, asked = a_run(), a_run()
    changes = Plan(
        new_runs=(
            (auto, (Claimant(auto.id, "push:main"),)),
            (asked, (Claimant(asked.id, "pr:1", auto=False, by=account("kim")),)),
            (asked, ()),
        )
    )
    assert told(changes) == [(f"start {auto.suite}", True, "push:main")]


def test_a_broken_policy_starts_nothing() -> None:
    details = SelectionDetails(policy_errors=(quote("line 1"), quote("line 2")))
    broken = StoredSelection(REPO.id, SHA, 3, "p", details)
    assert told(Plan(selection=broken)) == [("start nothing", False, "policy: line 1")]


def test_who_no_longer_wants_a_run_is_told_with_the_reason() -> None:
    drops = (
        DropClaimant(RunId("R"), "pr:3", quote("closed")),
        DropClaimant(RunId("R"), "push:main", quote("newer")),
        DropClaimant(RunId("R"), "pr:4", quote("kim"), a_stop_request()),  # a person's own word
    )
    changes = Plan(repo=REPO, drop_claimants=drops)
    assert told(changes) == [
        ("drop pr:3 of R", True, "closed"),
        ("drop push:main of R", True, "newer"),
    ]
    assert [item.number for item in audited(changes, NOW, None).audit] == [3, None]
    assert audited(Plan(drop_claimants=drops), NOW, None).audit[0].repo_id is None


def test_what_people_did_keeps_its_place_and_learns_its_delivery() -> None:
    entry = AuditEntry(NOW, "kim", "approve", True, "approve")
    assert told(Plan(audit=(entry,), selection=selection()))[0] == ("approve", True, "approve")
