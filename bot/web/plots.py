"""The handler that shows the plot of a training to GitHub's proxy for images."""

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web
from cachetools import LRUCache

from bot.core.digest.result import StepPoint
from bot.core.model.ids import RunId
from bot.core.report.images import plot_points
from bot.core.report.plot_links import PlotLinks
from bot.ports.errors import Transient
from bot.ports.sandbox import Sandbox, Stopped
from bot.store import Store
from bot.web.guard import errors_as_json, refuse

PLOT = r"{id:[0-9A-Za-z]{1,40}}-{signature:[0-9a-f]{32}}.png"
"""A run's id and its signature, in a path."""
_KEPT = 64  # plots, of some 10 kB each; an ended run's does not change
_MAX_AGE_S = 300
_NOTHING = "there is no such plot"


class Plots:
    """Draws in a worker process, one plot at once; without `links` there are none."""

    def __init__(
        self,
        store: Store,
        sandbox: Sandbox,
        links: PlotLinks | None,
        draw: Callable[[Sequence[StepPoint]], bytes],
    ) -> None:
        self._store = store
        self._sandbox = sandbox
        self._links = links
        self._draw = draw
        self._drawn: LRUCache[RunId, bytes] = LRUCache(_KEPT)
        self._turn = asyncio.Lock()

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Answer the plot; nothing is read or drawn for an address that is not signed."""
        return await errors_as_json(request, self._get)

    async def _get(self, request: web.Request) -> web.Response:
        run_id = RunId(request.match_info["id"])
        if not (self._links and self._links.is_signed(run_id, request.match_info["signature"])):
            return refuse(404, _NOTHING)
        points = await self._points(run_id)
        if not points:
            return refuse(404, _NOTHING)
        async with self._turn:
            picture = self._drawn.get(run_id) or await self._made(run_id, points)
        headers = {"Cache-Control": f"public, max-age={_MAX_AGE_S}"}
        return web.Response(body=picture, content_type="image/png", headers=headers)

    async def _points(self, run_id: RunId) -> tuple[StepPoint, ...]:
        """Return what the plot shows; nothing if the repository is not public any more."""
        told = await self._store.runs.story(run_id)
        if told is None or told.repo is None or not told.repo.public:
            return ()
        return plot_points(told.run, told.rayjobs)

    async def _made(self, run_id: RunId, points: tuple[StepPoint, ...]) -> bytes:
        answer = await self._sandbox.run(f"plot {run_id}", self._draw, points)
        if isinstance(answer, Stopped):
            raise Transient(f"a plot was not drawn: {answer.why}")
        self._drawn[run_id] = answer.value
        return answer.value
