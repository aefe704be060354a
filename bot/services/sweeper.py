"""Looks regularly for what webhooks missed, and deletes old rows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from bot.core.messages import Message
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent, Source, WorkflowRunChanged
from bot.core.model.runs import Outcome, Run
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning.audit import audited
from bot.core.planning.head_trigger import HeadTrigger
from bot.core.planning.plan import Plan
from bot.core.runs.native import EVENTS, LATE_PULL
from bot.ports.errors import Permanent, Transient
from bot.ports.logs import LogFiles
from bot.ports.wake import Topic
from bot.services.events.pull_request import PullRequests
from bot.services.policies import waiting_pulls
from bot.services.runs.native import Natives
from bot.services.workers import Deps, Service
from bot.store.health import Health
from bot.telemetry import bound_context, get_log

_KEPT_BY_GITHUB = timedelta(days=3)  # how long it keeps deliveries; the first look goes back so far
_LOOK_BACK = timedelta(hours=2)
_LOOK_BACK_EVERY = timedelta(minutes=5)  # most looks at deliveries are at the newest alone
_NEWEST = timedelta(minutes=2)
_SETTLED = timedelta(seconds=20)  # GitHub gives up a delivery after 10 s
_CLOCKS_DIFFER = timedelta(seconds=60)
_STARTED_BEFORE = timedelta(minutes=10)  # GitHub may start its run so long before our row is made
_REDELIVER_EVERY_S = 3600.0
_PRUNE_EVERY_S = 3600.0
_PRUNE_AT_ONCE = 500
# Each pull request costs some calls, and starts runs.
_PLANNED_AT_ONCE = 4
_NEXT_ONES = timedelta(seconds=2)
_GAUGES_EVERY = timedelta(seconds=15)  # of each replica: it takes nine queries
_ALARM_ONCE_S = 365 * 24 * 3600.0  # one alarm for each silence, however long it lasts


@dataclass(frozen=True, slots=True)
class SweeperOptions:
    """How often the sweeper looks, and how long rows are kept."""

    poll_s: float = 60.0
    retention: timedelta = timedelta(days=90)
    audit: timedelta = timedelta(days=365)


class Sweeper(Service):
    """Looks for what webhooks missed, and stores it as they would have."""

    def __init__(
        self,
        deps: Deps,
        logs: LogFiles,
        pulls: PullRequests,
        natives: Natives,
        options: SweeperOptions,
    ) -> None:
        super().__init__(deps)
        self._logs = logs
        self._pulls = pulls
        self._natives = natives
        self._options = options
        self._looked_back_at: datetime | None = None
        self._resting = frozenset[str]()
        self._gauges_due = datetime.min.replace(tzinfo=UTC)
        self._log = get_log("sweeper")

    async def step(self) -> bool:
        """Do the checks that are due; always return False, for the loop to pause."""
        poll_s = self._options.poll_s
        self._resting = await self._store.polls.resting(self._clock.now())
        await self._if_due("deliveries", poll_s / 3, self._redeliver_lost)
        for repo in await self._store.repos.with_dispatched_runs():
            await self._if_due(f"runs:{repo.id}", poll_s, partial(self._list_dispatched, repo))
        for repo, runs in await self._store.runs.native():
            for event in EVENTS:
                # Few runs are of a push or of `pull_request_target`: they are listed less often.
                every_s = poll_s if event == EVENTS[0] else 5 * poll_s
                check = partial(self._list_native, repo, runs, event)
                await self._if_due(f"natives:{event}:{repo.id}", every_s, check)
        for repo in await self._store.repos.active():
            await self._if_due(f"heads:{repo.id}", 60 * poll_s, partial(self._compare_heads, repo))
            check = partial(self._plan_waiting, repo)
            await self._if_due(waiting_pulls(repo.id), 60 * poll_s, check)
        await self._if_due("prune", _PRUNE_EVERY_S, self._prune)
        if self._clock.now() >= self._gauges_due:
            await self._set_gauges()
        return False

    async def _if_due(
        self, name: str, every_s: float, check: Callable[[], Awaitable[None]]
    ) -> None:
        """Do a check if it is due, on one replica only."""
        if name in self._resting:
            return
        if not await self._store.polls.take(name, self._clock.now(), every_s=every_s):
            return
        try:
            with bound_context(check=name):
                await check()
        except Transient as error:
            if not error.is_told:
                self._log.warning("a check has to wait", check=name, why=str(error))
        except Permanent as error:
            self._log.warning("a check was refused", check=name, why=str(error))
        except Exception as error:  # noqa: BLE001  one broken check must not stop the others
            self._worker.failed("sweeper", error, self._log)

    async def _list_dispatched(self, repo: Repo) -> None:
        """Learn the state of all dispatched runs from one list."""
        runs = await self._store.runs.dispatched(repo.id)
        live = {run.actions_run_id: run for run in runs if run.actions_run_id}
        times = [run.dispatched_at or run.created_at for run in live.values()]
        if not times:
            return
        listed = await self._github.dispatched_runs(repo, min(times) - _CLOCKS_DIFFER)
        now = self._clock.now()
        found = [_run_event(live[item.id], item, now) for item in listed if item.id in live]
        found += await self._deleted(repo, live, listed)
        if found:
            await self._store.commit(Plan(run_events=tuple(found)), now, done=None)
            self._wake.poke(Topic.RUNNER)

    async def _list_native(self, repo: Repo, runs: tuple[Run, ...], event: str) -> None:
        """Learn the state of native runs, and find those whose webhook was lost."""
        now = self._clock.now()
        bound = {run.actions_run_id: run for run in runs if run.actions_run_id}
        waiting = {run.sha: run for run in runs if not (run.actions_run_id or run.rerun_of)}
        back = _LOOK_BACK if waiting else _STARTED_BEFORE
        listed = await self._github.started_runs(
            repo, event, min(run.created_at for run in runs) - back
        )
        changed = [_run_event(bound[item.id], item, now) for item in listed if item.id in bound]
        if event == EVENTS[0]:
            changed += await self._deleted(repo, bound, listed)
        if changed:
            await self._store.commit(Plan(run_events=tuple(changed)), now, done=None)
        for item in listed:
            if item.head_sha in waiting and item.id not in bound:
                await self._adopt(repo, item, waiting[item.head_sha])
        self._wake.poke(Topic.RUNNER)

    async def _deleted(
        self, repo: Repo, known: dict[int, Run], listed: tuple[WorkflowRun, ...]
    ) -> list[RunEvent]:
        """Return the end of each run that a list lacks and GitHub does not know any more."""
        now, found = self._clock.now(), []
        for run_id in known.keys() - {item.id for item in listed}:
            run = known[run_id]
            if now - (run.dispatched_at or run.created_at) < _SETTLED:
                continue
            try:
                await self._github.actions_run(repo, run_id)
            except Permanent as error:
                if not error.is_gone:
                    raise
                over = WorkflowRunChanged(run.actions_attempt, "completed")
                found.append(RunEvent(run.id, Source.POLL, now, over))
        return found

    async def _adopt(self, repo: Repo, item: WorkflowRun, waiting: Run) -> None:
        """Adopt a workflow run that no row has, or that only a superseded row has."""
        now = self._clock.now()
        known = await self._store.runs.of_actions_run(repo.id, item.id)
        if known is not None:
            came_back = known.outcome is Outcome.SUPERSEDED and item.conclusion != "cancelled"
            if not came_back or now - waiting.created_at < LATE_PULL:
                return
        await self._commit(await self._natives.seen(repo, item, Source.POLL))

    async def _redeliver_lost(self) -> None:
        """Ask GitHub to redeliver what it could not deliver: it does not retry by itself."""
        now = self._clock.now()
        back = self._look_back(now)
        listed = await self._github.deliveries(now - back)
        lost = {  # oldest first: the newest event of an installation has to come last
            item.guid: item.id
            for item in sorted(listed, key=lambda item: item.delivered_at)
            if not item.ok and now - item.tried_at >= _wait_after(item.tries)
        }
        known = await self._store.deliveries.known_guids(tuple(lost))
        for guid, delivery_id in lost.items():
            if guid in known:
                continue
            name = f"redeliver:{delivery_id}"
            if await self._store.polls.take(name, now, every_s=_REDELIVER_EVERY_S):
                await self._github.redeliver(delivery_id)
                self._log.warning("a lost delivery is sent again", delivery=guid)
        if back > _NEWEST:
            self._looked_back_at = now

    def _look_back(self, now: datetime) -> timedelta:
        """Return how far to look back: at first over all that GitHub keeps."""
        if self._looked_back_at is None:
            return _KEPT_BY_GITHUB
        return _LOOK_BACK if now - self._looked_back_at >= _LOOK_BACK_EVERY else _NEWEST

    async def _compare_heads(self, repo: Repo) -> None:
        """Compare GitHub's open pull requests with our rows, and plan what differs."""
        known = {pull.number: pull for pull in await self._store.pulls.open(repo.id)}
        listed = {pull.number: pull for pull in await self._github.open_pulls(repo)}
        for number, pull in listed.items():
            if not _is_head(known.get(number), pull):
                full = await self._pulls.reader.pull(repo, number)  # lists lack the number of files
                if not _is_head(known.get(number), full):
                    trigger = HeadTrigger.FOUND_BY_LOOKING
                    await self._commit(await self._pulls.plan_head(repo, full, trigger))
        for number in sorted(known.keys() - listed.keys()):
            await self._commit(await self._unlisted(repo, known[number]))
        self._wake.poke(Topic.RUNNER, Topic.REPORTER)

    async def _plan_waiting(self, repo: Repo) -> None:
        """Plan the pull requests that a policy with errors kept waiting, some at a time."""
        planned = 0
        for known, row in await self._store.pulls.unplanned(repo.id):
            policy = await self._policies.of(repo, known.base_ref)
            if policy is None or (row is not None and policy.sha == row.policy_sha):
                continue
            if planned == _PLANNED_AT_ONCE:
                soon = self._clock.now() + _NEXT_ONES
                await self._store.polls.hurry(waiting_pulls(repo.id), soon)
                break
            planned += 1
            try:
                pull = await self._pulls.reader.pull(repo, known.number)
                await self._commit(
                    await self._pulls.plan_head(repo, pull, HeadTrigger.FOUND_BY_LOOKING)
                )
            except (Transient, Permanent) as error:  # the others need not wait for it
                self._log.warning("a pull request waits", number=known.number, why=str(error))
        self._wake.poke(Topic.RUNNER, Topic.REPORTER)

    async def _unlisted(self, repo: Repo, known: Pull) -> Plan:
        """Plan the end of a pull request that GitHub no longer lists as open."""
        try:
            pull = await self._pulls.reader.pull(repo, known.number)
        except Permanent as error:
            if not error.is_gone:
                raise
            return await self._pulls.closed(repo, known, Message("drop_gone"))
        return Plan() if pull.open else await self._pulls.closed(repo, pull)

    async def _commit(self, changes: Plan) -> None:
        """Commit a plan with its audit."""
        now = self._clock.now()
        await self._store.commit(audited(changes, now, None), now, done=None)

    async def _prune(self) -> None:
        """Delete rows and logs past their retention, in small batches."""
        before = self._clock.now() - self._options.retention
        await self._store.tokens.prune(self._clock.now())
        await self._store.workflow_jobs.prune(self._clock.now())
        await self._store.schedules.prune(before)
        await self._logs.prune(before)
        while await self._store.prune(before, limit=_PRUNE_AT_ONCE):
            await self._clock.sleep(0.05)  # let others write
        before = self._clock.now() - self._options.audit
        while await self._store.audit.prune(before, limit=_PRUNE_AT_ONCE):
            await self._clock.sleep(0.05)

    async def _set_gauges(self) -> None:
        """Set the gauges of runs and of what waits."""
        now = self._clock.now()
        self._gauges_due = now + _GAUGES_EVERY
        health = await self._store.health.counts(now)
        await self._report_offline(health, now)
        metrics = self._worker.metrics
        metrics.runs.clear()
        for state, count in health.runs_by_state.items():
            metrics.runs.labels(state).set(count)
        for what, count in {
            "deliveries": health.deliveries_waiting,
            "parked": health.deliveries_parked,
            "checks_behind": health.checks_behind,
            "checks_refused": health.checks_refused,
        }.items():
            metrics.waiting.labels(what).set(count)

    async def _report_offline(self, health: Health, now: datetime) -> None:
        """Set the gauge of offline labels, and log one alarm for each silence."""
        gauge = self._worker.metrics.offline
        gauge.clear()
        for repo_id, offline in health.offline:
            gauge.labels(str(repo_id), offline.label).set((now - offline.since).total_seconds())
            name = f"offline:{repo_id}:{offline.label}:{offline.since:%Y-%m-%dT%H:%M:%S}"
            if await self._store.polls.take(name, now, every_s=_ALARM_ONCE_S):
                self._log.warning(
                    "a runner label looks offline",
                    repo_id=repo_id,
                    label=offline.label,
                    since=offline.since.isoformat(),
                )


def _run_event(run: Run, item: WorkflowRun, now: datetime) -> RunEvent:
    """Return the state of a listed run; if GitHub has a newer attempt, this one has ended."""
    status = item.status if item.status in {"in_progress", "completed"} else "queued"
    if item.attempt > run.actions_attempt:
        status = "completed"
    changed = WorkflowRunChanged(run.actions_attempt, status, item.conclusion)
    return RunEvent(run.id, Source.POLL, now, changed)


def _wait_after(tries: int) -> timedelta:
    """Return how long GitHub's last try has to be over before the next one is asked for."""
    return timedelta(seconds=min(_SETTLED.total_seconds() * 2 ** (tries - 1), _REDELIVER_EVERY_S))


def _is_head(known: Pull | None, pull: Pull) -> bool:
    return known is not None and known.head_sha == pull.head_sha
