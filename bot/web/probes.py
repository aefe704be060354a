"""Probes for an operator's tools: alive, ready, metrics."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from bot.ports.clock import Clock
from bot.store import Store
from bot.telemetry import Metrics

MAX_SKEW_S = 2.0  # leases compare the times of several processes


class Probes:
    """The handlers of /healthz, /readyz and /metrics."""

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        clock: Clock,
        stuck: Callable[[], tuple[str, ...]],
    ) -> None:
        """Set it up; ``stuck`` names the loops that hang."""
        self._store = store
        self._metrics = metrics
        self._clock = clock
        self._stuck = stuck

    async def healthz(self, _request: web.Request) -> web.Response:
        """Answer 200 while every loop makes progress."""
        stuck = self._stuck()
        return web.json_response({"stuck": list(stuck)}, status=503 if stuck else 200)

    async def readyz(self, _request: web.Request) -> web.Response:
        """Answer 200 if the database is reachable and migrated, and its clock agrees.

        Check nothing else: a probe that fails with GitHub or the submitter would stop webhooks, and
        GitHub never sends a delivery again by itself.
        """
        if not await self._store.health.migrated():
            return web.json_response({"error": "the database is not migrated"}, status=503)
        skew_s = await self._store.health.clock_skew_s(self._clock.now())
        if abs(skew_s) >= MAX_SKEW_S:
            text = f"the database's clock differs by {skew_s:.1f} s from ours"
            return web.json_response({"error": text}, status=503)
        return web.json_response({"ready": True})

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answer the metrics for Prometheus."""
        body = generate_latest(self._metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})
