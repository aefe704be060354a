"""The `ray` backend over restarts, with many watchers, and in a folder that is taken."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from tests.submitter.conftest import Service, lines
from tests.submitter.over_ray.fake_ray import FakeRay
from tests.submitter.over_ray.serving import LOG, serving, text_of

RUN = "/api/v1/workflows/77?attempt=1"


async def test_a_restart_goes_on_where_the_log_was(
    cluster: FakeRay, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with serving(cluster, tmp_path, http) as service:
        body = service.body()
        _, answer = await service.try_post(body, key="k")
        job = answer["job_id"]
        ray = await cluster.started()
        ray.write(b"one\ntwo\nthr")
        seen = await service.until_line(job, "two")
    ray.write(b"ee\nfour")
    async with serving(cluster, tmp_path, http) as service:
        assert await service.try_post(body, key="k") == (200, {"job_id": job, "created": False})
        await service.until_line(job, "three")
        ray.end("SUCCEEDED")
        events = await service.events(job)
    assert lines(events) == ["one", "two", "three", "four"]
    assert events[: len(seen)] == seen
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert cluster.calls["submit"] == 1


async def test_an_end_that_came_while_the_service_was_away_is_found_again(
    cluster: FakeRay, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with serving(cluster, tmp_path, http) as service:
        job = await service.post()
        ray = await cluster.started()
        ray.write(b"one\n")
        await service.until_line(job, "one")
    ray.write(b"two\n")
    ray.end("FAILED", exit_code=3)
    async with serving(cluster, tmp_path, http) as service:
        events = await service.events(job)
        assert lines(events) == ["one", "two"]
    async with serving(cluster, tmp_path, http) as service:
        assert await service.events(job) == events
        assert (await service.state(job))["message"] == "AppFailed: exit code 3"


async def test_fifty_watchers_cost_one_reader_of_the_cluster(
    service: Service, cluster: FakeRay
) -> None:
    job = await service.post()
    ray = await cluster.started()
    watchers = [asyncio.create_task(service.events(job)) for _ in range(50)]
    ray.write(LOG[-1000:])
    await service.until_line(job, "50%\r100%")
    ray.end("SUCCEEDED")
    first, *rest = await asyncio.gather(*watchers)
    assert all(events == first for events in rest)
    assert lines(first) == text_of(LOG[-1000:])
    assert (cluster.calls["stream"], cluster.streams_most, cluster.calls["file"]) == (1, 1, 1)


async def test_one_folder_is_served_by_one_service(
    service: Service, cluster: FakeRay, http: aiohttp.ClientSession
) -> None:
    with pytest.raises(BlockingIOError, match="another submitter"):
        async with serving(cluster, service.folder, http):
            pass


async def test_a_watch_of_a_finished_job_is_read_from_what_was_kept(
    service: Service, cluster: FakeRay
) -> None:
    job = await service.post()
    ray = await cluster.started()
    ray.write(b"one\n")
    ray.end("SUCCEEDED")
    await service.events(job)
    cluster.away = True
    async with service.watch(job) as watch:
        assert b"one" in await watch.read()
    assert (await service.state(job))["status"] == "SUCCEEDED"
