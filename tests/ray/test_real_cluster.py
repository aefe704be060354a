"""The submitter over a real Ray cluster of two nodes, by HTTP alone."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from click.testing import CliRunner

from bot.cli.digest import command as digest
from tests.submitter.conftest import Service, lines, pids_with

RUN = "/api/v1/workflows/77?attempt=1"
BOTH_NODES = """
import os, sys, ray
ray.init(log_to_driver=False)

@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def node():
    return ray.get_runtime_context().get_node_id()

@ray.remote(resources={"second": 1})
def second():
    return ray.get_runtime_context().get_node_id()

first = ray.get_runtime_context().get_node_id()
print("nodes:", len({first, ray.get(second.remote())}), os.environ["ASCEND_CI_NODES"])
sys.stdout.buffer.write(b"50%\\r100%\\n\\xff\\n")
"""
FAILING = """
import ray
ray.init(log_to_driver=False)

@ray.remote
def train():
    raise RuntimeError("NPU out of memory. Tried to allocate 4.64 GiB")

ray.get(train.remote())
"""


def python(service: Service, text: str) -> str:
    """Return a shell script that runs a Python program with Ray."""
    program = service.folder / "program.py"
    program.write_text(text)
    return f"{sys.executable} {program}"


async def test_a_script_that_uses_both_nodes_is_followed_to_success(service: Service) -> None:
    job = await service.post(python(service, BOTH_NODES))
    events = await service.events(job)
    assert events[-1]["status"] == "SUCCEEDED", lines(events)
    assert "nodes: 2 2" in lines(events)
    assert {"50%\r100%", "\ufffd"} <= set(lines(events))
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert (await service.state(job))["rayjob_status"] == "SUCCEEDED"


async def test_a_script_that_fails_in_a_task_is_digested_to_its_cause(service: Service) -> None:
    job = await service.post(python(service, FAILING))
    events = await service.events(job)
    assert (events[-1]["status"], events[-1]["message"]) == ("FAILED", "AppFailed: exit code 1")
    log = Path(service.folder / "log.ndjson")
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    result = CliRunner().invoke(digest, ["--json", str(log)])
    found = json.loads(result.stdout)
    assert "NPU out of memory. Tried to allocate 4.64 GiB" in json.dumps(found), found


async def test_a_job_is_cancelled_by_delete_with_all_its_processes(service: Service) -> None:
    job = await service.post(f"echo up; {service.sleeper()}")
    await service.until_line(job, "up")
    assert service.sleepers() != []
    assert await service.call("DELETE", RUN) == (200, {"stopped": [job]})
    assert (await service.events(job))[-1]["status"] == "STOPPED"
    while service.sleepers():  # noqa: ASYNC110 - Ray kills what ignores TERM after it has answered
        await asyncio.sleep(0.05)
    assert (await service.call("DELETE", RUN))[0] == 404
    assert pids_with(f"{service.folder}/sleeper\0") == []


async def test_a_key_starts_one_job_and_a_job_needs_its_nodes(service: Service) -> None:
    waits = await service.post("true", worker_replicas=3, github_run_id="78")
    body = service.body("echo once")
    answers = [await service.try_post(body, key="k") for _ in range(3)]
    assert len({answer["job_id"] for _, answer in answers}) == 1
    # Ray may write its own "Running entrypoint" behind it.
    assert "once" in lines(await service.events(answers[0][1]["job_id"]))
    assert (await service.state(waits))["message"] == "waiting for nodes: 2 of 3 are alive"
    assert (await service.call("DELETE", "/api/v1/workflows/78?attempt=1"))[0] == 200
