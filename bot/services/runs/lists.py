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
        live = _by_actions_run(runs)
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
        bound = _by_actions_run(run for run in runs if self._event_of(run, event) == event)
        waiting: dict[str, list[Run]] = {}
        for run in runs:
            if not (run.actions_run_id or run.rerun_of):
                waiting.setdefault(run.sha, []).append(run)
        back = _LOOK_BACK if waiting else _STARTED_BEFORE
        since = min(run.created_at for run in runs) - back
        listed = [item async for page in self._pages(repo, event, since, bound) for item in page]
        await self._learn(bound, listed)
        shown = {item.id for item in listed}
        await self._ask_for(repo, {key: run for key, run in bound.items() if key not in shown})
        for item in listed:
            followed = {run.suite for run in bound.get(item.id, ())}
            left = [run for run in waiting.get(item.head_sha, ()) if run.suite not in followed]
            if left:
                await self._adopt(repo, item, left)
        self._wake.poke(Topic.RUNNER)

    async def _pages(
        self, repo: Repo, event: str, since: datetime, live: Mapping[int, list[Run]]
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
                    mine = (run.id for item in fresh for run in live.get(item.id, ()))
                    self._events.update(dict.fromkeys(mine, event))
                    times = [item.created_at for item in fresh if item.created_at]
                    oldest = min(times, default=oldest)
                    yield fresh
            if oldest is None or live.keys() <= found:
                return
            until = oldest

    async def _learn(self, live: Mapping[int, list[Run]], listed: Iterable[WorkflowRun]) -> None:
        """Store the states of live runs that a list shows."""
        now = self._clock.now()
        found = [_run_event(run, item, now) for item in listed for run in live.get(item.id, ())]
        await self._store_told(found)

    async def _store_told(self, found: list[RunEvent]) -> None:
        if found:
            await self._store.commit(Plan(run_events=tuple(found)), self._clock.now(), done=None)
            self._wake.poke(Topic.RUNNER)

    async def _ask_for(self, repo: Repo, unseen: Mapping[int, list[Run]]) -> None:
        """Ask singly for some of the runs that no list shows."""
        now = self._clock.now()
        for remembered in (self._events, self._asked):
            if len(remembered) > _REMEMBERED:
                remembered.clear()
        rest = [
            runs
            for runs in unseen.values()
            if now - (runs[0].dispatched_at or runs[0].created_at) >= _LISTED_AFTER
        ]
        found = []
        rest.sort(key=lambda runs: self._asked.get(runs[0].id, _NEVER))
        for runs in rest[:_MOST_ASKED]:
            found += await self._ask(repo, runs)
            self._asked[runs[0].id] = now
        await self._store_told(found)

    async def _ask(self, repo: Repo, runs: list[Run]) -> list[RunEvent]:
        """Read the state of one Actions run; one that GitHub no longer knows has ended."""
        actions_run_id = runs[0].actions_run_id
        assert actions_run_id is not None
        now = self._clock.now()
        try:
            seen = await self._github.actions_run(repo, actions_run_id)
        except Permanent as error:
            if not error.is_gone:
                raise
            over = [(run, WorkflowRunChanged(run.actions_attempt, "completed")) for run in runs]
            return [RunEvent(run.id, Source.POLL, now, what) for run, what in over]
        self._events.update((run.id, seen.event) for run in runs)
        return [_run_event(run, seen, now) for run in runs]

    def _event_of(self, run: Run, default: str) -> str:
        """Return what started the Actions run of a run, as far as it is known."""
        return run.snapshot.apart.partition(":")[0] or self._events.get(run.id, default)

    async def _adopt(self, repo: Repo, item: WorkflowRun, waiting: list[Run]) -> None:
        """Adopt a workflow run that no row has, or that only a superseded row has."""
        now = self._clock.now()
        known = await self._store.runs.following(repo.id, item.id, mistaken=True)
        names = {run.suite for run in waiting}
        before = [run for run in known if run.suite in names]
        if before and len(before) == len(names):
            gone = all(run.outcome is Outcome.SUPERSEDED for run in before)
            came_back = gone and item.conclusion != "cancelled"
            if not came_back or now - min(run.created_at for run in waiting) < LATE_PULL:
                return
        seen = await self._natives.seen(repo, item, Source.POLL)
        await self._store.commit(audited(seen, now, None), now, done=None)


def _by_actions_run(runs: Iterable[Run]) -> dict[int, list[Run]]:
    """Return runs by the Actions run that they follow: several suites may share one."""
    found: dict[int, list[Run]] = {}
    for run in runs:
        if run.actions_run_id:
            found.setdefault(run.actions_run_id, []).append(run)
    return found


def _run_event(run: Run, item: WorkflowRun, now: datetime) -> RunEvent:
    """Return the state of a listed run; if GitHub has a newer attempt, this one has ended."""
    status = item.status if item.status in {"in_progress", "completed"} else "queued"
    if item.attempt > run.actions_attempt:
        status = "completed"
    changed = WorkflowRunChanged(run.actions_attempt, status, item.conclusion)
    return RunEvent(run.id, Source.POLL, now, changed)
