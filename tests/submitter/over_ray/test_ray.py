"""Jobs over the `ray` backend, against a cluster that does what a test wants."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.submitter.backend import Limits
from tests.submitter.conftest import Service, full_above, lines
from tests.submitter.over_ray.fake_ray import FakeRay, until
from tests.submitter.over_ray.serving import LOG, serving, text_of

RUN = "/api/v1/workflows/77?attempt=1"


def words(events: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    names = ("status", "rayjob_status", "job_deployment_status")
    return [tuple(e[n] for n in names) for e in events if e["type"] == "status"]


async def test_a_job_goes_through_the_words_of_kuberay_to_final(
    service: Service, cluster: FakeRay
) -> None:
    cluster.first_status = "PENDING"
    job = await service.post()
    ray = await cluster.started()
    await cluster.called("job", 4)
    ray.status, ray.node = "RUNNING", "0f" * 28
    ray.write(b"hello\nwor")
    await service.until_line(job, "hello")
    ray.write(b"ld")
    ray.end("SUCCEEDED")
    events = await service.events(job)
    assert [w for i, w in enumerate(words(events)) if w not in words(events)[:i]] == [
        ("PENDING", "", "New"),
        ("PENDING", "PENDING", "Initializing"),
        ("RUNNING", "RUNNING", "Running"),
        ("SUCCEEDED", "SUCCEEDED", "Complete"),
    ]
    assert lines(events) == ["hello", "world"]
    assert (events[-1]["type"], events[-1]["status"]) == ("final", "SUCCEEDED")
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert (await service.state(job))["status"] == "SUCCEEDED"


async def test_the_job_is_submitted_as_the_request_says(
    cluster: FakeRay, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    patches = [
        {"op": "add", "path": "/spec/entrypointNumCpus", "value": 2},
        {"op": "add", "path": "/spec/entrypointResources", "value": '{"NPU": 8}'},
        {"op": "add", "path": "/spec/x", "value": 1},
    ]
    async with serving(cluster, tmp_path, http, workdir="/w x", token="t0k") as service:
        more: dict[str, Any] = {
            "args": ["a b", "$x"],
            "env": {"A": "1"},
            "template_patches": patches,
        }
        job = await service.post(**more)
        body = (await cluster.started()).body
        cluster.only().end("SUCCEEDED")
        events = await service.events(job)
    assert body["submission_id"] == job
    assert body["entrypoint"].startswith("cd -- '/w x' && exec bash -- /")
    assert body["entrypoint"].endswith(" 'a b' '$x'")
    env = body["runtime_env"]["env_vars"]
    assert (env["A"], env["RAYJOB_ID"], env["ASCEND_CI_NODES"]) == ("1", job, "2")
    assert (body["entrypoint_num_cpus"], body["entrypoint_resources"]) == (2, {"NPU": 8})
    assert "entrypoint_num_gpus" not in body
    assert body["metadata"]["github_run_id"] == "77"
    assert events[0]["message"] == "accepted; 1 template patches mean nothing here"
    assert cluster.headers["Authorization"] == "Bearer t0k"


async def test_a_script_whose_hash_is_given_is_compared_on_the_cluster(
    cluster: FakeRay, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with serving(cluster, tmp_path, http) as service:
        await service.post("echo evil", env={"ASCEND_CI_SCRIPT_SHA256": "0" * 64})
        entrypoint = (await cluster.started()).body["entrypoint"]
        cluster.only().end("FAILED")
    assert shlex.split(entrypoint)[:3] == ["exec", "bash", "-c"]
    assert "was changed after it was submitted" in entrypoint


@pytest.mark.parametrize(
    ("status", "message", "code", "final"),
    [
        ("FAILED", "Job entrypoint command failed with exit code 7, last ...\nx", 7, "exit code 7"),
        ("FAILED", "Unexpected error: the node died\nstack", None, "the node died"),
        ("STOPPED", "Job was intentionally stopped.", None, "Job was intentionally stopped."),
    ],
)
async def test_an_end_that_is_none_of_our_doing_is_told_in_a_line(
    service: Service, cluster: FakeRay, status: str, message: str, code: int | None, final: str
) -> None:
    job = await service.post()
    (await cluster.started()).end(status, message, code)
    events = await service.events(job)
    assert events[-1]["status"] == status
    assert events[-1]["message"].endswith(final)


async def test_a_deadline_stops_the_job_and_is_a_timeout(
    service: Service, cluster: FakeRay
) -> None:
    limit = {"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 1}
    job = await service.post(template_patches=[limit])
    events = await service.events(job)
    assert (events[-1]["status"], words(events)[-1][1]) == ("TIMEOUT", "STOPPED")
    assert cluster.stopped == [job]


async def test_a_job_waits_for_its_nodes_and_says_so(service: Service, cluster: FakeRay) -> None:
    cluster.nodes = 1
    job = await service.post(worker_replicas=2)
    await cluster.called("nodes", 3)
    assert cluster.jobs == {}
    assert (await service.state(job))["message"] == "waiting for nodes: 1 of 2 are alive"
    cluster.nodes = 2
    (await cluster.started()).end("SUCCEEDED")
    assert (await service.events(job))[-1]["status"] == "SUCCEEDED"


async def test_delete_stops_the_job_once_and_a_second_one_finds_nothing(
    service: Service, cluster: FakeRay
) -> None:
    job = await service.post()
    await cluster.started()
    assert await service.call("DELETE", RUN) == (200, {"stopped": [job]})
    assert cluster.stopped == [job]
    assert (await service.events(job))[-1]["status"] == "STOPPED"
    assert (await service.call("DELETE", RUN))[0] == 404


async def test_a_job_that_does_not_stop_is_said_and_stopped_later(
    service: Service, cluster: FakeRay
) -> None:
    cluster.obeys = False
    job = await service.post()
    ray = await cluster.started()
    assert (await service.call("DELETE", RUN))[0] == 503
    cluster.obeys = True
    assert (await service.events(job))[-1]["status"] == "STOPPED"
    assert ray.status == "STOPPED"


async def test_a_job_stopped_while_the_cluster_is_away_is_never_started(
    service: Service, cluster: FakeRay
) -> None:
    cluster.away = True
    job = await service.post()
    assert (await service.call("DELETE", RUN))[0] == 503
    cluster.away = False
    events = await service.events(job)
    assert (events[-1]["status"], cluster.jobs) == ("STOPPED", {})


async def test_a_cluster_that_is_away_is_said_once_and_the_job_starts_when_it_is_back(
    service: Service, cluster: FakeRay
) -> None:
    cluster.away = True
    job = await service.post()
    await cluster.called("job", 8)
    assert (await service.call("GET", "/healthz"))[0] == 503
    cluster.away = False
    (await cluster.started()).end("SUCCEEDED")
    events = await service.events(job)
    assert [e["type"] for e in events].count("error") == 1
    assert events[-1]["status"] == "SUCCEEDED"
    assert (await service.call("GET", "/healthz"))[0] == 200


async def test_a_release_too_old_for_its_logs_is_not_usable(
    service: Service, cluster: FakeRay
) -> None:
    cluster.release = "2.45.1"
    status, answer = await service.call("GET", "/healthz")
    assert (status, answer["error"]) == (
        503,
        "the Ray cluster: Ray 2.45.1 is too old, 2.46 is needed",
    )


@pytest.mark.parametrize("fault", ["lost", "cut", 503, 500])
async def test_a_submit_that_goes_wrong_is_repeated_and_starts_one_job(
    service: Service, cluster: FakeRay, fault: int | str
) -> None:
    cluster.fail("submit", fault)
    job = await service.post()
    (await cluster.started()).end("SUCCEEDED")
    assert (await service.events(job))[-1]["status"] == "SUCCEEDED"
    assert list(cluster.jobs) == [job]


async def test_a_job_that_ray_refuses_again_and_again_has_failed(
    service: Service, cluster: FakeRay
) -> None:
    cluster.fail("submit", *[500] * 9)
    events = await service.events(await service.post())
    assert events[-1]["status"] == "FAILED"
    assert events[-1]["message"].startswith("SubmissionFailed: 500: RuntimeError")
    assert cluster.calls["submit"] == 5


async def test_a_job_that_the_cluster_forgot_is_not_found(
    service: Service, cluster: FakeRay
) -> None:
    job = await service.post()
    await cluster.started()
    await cluster.called("job", 3)
    cluster.jobs.clear()
    events = await service.events(job)
    assert (events[-1]["type"], events[-1]["status"]) == ("final", "NOT_FOUND")
    assert (await service.state(job))["ended_at"] is not None
    assert cluster.calls["submit"] == 1


@pytest.mark.parametrize("breaks", [[], [1, 10, 70_000, 100_000], [70_000, 1, len(LOG) - 2]])
async def test_a_log_whose_stream_breaks_comes_whole_and_no_line_twice(
    service: Service, cluster: FakeRay, breaks: list[int]
) -> None:
    cluster.streams = list(breaks)
    job = await service.post()
    ray = await cluster.started()
    ray.write(LOG)
    await service.until_line(job, "50%\r100%")
    ray.end("SUCCEEDED")
    assert lines(await service.events(job)) == text_of(LOG)


async def test_a_log_whose_stream_brings_nothing_is_read_at_the_end(
    service: Service, cluster: FakeRay
) -> None:
    cluster.silent = True
    job = await service.post()
    ray = await cluster.started()
    ray.write(LOG)
    await cluster.called("stream")
    ray.end("FAILED", exit_code=1)
    assert lines(await service.events(job)) == text_of(LOG)


async def test_a_log_that_is_gone_with_its_node_is_an_error_and_the_end_still_comes(
    service: Service, cluster: FakeRay
) -> None:
    cluster.log_is_gone = True
    job = await service.post()
    (await cluster.started()).end("FAILED", "the node died")
    events = await service.events(job)
    assert "the end of the log could not be read" in events[-3]["message"]
    assert events[-1]["status"] == "FAILED"


async def test_a_log_above_the_limit_is_no_longer_read(
    cluster: FakeRay, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    limits = Limits(log_bytes=2000)
    async with serving(cluster, tmp_path, http, limits=limits) as service:
        job = await service.post()
        ray = await cluster.started()
        for _ in range(9):
            ray.write(LOG)
        await service.until_line(job, "[the log is longer than 2000 bytes: the rest is dropped]")
        ray.end("SUCCEEDED")
        events = await service.events(job)
    assert events[-1]["status"] == "SUCCEEDED"
    assert "file" not in cluster.calls


async def test_a_log_that_a_full_disk_refuses_comes_when_there_is_room_again(
    service: Service, cluster: FakeRay
) -> None:
    job = await service.post()
    ray = await cluster.started()
    ray.write(b"one\n")
    await service.until_line(job, "one")
    with full_above(4096):
        ray.write(LOG)
        await cluster.called("stream", 3)
        ray.end("SUCCEEDED")
        await cluster.called("file", 2)
    assert lines(await service.events(job)) == ["one", *text_of(LOG)]


async def test_a_job_whose_first_event_finds_no_room_waits_for_it(
    cluster: FakeRay,
    http: aiohttp.ClientSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster.away = True
    async with serving(cluster, tmp_path, http) as service:
        job = await service.post()
    folder = (
        tmp_path / "data" / "ray-jobs" / job
    )  # as if it had been killed right behind the record
    (folder / "events.ndjson").write_bytes(b"")
    (folder / "state.json").unlink(missing_ok=True)
    cluster.away = False
    with contextlib.ExitStack() as full:
        full.enter_context(full_above(10))
        async with serving(cluster, tmp_path, http) as service:
            await until(lambda: "cannot write" in caplog.text)
            assert cluster.jobs == {}
            full.close()
            (await cluster.started()).end("SUCCEEDED")
            assert (await service.events(job))[0]["message"] == "accepted"
