"""A plot is shown to who has its signed address, of an ended run in a public repository."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.app import plot_links
from bot.core.digest.result import Progress, StepPoint
from bot.core.model.ids import RunId
from bot.core.model.rayjobs import RayJob
from bot.core.planning.plan import Plan
from bot.core.report.plot_links import PlotLinks
from bot.ports.sandbox import Done, Stopped, StoppedBy
from bot.store.runs import SaveRun
from bot.web.plots import PLOT, Plots
from tests.store.building import NOW, REPO, done, put, run
from tests.web.server import WebServer, open_server

POINTS = tuple(StepPoint(n, n / 10, 40.0) for n in range(1, 9))
URL = "https://ci.example.org"


@pytest.fixture
async def server(tmp_path: Path, database_url: str) -> AsyncIterator[WebServer]:
    """Open a server whose plots GitHub can fetch, it is told."""
    async with open_server(tmp_path, database_url, public_url=URL) as opened:
        yield opened


async def trained(server: WebServer, *, ended: bool = True) -> RunId:
    """Store a training in a public repository."""
    store = server.parts.store
    one = run()
    await put(store, one)
    await show_repo(server, public=True)
    [claimed] = await store.runs.claim("us", NOW, lease_s=30, limit=9)
    job = RayJob("rj", one.id, "log", confirmed=True, progress=Progress(8, points=POINTS))
    last = done(claimed.run) if ended else claimed.run
    assert await store.runs.save(claimed.lease, SaveRun(last, due=None, rayjobs=(job,)), NOW)
    return one.id


async def show_repo(server: WebServer, *, public: bool) -> None:
    plan = Plan(repo=replace(REPO, public=public))
    assert await server.parts.store.commit(plan, NOW, done=None)


def address(server: WebServer, run_id: RunId) -> str:
    links = plot_links(server.parts.settings)
    assert links is not None
    return links.address(run_id).replace(URL, f"http://127.0.0.1:{server.port}")


async def test_a_signed_address_answers_a_png_that_is_kept_for_minutes(server: WebServer) -> None:
    url = address(server, await trained(server))
    for method in ("GET", "HEAD"):
        async with server.http.request(method, url) as response:
            assert response.status == 200
            assert response.content_type == "image/png"
            assert response.headers["Cache-Control"] == "public, max-age=300"
            body = await response.read()
            assert body.startswith(b"\x89PNG\r\n") == (method == "GET")


async def test_no_other_address_is_answered_nor_a_run_that_goes_on_or_became_private(
    server: WebServer,
) -> None:
    right, other = await trained(server), await trained(server, ended=False)
    url = address(server, right)
    wrong = {
        "another run's signature": url.replace(right, other),
        "a wrong signature": url[:-5] + ("0" if url[-5] != "0" else "1") + ".png",
        "no signature": url[:-37] + ".png",
        "no such run": address(server, RunId("NONE")),
        "a run that goes on": address(server, other),
    }
    for name, one in wrong.items():
        async with server.http.get(one) as response:
            assert response.status == 404, name
    async with server.http.get(url) as response:
        assert response.status == 200
    await show_repo(server, public=False)
    async with server.http.get(url) as response:
        assert response.status == 404


@pytest.mark.parametrize("public_url", ["http://ci.example.org", "https://localhost:8080", None])
async def test_without_a_public_address_there_are_no_plots(
    server: WebServer, public_url: str | None
) -> None:
    settings = server.parts.settings.model_copy(update={"public_url": public_url})
    assert plot_links(settings) is None


async def test_without_the_extra_there_are_no_plots_and_no_error(
    server: WebServer,
) -> None:
    assert plot_links(server.parts.settings, lambda: False) is None


T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class GivingUp:
    """A sandbox whose first call is given up."""

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, owner: str, work: Callable[[*Ts], T], *args: *Ts) -> Done[T] | Stopped:
        self.calls += 1
        return Done(work(*args), 0.0) if self.calls > 1 else Stopped(StoppedBy.TIME)


async def test_a_plot_is_drawn_once_and_one_that_was_given_up_is_asked_for_again(
    server: WebServer,
) -> None:
    run_id, sandbox, links = await trained(server), GivingUp(), PlotLinks("", (b"secret",))
    app = web.Application()
    plots = Plots(server.parts.store, sandbox, links, lambda _: b"picture")
    app.router.add_get(f"/plots/{PLOT}", plots.get)
    async with TestClient(TestServer(app)) as client:
        answers = [(await client.get(links.address(run_id))).status for _ in range(4)]
    assert answers == [503, 200, 200, 200]
    assert sandbox.calls == 2
