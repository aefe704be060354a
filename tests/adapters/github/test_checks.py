"""Check runs: limits in bytes, annotations once, found by our own id."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bot.adapters.github import GitHubClient
from bot.core.model.ids import Sha
from bot.core.model.views import Annotation, Button, CheckWrite
from bot.ports.errors import Lost, Permanent, Transient
from tests.adapters.github.support import NOW, REPO, R, Reply, Scripted

SHA = Sha("a" * 40)
RUNS = f"{R}/check-runs"
RUN = f"{RUNS}/8"
QUEUED = CheckWrite("Ascend / a", SHA, "x1", "queued", "queued", "it waits")
DONE = CheckWrite(
    "Ascend / a",
    SHA,
    "x1",
    "completed",
    "failed",
    "it failed",
    conclusion="failure",
    text="the log",
    details_url="https://bot.example.org/runs/1",
    started_at=NOW,
    completed_at=NOW,
    buttons=(Button("rerun", "Re-run", "Run the suite again"),),
)


def lines(count: int) -> tuple[Annotation, ...]:
    return tuple(Annotation("a.py", number + 1, f"m{number}") for number in range(count))


def with_lines(count: int) -> CheckWrite:
    return dataclasses.replace(DONE, annotations=lines(count))


class CheckRun:
    """A check run that keeps its annotations, as GitHub does."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def write(self, seen: Any) -> Reply:
        output = seen.body.get("output", {})
        self.messages += [item["message"] for item in output.get("annotations", ())]
        return self.read(seen, 201 if seen.method == "POST" else 200)

    def write_and_drop(self, seen: Any) -> Reply:
        self.write(seen)
        return Reply(drop=True)

    def read(self, _: Any, status: int = 200) -> Reply:
        return Reply(status, {"id": 8, "output": {"annotations_count": len(self.messages)}})


@pytest.fixture
def run(github: Scripted) -> CheckRun:
    run = CheckRun()
    github.on("POST", RUNS, run.write)
    github.on("PATCH", RUN, run.write)
    github.on("GET", RUN, run.read)
    return run


