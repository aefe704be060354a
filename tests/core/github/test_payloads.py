"""Webhooks as typed events: what GitHub sends, what it may send, and what nobody should."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.github import events as e
from bot.core.github.payloads import _READERS, parse
from bot.core.model.people import NOBODY
from tests.core.building import OLD_SHA, SHA, at

SHARED = Path(__file__).parents[3] / ".." / "shared" / "github" / "payloads"
OURS = 11
LONG_SHA = "a" * 64
WORKFLOW = {"modified": [".github/workflows/a.yml"]}
SENDER = {"sender": {"login": "bob", "id": 2, "type": "User"}}
REPO = {
    "id": 7,
    "name": "verl",
    "full_name": "org/verl",
    "owner": {"login": "org"},
    "default_branch": "trunk",
}
BASE = {"repository": REPO, "installation": {"id": 3}, **SENDER}
PULL = {
    "number": 5,
    "state": "open",
    "draft": False,
    "changed_files": 2,
    "user": {"login": "ann", "id": 1},
    "head": {"sha": SHA, "repo": {"id": 7}},
    "base": {"ref": "main"},
    "updated_at": "2026-08-22T12:00:00Z",
}
COMMENT = {
    "id": 9,
    "body": "/ascend-e2e",
    "user": {"login": "ann", "id": 1, "type": "User"},
    "created_at": "2026-08-22T12:00:00Z",
}
CHECK = {"app": {"id": OURS}, "external_id": "x", "name": "unit", "head_sha": SHA}
ACTIONS_RUN = {"id": 99, "run_attempt": 2, "event": "workflow_dispatch", "head_sha": SHA}
JOB = {"id": 1, "run_id": 99, "run_attempt": 2, "labels": ["npu-8"], "runner_name": "r"}
GROUP = {"head_sha": SHA, "head_ref": "refs/heads/q", "base_sha": OLD_SHA, "base_ref": "main"}
GOOD: dict[str, dict[str, Any]] = {
    "pull_request": {"action": "opened", "pull_request": PULL},
    "issue_comment": {
        "action": "created",
        "issue": {"number": 5, "pull_request": {"url": "x"}},
        "comment": COMMENT,
    },
    "check_run": {"action": "rerequested", "check_run": CHECK},
    "check_suite": {"action": "rerequested", "check_suite": CHECK},
    "workflow_run": {"action": "in_progress", "workflow_run": ACTIONS_RUN},
    "workflow_job": {"action": "queued", "workflow_job": JOB},
    "push": {"ref": "refs/heads/main", "after": SHA},
    "merge_group": {"action": "destroyed", "merge_group": GROUP},
    "repository": {"action": "renamed"},
    "installation": {"action": "suspend"},
    "installation_repositories": {"action": "removed", "repositories_removed": [{"id": 7}]},
}


def made(name: str, **changes: Any) -> dict[str, Any]:
    """Return a good payload; a key is a path of steps joined by ``__``."""
    payload: dict[str, Any] = copy.deepcopy({**BASE, **GOOD[name]})
    for path, value in changes.items():
        *steps, last = path.split("__")
        at_step = payload
        for step in steps:
            at_step = at_step.setdefault(step, {})
        at_step[last] = value
    return payload


def read(name: str, **changes: Any) -> Any:
    return parse(name, made(name, **changes), OURS)


def test_every_reader_has_a_good_payload() -> None:
    assert set(GOOD) == set(_READERS)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_good_payload_is_an_event_with_a_subject(name: str) -> None:
    event = read(name)
    assert isinstance(event, e.Event)
    assert e.subject(event)
    assert e.repo_id_of(event) == (None if name.startswith("installation") else 7)


@pytest.mark.skipif(not SHARED.is_dir() and not os.environ.get("CI"), reason="no shared payloads")
def test_what_github_sends_is_never_malformed() -> None:
    files = sorted(SHARED.glob("*.json"))
    assert len(files) >= 33
    for file in files:
        found = json.loads(file.read_text())
        for payload in found if isinstance(found, list) else [found]:
            for app_id in (OURS, None):
                event = parse(file.name.split(".")[0], payload, app_id)
                assert not isinstance(event, e.Malformed), f"{file.name}: {event}"


@pytest.mark.parametrize(
    ("name", "changes", "field", "value"),
    [
        ("pull_request", {"pull_request__head__repo": None}, "pull.head_repo_id", None),
        ("pull_request", {"pull_request__head__repo": {"id": 8}}, "pull.from_fork", True),
        ("pull_request", {"pull_request__head__repo": {"id": True}}, "pull.head_repo_id", None),
        ("pull_request", {"pull_request__head__repo": {"id": 2**70}}, "pull.head_repo_id", None),
        ("pull_request", {"pull_request__user": None}, "pull.author", NOBODY),
        ("pull_request", {"pull_request__changed_files": -1}, "pull.changed_files", 0),
        ("pull_request", {"pull_request__draft": True}, "pull.draft", True),
        ("pull_request", {"pull_request__state": "closed"}, "pull.open", False),
        ("pull_request", {"sender": None}, "sender", NOBODY),
        (
            "pull_request",
            {"pull_request__updated_at": "2026-08-22T12:00:00"},
            "pull.updated_at",
            at(),
        ),
        ("pull_request", {"pull_request__head__sha": LONG_SHA}, "pull.head_sha", LONG_SHA),
        ("pull_request", {"action": "synchronize", "before": OLD_SHA}, "before", OLD_SHA),
        (
            "pull_request",
            {"action": "edited", "changes": {"base": {"ref": {"from": "old"}}}},
            "action",
            "edited",
        ),
        ("pull_request", {"repository__owner": None}, "repo.full_name", "org/verl"),
        ("pull_request", {"repository__default_branch": None}, "repo.default_branch", "main"),
        ("pull_request", {"installation": None}, "repo.installation_id", None),
        ("pull_request", {"repository__private": False}, "repo.public", True),
        ("pull_request", {"repository__private": True}, "repo.public", False),
        ("pull_request", {"repository__private": None}, "repo.public", False),
        ("issue_comment", {"comment__body": None}, "body", ""),
        ("check_run", {"check_run__external_id": None}, "external_id", ""),
        ("workflow_run", {}, "run.attempt", 2),
        ("workflow_run", {"workflow_run__status": "queued"}, "run.status", "in_progress"),
        ("workflow_run", {"workflow_run__run_attempt": None}, "run.attempt", 1),
        ("workflow_run", {"workflow_run__head_repository": {"id": 9}}, "run.head_repo_id", 9),
        ("workflow_run", {"workflow_run__head_repository": None}, "run.head_repo_id", None),
        ("workflow_run", {"workflow_run__head_branch": "b"}, "run.head_branch", "b"),
        ("workflow_run", {"workflow_run__head_branch": None}, "run.head_branch", ""),
        ("workflow_run", {"workflow_run__pull_requests": None}, "run.pulls", ()),
        (
            "workflow_run",
            {"workflow_run__pull_requests": [{"number": 7}, {}, "x"]},
            "run.pulls",
            (7,),
        ),
        ("workflow_run", {"workflow_run__run_attempt": 2**70}, "run.attempt", 1),
        ("workflow_run", {"workflow_run__conclusion": None}, "run.conclusion", None),
        ("workflow_job", {"workflow_job__labels": None}, "labels", ()),
        ("workflow_job", {"workflow_job__labels": ["x"] * 5000}, "labels", ("x",) * 50),
        ("workflow_job", {"workflow_job__runner_name": None}, "runner", ""),
        ("push", {"ref": "refs/heads/a/b"}, "branch", "a/b"),
        ("push", {"after": "0" * 40, "deleted": True}, "deleted", True),
        ("push", {"before": "b" * 40}, "before", "b" * 40),
        ("push", {"before": "b" * 40, "forced": True}, "before", None),
        ("push", {"before": "0" * 40}, "before", None),
        ("push", {"before": "b" * 40}, "workflows", True),  # its commits are not told
        ("push", {"before": "b" * 40, "commits": [{"added": ["a"]}, "?"]}, "workflows", False),
        ("push", {"before": "b" * 40, "commits": [{"added": "a"}, WORKFLOW]}, "workflows", True),
        ("push", {"commits": [{"added": ["a"]}]}, "workflows", True),  # history was rewritten
        ("push", {}, "before", None),
        ("merge_group", {}, "action", "destroyed"),
        ("merge_group", {"reason": "merged"}, "reason", "merged"),
        ("merge_group", {"merge_group__head_commit": {"tree_id": "t1"}}, "tree", "t1"),
        ("installation", {"action": "deleted"}, "active", False),
        ("installation", {"action": "created"}, "active", True),
        ("installation_repositories", {}, "gone", (7,)),
        ("installation_repositories", {"repositories_removed": None}, "gone", ()),
        ("installation_repositories", {"repositories_added": [{"id": 8}]}, "back", (8,)),
        ("installation", {"action": "created", "repositories": [{"id": 8}]}, "back", (8,)),
        ("installation", {"action": "deleted", "repositories": [{"id": 8}]}, "back", ()),
    ],
)
def test_a_field(name: str, changes: dict[str, Any], field: str, value: object) -> None:
    found: Any = read(name, **changes)
    for step in field.split("."):
        found = getattr(found, step)
    assert found == value


def test_a_button_says_which() -> None:
    button = {"action": "requested_action", "requested_action": {"identifier": "approve"}}
    event = read("check_run", **button)
    assert isinstance(event, e.CheckRunEvent)
    assert event.identifier == "approve"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("pull_request", {"action": "labeled"}),
        ("pull_request", {"action": "edited"}),
        ("pull_request", {"action": "edited", "changes": {"title": {"from": "x"}}}),
        ("issue_comment", {"action": "edited"}),
        ("issue_comment", {"action": "deleted"}),
        ("issue_comment", {"issue__pull_request": None}),
        ("issue_comment", {"sender__type": "Bot"}),
        ("issue_comment", {"comment__user__type": "Bot"}),
        ("issue_comment", {"comment__performed_via_github_app": {"id": 1}}),
        ("issue_comment", {"comment__user": None}),
        ("check_run", {"check_run__app": {"id": 12}}),
        ("check_run", {"check_run__app": None}),
        ("check_run", {"action": "created"}),
        ("check_suite", {"check_suite__app__id": 12}),
        ("check_suite", {"action": "requested"}),
        ("workflow_run", {"action": "odd"}),
        ("workflow_job", {"action": "odd"}),
        ("push", {"ref": "refs/tags/v1"}),
        ("merge_group", {"action": "odd"}),
    ],
)
def test_what_leads_to_nothing_is_ignored_with_a_reason(name: str, changes: dict[str, Any]) -> None:
    event = read(name, **changes)
    assert isinstance(event, e.Ignored)
    assert event.reason


def test_an_event_nobody_reads_is_ignored() -> None:
    assert parse("star", {}, OURS) == e.Ignored("event star is not used")


def test_without_an_app_id_no_check_is_anothers() -> None:
    assert isinstance(parse("check_run", made("check_run"), None), e.CheckRunEvent)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("pull_request", "action", None),
        ("pull_request", "repository__id", "7"),
        ("pull_request", "repository__id", True),
        ("pull_request", "repository__id", -1),
        ("pull_request", "repository__id", 2**63),
        ("pull_request", "repository__name", 7),
        ("pull_request", "repository__name", "ver\0l"),
        ("pull_request", "repository__owner__login", 7),
        ("pull_request", "pull_request__number", 1.5),
        ("pull_request", "pull_request__head__sha", "abc"),
        ("pull_request", "pull_request__head__sha", "G" * 40),
        ("pull_request", "pull_request__head__sha", "A" * 40),
        ("pull_request", "pull_request__head__sha", SHA + "\n"),
        ("pull_request", "pull_request__base__ref", None),
        ("pull_request", "pull_request__updated_at", "yesterday"),
        ("issue_comment", "comment__id", None),
        ("issue_comment", "comment__created_at", 5),
        ("check_run", "check_run__name", None),
        ("check_suite", "check_suite__head_sha", None),
        ("workflow_run", "workflow_run__event", None),
        ("workflow_job", "workflow_job__run_id", None),
        ("push", "after", ""),
        ("merge_group", "merge_group__base_sha", None),
        ("installation", "installation__id", "3"),
    ],
)
def test_a_wrong_field_is_named(name: str, path: str, value: object) -> None:
    event = read(name, **{path: value})
    assert isinstance(event, e.Malformed)
    assert path.replace("__", ".") in event.reason


def test_a_missing_field_is_named() -> None:
    assert parse("push", {"ref": "refs/heads/main"}, OURS) == e.Malformed(
        "repository.id is missing"
    )
    synchronize = read("pull_request", action="synchronize")
    assert synchronize == e.Malformed("before is missing")


def test_a_zero_id_is_a_number() -> None:
    assert read("pull_request", repository__id=0).repo.id == 0


LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
TREE = st.recursive(
    LEAF,
    lambda sub: st.lists(sub, max_size=2) | st.dictionaries(st.text(max_size=5), sub, max_size=2),
    max_leaves=5,
)


@given(st.sampled_from([*sorted(GOOD), "odd"]), st.dictionaries(st.text(), TREE, max_size=4))
def test_no_object_of_any_event_raises(name: str, payload: dict[str, Any]) -> None:
    parse(name, payload, OURS)


@given(st.data())
def test_no_good_payload_with_one_wrong_value_raises(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(GOOD)))
    payload = made(name)
    inside: Any = payload
    while True:
        key = data.draw(st.sampled_from(sorted(inside)))
        if not isinstance(inside[key], dict) or not inside[key] or data.draw(st.booleans()):
            inside[key] = data.draw(TREE)
            break
        inside = inside[key]
    event = parse(name, payload, OURS)
    assert isinstance(event, e.Event | e.Ignored | e.Malformed)


@pytest.mark.parametrize("action", sorted(set(e.PullRequestAction) - {"edited"}))
def test_the_actions_of_a_pull_request_that_count(action: str) -> None:
    assert isinstance(read("pull_request", action=action, before=OLD_SHA), e.PullRequestEvent)


def test_a_deleted_repository_is_gone() -> None:
    event = parse("repository", {**BASE, "action": "deleted"}, None)
    assert isinstance(event, e.InstallationEvent)
    assert event.gone == (REPO["id"],)
    assert event.active is None
