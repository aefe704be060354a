"""The wiring: the parts of a process, its start and its end."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
from aiohttp import web
from stamina.instrumentation import set_on_retry_hooks

from bot import resources
from bot.adapters.clock import SystemClock
from bot.adapters.github import GitHubClient
from bot.adapters.github.outages import Outages
from bot.adapters.logs import StoredLogs
from bot.adapters.oidc import OidcIssuer
from bot.adapters.plots import can_draw, draw
from bot.adapters.rayjobs import HttpLimits, open_rayjobs
from bot.adapters.sandbox.pool import open_sandbox
from bot.core.report.plot_links import PlotLinks, is_reachable
from bot.door import DOOR, Door, DoorLimits, GuardedRunner, room_for_connections
from bot.ports.clock import Clock
from bot.ports.errors import ListenError
from bot.ports.rayjobs import Submitter
from bot.ports.sandbox import Sandbox
from bot.ports.wake import Topic, Wake
from bot.services.events.check_run import CheckRuns
from bot.services.events.cpu_shares import CpuShares
from bot.services.events.grants import GrantsWatch
from bot.services.events.inbox import EventHandlers, Inbox
from bot.services.events.issue_comment import IssueComments
from bot.services.events.long_lists import LongLists
from bot.services.events.merge_group import MergeGroups
from bot.services.events.policy_change import PolicyChanges
from bot.services.events.pull_request import PullRequests
from bot.services.events.push import Pushes
from bot.services.events.strangers import Strangers
from bot.services.events.workflow_run import WorkflowRuns
from bot.services.policies import PolicyChecker, PolicyReader
from bot.services.rayjobs.announcements import Announcements
from bot.services.rayjobs.digesters import Digesters
from bot.services.rayjobs.follower import JobFollower
from bot.services.reporter import Reporter, Where
from bot.services.runs.claims import Claims
from bot.services.runs.job_lists import JobLists
from bot.services.runs.native import Natives
from bot.services.runs.runner import RunReconciler
from bot.services.runs.submitter_health import SubmitterHealth
from bot.services.schedules import ScheduleRunner
from bot.services.sweeper import Sweeper, SweeperOptions, WriteShares
from bot.services.workers import Deps, LoopSpec, Worker, WorkerPool
from bot.settings import Settings, is_proxied, pages_of
from bot.store import Store, migrate
from bot.store.ids import ulid
from bot.store.wake import open_wake
from bot.telemetry import Metrics, configure_logs, get_log
from bot.web.announcements import RayJobAnnouncements
from bot.web.api import RUN, AuditApi, RunsApi, api_app
from bot.web.explain import PULL, ExplainApi
from bot.web.guard import Guard
from bot.web.health import GitHubHeard, HealthPage, Probes, root
from bot.web.hooks import Hooks
from bot.web.plots import PLOT, Plots

_INBOXES = 2  # loops of one kind, so that one slow delivery or step does not delay the others
# A training step is silent for minutes. A submitter without numbers would replay its log then.
_SILENCE_S = 300.0
_RUNNERS = 4
_REPORTERS = 2
_NO_DRAWING = "Pillow is not installed: pip install 'ascend-ci[plots]'"
_NOT_REACHABLE = "PUBLIC_URL is not an https address that GitHub can reach"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that the loops and the web application of a process share."""

    settings: Settings
    store: Store
    github: GitHubClient
    rayjobs: Submitter | None
    wake: Wake
    clock: Clock
    loop: Worker
    metrics: Metrics
    issuer: OidcIssuer
    heard: GitHubHeard
    sandbox: Sandbox
    checker: PolicyChecker
    long_lists: LongLists
    strangers: Strangers
    job_lists: JobLists

    def new_id(self) -> str:
        """Return a new ULID."""
        return ulid(self.clock.now())

    @property
    def deps(self) -> Deps:
        """Return the parts that all services share."""
        default = _default(self.settings)
        policies = PolicyReader(
            self.store, self.github, self.clock, checker=self.checker, default=default
        )
        shared = (self.store, self.github, self.clock, self.wake, self.loop, self.new_id)
        return Deps(*shared, policies, self.long_lists, self.strangers, self.job_lists)


