"""`SimGitHub`: the simulation as a server."""

import asyncio
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Self

from aiohttp import web

from bot.sim import auth, pages, rest_actions, rest_app, rest_checks, rest_pulls, rest_repos
from bot.sim.clock import Clock
from bot.sim.server import Pipeline, Seen
from bot.sim.simulation import SimOptions, Simulation

ROUTES = [
    *rest_app.ROUTES,
    *rest_actions.ROUTES,
    *rest_checks.ROUTES,
    *rest_pulls.ROUTES,
    *rest_repos.ROUTES,
]
LOG_LINK = timedelta(minutes=1)  # how long a link to a log is good


class SimGitHub(Simulation):
    """A whole GitHub: `async with SimGitHub() as github:` serves it at `github.url`."""

    def __init__(self, clock: Clock | None = None, options: SimOptions | None = None) -> None:
        super().__init__(clock, options)
        self._temporary = options is None or options.folder is None
        self.problems: list[str] = []
        self.validator: Callable[[Seen], list[str]] | None = None
        self._runner: web.AppRunner | None = None
        self._pump: asyncio.Task[None] | None = None

    def validate(self, validator: Any) -> None:
        """Check every call by `validator.call(Seen)` and every webhook by `.webhook(Delivery)`."""
        self.validator = validator.call
        self.deliveries.validator = validator.webhook

    def all_problems(self) -> list[str]:
        """Return the problems that the validator has found so far, in calls and in webhooks."""
        return [*self.problems, *self.deliveries.problems]

    def application(self) -> web.Application:
        """Build the aiohttp application."""
        app = web.Application(client_max_size=32 * 1024 * 1024)
        for route in ROUTES:
            pipeline = Pipeline(self, route, self._check)
            app.router.add_route(route.method, route.template, pipeline.__call__)
        app.router.add_get(r"/_logs/job-{number:\d+}.txt", self._log)
        auth.add_routes(app, self.oidc, self.state)
        pages.add_routes(app, self)
        return app

    def _check(self, seen: Seen) -> None:
        if self.validator is not None:
            self.problems += self.validator(seen)

    async def _log(self, request: web.Request) -> web.Response:
        made = datetime.fromisoformat(request.query.get("made", ""))
        if self.state.clock.now() - made > LOG_LINK + timedelta(seconds=1):
            return web.Response(status=403, text="AuthenticationFailed")
        if job := self.state.job(int(request.match_info["number"])):
            return web.Response(body=rest_actions.log_text(job), content_type="text/plain")
        return web.Response(status=404, text="BlobNotFound")

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> str:
        """Serve on a port (0: any free one); return the URL."""
        self._runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        bound = self._runner.addresses[0][1]
        self.state.url = f"http://{host}:{bound}"
        self._pump = asyncio.create_task(self.deliveries.run())
        return self.state.url

    async def close(self) -> None:
        """Kill the jobs and wait for them, stop serving, remove temporary files."""
        await self.engine.close()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        await self.deliveries.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