async def test_a_check_run_is_created_without_unset_keys(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    assert await client.create_check(REPO, QUEUED) == 8
    assert github.requests()[0].body == {
        "name": "Ascend / a",
        "head_sha": SHA,
        "external_id": "x1",
        "status": "queued",
        "output": {"title": "queued", "summary": "it waits"},
    }


async def test_an_update_sends_all_but_the_commit_and_the_buttons_again(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.update_check(REPO, 8, DONE)
    assert github.requests()[0].body == {
        "name": "Ascend / a",
        "external_id": "x1",
        "status": "completed",
        "conclusion": "failure",
        "details_url": "https://bot.example.org/runs/1",
        "started_at": "2026-11-30T12:00:00Z",
        "completed_at": "2026-11-30T12:00:00Z",
        "output": {"title": "failed", "summary": "it failed", "text": "the log"},
        "actions": [
            {"label": "Re-run", "description": "Run the suite again", "identifier": "rerun"}
        ],
    }


async def test_what_is_not_completed_carries_no_conclusion_buttons_or_annotations(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    early = dataclasses.replace(with_lines(2), status="in_progress")
    await client.update_check(REPO, 8, early)
    await client.create_check(REPO, early)
    for seen in github.requests():
        assert not {"conclusion", "completed_at", "actions"} & seen.body.keys()
        assert "annotations" not in seen.body["output"]


async def test_more_than_fifty_annotations_are_appended(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.create_check(REPO, QUEUED)
    await client.update_check(REPO, 8, with_lines(120))

    assert run.messages == [f"m{number}" for number in range(120)]
    updates = github.requests("PATCH")
    assert [len(seen.body["output"]["annotations"]) for seen in updates] == [50, 50, 20]
    for seen in updates:
        assert seen.body["actions"]
        assert seen.body["output"]["summary"] == "it failed"
    assert github.requests("GET") == []  # a check run of ours is known to have none


async def test_a_check_run_created_complete_gets_all_its_annotations(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.create_check(REPO, with_lines(60))
    assert run.messages == [f"m{number}" for number in range(60)]


async def test_an_id_is_not_lost_for_an_annotation(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    github.on("PATCH", RUN, Reply(422, {"message": "no"}))
    assert await client.create_check(REPO, with_lines(60)) == 8


@pytest.mark.parametrize("bad", [{1}, {0, 1, 2}])
async def test_a_refused_annotation_is_left_out_and_the_report_goes_on(
    client: GitHubClient, github: Scripted, run: CheckRun, bad: set[int]
) -> None:
    def write(seen: Any) -> Reply:
        sent = [item["message"] for item in seen.body["output"].get("annotations", ())]
        if {f"m{number}" for number in bad} & set(sent):
            return Reply(422, {"message": "Invalid request", "errors": ["the line is not there"]})
        return run.write(seen)

    good = [f"m{number}" for number in range(3) if number not in bad]
    for method, path in (("PATCH", RUN), ("POST", RUNS)):
        github.on(method, path, write)
    await client.update_check(REPO, 8, with_lines(3))
    assert run.messages == good
    assert any("annotations" not in one.body["output"] for one in github.requests("PATCH"))
    await client.update_check(REPO, 8, with_lines(3))
    assert run.messages == good
    run.messages = []
    assert await client.create_check(REPO, with_lines(3)) == 8
    assert run.messages == good


async def test_a_lost_answer_does_not_double_annotations(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.create_check(REPO, QUEUED)
    github.on("PATCH", RUN, run.write_and_drop, run.write)
    with pytest.raises(Lost):
        await client.update_check(REPO, 8, with_lines(3))
    assert len(github.requests("PATCH")) == 1  # not repeated blindly

    await client.update_check(REPO, 8, with_lines(3))
    assert run.messages == ["m0", "m1", "m2"]


async def test_annotations_that_never_arrived_are_sent_again(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.create_check(REPO, QUEUED)
    github.on("PATCH", RUN, Reply(drop=True), run.write)
    with pytest.raises(Lost):
        await client.update_check(REPO, 8, with_lines(3))
    await client.update_check(REPO, 8, with_lines(3))
    assert run.messages == ["m0", "m1", "m2"]


async def test_an_append_that_was_lost_goes_on_where_it_stopped(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.create_check(REPO, QUEUED)
    github.on("PATCH", RUN, run.write, run.write_and_drop, run.write)
    with pytest.raises(Transient):
        await client.update_check(REPO, 8, with_lines(120))
    await client.update_check(REPO, 8, with_lines(120))
    assert run.messages == [f"m{number}" for number in range(120)]


async def test_another_process_wrote_the_annotations(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    run.messages = ["m0", "m1"]
    await client.update_check(REPO, 8, with_lines(2))
    assert run.messages == ["m0", "m1"]


async def test_a_progress_update_tells_how_many_annotations_there_are(
    client: GitHubClient, github: Scripted, run: CheckRun
) -> None:
    await client.update_check(REPO, 8, dataclasses.replace(QUEUED, status="in_progress"))
    await client.update_check(REPO, 8, with_lines(1))
    assert github.requests("GET") == []


async def test_a_refused_update_is_permanent(client: GitHubClient, github: Scripted) -> None:
    github.on("PATCH", RUN, Reply(422, {"message": "Invalid request"}))
    with pytest.raises(Permanent):
        await client.update_check(REPO, 8, with_lines(1))


def listed(github_id: int, external_id: str, app: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": github_id, "external_id": external_id, "app": app}


async def test_a_check_run_is_found_by_our_id_on_any_page(
    client: GitHubClient, github: Scripted
) -> None:
    path = f"{R}/commits/{SHA}/check-runs"
    first = [
        listed(1, "other", {"id": 99}),
        listed(2, "x1", {"id": 15368}),  # copied by another app
        listed(3, "x1", None),
    ]
    link = {"link": f'<{github.url}{path}?page=2>; rel="next"'}
    github.on(
        "GET",
        path,
        Reply(body={"total_count": 4, "check_runs": first}, headers=link),
        Reply(body={"total_count": 4, "check_runs": [listed(4, "x1", {"id": 99})]}),
    )
    assert await client.find_check(REPO, SHA, "Ascend / a", "x1") == 4
    assert github.requests()[0].query == {
        "check_name": "Ascend / a",
        "app_id": "99",
        "filter": "all",
        "per_page": "100",
    }


async def test_no_check_run_is_none(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", f"{R}/commits/{SHA}/check-runs", Reply(body={"check_runs": []}))
    assert await client.find_check(REPO, SHA, "Ascend / a", "x1") is None