@asynccontextmanager
async def open_parts(
    settings: Settings,
    *,
    clock: Clock | None = None,
    strict: bool = False,
    executor: Executor | None = None,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[Parts]:
    """Open everything that a process talks to; migrate the database first.

    Tests pass their own ``clock``, ``executor`` of SQLite's transactions, and ``sandbox``. With
    ``strict`` a loop raises instead of logging.
    """
    await migrate(settings.database_url)
    clock = clock or SystemClock()
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        wake = await stack.enter_async_context(open_wake(settings.database_url))
        store = await Store.open(settings.database_url, wake=wake, executor=executor)
        stack.push_async_callback(store.close)
        proxied = is_proxied()
        session = await stack.enter_async_context(aiohttp.ClientSession(trust_env=proxied))
        outages = Outages(clock)
        heard = GitHubHeard(clock, metrics.called, outages.now)
        issuer = OidcIssuer(
            session, str(settings.github_oidc_issuer), settings.github_oidc_audience, clock
        )
        github = GitHubClient(
            session,
            app_id=str(settings.github_app_id),
            private_key=settings.github_private_key.get_secret_value(),
            api_url=str(settings.github_api_url),
            api_version=settings.github_api_version,
            writes_per_s=settings.github_writes_per_second,
            clock=clock,
            outages=outages,
            on_call=heard.called,
        )
        rayjobs = await _submitter(stack, settings)
        owner = await stack.enter_async_context(store.instance(settings.replica_name))
        loop = Worker(owner, metrics, strict=strict)
        if sandbox is None:
            sandbox = await stack.enter_async_context(open_sandbox())
        checker = PolicyChecker(sandbox, shares=CpuShares(clock))
        strangers = Strangers(github, clock)
        outside = (metrics, issuer, heard, sandbox, checker, LongLists(clock), strangers)
        lists = JobLists(github, clock)
        yield Parts(settings, store, github, rayjobs, wake, clock, loop, *outside, lists)


async def _submitter(stack: AsyncExitStack, settings: Settings) -> Submitter | None:
    if settings.submitter_url is None:
        return None
    token = settings.submitter_token
    client = open_rayjobs(
        str(settings.submitter_url),
        token=token.get_secret_value() if token else None,
        limits=HttpLimits(silence_s=_SILENCE_S),
        proxied=is_proxied(),
    )
    return await stack.enter_async_context(client)


@asynccontextmanager
async def open_loops(parts: Parts) -> AsyncIterator[WorkerPool]:
    """Make the loops; a follower's streams end with them."""
    settings, deps = parts.settings, parts.deps
    pulls = PullRequests(deps, PolicyChanges(deps, _default(settings)))
    natives = Natives(deps)
    digesters = Digesters(resources.text("signatures.yml"), parts.sandbox, parts.clock)
    handlers = EventHandlers(
        pull_requests=pulls,
        issue_comments=IssueComments(deps, pulls),
        check_runs=CheckRuns(deps, pulls),
        merge_groups=MergeGroups(deps),
        pushes=Pushes(deps),
        workflow_runs=WorkflowRuns(deps, natives),
    )
    inbox = Inbox(deps, handlers)
    runner = RunReconciler(deps, Claims(deps, pulls), digesters, parts.rayjobs)
    reporter = Reporter(
        deps, Where(pages_of(str(settings.github_api_url)), "", plot_links(settings))
    )
    options = SweeperOptions(
        settings.poll_seconds,
        timedelta(days=settings.retention_days),
        timedelta(days=settings.audit_days),
    )
    logs = StoredLogs(settings.data_dir)
    sweeper = Sweeper(deps, logs, pulls, natives, options)
    schedules = ScheduleRunner(deps)
    specs = [
        *(LoopSpec(f"inbox-{n}", inbox.step, Topic.INBOX) for n in range(_INBOXES)),
        *(LoopSpec(f"runner-{n}", runner.step, Topic.RUNNER) for n in range(_RUNNERS)),
        *(LoopSpec(f"reporter-{n}", reporter.step, Topic.REPORTER) for n in range(_REPORTERS)),
        LoopSpec("due", deps.wake_due, None),
        LoopSpec("sweeper", sweeper.step, None),
        LoopSpec("shares", WriteShares(deps).step, None),
        LoopSpec("schedules", schedules.step, None),
        LoopSpec("grants", GrantsWatch(deps, parts.heard.lacks).step, None),
    ]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(runner)
        if parts.rayjobs is not None:
            follower = JobFollower(deps, parts.rayjobs, logs, digesters)
            await stack.enter_async_context(follower)
            specs.append(LoopSpec("follower", follower.step, Topic.FOLLOWER))
        yield WorkerPool(specs, deps.wake, deps.worker, deps.clock)


def make_web(parts: Parts, loops: WorkerPool) -> web.Application:
    """Return the web application: webhooks, probes and the API."""
    settings = parts.settings
    hooks = Hooks(
        parts.store,
        _webhook_secrets(settings),
        settings.github_app_id,
        parts.clock,
        parts.metrics,
    )
    probes = Probes(parts.store, parts.metrics, parts.clock, loops.stuck)
    plots = Plots(parts.store, parts.sandbox, plot_links(settings), draw)
    token = settings.metrics_token
    guard = Guard("token" if token else "public", token.get_secret_value() if token else None)
    connections = room_for_connections()
    door = Door(DoorLimits(connections, of_a_peer=connections), get_log("door").warning)
    app = web.Application(middlewares=[door.middleware])
    app[DOOR] = door
    app.add_routes(
        [
            web.get("/", root),
            web.post("/webhook", hooks.post),
            web.get("/healthz", probes.healthz),
            web.get("/readyz", probes.readyz),
            web.get("/metrics", guard(probes.metrics)),
            web.get(f"/plots/{PLOT}", plots.get),
        ]
    )
    app.add_subapp("/api/v1", make_api(parts, loops))
    return app


def plot_links(settings: Settings, can_draw: Callable[[], bool] = can_draw) -> PlotLinks | None:
    """Return the addresses of plots; None if GitHub could not fetch them, or none can be drawn."""
    url = str(settings.public_url or "")
    return PlotLinks(url, _webhook_secrets(settings)) if is_reachable(url) and can_draw() else None


def _webhook_secrets(settings: Settings) -> tuple[bytes, ...]:
    return tuple(secret.get_secret_value().encode() for secret in settings.github_webhook_secret)


def _default(settings: Settings) -> bytes | None:
    """Return the server's own policy for repositories without one."""
    return settings.policy_file.read_bytes() if settings.policy_file else None


def make_api(parts: Parts, loops: WorkerPool) -> web.Application:
    """Return the application under /api/v1: announcements of workflows, and the read API."""
    settings, store, clock = parts.settings, parts.store, parts.clock
    token = settings.dashboard_token
    guard = Guard(settings.dashboard, token.get_secret_value() if token else None)
    submitter = SubmitterHealth(parts.rayjobs, clock).down if parts.rayjobs else None
    logs = StoredLogs(settings.data_dir).problem
    health = HealthPage(store, clock, parts.heard.state, submitter, logs, loops.ages_s, loops.stuck)
    announcer = Announcements(parts.deps, parts.issuer, submitter=parts.rayjobs is not None)
    announcements, runs = RayJobAnnouncements(announcer), RunsApi(store)
    explain = ExplainApi(store, parts.checker.policy, _default(settings))
    return api_app(
        [
            web.post(f"/runs/{RUN}/rayjobs", announcements.post),
            web.post("/rayjobs", announcements.post),
            web.get("/runs", guard(runs.list)),
            web.get(f"/runs/{RUN}", guard(runs.show)),
            web.get("/audit", guard(AuditApi(store, clock).list)),
            web.get(f"/explain/{PULL}", guard(explain.get)),
            web.get("/health", guard(health.get)),
        ]
    )


def make_runner(parts: Parts, loops: WorkerPool) -> web.AppRunner:
    """Return the runner of the web application."""
    return GuardedRunner(make_web(parts, loops))


async def run(settings: Settings, *, with_web: bool) -> None:
    """Run until SIGTERM or SIGINT; then finish the current work and release the leases."""
    configure_logs(settings.log_level, settings.log_format)
    set_on_retry_hooks(())  # no line for each retry of a call: the outcome is what counts
    log = get_log("app")
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with AsyncExitStack() as stack:
        parts = await stack.enter_async_context(open_parts(settings))
        loops = await stack.enter_async_context(open_loops(parts))
        if with_web:
            await _listen(stack, parts, loops)
        log.info("started", owner=parts.loop.owner, web=with_web)
        if settings.public_url and not plot_links(settings):
            log.info("plots are off", why=_NO_DRAWING if not can_draw() else _NOT_REACHABLE)
        await loops.run(stop)
    log.info("stopped")


async def _listen(stack: AsyncExitStack, parts: Parts, loops: WorkerPool) -> None:
    runner = make_runner(parts, loops)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, parts.settings.host, parts.settings.port)
    try:
        await site.start()
    except OSError as error:
        raise ListenError(f"can't listen: {error.strerror}") from error
    host, port = runner.addresses[0][:2]
    get_log("app").info("listening", url=f"http://{host}:{port}")
