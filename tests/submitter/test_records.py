"""Records of earlier jobs: old ones go, unreadable ones are left alone."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from bot.submitter.backend import Limits
from tests.submitter.conftest import in_process


async def test_jobs_that_ended_long_ago_are_forgotten_at_the_next_start(
    http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with in_process(http, tmp_path) as service:
        job = await service.post()
        await service.events(job)
    async with in_process(http, tmp_path) as service:
        assert (await service.state(job))["status"] == "SUCCEEDED"
    async with in_process(http, tmp_path, limits=Limits(keep_days=-1)) as service:
        status, _ = await service.call("GET", f"/api/v1/rayjobs/{job}")
        assert status == 404
    assert not (tmp_path / "data" / "jobs" / job).exists()


@pytest.mark.parametrize("text", ["", "{"])
async def test_a_record_that_cannot_be_read_is_left_alone(
    http: aiohttp.ClientSession, tmp_path: Path, text: str
) -> None:
    record = tmp_path / "data" / "jobs" / "rj-x" / "job.json"
    record.parent.mkdir(parents=True)
    record.write_text(text)
    async with in_process(http, tmp_path) as service:
        assert (await service.call("GET", "/healthz"))[0] == 200
    assert record.read_text() == text


@pytest.mark.parametrize("text", [b"", b"{", b"\xff"])
async def test_the_state_of_a_job_is_found_in_its_events_if_its_file_is_damaged(
    http: aiohttp.ClientSession, tmp_path: Path, text: bytes
) -> None:
    async with in_process(http, tmp_path) as service:
        job = await service.post()
        await service.events(job)
    (tmp_path / "data" / "jobs" / job / "state.json").write_bytes(text)
    async with in_process(http, tmp_path) as service:
        assert (await service.state(job))["status"] == "SUCCEEDED"
