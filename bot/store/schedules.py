"""Schedules and their firings. Each time fires once, whatever the replicas and restarts."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, select, update

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.planning.plan import AuditEntry, Plan, RunClaimants
from bot.core.planning.schedule import Firing, FiringState, Schedule, ScheduleChange, firing_source
from bot.store.audit import add_audit
from bot.store.database import DbConnection, Part, insert
from bot.store.plans import topics, write_plan
from bot.store.rows import load, load_all, load_repos, load_runs, values, with_claimants
from bot.store.tables import claimants, firings, policies, repos, runs, schedules


@dataclass(frozen=True, slots=True)
class RepoSchedules:
    """An active repository, the policy of its default branch as last read, and its schedules."""

    repo: Repo
    policy: StoredPolicy | None  # None: not known
    schedules: tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class SchedulesDue:
    """What should start now: schedules that are due, and firings that operators asked for."""

    schedules: tuple[tuple[Repo, Schedule], ...] = ()
    asked: tuple[tuple[Repo, Firing], ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleListing:
    """A schedule with its last firings, newest first, as operators list it."""

    repo: Repo
    schedule: Schedule
    firings: tuple[Firing, ...]


class Schedules(Part):
    """Stores schedules and fires them."""

    async def by_repo(self) -> tuple[RepoSchedules, ...]:
        """Return every active repository with its policy and its schedules, by id."""

        async def work(
            conn: DbConnection,
        ) -> tuple[tuple[Repo, ...], tuple[StoredPolicy, ...], tuple[Schedule, ...]]:
            return (
                await load_all(conn, Repo, repos, repos.c.active),
                await load_all(conn, StoredPolicy, policies),
                await load_all(conn, Schedule, schedules),
            )

        found, stored, times = await self._db.read(work)
        known = {(row.repo_id, row.ref): row for row in stored}
        by_repo: defaultdict[RepoId, list[Schedule]] = defaultdict(list)
        for row in times:
            by_repo[row.repo_id].append(row)
        return tuple(
            RepoSchedules(repo, known.get((repo.id, repo.default_branch)), tuple(by_repo[repo.id]))
            for repo in sorted(found, key=lambda repo: repo.id)
        )

    async def save(self, change: ScheduleChange) -> None:
        """Write new and changed schedules, and delete those that are gone.

        A row that another replica has written meanwhile stays: both read the same policy.
        """

        async def work(conn: DbConnection) -> None:
            for row in change.drop:
                await conn.execute(delete(schedules).where(_same(row)))
            for row in change.put:
                query = insert(conn, schedules).values(values(row))
                changed = {"cron": row.cron, "next": row.next}
                query = query.on_conflict_do_update(
                    index_elements=["repo_id", "name"],
                    set_=changed,
                    where=schedules.c.cron != row.cron,
                )
                await conn.execute(query)

        await self._db.write(work)

    async def move_back(self, seen: Schedule, row: Schedule) -> None:
        """Write an earlier next time if the row is still as seen."""
        change = (
            update(schedules)
            .where(_same(seen), schedules.c.next == seen.next)
            .values(next=row.next)
        )
        await self._db.write(lambda conn: conn.execute(change))

    async def due(self, now: datetime) -> SchedulesDue:
        """Return the schedules and firings that should start now, longest due first."""

        async def work(conn: DbConnection) -> SchedulesDue:
            found = await load_all(conn, Schedule, schedules, schedules.c.next <= now)
            asked = await load_all(conn, Firing, firings, firings.c.state == FiringState.ASKED)
            if not (found or asked):
                return SchedulesDue()
            ids = {row.repo_id for row in found} | {row.repo_id for row in asked}
            known = await load_repos(conn, ids)
            return SchedulesDue(
                tuple((known[row.repo_id], row) for row in sorted(found, key=lambda row: row.next)),
                tuple((known[row.repo_id], row) for row in sorted(asked, key=lambda row: row.at)),
            )

        return await self._db.read(work)

    async def fire(
        self, seen: Schedule, then: datetime, firing: Firing, plan: Plan, now: datetime
    ) -> bool:
        """Set the next time to ``then``, keep the firing and start its runs, in one transaction.

        False: another replica was first, or the firing had started when a clock ran ahead.
        """
        move = update(schedules).where(_same(seen), schedules.c.next == seen.next).values(next=then)

        async def work(conn: DbConnection) -> bool:
            if (await conn.execute(move)).rowcount == 0:
                return False
            query = insert(conn, firings).values(values(firing))
            query = query.on_conflict_do_update(
                index_elements=["repo_id", "name", "at"],
                set_={"state": firing.state, "sha": firing.sha, "note": firing.note},
                where=firings.c.state == FiringState.SKIPPED,
            )
            if (await conn.execute(query)).rowcount == 0:
                return False
            await write_plan(conn, plan, now, self._new_id)
            return True

        return self._poked(await self._db.write(work), plan)

    async def fire_asked(self, firing: Firing, plan: Plan, now: datetime) -> bool:
        """Start a firing that was asked for; False: another replica was first."""

        async def work(conn: DbConnection) -> bool:
            if not await _save(conn, firing, FiringState.ASKED):
                return False
            await write_plan(conn, plan, now, self._new_id)
            return True

        return self._poked(await self._db.write(work), plan)

    def _poked(self, written: bool, plan: Plan) -> bool:
        if written:
            self._wake.poke(*topics(plan))
        return written

    async def open_firings(self) -> tuple[tuple[Firing, tuple[RunClaimants, ...]], ...]:
        """Return the firings that are not done, with all runs that they ever claimed."""

        async def work(conn: DbConnection) -> tuple[tuple[Firing, tuple[RunClaimants, ...]], ...]:
            found = await load_all(conn, Firing, firings, firings.c.state == FiringState.STARTED)
            return tuple(
                [
                    (
                        firing,
                        await _runs_of(conn, firing.repo_id, firing_source(firing.name, firing.at)),
                    )
                    for firing in sorted(found, key=lambda firing: firing.at)
                ]
            )

        return await self._db.read(work)

    async def settle(self, firing: Firing) -> None:
        """Write that a started firing is done."""
        await self._db.write(lambda conn: _save(conn, firing, FiringState.STARTED))

    async def listing(self, *, each: int) -> tuple[ScheduleListing, ...]:
        """Return every schedule with its last firings, ``each`` at most, by repository and name."""
        listed = await self._db.read(lambda conn: _listed(conn, each))
        return tuple(sorted(listed, key=lambda item: (item.repo.full_name, item.schedule.name)))

    async def ask(self, firing: Firing, entry: AuditEntry) -> None:
        """Ask the service to fire now; two requests in one second count once."""

        async def work(conn: DbConnection) -> None:
            query = insert(conn, firings).values(values(firing)).on_conflict_do_nothing()
            await conn.execute(query)
            await add_audit(conn, (entry,))

        await self._db.write(work)

    async def runs_of(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return all runs that a firing ever claimed, oldest first."""
        return await self._db.read(lambda conn: _runs_of(conn, repo_id, source))

    async def prune(self, before: datetime) -> None:
        """Delete older firings, except those whose runs go on."""
        old = delete(firings).where(firings.c.at < before, firings.c.state != FiringState.STARTED)
        await self._db.write(lambda conn: conn.execute(old))


