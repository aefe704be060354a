"""Actions by script: dispatch and its refusals, lagging lists, logs, re-runs, cancels."""

from __future__ import annotations

from typing import Any

import pytest

from bot.sim import CannotError, ManualClock, NewPull, SimGitHub
from bot.sim.errors import GitHubError
from bot.sim.model import Run
from tests.sim.conftest import REPO, WORKFLOW, Client, Inbox

DISPATCH = f"{REPO}/actions/workflows/e2e.yml/dispatches"
INPUTS = {"ascend_ci": "id-1", "sha": "abc"}


async def _dispatch(api: Client, **more: Any) -> int:
    reply = await api("POST", DISPATCH, {"ref": "main", "inputs": INPUTS} | more)
    assert reply.status == 200, reply.data
    number: int = reply.data["workflow_run_id"]
    return number


async def test_a_dispatched_run_stands_on_the_refs_tip_and_shows_our_id(
    github: SimGitHub, api: Client
) -> None:
    number = await _dispatch(api)
    run = (await api("GET", f"{REPO}/actions/runs/{number}")).data
    repo = github.state.repo()
    assert run["head_sha"] == repo.git.tip("refs/heads/main")
    assert (run["display_title"], run["head_branch"]) == ("Two nodes id-1", "main")
    assert run["pull_requests"] == []


async def test_the_older_version_answers_a_dispatch_with_204(
    github: SimGitHub, api: Client
) -> None:
    api.version = "2022-11-28"
    reply = await api("POST", DISPATCH, {"ref": "main", "inputs": INPUTS})
    assert (reply.status, reply.data) == (204, b"")
    assert len(github.runs()) == 1


@pytest.mark.parametrize(
    ("file", "body", "status", "text"),
    [
        ("e2e.yml", {"ref": "no-branch"}, 422, "No ref found for: no-branch"),
        ("e2e.yml", {"ref": "HEAD_SHA"}, 422, "No ref found for"),
        ("e2e.yml", {"ref": "refs/pull/1/head"}, 422, "No ref found for"),
        ("e2e.yml", {"inputs": INPUTS}, 422, "ref"),
        ("e2e.yml", {"ref": "main", "inputs": INPUTS | {"level": True}}, 422,
         "Invalid value for input 'level'"),
        ("e2e.yml", {"ref": "main", "inputs": INPUTS | {"level": "mid"}}, 422, "not in the list"),
        ("e2e.yml", {"ref": "main", "inputs": INPUTS | {"nope": "1"}}, 422,
         "Unexpected inputs provided: ["),
        ("e2e.yml", {"ref": "main", "inputs": {"sha": "a"}}, 422,
         "Required input 'ascend_ci' not provided"),
        ("e2e.yml", {"ref": "main", "inputs": {str(n): "" for n in range(26)}}, 422, "25"),
        ("e2e.yml", {"ref": "main", "inputs": INPUTS | {"sha": "x" * 65_600}}, 422, "too large"),
        ("push.yml", {"ref": "main"}, 422, "Workflow does not have 'workflow_dispatch' trigger"),
        ("none.yml", {"ref": "main"}, 404, "Not Found"),
    ],
)  # fmt: skip
async def test_a_wrong_dispatch_is_refused(
    github: SimGitHub, api: Client, file: str, body: dict[str, Any], status: int, text: str
) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    if body.get("ref") == "HEAD_SHA":
        body = body | {"ref": pull.head_sha}
    reply = await api("POST", f"{REPO}/actions/workflows/{file}/dispatches", body)
    assert reply.status == status
    assert text in str(reply.data)
    assert github.runs() == []


async def test_a_branch_without_the_file_is_404_and_one_with_another_copy_runs_that(
    github: SimGitHub, api: Client
) -> None:
    github.people.push_branch("mia", {".github/workflows/e2e.yml": None}, "bare")
    reply = await api("POST", DISPATCH, {"ref": "bare", "inputs": INPUTS})
    assert reply.status == 404
    other = WORKFLOW.replace("Two nodes", "Other")
    github.people.push_branch("mia", {".github/workflows/e2e.yml": other}, "other")
    assert github.state.runs[await _dispatch(api, ref="other")].title == "Other id-1"


