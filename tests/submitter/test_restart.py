"""The service dies and comes back: no job, line, key or end is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

from tests.submitter.conftest import Process, Service, lines, pids_with

SLOW = "echo on; until [ -e {gate} ]; do sleep .05; done; seq 1 500; exit 5"


def supervisor_of(folder: Path) -> int:
    (pid,) = pids_with(str(folder / "data" / "jobs"))
    return pid


async def no_supervisor(folder: Path) -> None:
    while pids_with(str(folder / "data" / "jobs")):  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.02)


async def test_a_job_outlives_a_killed_service_and_is_found_again(process: Process) -> None:
    gate = process.folder / "gate"
    service = await process.start()
    job = await service.post(SLOW.format(gate=gate), key="k")
    seen = await service.until_line(job, "on")
    await process.end(signal.SIGKILL)
    gate.touch()
    service = await process.start()
    rest = await service.events(job, seen[-1]["seq"])
    assert [e["seq"] for e in seen + rest] == list(range(1, len(seen + rest) + 1))
    assert lines(seen + rest) == ["on", *map(str, range(1, 501))]
    assert rest[-1]["message"] == "AppFailed: exit code 5"
    assert await service.post("unused", key=None) != job


async def test_an_end_that_came_while_the_service_was_away_is_known(process: Process) -> None:
    gate = process.folder / "gate"
    service = await process.start()
    job = await service.post(SLOW.format(gate=gate))
    await service.until_line(job, "on")
    await process.end(signal.SIGKILL)
    gate.touch()
    await no_supervisor(process.folder)
    service = await process.start()
    assert (await service.state(job))["message"] == "AppFailed: exit code 5"


async def test_the_files_of_jobs_are_private_whatever_the_umask_and_those_of_a_script_are_not(
    process: Process,
) -> None:
    service = await process.start()
    assert lines(await service.events(await service.post("umask"))) == ["0022"]
    found = [process.folder / "data", *(process.folder / "data").rglob("*")]
    assert {"job.json", "events.ndjson", "state.json", "lock"} <= {path.name for path in found}
    assert [path for path in found if path.stat().st_mode & 0o077] == []


async def test_a_key_is_kept_over_a_restart(process: Process) -> None:
    service = await process.start()
    body = service.body("echo once")
    _, first = await service.try_post(body, key="k")
    await process.end(signal.SIGKILL)
    service = await process.start()
    assert await service.try_post(body, key="k") == (200, {**first, "created": False})


async def test_a_job_is_stopped_by_the_service_that_did_not_start_it(process: Process) -> None:
    service = await process.start()
    job = await service.post(f"echo on; {service.sleeper()}")
    await service.until_line(job, "on")
    await process.end(signal.SIGKILL)
    service = await process.start()
    status, _ = await service.call("DELETE", "/api/v1/workflows/77?attempt=1")
    assert status == 200
    assert service.sleepers() == []
    assert (await service.events(job))[-1]["status"] == "STOPPED"


async def test_a_killed_supervisor_ends_its_job_as_failed_and_leaves_nothing(
    process: Process,
) -> None:
    service = await process.start()
    job = await service.post(f"echo on; {service.sleeper()}")
    await service.until_line(job, "on")
    os.kill(supervisor_of(process.folder), signal.SIGKILL)
    events = await service.events(job)
    assert events[-1]["status"] == "FAILED"
    assert "supervisor" in events[-1]["message"]
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert service.sleepers() == []


async def died_before_it_began(process: Process, job: str) -> Service:
    """Kill the service, make a job as if it had never started, and start the service again."""
    await process.end(signal.SIGKILL)
    await no_supervisor(process.folder)
    folder = process.folder / "data" / "jobs" / job
    (folder / "events.ndjson").write_bytes(b"")
    (folder / "state.json").unlink()
    return await process.start()


async def test_a_job_written_down_but_never_started_starts_after_the_restart(
    process: Process,
) -> None:
    service = await process.start()
    job = await service.post("echo ran")
    await service.events(job)
    service = await died_before_it_began(process, job)
    assert lines(await service.events(job)) == ["ran"]


async def test_a_job_whose_environment_was_lost_before_it_started_is_new_when_it_comes_again(
    process: Process,
) -> None:
    service = await process.start()
    body = service.body("echo $SECRET", env={"SECRET": "of-the-job"})
    _, first = await service.try_post(body, key="k")
    await service.events(first["job_id"])
    assert (await service.try_post({**body, "env": {"SECRET": "other"}}, key="k"))[0] == 422
    service = await died_before_it_began(process, first["job_id"])
    status, second = await service.try_post(body, key="k")
    assert (status, second["job_id"] != first["job_id"]) == (201, True)
    assert lines(await service.events(second["job_id"])) == ["of-the-job"]


async def test_a_line_torn_by_a_crash_is_dropped_and_the_numbers_go_on(process: Process) -> None:
    service = await process.start()
    job = await service.post("echo ran")
    await service.events(job)
    await process.end(signal.SIGKILL)
    await no_supervisor(process.folder)
    folder = process.folder / "data" / "jobs" / job
    whole = (folder / "events.ndjson").read_bytes().splitlines(keepends=True)
    (folder / "events.ndjson").write_bytes(b"".join(whole[:4]) + whole[4][:20])
    (folder / "state.json").unlink()
    service = await process.start()
    events = await service.events(job)
    assert [e["seq"] for e in events] == [1, 2, 3, 4, 5, 6]
    assert events[:4] == [json.loads(line) for line in whole[:4]]
    assert (events[-1]["type"], events[-1]["status"]) == ("final", "FAILED")


async def test_sigterm_ends_watches_and_leaves_jobs_alone(process: Process) -> None:
    gate = process.folder / "gate"
    service = await process.start()
    job = await service.post(SLOW.format(gate=gate))
    async with service.watch(job) as watch:
        await watch.content.readline()
        assert await process.end(signal.SIGTERM) == 0
        assert b"final" not in await watch.read()
    service = await process.start()
    assert (await service.state(job))["ended_at"] is None
    gate.touch()
    assert (await service.events(job))[-1]["status"] == "FAILED"


async def test_sigterm_stops_the_jobs_when_that_was_asked_for(process: Process) -> None:
    service = await process.start("--kill-jobs-on-exit")
    job = await service.post(f"echo on; {service.sleeper()}")
    await service.until_line(job, "on")
    assert await process.end(signal.SIGTERM) == 0
    assert service.sleepers() == []
    service = await process.start()
    assert (await service.state(job))["status"] == "STOPPED"