async def _listed(conn: DbConnection, each: int) -> list[ScheduleListing]:
    known = {repo.id: repo for repo in await load_all(conn, Repo, repos)}
    listed = []
    for row in await load_all(conn, Schedule, schedules):
        mine = (firings.c.repo_id == row.repo_id) & (firings.c.name == row.name)
        query = select(firings).where(mine).order_by(firings.c.at.desc()).limit(each)
        last = tuple(load(Firing, item) for item in (await conn.execute(query)).mappings())
        listed.append(ScheduleListing(known[row.repo_id], row, last))
    return listed


async def _runs_of(conn: DbConnection, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
    ids = select(claimants.c.run_id).where(claimants.c.source == source)
    found = await load_runs(conn, runs.c.repo_id == repo_id, runs.c.id.in_(ids))
    return await with_claimants(conn, found)


async def _save(conn: DbConnection, firing: Firing, before: FiringState) -> bool:
    """Write a firing that was in the state ``before``; False: its state has changed."""
    mine = (firings.c.repo_id == firing.repo_id) & (firings.c.name == firing.name)
    change = update(firings).where(mine, firings.c.at == firing.at, firings.c.state == before)
    written = await conn.execute(
        change.values(state=firing.state, sha=firing.sha, note=firing.note)
    )
    return written.rowcount == 1


def _same(row: Schedule) -> ColumnElement[bool]:
    return (schedules.c.repo_id == row.repo_id) & (schedules.c.name == row.name)