async def test_a_disabled_workflow_is_not_dispatched(github: SimGitHub, api: Client) -> None:
    workflow = github.actions.workflows.find(github.state.repo(), "e2e.yml")
    github.actions.disable(workflow)
    reply = await api("POST", DISPATCH, {"ref": "main", "inputs": INPUTS})
    assert (reply.status, "disabled" in reply.data["message"]) == (422, True)
    github.actions.enable(workflow)
    await _dispatch(api)


async def test_lists_of_runs_lag_while_single_reads_are_current(
    github: SimGitHub, api: Client, clock: ManualClock
) -> None:
    number = await _dispatch(api)
    path = f"{REPO}/actions/runs?event=workflow_dispatch&status=queued"
    assert (await api("GET", path)).data["workflow_runs"] == []
    await clock.advance(2)
    github.actions.start(github.state.runs[number])
    assert [run["id"] for run in (await api("GET", path)).data["workflow_runs"]] == [number]
    assert (await api("GET", f"{REPO}/actions/runs/{number}")).data["status"] == "in_progress"
    await clock.advance(2)
    assert (await api("GET", path)).data["workflow_runs"] == []


async def test_run_lists_filter(github: SimGitHub, api: Client, clock: ManualClock) -> None:
    first = await _dispatch(api)
    await clock.advance(100)
    second = await _dispatch(api)
    github.actions.finish(github.state.runs[second], "failure")
    await clock.advance(5)
    since = github.state.runs[second].created_at.strftime("%Y-%m-%dT%H:%M:%SZ")

    async def found(query: str) -> list[int]:
        reply = await api("GET", f"{REPO}/actions/workflows/e2e.yml/runs?{query}")
        return [run["id"] for run in reply.data["workflow_runs"]]

    assert await found("") == [second, first]
    assert await found(f"created=>={since}") == [second]
    assert await found("status=failure") == [second]
    assert await found("status=queued") == [first]
    assert await found("event=push") == []


async def test_a_jobs_log_is_404_until_completed_then_a_link_without_credentials(
    github: SimGitHub, api: Client, clock: ManualClock
) -> None:
    run = github.state.runs[await _dispatch(api)]
    path = f"{REPO}/actions/jobs/{run.jobs[0].id}/logs"
    github.actions.start(run)
    assert (await api("GET", path)).status == 404
    github.actions.finish(run, "failure", log="boom\n##[error]Process completed")
    reply = await api("GET", path)
    assert reply.status == 302
    link = reply.headers["Location"]
    async with api.session.get(link) as answer:
        text = await answer.text(encoding="utf-8-sig")
    assert text.splitlines()[0].endswith("Z boom")
    await clock.advance(90)
    async with api.session.get(link) as answer:
        assert answer.status == 403


async def test_jobs_have_no_runner_until_one_takes_them(github: SimGitHub, api: Client) -> None:
    run = github.state.runs[await _dispatch(api)]
    path = f"{REPO}/actions/runs/{run.id}/attempts/1/jobs"
    job = (await api("GET", path)).data["jobs"][0]
    assert (job["runner_name"], job["runner_group_name"], job["labels"]) == (None, None, ["npu"])
    github.actions.start(run, "npu-7")
    assert (await api("GET", path)).data["jobs"][0]["runner_name"] == "npu-7"


async def test_a_run_sends_workflow_events_and_check_events_of_another_app(
    github: SimGitHub, api: Client, inbox: Inbox
) -> None:
    inbox.got.clear()
    run = github.state.runs[await _dispatch(api)]
    github.actions.finish(run)
    await github.deliveries.idle()
    names = [name for name in inbox.names() if name.startswith("workflow")]
    assert names == [
        "workflow_run.requested",
        "workflow_job.queued",
        "workflow_run.in_progress",
        "workflow_job.in_progress",
        "workflow_job.completed",
        "workflow_run.completed",
    ]
    check = inbox.last("check_run.completed")["check_run"]
    assert check["app"]["slug"] == "github-actions"
    assert inbox.last("check_suite.completed")["check_suite"]["app"]["id"] == 15368
    assert "inputs" not in inbox.last("workflow_job.completed")["workflow_job"]


