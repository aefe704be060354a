"""The probes for an operator's tools, and the health of the bot and of all it depends on."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from bot.ports.clock import Clock
from bot.ports.errors import DatabaseTrouble
from bot.store import Store
from bot.store.health import Health
from bot.telemetry import Metrics
from bot.web.answers import iso

MAX_SKEW_S = 2.0  # leases compare the times of several processes
_RENDER_AFTER = timedelta(seconds=1)  # metrics may be open to strangers, and cost milliseconds
OnCall = Callable[[str, int, float], None]
# Normal answers: GitHub knows no such thing, or a write came too late.
_ORDINARY = frozenset({404, 409, 410, 422})


async def root(_request: web.Request) -> web.Response:
    """Answer what this is, for somebody who opens the address in a browser."""
    told = {
        "name": "ascend-ci",
        "what": "governs CI on Ascend NPUs: a GitHub App",
        "version": version("ascend-ci"),
        "documentation": "README.md and config/docs in the sources",
        "health": "/healthz",
        "ready": "/readyz",
        "api": "/api/v1",
    }
    return web.json_response(told)


class Probes:
    """The handlers of /healthz, /readyz and /metrics."""

    def __init__(
        self, store: Store, metrics: Metrics, clock: Clock, stuck: Callable[[], tuple[str, ...]]
    ) -> None:
        """Set it up; ``stuck`` names the loops that hang."""
        self._store = store
        self._metrics = metrics
        self._clock = clock
        self._stuck = stuck
        self._rendered = b""
        self._rendered_at: datetime | None = None

    async def healthz(self, _request: web.Request) -> web.Response:
        """Answer 200 while every loop makes progress."""
        stuck = self._stuck()
        return web.json_response({"stuck": list(stuck)}, status=503 if stuck else 200)

    async def readyz(self, _request: web.Request) -> web.Response:
        """Answer 200 if the database is migrated and takes a write, and its clock agrees.

        Check nothing else: a probe that fails with GitHub or the submitter would stop webhooks, and
        GitHub never sends a delivery again by itself.
        """
        try:
            problem = await self._problem()
        except DatabaseTrouble as error:
            problem = str(error)
        if problem:
            return web.json_response({"error": problem}, status=503)
        return web.json_response({"ready": True})

    async def _problem(self) -> str:
        """Return what is wrong with the database, "" for nothing."""
        health, now = self._store.health, self._clock.now()
        if not await health.migrated():
            return "the database is not migrated"
        if problem := await health.problem(now):
            return f"the database {problem}"
        skew_s = await health.clock_skew_s(now)
        if abs(skew_s) >= MAX_SKEW_S:
            return f"the database's clock differs by {skew_s:.1f} s from ours"
        return ""

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answer the metrics for Prometheus."""
        now = self._clock.now()
        if self._rendered_at is None or now - self._rendered_at >= _RENDER_AFTER:
            self._rendered, self._rendered_at = generate_latest(self._metrics.registry), now
        return web.Response(body=self._rendered, headers={"Content-Type": CONTENT_TYPE_LATEST})


class GitHubHeard:
    """Remembers GitHub's last good answer to this process, and the last failure."""

    def __init__(
        self, clock: Clock, then: OnCall, failing: Callable[[], Iterable[dict[str, Any]]]
    ) -> None:
        """Start without a call; ``then`` gets every call, too; ``failing``: operations, now."""
        self._failing = failing
        self._clock = clock
        self._then = then
        self._well_at: datetime | None = None
        self._failed_at: datetime | None = None
        self._failure = ""
        self._lacking: list[dict[str, str]] = []

    def called(self, operation: str, status: int, seconds: float) -> None:
        """Note a call; status 0 if no answer came."""
        now = self._clock.now()
        if 200 <= status < 400:
            self._well_at = now
        elif status not in _ORDINARY:
            self._failed_at = now
            self._failure = f"{operation}: {status or 'no answer'}"
        self._then(operation, status, seconds)

    def lacks(self, lacking: list[dict[str, str]]) -> None:
        """Note the permissions and events that the app lacks, each with its feature."""
        self._lacking = lacking

    def state(self) -> dict[str, Any]:
        """Return the state as JSON; ``ok`` is None before the first call."""
        known = [at for at in (self._well_at, self._failed_at) if at]
        failing = list(self._failing())
        well = self._well_at is not None and self._well_at == max(known) if known else None
        return {
            "ok": False if failing else well,
            "failing": failing,
            "lacking": self._lacking,
            "last_success_at": iso(self._well_at),
            "last_failure_at": iso(self._failed_at),
            "last_failure": self._failure,
        }


@dataclass(frozen=True, slots=True)
class HealthPage:
    """The handler of /api/v1/health, with all that health depends on."""

    store: Store
    clock: Clock
    github: Callable[[], dict[str, Any]]
    submitter: Callable[[], Awaitable[str]] | None  # why it is down, "" if it is up
    logs: Callable[[], Awaitable[str]]  # why none can be written, "" if one can
    loops: Callable[[], dict[str, float]]  # seconds since the last round of each loop
    stuck: Callable[[], tuple[str, ...]]

    async def get(self, _request: web.Request) -> web.Response:
        """Answer 200, or 503 if the database can't be reached or written; ``ok`` is the sum."""
        problem, counts = await self._counted()
        submitter = await self._submitter()
        logs, github, stuck = await self.logs(), self.github(), self.stuck()
        bad = problem or submitter["problem"] or logs or stuck or github["ok"] is False
        delivery_at = counts.last_delivery_at if counts else None
        body = {
            "ok": not bad,
            "database": {"ok": not problem, "problem": problem},
            "github": {**github, "last_delivery_at": iso(delivery_at)},
            "submitter": submitter,
            "logs": {"ok": not logs, "problem": logs},
            "loops": {name: round(age_s, 1) for name, age_s in self.loops().items()},
            "loops_stuck": list(stuck),
            **(_waiting(counts) if counts else {}),
        }
        return web.json_response(body, status=503 if problem else 200)

    async def _counted(self) -> tuple[str, Health | None]:
        now = self.clock.now()
        problem = await self.store.health.problem(now)
        try:
            counts = await self.store.health.counts(now)
        except DatabaseTrouble as error:
            return f"it {error.problem}", None
        return problem and f"it {problem}", counts

    async def _submitter(self) -> dict[str, Any]:
        problem = await self.submitter() if self.submitter else ""
        return {"configured": bool(self.submitter), "ok": not problem, "problem": problem}


def _waiting(counts: Health) -> dict[str, Any]:
    return {
        "deliveries_waiting": counts.deliveries_waiting,
        "deliveries_parked": counts.deliveries_parked,
        "oldest_delivery_seconds": counts.oldest_delivery_s,
        "runs": counts.runs_by_state,
        "checks_behind": counts.checks_behind,
        "checks_refused": counts.checks_refused,
        "last_delivery_at": iso(counts.last_delivery_at),
        "labels_offline": [
            {"repo_id": repo_id, "label": offline.label, "since": iso(offline.since)}
            for repo_id, offline in counts.offline
        ],
    }
