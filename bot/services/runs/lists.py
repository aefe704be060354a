"""Learns from GitHub's lists how runs go, and finds those whose webhook was lost."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

from bot.core.model.ids import RunId
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent, Source, WorkflowRunChanged
from bot.core.model.runs import Outcome, Run
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning.audit import audited
from bot.core.planning.plan import Plan
from bot.core.runs.native import LATE_PULL
from bot.ports.errors import Permanent
from bot.ports.wake import Topic
from bot.services.runs.native import Natives
from bot.services.workers import Deps, Service

_LISTED_AFTER = timedelta(seconds=20)  # lists lag 1 to 3 s, and more under load
_CLOCKS_DIFFER = timedelta(seconds=60)
_STARTED_BEFORE = timedelta(minutes=10)  # GitHub may start its run so long before our row is made
_LOOK_BACK = timedelta(hours=2)
# One list shows the newest 1,000 runs in ten pages: so much of the budget may go into older ones.
_MOST_LISTS = 5
_MOST_ASKED = 20
_REMEMBERED = 10_000  # runs
_NEVER = datetime.min.replace(tzinfo=UTC)


class RunLists(Service):
    """Stores what lists of workflow runs tell, as webhooks would have told it."""

    def __init__(self, deps: Deps, natives: Natives) -> None:
        super().__init__(deps)
        self._natives = natives
        self._events: dict[RunId, str] = {}  # that started each run, as far as GitHub told
        self._asked: dict[RunId, datetime] = {}  # runs that no list showed, and when each was read

    async def dispatched(self, repo: Repo) -> None:
        """Learn the state of all dispatched runs."""
        runs = await self._store.runs.dispatched(repo.id)
        live = {run.actions_run_id: run for run in runs if run.actions_run_id}
        times = [run.dispatched_at or run.created_at for run in runs]
        if times:
            since = min(times) - _CLOCKS_DIFFER
            rest = dict(live)
            pages = self._pages(repo, "workflow_dispatch", since, live)
            async with aclosing(pages):
                async for page in pages:  # what the first one tells need not wait for the last one
                    await self._learn(rest, page)
                    rest = {key: rest[key] for key in rest.keys() - {item.id for item in page}}
                    if not rest:
                        break
            await self._ask_for(repo, rest)

    async def native(self, repo: Repo, runs: tuple[Run, ...], event: str) -> None:
        """Learn the state of native runs, and find those whose webhook was lost."""
        bound = {
            run.actions_run_id: run
            for run in runs
            if run.actions_run_id and self._events.get(run.id, event) == event
        }
        waiting = {run.sha: run for run in runs if not (run.actions_run_id or run.rerun_of)}
        back = _LOOK_BACK if waiting else _STARTED_BEFORE
        since = min(run.created_at for run in runs) - back
        listed = [item async for page in self._pages(repo, event, since, bound) for item in page]
        await self._learn(bound, listed)
        shown = {item.id for item in listed}
        await self._ask_for(repo, {key: run for key, run in bound.items() if key not in shown})
        for item in listed:
            if item.head_sha in waiting and item.id not in bound:
                await self._adopt(repo, item, waiting[item.head_sha])
        self._wake.poke(Topic.RUNNER)

    async def _pages(
        self, repo: Repo, event: str, since: datetime, live: Mapping[int, Run]
    ) -> AsyncGenerator[list[WorkflowRun], None]:
        """Yield an event's runs, by older and older windows until all live ones were shown."""
        found: set[int] = set()
        until: datetime | None = None
        for _ in range(_MOST_LISTS):
            oldest: datetime | None = None
            async with aclosing(self._github.started_runs(repo, event, since, until)) as pages:
                async for page in pages:
                    fresh = [item for item in page if item.id not in found]
                    found.update(item.id for item in fresh)
                    mine = (live[item.id].id for item in fresh if item.id in live)
                    self._events.update(dict.fromkeys(mine, event))
                    times = [item.created_at for item in fresh if item.created_at]
                    oldest = min(times, default=oldest)
                    yield fresh
            if oldest is None or live.keys() <= found:
                return
            until = oldest

    async def _learn(self, live: Mapping[int, Run], listed: Iterable[WorkflowRun]) -> None:
        """Store the states of live runs that a list shows."""
        now = self._clock.now()
        found = [_run_event(live[item.id], item, now) for item in listed if item.id in live]
        await self._store_told(found)

    async def _store_told(self, found: list[RunEvent]) -> None:
        if found:
            await self._store.commit(Plan(run_events=tuple(found)), self._clock.now(), done=None)
            self._wake.poke(Topic.RUNNER)

    async def _ask_for(self, repo: Repo, unseen: Mapping[int, Run]) -> None:
        """Ask singly for some of the runs that no list shows."""
        now = self._clock.now()
        for remembered in (self._events, self._asked):
            if len(remembered) > _REMEMBERED:
                remembered.clear()
        rest = [
            run
            for run in unseen.values()
            if now - (run.dispatched_at or run.created_at) >= _LISTED_AFTER
        ]
        found = []
        for run in sorted(rest, key=lambda run: self._asked.get(run.id, _NEVER))[:_MOST_ASKED]:
            found.append(await self._ask(repo, run))
            self._asked[run.id] = now
        await self._store_told(found)

    async def _ask(self, repo: Repo, run: Run) -> RunEvent:
        """Read the state of one run; one that GitHub no longer knows has ended."""
        assert run.actions_run_id is not None
        now = self._clock.now()
        try:
            seen = await self._github.actions_run(repo, run.actions_run_id)
        except Permanent as error:
            if not error.is_gone:
                raise
            over = WorkflowRunChanged(run.actions_attempt, "completed")
            return RunEvent(run.id, Source.POLL, now, over)
        self._events[run.id] = seen.event
        return _run_event(run, seen, now)

    async def _adopt(self, repo: Repo, item: WorkflowRun, waiting: Run) -> None:
        """Adopt a workflow run that no row has, or that only a superseded row has."""
        now = self._clock.now()
        known = await self._store.runs.of_actions_run(repo.id, item.id)
        if known is not None:
            came_back = known.outcome is Outcome.SUPERSEDED and item.conclusion != "cancelled"
            if not came_back or now - waiting.created_at < LATE_PULL:
                return
        seen = await self._natives.seen(repo, item, Source.POLL)
        await self._store.commit(audited(seen, now, None), now, done=None)


def _run_event(run: Run, item: WorkflowRun, now: datetime) -> RunEvent:
    """Return the state of a listed run; if GitHub has a newer attempt, this one has ended."""
    status = item.status if item.status in {"in_progress", "completed"} else "queued"
    if item.attempt > run.actions_attempt:
        status = "completed"
    changed = WorkflowRunChanged(run.actions_attempt, status, item.conclusion)
    return RunEvent(run.id, Source.POLL, now, changed)