async def test_a_rerun_keeps_the_id_raises_the_attempt_and_is_not_requested_again(
    github: SimGitHub, api: Client, inbox: Inbox
) -> None:
    run = github.state.runs[await _dispatch(api)]
    assert (await api("POST", f"{REPO}/actions/runs/{run.id}/rerun")).status == 403
    github.actions.finish(run, "failure")
    await github.deliveries.idle()
    inbox.got.clear()
    github.people.rerun_actions(run, "wes")
    await github.deliveries.idle()
    shown = (await api("GET", f"{REPO}/actions/runs/{run.id}")).data
    assert (shown["run_attempt"], shown["status"], shown["conclusion"]) == (2, "queued", None)
    assert shown["triggering_actor"]["login"] == "wes"
    assert not {"workflow_run.requested", "check_run.rerequested", "check_suite.rerequested"} & set(
        inbox.names()
    )
    assert inbox.last("workflow_job.queued")["workflow_job"]["run_attempt"] == 2
    first = (await api("GET", f"{REPO}/actions/runs/{run.id}/attempts/1")).data
    assert (first["conclusion"], first["run_attempt"]) == ("failure", 1)


TWO_JOBS = WORKFLOW + "  after:\n    runs-on: npu\n    steps: [{run: 'true'}]\n"


async def test_rerun_failed_jobs_runs_only_those(github: SimGitHub, api: Client) -> None:
    github.people.push_branch("mia", {".github/workflows/e2e.yml": TWO_JOBS})
    run = github.state.runs[await _dispatch(api)]
    github.actions.finish(run, "failure", jobs={"after": "success"})
    reply = await api("POST", f"{REPO}/actions/runs/{run.id}/rerun-failed-jobs")
    assert reply.status == 201
    assert [job.key for job in run.of_attempt(2)] == ["train"]
    path = f"{REPO}/actions/runs/{run.id}"
    assert sorted((job.name, job.attempt) for job in run.latest()) == [("after", 1), ("train", 2)]
    assert (await api("GET", f"{path}/attempts/1/jobs")).data["total_count"] == 2
    assert (await api("GET", f"{path}/attempts/2/jobs")).data["total_count"] == 1
    github.actions.finish(run, "success")
    assert (await api("POST", f"{path}/rerun-failed-jobs")).status == 403


async def test_cancel_of_a_finished_run_is_409(github: SimGitHub, api: Client) -> None:
    run = github.state.runs[await _dispatch(api)]
    assert (await api("POST", f"{REPO}/actions/runs/{run.id}/cancel")).status == 202
    assert run.conclusion == "cancelled"
    assert (await api("POST", f"{REPO}/actions/runs/{run.id}/cancel")).status == 409


