"""Check runs and suites: the traps that wishful code falls into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.sim import CannotError, ManualClock, NewPull, SimGitHub
from tests.sim.conftest import REPO, Client, Inbox

Body = Callable[..., dict[str, Any]]
DONE = {"status": "completed", "conclusion": "failure"}


async def _create(api: Client, body: dict[str, Any]) -> Any:
    reply = await api("POST", f"{REPO}/check-runs", body)
    assert reply.status == 201, reply.data
    return reply.data


async def test_a_completed_check_run_cannot_reopen(
    github: SimGitHub, api: Client, check_body: Body
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    output = {"title": "t", "summary": "s"}
    run = await _create(api, check_body(sha, **DONE, output=output))
    again = {"status": "in_progress", "output": {"title": "new", "summary": "new"}}
    reply = await api("PATCH", f"{REPO}/check-runs/{run['id']}", again)
    assert reply.status == 200
    assert (reply.data["status"], reply.data["conclusion"]) == ("completed", "failure")
    assert reply.data["output"]["title"] == "t"


async def test_a_completed_check_run_may_still_change_its_conclusion_and_text(
    github: SimGitHub, api: Client, check_body: Body
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    run = await _create(api, check_body(sha, **DONE))
    change = {"conclusion": "success", "output": {"title": "t2", "summary": "s2"}}
    reply = await api("PATCH", f"{REPO}/check-runs/{run['id']}", change)
    assert (reply.data["conclusion"], reply.data["output"]["title"]) == ("success", "t2")


async def test_a_new_run_of_the_same_name_replaces_the_old_one_in_lists(
    github: SimGitHub, api: Client, check_body: Body, clock: ManualClock
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    await _create(api, check_body(sha, **DONE))
    second = await _create(api, check_body(sha, external_id="2"))
    await clock.advance(3)
    latest = (await api("GET", f"{REPO}/commits/{sha}/check-runs")).data
    assert [one["id"] for one in latest["check_runs"]] == [second["id"]]
    every = (await api("GET", f"{REPO}/commits/{sha}/check-runs?filter=all")).data
    assert every["total_count"] == 2


async def test_lists_of_check_runs_lag(
    github: SimGitHub, api: Client, check_body: Body, clock: ManualClock
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    run = await _create(api, check_body(sha))
    assert run["id"] in github.state.checks
    path = f"{REPO}/commits/{sha}/check-runs"
    assert (await api("GET", path)).data["total_count"] == 0
    await clock.advance(2)
    assert (await api("GET", path)).data["total_count"] == 1


async def test_buttons_can_be_pressed_only_on_completed_runs(
    github: SimGitHub, api: Client, check_body: Body, inbox: Inbox
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    button = {"label": "Approve & run", "description": "Start it", "identifier": "approve"}
    run = await _create(api, check_body(sha, status="in_progress", actions=[button]))
    with pytest.raises(CannotError, match="completed"):
        github.people.press(run["id"], "approve", "mia")
    await api("PATCH", f"{REPO}/check-runs/{run['id']}", DONE | {"actions": [button]})
    with pytest.raises(CannotError, match="no button"):
        github.people.press(run["id"], "other", "mia")
    github.people.press(run["id"], "approve", "mia")
    await github.deliveries.idle()
    data = inbox.last("check_run.requested_action")
    assert data["requested_action"] == {"identifier": "approve"}
    assert data["sender"]["login"] == "mia"
    assert "actions" not in data["check_run"]


async def test_rerequest_queues_the_suite_and_leaves_the_run(
    github: SimGitHub, api: Client, check_body: Body, inbox: Inbox
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    run = await _create(api, check_body(sha, **DONE))
    await _create(api, check_body(sha, **DONE) | {"name": "ascend-ci"})
    github.people.rerun_check(run["id"], "wes")
    await github.deliveries.idle()
    assert "check_run.rerequested" in inbox.names()
    check = github.state.checks[run["id"]]
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert (check.suite.status, check.suite.conclusion) == ("queued", None)


async def test_rerun_of_the_only_check_of_a_suite_sends_the_suite_event(
    github: SimGitHub, api: Client, check_body: Body, inbox: Inbox
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    run = await _create(api, check_body(sha, **DONE))
    github.people.rerun_check(run["id"], "wes")
    await github.deliveries.idle()
    assert "check_run.rerequested" not in inbox.names()
    assert inbox.last("check_suite.rerequested")["check_suite"]["status"] == "queued"


async def test_our_own_writes_come_back_as_events(
    github: SimGitHub, api: Client, check_body: Body, inbox: Inbox
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    await _create(api, check_body(sha, **DONE))
    await github.deliveries.idle()
    data = inbox.last("check_run.completed")
    assert data["check_run"]["app"]["id"] == github.state.the_app().id
    assert data["sender"]["login"] == "ascend-ci[bot]"
    assert data["installation"]["id"]


async def test_fork_pull_requests_are_not_named_in_checks(
    github: SimGitHub, api: Client, check_body: Body
) -> None:
    fork = github.people.open_pull("bob", {"a.py": "1"}, NewPull(fork=True))
    own = github.people.open_pull("wes", {"b.py": "1"})
    run = await _create(api, check_body(fork.head_sha))
    suite = github.state.checks[run["id"]].suite
    assert (run["pull_requests"], suite.head_branch) == ([], None)
    run = await _create(api, check_body(own.head_sha))
    assert [pull["number"] for pull in run["pull_requests"]] == [own.number]


LONG = "é" * 32_768  # 65,536 bytes in half as many characters
ANNOTATION = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure"}
ANNOTATION |= {"message": "m"}
BUTTON = {"label": "Run", "description": "d", "identifier": "i"}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"output": {"title": "t", "summary": LONG}},
            "summary exceeds a maximum bytesize of 65535",
        ),
        ({"output": {"title": "t", "summary": "s", "text": LONG}}, "text exceeds a maximum"),
        ({"output": {"title": "t", "summary": "s", "annotations": [ANNOTATION] * 51}}, "50"),
        (
            {
                "output": {
                    "title": "t",
                    "summary": "s",
                    "annotations": [{**ANNOTATION, "start_line": 0}],
                }
            },
            "line numbers",
        ),
        ({"output": {"summary": "s"}}, "title"),
        ({"actions": [BUTTON] * 4}, "3 items"),
        ({"actions": [BUTTON | {"label": "x" * 21}]}, "label is longer than 20"),
        ({"actions": [BUTTON | {"description": "x" * 41}]}, "description is longer than 40"),
        ({"actions": [BUTTON | {"identifier": "x" * 21}]}, "identifier is longer than 20"),
        ({"status": "completed"}, "conclusion is required"),
        ({"conclusion": None}, "nil"),
        ({"conclusion": "stale"}, "not included"),
        ({"status": "waiting"}, "not included"),
        ({"head_sha": "0" * 40}, "No commit found for SHA"),
        ({"name": ""}, "supplied"),
    ],
)
async def test_what_breaks_a_limit_is_refused_with_422(
    github: SimGitHub, api: Client, check_body: Body, more: dict[str, Any], text: str
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    reply = await api("POST", f"{REPO}/check-runs", check_body(sha) | more)
    assert reply.status == 422
    assert text in str(reply.data)


async def test_annotations_are_appended_by_each_request(
    github: SimGitHub, api: Client, check_body: Body
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    output = {"title": "t", "summary": "s", "annotations": [ANNOTATION] * 50}
    run = await _create(api, check_body(sha, output=output))
    reply = await api("PATCH", f"{REPO}/check-runs/{run['id']}", {"output": output})
    assert reply.data["output"]["annotations_count"] == 100


async def test_only_the_owning_app_may_change_a_run(github: SimGitHub, api: Client) -> None:
    run = github.actions.native(github.people.open_pull("wes", {"a.py": "1"}), "e2e.yml")
    check = run.jobs[0].check
    assert check is not None
    assert (await api("PATCH", f"{REPO}/check-runs/{check.id}", DONE)).status == 403


async def test_the_suite_takes_the_worst_conclusion_of_its_newest_runs(
    github: SimGitHub, api: Client, check_body: Body, inbox: Inbox
) -> None:
    sha = github.people.open_pull("wes", {"a.py": "1"}).head_sha
    await _create(api, check_body(sha, **DONE))
    await _create(api, check_body(sha) | {"name": "b", "conclusion": "action_required"})
    await github.deliveries.idle()
    assert inbox.last("check_suite.completed")["check_suite"]["conclusion"] == "failure"
    await _create(api, check_body(sha, conclusion="success"))
    await github.deliveries.idle()
    assert inbox.last("check_suite.completed")["check_suite"]["conclusion"] == "action_required"
