"""Looks regularly for what webhooks missed, and deletes old rows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from bot.core.github.events import InstallationEvent
from bot.core.messages import Message
from bot.core.model.ids import RepoId
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.planning.audit import audited
from bot.core.planning.head_trigger import HeadTrigger
from bot.core.planning.plan import Plan
from bot.core.runs.native import EVENTS, events_of
from bot.ports.errors import DatabaseTrouble, Held, Permanent, Transient
from bot.ports.logs import LogFiles
from bot.ports.wake import Topic
from bot.services.events.pull_request import PullRequests
from bot.services.policies import all_pulls, waiting_pulls
from bot.services.runs.lists import RunLists
from bot.services.runs.native import Natives
from bot.services.workers import Deps, Service
from bot.store.health import Health
from bot.store.polls import LIVES_FOR, living, write_share
from bot.telemetry import bound_context, get_log

_AT_START = ("runs:", "natives:", "deliveries")  # polls that a process makes when it starts
_LOOKED_BACK = "deliveries:looked"
_KEPT_BY_GITHUB = timedelta(days=3)  # how long it keeps deliveries
_LOOK_BACK = timedelta(hours=2)
_LOOK_BACK_EVERY = timedelta(minutes=5)  # most looks at deliveries are at the newest alone
_NEWEST = timedelta(minutes=2)
_SETTLED = timedelta(seconds=20)  # GitHub gives up a delivery after 10 s
_REDELIVER_EVERY_S = 3600.0
_TRY_AGAIN_S = 60.0  # what GitHub did not take or answer, however seldom it is done
_NAME_EVERY = 5  # polls: under a former name another repository may be
_PARKED_EVERY_S, _PARKED_FOR = 3600.0, timedelta(days=1)  # older ones are tried no more
_PRUNE_EVERY_S = 3600.0
_PRUNE_AT_ONCE = 500
# Each pull request costs some calls, and starts runs.
_PLANNED_AT_ONCE = 4
_NEXT_ONES = timedelta(seconds=2)
_REFUSED_FOR = timedelta(minutes=10)
_LOOK_SOON = timedelta(minutes=5)
_TOLD_AT_ONCE = 10  # each is a write, of which others want some, too
_ANNOUNCE_EVERY = timedelta(seconds=20)  # for the others, who share the pace of writes
_SEEN_AFTER = timedelta(seconds=20)  # each replica looks every few seconds
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_GAUGES_EVERY = timedelta(seconds=15)  # of each replica: it takes nine queries
_ALARM_ONCE_S = 365 * 24 * 3600.0  # one alarm for each silence, however long it lasts


@dataclass(frozen=True, slots=True)
class SweeperOptions:
    """How often the sweeper looks, and how long rows are kept."""

    poll_s: float = 60.0
    retention: timedelta = timedelta(days=90)
    audit: timedelta = timedelta(days=365)


class WriteShares(Service):
    """Gives this process its part of the pace of writes, and of what strangers may have done.

    The replicas know of each other by rows.

    A replica lowers its part as soon as it reads of another's need. It raises its own only when
    the others have read of it, and lowers it before its own row ends.
    """

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._part = 1.0
        self._announce_at = self._known_from = self._known_until = _LONG_AGO
        self._writes_wait = False  # since the last announcement

    async def step(self) -> bool:
        """Announce this process, and take the part that it has now; never busy."""
        now = self._clock.now()
        self._writes_wait |= self._github.share(self._part)
        if now >= self._announce_at:
            await self._announce(now)
        resting = await self._store.polls.resting(now)
        known = self._known_from <= now < self._known_until
        self._part = write_share(resting, self._worker.owner, is_known=known)
        self._writes_wait |= self._github.share(self._part)
        replicas = len(living(resting, self._worker.owner))
        self._strangers.living = self._long_lists.living = replicas
        return False

    async def _announce(self, now: datetime) -> None:
        await self._store.polls.announce(self._worker.owner, now, writes_wait=self._writes_wait)
        if self._writes_wait:
            if now >= self._known_until:
                self._known_from = now + _SEEN_AFTER
            self._known_until = now + LIVES_FOR - _SEEN_AFTER
        self._announce_at, self._writes_wait = now + _ANNOUNCE_EVERY, False


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
        self._lists = RunLists(deps, natives)
        self._options = options
        self._started = False
        self._looked_back = False  # by this process
        self._resting = frozenset[str]()
        self._refused: dict[tuple[RepoId, int], datetime] = {}  # pull requests, until when
        self._gauges_due = _LONG_AGO
        self._log = get_log("sweeper")

    async def step(self) -> bool:
        """Do the checks that are due; always return False, for the loop to pause."""
        poll_s = self._options.poll_s
        if not self._started:  # what ended meanwhile should not wait for the next poll
            await self._store.polls.hurry_all(_AT_START, self._clock.now())
            self._started = True
        self._resting = await self._store.polls.resting(self._clock.now())
        for repo in await self._store.repos.with_dispatched_runs():
            await self._if_due(f"runs:{repo.id}", poll_s, partial(self._lists.dispatched, repo))
        for repo, runs in await self._store.runs.native():
            for event in events_of(run.snapshot for run in runs):
                # Few runs are of a push or of `pull_request_target`: they are listed less often.
                every_s = poll_s if event == EVENTS[0] else 5 * poll_s
                check = partial(self._lists.native, repo, runs, event)
                await self._if_due(f"natives:{event}:{repo.id}", every_s, check)
        await self._if_due("deliveries", poll_s / 3, self._redeliver_lost)
        for repo in await self._store.repos.active():
            named = partial(self._check_name, repo)
            await self._if_due(f"name:{repo.id}", _NAME_EVERY * poll_s, named)
            await self._if_due(all_pulls(repo.id), 60 * poll_s, partial(self._compare_heads, repo))
            check = partial(self._plan_waiting, repo)
            await self._if_due(waiting_pulls(repo.id), 60 * poll_s, check)
        await self._if_due("parked", _PARKED_EVERY_S, self._retry_parked)
        await self._if_due("prune", _PRUNE_EVERY_S, self._prune)
        if self._clock.now() >= self._gauges_due:
            await self._set_gauges()
        return False

    async def _if_due(
        self, name: str, every_s: float, check: Callable[[], Awaitable[object]]
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
            if not isinstance(error, DatabaseTrouble):
                wait = timedelta(seconds=max(_TRY_AGAIN_S, error.retry_after_s or 0))
                await self._store.polls.hurry(name, self._clock.now() + wait)
            if not error.is_told:
                self._log.warning("a check has to wait", check=name, why=str(error))
        except Permanent as error:
            self._log.warning("a check was refused", check=name, why=str(error))
        except Exception as error:  # noqa: BLE001  one broken check must not stop the others
            self._worker.failed("sweeper", error, self._log)

    async def _redeliver_lost(self) -> None:
        """Ask GitHub to redeliver what it could not deliver: it does not retry by itself."""
        now = self._clock.now()
        back = await self._look_back(now)
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
            await self._redeliver(guid, delivery_id, now)
        if back > _NEWEST:
            await self._store.polls.note(_LOOKED_BACK, now)
            self._looked_back = True

    async def _redeliver(self, guid: str, delivery_id: int, now: datetime) -> None:
        """Ask for one delivery again, and soon once more if GitHub does not take the wish.

        This process may be killed before GitHub has the wish: till then it counts for a minute.
        """
        name = f"redeliver:{delivery_id}"
        if not await self._store.polls.take(name, now, every_s=_TRY_AGAIN_S):
            return
        try:
            await self._github.redeliver(delivery_id)
        except Permanent as error:  # the others do not wait for it
            self._log.warning("a delivery is not sent again", delivery=guid, why=str(error))
            return
        await self._store.polls.note(name, now + timedelta(seconds=_REDELIVER_EVERY_S))
        self._log.warning("a lost delivery is sent again", delivery=guid)

    async def _look_back(self, now: datetime) -> timedelta:
        """Return how far to look back: mostly at the newest, at times from before the last look."""
        last = await self._store.polls.noted(_LOOKED_BACK)
        since = _KEPT_BY_GITHUB if last is None else now - last
        if self._looked_back and since < _LOOK_BACK_EVERY:
            return _NEWEST
        return min(since + _LOOK_BACK, _KEPT_BY_GITHUB)

    async def _check_name(self, repo: Repo) -> Repo | None:
        """Return a repository under the name that it has now, and store that; None: it is gone.

        The webhook of a rename may be lost, and another repository may get the old name.
        """
        now = await self._github.repo_now(repo)
        if now is None:
            self._log.error("another repository has the name of one that is gone", repo=repo.id)
            gone = InstallationEvent(repo.installation_id or 0, gone=(repo.id,), deleted=True)
            await self._commit(Plan(installation=gone))
        elif now.differs(repo):
            self._log.warning("a repository has changed", before=repo.full_name, now=now.name)
            await self._commit(Plan(repo=now))
        return now

    async def _compare_heads(self, asked: Repo) -> None:
        """Compare GitHub's open pull requests with our rows, and plan what differs."""
        repo = await self._check_name(asked)  # else all that are open here would be gone
        if repo is None:
            return
        known = {pull.number: pull for pull in await self._store.pulls.open(repo.id)}
        listed = {pull.number: pull for pull in await self._github.open_pulls(repo)}
        waiting = []
        for number, pull in listed.items():
            if _is_head(known.get(number), pull):
                continue
            if await self._may_look(repo, pull):
                await self._apart(number, self._compare_head(repo, number, known.get(number)))
            else:
                waiting.append(pull)
        await self._tell_waiting(repo, waiting)
        for number in sorted(known.keys() - listed.keys()):
            await self._apart(number, self._unlisted(repo, known[number]))
        self._wake.poke(Topic.RUNNER, Topic.REPORTER)

    async def _may_look(self, repo: Repo, pull: Pull) -> bool:
        """Return False for one of too many heads of a person without rights: it waits."""
        return not pull.from_fork or await self._strangers.may_act(repo, pull.author)

    async def _tell_waiting(self, repo: Repo, waiting: list[Pull]) -> None:
        """Look soon again at heads that wait, and let the gates of some say so at each look."""
        if not waiting:
            return
        self._log.warning("heads of people without rights wait", waiting=len(waiting))
        await self._store.polls.hurry(all_pulls(repo.id), self._clock.now() + _LOOK_SOON)
        told = 0
        for pull in waiting:
            if told < _TOLD_AT_ONCE:
                told += await self._pulls.show_waiting(repo, pull)

    async def _apart(self, number: int, work: Awaitable[None]) -> bool:
        """Do what one pull request needs; False: GitHub refuses it, and others do not wait for it.

        Anybody can open one whose files GitHub never lists.
        """
        try:
            await work
        except (Held, DatabaseTrouble):  # it holds for all
            raise
        except (Transient, Permanent) as error:
            self._log.warning("a pull request waits", number=number, why=str(error))
            return False
        return True

    async def _compare_head(self, repo: Repo, number: int, known: Pull | None) -> None:
        pull = await self._pulls.reader.pull(repo, number)  # lists lack the number of files
        if not _is_head(known, pull):
            await self._plan(repo, pull)

    async def _plan(self, repo: Repo, pull: Pull) -> None:
        trigger = HeadTrigger.FOUND_BY_LOOKING
        await self._commit(await self._pulls.plan_head(repo, pull, trigger))

    async def _plan_waiting(self, repo: Repo) -> None:
        """Plan the pull requests that a policy with errors kept waiting, some at a time.

        One that GitHub refuses is left out for some minutes, so that the next ones have their turn.
        While some wait the policy is read again and again: a push may not be told, or told first.
        """
        planned, waits, now = 0, False, self._clock.now()
        self._refused = {key: until for key, until in self._refused.items() if now < until}
        for known, row in await self._store.pulls.unplanned(repo.id):
            if (repo.id, known.number) in self._refused:
                continue
            policy = await self._policies.of(repo, known.base_ref)
            if policy is None or (row is not None and policy.sha == row.policy_sha):
                waits = True
                continue
            if planned == _PLANNED_AT_ONCE:
                await self._store.polls.hurry(waiting_pulls(repo.id), now + _NEXT_ONES)
                break
            planned += 1
            try:
                if not await self._apart(known.number, self._plan_anew(repo, known.number)):
                    self._refused[repo.id, known.number] = now + _REFUSED_FOR
            except Held as error:
                later = now + timedelta(seconds=error.retry_after_s or 0)
                await self._store.polls.hurry(waiting_pulls(repo.id), later + _NEXT_ONES)
                raise
        if waits:
            again = await self._policies.read_again_at(repo)
            await self._store.polls.hurry(waiting_pulls(repo.id), again)
        self._wake.poke(Topic.RUNNER, Topic.REPORTER)

    async def _plan_anew(self, repo: Repo, number: int) -> None:
        await self._plan(repo, await self._pulls.reader.pull(repo, number))

    async def _unlisted(self, repo: Repo, known: Pull) -> None:
        """End a pull request that GitHub no longer lists as open."""
        try:
            pull = await self._pulls.reader.pull(repo, known.number)
        except Permanent as error:
            if not error.is_gone:
                raise
            await self._commit(await self._pulls.closed(repo, known, Message("drop_gone")))
            return
        if not pull.open:
            await self._commit(await self._pulls.closed(repo, pull))

    async def _retry_parked(self) -> None:
        now = self._clock.now()
        await self._store.deliveries.retry_parked(now - _PARKED_FOR, now)

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
        await self._store.polls.prune(before)
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


def _wait_after(tries: int) -> timedelta:
    """Return how long GitHub's last try has to be over before the next one is asked for."""
    return timedelta(seconds=min(_SETTLED.total_seconds() * 2 ** (tries - 1), _REDELIVER_EVERY_S))


def _is_head(known: Pull | None, pull: Pull) -> bool:
    return known is not None and known.head_sha == pull.head_sha