async def test_a_native_run_of_a_fork_names_no_pull_request(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull("bob", {"a.py": "1"}, NewPull(fork=True))
    run = github.actions.native(pull, "e2e.yml")
    shown = (await api("GET", f"{REPO}/actions/runs/{run.id}")).data
    assert (shown["event"], shown["head_sha"]) == ("pull_request", pull.head_sha)
    assert shown["pull_requests"] == []


async def test_a_held_run_is_completed_without_jobs_until_somebody_approves_it(
    github: SimGitHub, api: Client
) -> None:
    pull = github.people.open_pull("bob", {"a.py": "1"}, NewPull(fork=True))
    run = github.actions.native(pull, "e2e.yml", held=True)
    shown = (await api("GET", f"{REPO}/actions/runs/{run.id}")).data
    assert (shown["status"], shown["conclusion"]) == ("completed", "action_required")
    assert run.jobs == []
    github.actions.approve(run)
    shown = (await api("GET", f"{REPO}/actions/runs/{run.id}")).data
    assert (shown["status"], shown["conclusion"]) == ("queued", None)
    assert (shown["run_attempt"], len(run.jobs)) == (1, 1)
    with pytest.raises(GitHubError):
        github.actions.approve(run)


async def test_a_lost_answer_leaves_the_run_behind(github: SimGitHub, api: Client) -> None:
    fault = github.fault("lost", "POST", "*/dispatches")
    with pytest.raises(Exception, match=r"[Dd]isconnect|reset"):
        await _dispatch(api)
    assert (fault.hits, len(github.runs())) == (1, 1)
    github.fault("drop", "POST", "*/dispatches")
    with pytest.raises(Exception, match=r"[Dd]isconnect|reset"):
        await _dispatch(api)
    assert len(github.runs()) == 1


async def test_a_job_whose_condition_fails_is_skipped_and_so_is_a_run_of_such_jobs(
    github: SimGitHub, api: Client, inbox: Inbox
) -> None:
    jobs = """jobs:
  mine: {runs-on: npu, if: "github.actor == vars.ACTOR", steps: [{run: x}]}
  more: {runs-on: npu, if: "inputs.level == 'high'", steps: [{run: x}]}
"""
    guarded = WORKFLOW.partition("jobs:")[0] + jobs
    github.people.push_branch("mia", {".github/workflows/e2e.yml": guarded}, branch=None)
    skipped = github.state.runs[await _dispatch(api)]
    assert (skipped.status, skipped.conclusion) == ("completed", "skipped")
    assert [(job.conclusion, job.log) for job in skipped.jobs] == [("skipped", [])] * 2
    await github.deliveries.idle()
    names = [name for name in inbox.names() if name.startswith("workflow_")]
    assert names == [
        "workflow_run.requested",
        *["workflow_job.completed"] * 2,
        "workflow_run.completed",
    ]
    run = github.state.runs[await _dispatch(api, inputs=INPUTS | {"level": "high"})]
    github.actions.finish(run)
    assert [job.conclusion for job in run.jobs] == ["skipped", "success"]
    assert run.conclusion == "success"


async def test_scripts_belong_to_scripted_simulations(clock: ManualClock) -> None:
    async with SimGitHub(clock) as other:
        other.create_app()
        repo = other.create_repo("octo/project", {".github/workflows/e2e.yml": WORKFLOW})
        run = other.actions.dispatch(
            repo, "e2e.yml", {"ref": "main", "inputs": INPUTS}, other.user("mia")
        )
        with pytest.raises(CannotError):
            other.actions.finish(run)
        with pytest.raises(GitHubError, match="already running"):
            other.actions.rerun(run, other.user("mia"))


MANY = """\
on: [push]
jobs:
  build: {runs-on: npu, steps: [{run: x}]}
  unit: {needs: build, runs-on: npu, strategy: {matrix: {chip: [a2, a3]}}, steps: [{run: x}]}
  call: {uses: ./.github/workflows/other.yml}
  late: {if: "github.event.schedule == '0 1 * * *'", runs-on: npu, steps: [{run: x}]}
"""


def _many(github: SimGitHub, cron: str = "0 2 * * *") -> Run:
    github.people.push_branch("mia", {".github/workflows/e2e.yml": MANY}, branch=None)
    by, fields = github.state.user("mia"), {"schedule": cron}
    return github.actions.triggered("e2e.yml", "schedule", by, fields=fields)


async def _jobs(api: Client, run: Run, which: str) -> list[tuple[str, int]]:
    found = (await api("GET", f"{REPO}/actions/runs/{run.id}/jobs?filter={which}")).data["jobs"]
    return sorted((job["name"], job["run_attempt"]) for job in found)


async def test_a_scheduled_run_has_the_members_of_a_matrix_and_skips_what_needs_a_failed_job(
    github: SimGitHub, api: Client
) -> None:
    run = _many(github)
    first = ["build", "call / run", "late", "unit (a2)", "unit (a3)"]
    assert await _jobs(api, run, "latest") == [(name, 1) for name in first]
    github.actions.start_job(run, "build")
    github.actions.finish_job(run, "build", "failure", "boom")
    github.actions.finish_job(run, "call / run")
    ends = {job.name: job.conclusion for job in run.jobs}
    assert (ends["unit (a2)"], ends["late"]) == ("skipped", "skipped")
    assert (run.status, run.conclusion, run.event) == ("completed", "failure", "schedule")
    assert _many(github, "0 1 * * *").jobs[-1].status == "queued"


async def test_one_job_runs_again_with_those_that_need_it_but_not_one_of_a_called_workflow(
    github: SimGitHub, api: Client
) -> None:
    run = _many(github)
    github.actions.finish(run)
    ids = {job.name: job.id for job in run.jobs}
    jobs = f"{REPO}/actions/jobs"
    assert (await api("POST", f"{jobs}/{ids['call / run']}/rerun")).status == 403
    assert (await api("POST", f"{jobs}/999999/rerun")).status == 404
    assert (await api("POST", f"{jobs}/{ids['unit (a2)']}/rerun")).status == 201
    assert await _jobs(api, run, "latest") == [("unit (a2)", 2)]
    assert (await api("POST", f"{jobs}/{ids['unit (a3)']}/rerun")).status == 403  # it runs
    github.actions.finish(run)
    assert len(await _jobs(api, run, "all")) == 6
    assert (await api("POST", f"{jobs}/{ids['build']}/rerun")).status == 201
    assert [job.name for job in run.of_attempt(3)] == ["build", "unit (a2)", "unit (a3)"]
