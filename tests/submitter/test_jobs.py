"""What a job's life looks like over the API: events, ends, what is handed to the script."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path

import aiohttp
import pytest

from bot.submitter.backend import Limits
from bot.submitter.event_file import EventFile
from bot.submitter.jobs import read_state
from bot.submitter.local import LocalBackend
from bot.submitter.web import Options, create_app
from tests.submitter.conftest import CALLERS, Service, at_loopback, in_process, lines

DEADLINE = "/spec/activeDeadlineSeconds"


async def test_a_job_goes_through_the_words_of_kuberay_to_final(service: Service) -> None:
    events = await service.events(await service.post("echo hello"))
    words = [
        (e["status"], e["rayjob_status"], e["job_deployment_status"])
        for e in events
        if e["type"] == "status"
    ]
    assert words == [
        ("PENDING", "", "New"),
        ("PENDING", "PENDING", "Initializing"),
        ("RUNNING", "RUNNING", "Running"),
        ("SUCCEEDED", "SUCCEEDED", "Complete"),
    ]
    assert lines(events) == ["hello"]
    assert [e["type"] for e in events][-1] == "final"
    assert events[-1]["status"] == "SUCCEEDED"
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert all(e["ts"].endswith("Z") for e in events)


async def test_a_failed_script_ends_failed_with_its_exit_code(service: Service) -> None:
    job = await service.post("echo sorry >&2; exit 7")
    events = await service.events(job)
    assert lines(events) == ["sorry"]
    assert (events[-1]["status"], events[-1]["message"]) == ("FAILED", "AppFailed: exit code 7")
    state = await service.state(job)
    assert state["status"] == "FAILED"
    assert state["ended_at"] is not None
    assert state["github_run_id"] == "77"
    assert state["commit_sha"] == "a" * 40


async def test_a_script_killed_by_a_signal_ends_failed_with_its_number(service: Service) -> None:
    events = await service.events(await service.post("kill -9 $$"))
    assert events[-1]["message"] == "AppFailed: killed by signal 9"


async def test_a_script_that_was_changed_after_it_was_submitted_does_not_run(
    service: Service,
) -> None:
    text = 'printf "<%s>" "$@"; exit 4\n'
    digest = hashlib.sha256(text.encode()).hexdigest()
    env = {"ASCEND_CI_SCRIPT_SHA256": digest}
    same = await service.events(await service.post(text, args=["a b", "*", ""], env=env))
    assert (lines(same), same[-1]["message"]) == (["<a b><*><>"], "AppFailed: exit code 4")
    (said,) = lines(await service.events(await service.post("echo evil", env=env)))
    assert said.endswith("was changed after it was submitted")


async def test_a_missing_script_ends_failed_and_the_log_says_why(service: Service) -> None:
    body = service.body(script="/no/such/script.sh")
    _, answer = await service.try_post(body)
    events = await service.events(answer["job_id"])
    assert events[-1]["status"] == "FAILED"
    assert "No such file" in lines(events)[0]


async def test_arguments_and_environment_arrive_as_they_were_given(service: Service) -> None:
    text = 'printf "%s\\n" "$@" "$A" "$RAYJOB_ID" "$ASCEND_CI_NODES" "$ASCEND_CI_COMMIT_SHA"'
    job = await service.post(text, args=["a b", "$x", "-n"], env={"A": "[1] *", "RAYJOB_ID": "x"})
    expected = ["a b", "$x", "-n", "[1] *", job, "2", "a" * 40]
    assert lines(await service.events(job)) == expected


async def test_the_service_s_own_environment_does_not_reach_the_job(service: Service) -> None:
    os.environ["SUBMITTER_TOKEN_OF_TEST"] = "secret"
    try:
        events = await service.events(await service.post("env"))
    finally:
        del os.environ["SUBMITTER_TOKEN_OF_TEST"]
    assert not any("secret" in line for line in lines(events))


async def test_bytes_of_every_kind_come_through_as_text(service: Service) -> None:
    job = await service.post(r"printf 'a\0b\n50%%\r100%%\n\xff\n\nlast'")
    assert lines(await service.events(job)) == ["a\0b", "50%\r100%", "�", "", "last"]


async def test_a_line_above_the_limit_is_cut_at_a_character_and_says_so(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = Limits(line_bytes=10)
    async with in_process(service.http, tmp_path_factory.mktemp("x"), limits=limits) as small:
        job = await small.post("echo 123456789é123; echo 1234567890; echo ok")
        got = lines(await small.events(job))
    assert got == ["123456789 … [5 bytes cut]", "1234567890", "ok"]


async def test_a_log_above_the_limit_ends_with_a_line_that_says_so(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = Limits(log_bytes=2000)
    async with in_process(service.http, tmp_path_factory.mktemp("x"), limits=limits) as small:
        events = await small.events(
            await small.post("for i in {1..9}; do seq 1 200; sleep .1; done")
        )
    assert lines(events)[-1] == "[the log is longer than 2000 bytes: the rest is dropped]"
    assert events[-1]["status"] == "SUCCEEDED"


async def test_a_deadline_ends_the_job_with_timeout(service: Service) -> None:
    patches = [{"op": "add", "path": DEADLINE, "value": 1}]
    job = await service.post("echo on; sleep 60", template_patches=patches)
    events = await service.events(job)
    assert events[-1]["status"] == "TIMEOUT"
    assert events[-2]["job_deployment_status"] == "Failed"


async def test_patches_that_mean_nothing_here_are_named_in_the_first_status(
    service: Service,
) -> None:
    patches = [{"op": "remove", "path": "/spec/x~1y"}]
    events = await service.events(await service.post(template_patches=patches))
    assert events[0]["message"] == "accepted; 1 template patches mean nothing here"


async def test_delete_stops_the_whole_group_and_says_what_it_stopped(service: Service) -> None:
    job = await service.post(f"{service.sleeper()} & echo up; wait")
    await service.until_line(job, "up")
    other = await service.post("echo up; sleep 60", github_run_attempt="2")
    answer = await service.call("DELETE", "/api/v1/workflows/77?attempt=1")
    assert answer == (200, {"stopped": [job]})
    assert service.sleepers() == []
    assert (await service.events(job))[-1]["status"] == "STOPPED"
    assert (await service.state(job))["rayjob_status"] == "STOPPED"
    assert (await service.state(other))["ended_at"] is None
    status, _ = await service.call("DELETE", "/api/v1/workflows/77?attempt=1")
    assert status == 404


async def test_a_job_that_ignores_term_is_killed(service: Service) -> None:
    job = await service.post("trap '' TERM; echo up; while true; do sleep 1; done")
    await service.until_line(job, "up")
    status, _ = await service.call("DELETE", "/api/v1/workflows/77?attempt=1")
    assert status == 200
    assert (await service.state(job))["status"] == "STOPPED"


@pytest.mark.parametrize("output", ["", ">/dev/null 2>&1"])
async def test_what_a_finished_script_leaves_behind_is_killed(
    service: Service, output: str
) -> None:
    up = f"until grep -qs {service.folder} /proc/$!/cmdline; do :; done"
    text = f"setsid {service.sleeper()} {output} & {up}"
    events = await service.events(await service.post(text))
    assert events[-1]["status"] == "SUCCEEDED"
    assert service.sleepers() == []


async def test_a_job_that_closed_its_output_can_still_be_stopped(service: Service) -> None:
    job = await service.post(f"echo up; exec >/dev/null 2>&1; {service.sleeper()}")
    await service.until_line(job, "up")
    status, _ = await service.call("DELETE", "/api/v1/workflows/77?attempt=1")
    assert status == 200
    assert service.sleepers() == []


async def test_a_job_that_closes_its_output_still_ends_by_its_exit_code(service: Service) -> None:
    events = await service.events(await service.post("exec >/dev/null 2>&1; sleep .3; exit 4"))
    assert events[-1]["message"] == "AppFailed: exit code 4"


async def test_a_run_s_jobs_are_listed_by_attempt(service: Service) -> None:
    first = await service.post()
    second = await service.post(github_run_attempt="2")
    _, answer = await service.call("GET", "/api/v1/workflows/77?attempt=2")
    assert [job["job_id"] for job in answer["jobs"]] == [second]
    _, answer = await service.call("GET", "/api/v1/workflows/77")
    assert [job["job_id"] for job in answer["jobs"]] == [first, second]
    assert await service.call("GET", "/api/v1/workflows/78") == (200, {"jobs": []})


async def test_a_watch_resumes_behind_any_number(service: Service) -> None:
    job = await service.post("seq 1 3000")
    everything = await service.events(job)
    for after in (0, 1, 2, 3, 1500, len(everything) - 1, len(everything), 10**6):
        assert await service.events(job, after) == everything[after:]


async def test_watchers_that_come_at_any_time_see_the_same_events(service: Service) -> None:
    job = await service.post("echo up; sleep .3; seq 1 2000; sleep .2; echo end")
    early = asyncio.create_task(service.events(job))
    await service.until_line(job, "up")
    late = asyncio.create_task(service.events(job))
    assert await early == await late == await service.events(job)
    assert lines(await early)[-1] == "end"


async def test_the_same_key_starts_one_job_and_answers_its_id(service: Service) -> None:
    body = service.body("echo once")
    answers = await asyncio.gather(*(service.try_post(body, key="k1") for _ in range(5)))
    assert len({answer["job_id"] for _, answer in answers}) == 1
    assert sorted(status for status, _ in answers) == [200, 200, 200, 200, 201]
    _, listed = await service.call("GET", "/api/v1/workflows/77?attempt=1")
    assert len(listed["jobs"]) == 1


async def test_the_same_key_with_another_body_is_refused(service: Service) -> None:
    job = await service.post(key="k1")
    status, answer = await service.try_post(service.body("false"), key="k1")
    assert status == 422
    assert job in answer["error"]


def test_a_final_event_is_the_end_before_the_state_file_says_so(tmp_path: Path) -> None:
    events = EventFile(tmp_path / "events.ndjson", 1000)
    events.emit("status", status="RUNNING")
    assert read_state(tmp_path).ended_at is None
    events.emit("final", status="TIMEOUT", message="DeadlineExceeded")
    state = read_state(tmp_path)
    assert (state.status, state.job_deployment_status) == ("TIMEOUT", "Failed")
    assert state.ended_at is not None


async def test_an_unknown_job_is_404_and_its_watch_also_says_not_found(service: Service) -> None:
    status, answer = await service.call("GET", "/api/v1/rayjobs/rj-none")
    assert status == 404
    assert answer == {"job_id": "rj-none", "status": "NOT_FOUND", "error": "no job rj-none"}
    async with service.watch("rj-none") as watch:
        assert watch.status == 404
        event = json.loads(await watch.read())
    assert (event["type"], event["status"]) == ("final", "NOT_FOUND")


async def test_jobs_that_ended_long_ago_are_forgotten_while_the_service_runs(
    http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    backend = LocalBackend(tmp_path / "data", limits=Limits(grace_s=0.3, keep_days=0.5))
    app = create_app(backend, Options(CALLERS, stop_jobs_on_exit=True))
    async with at_loopback(app, http, tmp_path) as service:
        old, new, living = [await service.post(text, key=text) for text in ("a", "b", "sleep 60")]
        for job in (old, new):
            await service.events(job)
            assert (await service.state(job))["ended_at"] is not None
            written = tmp_path / "data" / "jobs" / job / "state.json"  # the last, after the events
            while json.loads(written.read_bytes())["ended_at"] is None:  # noqa: ASYNC110  another process
                await asyncio.sleep(0.01)
        os.utime(tmp_path / "data" / "jobs" / old / "events.ndjson", (0, 0))
        os.utime(tmp_path / "data" / "jobs" / living / "events.ndjson", (0, 0))
        await backend.prune()
        left = {path.name for path in (tmp_path / "data" / "jobs").iterdir() if path.is_dir()}
        assert left == {new, living}
        assert (await service.call("GET", f"/api/v1/rayjobs/{old}"))[0] == 404
        assert await service.post("a", key="a") != old
