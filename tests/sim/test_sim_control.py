"""The control API and the pages: what another process and a person can see and do."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from bot.sim import SimGitHub
from tests.sim.conftest import REPO, Client, Inbox

MARKDOWN = """| suite | state |
| --- | --- |
| [run](<http://x/1>) | passed |

<details><summary>More</summary>

<img onload=1>

</details>

<!-- a marker -->
"""


async def _do(api: Client, verb: str, **data: Any) -> Any:
    async with api.session.post(f"{api.github.url}/_sim/{verb}", json=data) as answer:
        shown = await answer.json()
        assert answer.status == 200, shown
        return shown


async def test_people_act_through_the_control_api(
    github: SimGitHub, api: Client, inbox: Inbox, check_body: Callable[..., dict[str, Any]]
) -> None:
    await _do(api, "user", login="new", level="write", role="npu-dev")
    pull = await _do(api, "open_pull", author="new", files={"a.py": "1"}, title="T", fork=True)
    number, first = pull["number"], pull["head_sha"]
    pushed = await _do(api, "push", pull=number, files={"a.py": "2"})
    await _do(api, "force_push", pull=number, sha=first)
    for verb in ("draft", "ready", "close", "reopen"):
        await _do(api, verb, pull=number)
    await _do(api, "edit_title", pull=number, title="U")
    await _do(api, "label", pull=number, name="npu")
    await _do(api, "push_branch", by="mia", files={"r": "1"}, branch="v0.1")
    await _do(api, "retarget", pull=number, base="v0.1")
    comment = await _do(api, "comment", pull=number, by="mia", body="/ascend-e2e")
    await _do(api, "edit_comment", comment=comment["id"], by="mia", body="x")
    await _do(api, "delete_comment", comment=comment["id"], by="mia")
    button = {"label": "Go", "description": "d", "identifier": "go"}
    body = check_body(first, conclusion="failure", actions=[button])
    check = (await api("POST", f"{REPO}/check-runs", body)).data["id"]
    await _do(api, "press", check=check, identifier="go", by="mia")
    await _do(api, "rerun_check", check=check, by="mia")
    await _do(api, "rerun_suite", check=check, by="mia")
    run = await _do(api, "native", pull=number, workflow="e2e.yml", by="mia")
    await _do(api, "cancel_run", run=run["id"])
    await _do(api, "rerun_actions", run=run["id"], by="mia")
    group = await _do(api, "merge_group", pull=number, by="mia")
    await _do(api, "destroy_group", group=group, by="mia", reason="merged")
    await _do(api, "delete_fork", pull=number)
    await _do(api, "merge", pull=number, by="mia")
    await github.deliveries.idle()
    assert pushed["sha"] != first
    assert {"check_run.requested_action", "check_suite.rerequested"} <= set(inbox.names())
    async with api.session.get(f"{github.url}/_sim/state") as answer:
        state = await answer.json()
    assert state["pulls"][0] | {"title": "U", "merged": True, "fork": True} == state["pulls"][0]
    assert [found["actions"] for found in state["check_runs"]] == [["go"]]
    assert state["runs"][0]["attempt"] == 2
    assert (state["dispatches"], state["problems"]) == ([], [])


async def test_the_scene_and_the_deliveries_are_set_through_the_control_api(
    github: SimGitHub, api: Client
) -> None:
    await _do(api, "runner", label="npu", slots=2)
    await _do(api, "vars", values={"A": "1"})
    await _do(api, "secrets", values={"B": "2"})
    await _do(api, "app", webhook_url=None)
    assert (await _do(api, "deliveries", do="hold"))["pending"] == 0
    await _do(api, "push_branch", by="mia", files={"r": "1"})
    assert (await _do(api, "deliveries", do="shuffle", seed=3))["pending"] == 2
    assert (await _do(api, "deliveries", do="flush"))["pending"] == 0
    for deed in ("drop", "duplicate", "release"):
        await _do(api, "deliveries", do=deed)
    await _do(api, "fault", kind="502", path=REPO)
    assert (await api("GET", REPO)).status == 502
    await _do(api, "expire_tokens")
    assert (await api("GET", REPO)).status == 401
    assert (len(github.actions.runners.all), github.state.repo().vars) == (2, {"A": "1"})


async def test_a_deed_that_cannot_be_done_says_why(api: Client) -> None:
    for verb, data, why in (
        ("dance", {}, "unknown deed"),
        ("press", {"check": 1, "identifier": "x", "by": "mia"}, "no check run 1"),
        ("comment", {"pull": 1, "by": "mia"}, "Not Found"),
        ("push_branch", {"by": "mia"}, "'files' is missing"),
        ("fault", {"kind": "flood"}, "unknown fault"),
        ("deliveries", {"do": "sing"}, "cannot"),
        ("push_branch", {"by": "stranger", "files": {}}, "no user"),
        ("cancel_run", {"run": 5}, "no run 5"),
        ("edit_comment", {"comment": 5, "by": "mia", "body": ""}, "no comment 5"),
    ):
        async with api.session.post(f"{api.github.url}/_sim/{verb}", json=data) as answer:
            assert answer.status == 400
            assert why in (await answer.json())["error"]


async def test_a_person_sees_checks_and_presses_buttons(
    github: SimGitHub, api: Client, inbox: Inbox, check_body: Callable[..., dict[str, Any]]
) -> None:
    pull = github.people.open_pull("bob", {"a.py": "1"})
    output = {"title": "<b>bad</b>", "summary": MARKDOWN, "text": "t"}
    note = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure"}
    output |= {"annotations": [note | {"message": "here"}]}  # type: ignore[dict-item]
    button = {"label": "Approve", "description": "d", "identifier": "approve"}
    body = check_body(pull.head_sha, conclusion="failure", output=output, actions=[button])
    check = (await api("POST", f"{REPO}/check-runs", body)).data
    run = github.actions.native(pull, "e2e.yml")
    github.actions.finish(run, log="line <1>")
    github.people.comment(pull, "bob", "<script>")

    async def page(path: str) -> str:
        async with api.session.get(github.url + path) as answer:
            assert answer.status == 200
            return await answer.text()

    base = f"/octo/project/pull/{pull.number}"
    text = await page(base)
    assert all(
        part in text for part in ("&lt;b&gt;bad", "a.py:1", "Approve", "Re-run", "<textarea")
    )
    assert "<script>" not in text
    assert all(part in text for part in ("<td>passed</td>", '<a href="http://x/1">run</a>'))
    assert "<details>" in text
    assert "a marker" not in text
    assert "onload" not in text.replace("&lt;img onload", "")
    assert "<textarea" not in await page(f"{base}/checks")
    assert "octo/project" in await page("/")
    assert "Change" in await page("/octo/project")
    assert "Approve" in await page(f"/octo/project/runs/{check['id']}")
    assert "line &lt;1&gt;" in await page(f"/octo/project/actions/runs/{run.id}")
    form = {"check": check["id"], "identifier": "approve", "by": "mia", "back": base}
    async with api.session.post(f"{github.url}/_page/press", data=form) as answer:
        assert answer.url.path == base
    await github.deliveries.idle()
    assert inbox.last("check_run.requested_action")["sender"]["login"] == "mia"
    async with api.session.post(
        f"{github.url}/_page/press", data=form | {"identifier": "no"}
    ) as no:
        assert "no button" in await no.text()


async def test_pages_of_what_is_not_there_are_404(api: Client) -> None:
    for path in (
        "/octo/none",
        "/octo/project/pull/99",
        "/octo/project/runs/9",
        "/octo/project/actions/runs/9",
        "/_logs/job-1.txt?made=2999-01-01T00:00:00Z",
    ):
        async with api.session.get(api.github.url + path) as answer:
            assert answer.status == 404


async def test_the_process_says_it_is_ready_and_ends_on_sigterm(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("from a directory\n")
    arguments = ["--from", str(tmp_path), "--runner", "npu=2", "--user", "mia=maintain"]
    arguments += ["--var", "A=1", "--owner", "octo", "--name", "project", "--lag", "0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.sim", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    async with aiohttp.ClientSession() as session:
        data = {"author": "mia", "files": {"a.py": "1"}}
        async with session.post(f"{ready['url']}/_sim/open_pull", json=data) as answer:
            assert (await answer.json())["number"] == 1
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    assert ready["repository"] == "octo/project"
    assert "BEGIN RSA PRIVATE KEY" in ready["private_key"]
