"""The probes answer for the process and its database, never for GitHub or the submitter."""

import asyncio
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import bot
from bot.ports.wake import Topic
from bot.services.workers import STUCK_AFTER, LoopSpec, Worker, WorkerPool
from bot.sim import ManualClock
from bot.store import Store
from bot.telemetry import Metrics
from bot.web.health import Probes
from tests.web.server import WebServer


async def test_the_root_says_what_answers_here(server: WebServer) -> None:
    answer = await server.get("/")
    assert (answer.status, answer.data["name"]) == (200, "ascend-ci")
    assert answer.data["version"] == version("ascend-ci")
    assert "config/docs" in answer.data["documentation"]
    for path in (answer.data["health"], answer.data["ready"]):
        assert (await server.get(path)).status == 200


async def test_a_new_bot_is_alive_and_tells_what_waits(server: WebServer) -> None:
    answer = await server.get("/healthz")
    assert (answer.status, answer.data) == (200, {"stuck": []})
    await server.deliver("push", {"ref": "x"})
    answer = await server.get("/api/v1/health")
    assert (answer.status, answer.data["deliveries_waiting"]) == (200, 0)


@pytest.mark.both_databases
async def test_a_server_whose_clock_differs_from_ours_is_not_ready(
    server: WebServer,
) -> None:
    answer = await server.get("/readyz")  # the manual clock stands somewhere else
    if "sqlite" in server.parts.settings.database_url:
        assert (answer.status, answer.data) == (200, {"ready": True})  # a file has no clock
    else:
        assert answer.status == 503
        assert "clock differs" in answer.data["error"]


async def test_metrics_count_deliveries_by_event_and_result(server: WebServer) -> None:
    await server.deliver("sponsorship", {})
    await server.deliver("sponsorship", {})
    async with server.http.get(f"http://127.0.0.1:{server.port}/metrics") as response:
        text = await response.text()
        assert response.headers["Content-Type"].startswith("text/plain")
    assert 'event="sponsorship",result="ignored"' in text
    assert 'event="sponsorship",result="repeated"' in text


async def test_metrics_are_rendered_once_a_second_however_often_they_are_asked_for() -> None:
    clock, metrics, asked = ManualClock(), Metrics(), list[int]()
    metrics.registry.register(Counted(asked))
    store: Any = None
    probes = Probes(store, metrics, clock, tuple)
    request: Any = None
    asked.clear()
    for _ in range(5):
        await probes.metrics(request)
    assert len(asked) == 1
    await clock.advance(1)
    await probes.metrics(request)
    assert len(asked) == 2


class Counted(Collector):
    """A collector that notes when it is read."""

    def __init__(self, asked: list[int]) -> None:
        self._asked = asked

    def collect(self) -> list[Metric]:
        self._asked.append(1)
        return []


def test_no_metric_names_a_repository() -> None:
    collectors = [v for v in vars(Metrics()).values() if isinstance(v, MetricWrapperBase)]
    labels = {label for collector in collectors for label in collector._labelnames}
    assert labels == {"event", "result", "operation", "status", "state", "outcome", "repo_id",
                      "label", "loop", "what"}  # fmt: skip


def test_every_metric_is_written_somewhere() -> None:
    code = "".join(path.read_text() for path in Path(bot.__path__[0]).rglob("*.py"))
    names = [
        name for name, value in vars(Metrics()).items() if isinstance(value, MetricWrapperBase)
    ]
    use = r"(?:metrics\.{0}\b(?! = )|self\.{0}\.labels\()"
    written = [name for name in names if re.search(use.format(name), code)]
    assert len(names) > 5
    assert written == names


async def test_a_database_without_a_schema_is_not_ready_and_no_server_error(
    tmp_path: Path,
) -> None:
    store = await Store.open(f"sqlite:///{tmp_path / 'empty.db'}")
    probes = Probes(store, Metrics(), ManualClock(), tuple)
    app = web.Application()
    app.router.add_get("/readyz", probes.readyz)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/readyz")
        assert answer.status == 503
        assert (await answer.json())["error"] == "the database is not migrated"
    await store.close()


async def test_a_loop_that_hangs_is_named(server: WebServer) -> None:
    clock, stop, begun = ManualClock(), asyncio.Event(), asyncio.Event()

    async def hang() -> bool:
        begun.set()
        await stop.wait()
        return False

    async def rest() -> bool:
        rested.set()
        return False  # nothing to do, perhaps for hours

    loop, rested = Worker("one", Metrics(), strict=True), asyncio.Event()
    specs = [LoopSpec("hanging", hang, None), LoopSpec("resting", rest, Topic.INBOX)]
    loops = WorkerPool(specs, server.parts.wake, loop, clock)
    running = asyncio.create_task(loops.run(stop))
    await begun.wait()
    await rested.wait()
    assert loops.stuck() == ()
    await clock.advance(STUCK_AFTER.total_seconds())
    assert loops.stuck() == ("hanging",)
    probes = Probes(server.parts.store, Metrics(), clock, loops.stuck)
    app = web.Application()
    app.router.add_get("/healthz", probes.healthz)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/healthz")
        assert (answer.status, await answer.json()) == (503, {"stuck": ["hanging"]})
    stop.set()
    await running
