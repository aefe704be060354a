"""Fires schedules: each time once, whatever replicas, restarts and new policies do.

Stored policies tell which repositories have schedules. A policy that is not stored yet is read
within ten minutes. Each policy is read again four times a day, in case the webhook of a push was
lost; a push itself has the new policy read at once. An unchanged file costs nothing of GitHub's
budget (304).
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

from bot.core.github.answers import in_words
from bot.core.messages import Message
from bot.core.messages.words import listing
from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo
from bot.core.model.runs import Rank
from bot.core.planning import schedule as firings
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.audit import audited
from bot.core.planning.commits import Commit
from bot.core.policy.models import Mode, Nightly
from bot.core.policy.selection import nightly_suites
from bot.ports.errors import DatabaseTrouble, Permanent, Transient
from bot.services.policies import Broken
from bot.services.workers import Deps, Service
from bot.store.schedules import RepoSchedules
from bot.telemetry import bound_context, get_log

_LOOK_EVERY = timedelta(minutes=1)  # at stored policies, and at firings that may be done
_UNKNOWN_EVERY_S = 600.0
_KNOWN_EVERY_S = 6 * 3600.0
_TRY_AGAIN = timedelta(minutes=1)
_FAILED_AGAIN = timedelta(minutes=5)
_NOT_HERE = "the app may not act in this repository now"


class ScheduleRunner(Service):
    """Keeps the schedules as the policies have them, and fires them."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._next_look: datetime | None = None
        self._day: date | None = None  # on which the quarantines were looked at
        self._in_line: dict[RepoId, tuple[str, str]] = {}  # branch and blob that the times are of
        self._waits: dict[tuple[RepoId, str], datetime] = {}
        self._log = get_log("schedules")

    async def step(self) -> bool:
        """Look at the policies once a minute, and fire what is due; never busy."""
        now = self._clock.now()
        if self._next_look is None or now >= self._next_look:
            self._next_look = now + _LOOK_EVERY
            await self._look(now)
            await self._end_quarantines(now)
        found = await self._store.schedules.due(now)
        for repo, schedule in found.schedules:
            await self._guarded(repo, schedule.name, partial(self._fire, repo, schedule))
        for repo, firing in found.asked:
            await self._guarded(repo, firing.name, partial(self._fire_asked, repo, firing))
        return False

    async def _end_quarantines(self, now: datetime) -> None:
        """Once a day, soon after midnight, look anew at gates whose quarantines may be over."""
        if now.date() == self._day:
            return
        next_day = datetime.combine(now.date(), time.min, UTC) + timedelta(days=1)
        left_s = (next_day - now).total_seconds()
        if await self._store.polls.take("quarantines", now, every_s=left_s):
            await self._store.checks.quarantines_ended(now)
        self._day = now.date()

    async def _guarded(self, repo: Repo, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Fire one schedule. If GitHub cannot answer, try again until it is too late."""
        key, now = (repo.id, name), self._clock.now()
        if self._waits.get(key, now) > now:
            return
        log = self._log.bind(repo=repo.full_name, schedule=name)
        try:
            with bound_context(schedule=name):
                await work()
        except Transient as error:
            wait = timedelta(seconds=error.retry_after_s) if error.retry_after_s else _TRY_AGAIN
            if not error.is_told:
                log.warning("a schedule has to wait", why=str(error))
            self._waits[key] = now + wait
        except Exception as error:  # noqa: BLE001  one broken schedule must not stop the others
            self._waits[key] = now + _FAILED_AGAIN
            self._worker.failed("schedules", error, log)
        else:
            self._waits.pop(key, None)

    async def _look(self, now: datetime) -> None:
        """Make the schedules those of the policies, and finish the firings whose runs are done."""
        for timed in await self._store.schedules.by_repo():
            for seen, row in firings.too_far_ahead(timed.schedules, now):
                self._log.warning("a time lay too far ahead", repo=timed.repo.id, schedule=row.name)
                await self._store.schedules.move_back(seen, row)
            try:
                await self._align(timed, now)
            except (Transient, Permanent) as error:
                log = self._log.bind(repo=timed.repo.full_name)
                log.warning("a policy could not be read for its schedules", why=str(error))
                if not isinstance(error, DatabaseTrouble):
                    await self._store.polls.hurry(f"policy:{timed.repo.id}", now + _TRY_AGAIN)
        for firing, runs in await self._store.schedules.open_firings():
            skipped = firings.plan_skipped(firing, runs, now)
            if skipped.drop_claimants:
                await self._store.commit(audited(skipped, now, None), now, done=None)
            done = firings.finished(firing, runs)
            if done is not None:
                await self._store.schedules.settle(done)
                self._tell(done)

    async def _align(self, timed: RepoSchedules, now: datetime) -> None:
        """Take over the schedules of a policy; a policy with errors changes nothing."""
        repo, row = timed.repo, timed.policy
        every_s = _UNKNOWN_EVERY_S if row is None else _KNOWN_EVERY_S
        if await self._store.polls.take(f"policy:{repo.id}", now, every_s=every_s):
            found = await self._policies.of(repo, repo.default_branch)
        elif row is None or self._in_line.get(repo.id) == (row.ref, row.blob_sha):
            return
        else:
            found = await self._policies.read(row)
            self._in_line[repo.id] = (row.ref, row.blob_sha)
        if isinstance(found, Broken):
            return
        change = firings.schedule_change(repo.id, _entries(found), timed.schedules, now)
        if change.put or change.drop:
            await self._store.schedules.save(change)

    async def _fire(self, repo: Repo, schedule: firings.Schedule) -> None:
        """Fire a schedule whose time has come; its policy may have changed meanwhile."""
        now = self._clock.now()
        found = firings.due_firing(schedule, now)
        if found is None:
            return
        firing = firings.Firing(
            repo.id, schedule.name, found.at, firings.FiringState.SKIPPED, note=found.note
        )
        if found.too_late or not repo.active:
            plan = firings.plan_nothing(
                firing, firings.FiringState.SKIPPED, "" if repo.active else _NOT_HERE
            )
        else:
            at = await self._policies.of(repo, repo.default_branch)
            entry = _entry(at, schedule.name)
            if not isinstance(at, Broken) and (entry is None or entry.cron != schedule.cron):
                await self._store.schedules.save(
                    firings.schedule_change(repo.id, _entries(at), (schedule,), now)
                )
                return
            plan = await self._plan(repo, firing, at)
        changes = audited(plan.changes, now, None)
        if await self._store.schedules.fire(schedule, found.then, plan.firing, changes, now):
            self._tell(plan.firing)

    async def _fire_asked(self, repo: Repo, firing: firings.Firing) -> None:
        """Fire a schedule because an operator asked for it."""
        if repo.active:
            at = await self._policies.of(repo, repo.default_branch)
            plan = await self._plan(repo, firing, at)
        else:
            plan = firings.plan_nothing(firing, firings.FiringState.SKIPPED, _NOT_HERE)
        now = self._clock.now()
        if await self._store.schedules.fire_asked(
            plan.firing, audited(plan.changes, now, None), now
        ):
            self._tell(plan.firing)

    async def _plan(
        self, repo: Repo, firing: firings.Firing, at: PolicyAt | Broken | None
    ) -> firings.FiringPlan:
        """Plan a firing on the head of its branch, or say why it starts nothing."""
        entry = _entry(at, firing.name)
        if isinstance(at, Broken):
            return firings.refuse(firing, "the policy has errors")
        if entry is None:
            return firings.refuse(firing, "the policy no longer has a schedule of this name")
        branch = entry.ref or repo.default_branch
        own = await self._policies.of(repo, branch)
        if not isinstance(own, PolicyAt):
            return firings.refuse(firing, f"the policy of {branch} has errors")
        names = nightly_suites(own.policy, entry)
        if not names:
            return firings.refuse(firing, "it names no suite with the trigger nightly")
        if own.policy.mode is Mode.DRY_RUN:
            would = f"dry run: would run {listing(names)} on {branch}"
            return firings.plan_nothing(firing, firings.FiringState.SKIPPED, would)
        return await self._start(repo, firing, own, entry)

    async def _start(
        self, repo: Repo, firing: firings.Firing, own: PolicyAt, entry: Nightly
    ) -> firings.FiringPlan:
        branch = entry.ref or repo.default_branch
        try:
            tip = await self._github.tip(repo, branch)
        except Permanent as error:
            return firings.refuse(firing, f"GitHub did not name its head: {in_words(str(error))}")
        if tip is None:
            return firings.refuse(firing, f"there is no branch {branch}")
        commit = Commit(
            repo_id=repo.id,
            sha=tip,
            at=own,
            source=firings.firing_source(firing.name, firing.at),
            rank=Rank.NIGHTLY,
            origin=Message("origin_nightly", name=firing.name, at=firing.at),
        )
        runs = firings.NightRuns(
            at_head=await self._store.runs.at(repo.id, tip),
            before=await self._store.runs.claimed_as(repo.id, firings.source_prefix(firing.name)),
        )
        return firings.plan_firing(firing, commit, entry, runs, self._maker())

    def _tell(self, firing: firings.Firing) -> None:
        self._log.info(
            "a schedule fired",
            repo_id=firing.repo_id,
            schedule=firing.name,
            at=firing.at.isoformat(),
            state=firing.state.value,
            note=firing.note,
        )


def _entries(at: PolicyAt | None) -> tuple[Nightly, ...]:
    return at.policy.nightly if at else ()


def _entry(at: PolicyAt | Broken | None, name: str) -> Nightly | None:
    entries = _entries(at) if not isinstance(at, Broken) else ()
    return next((entry for entry in entries if entry.name == name), None)
