"""Nightly times and nights: each fires once, whatever the replicas and restarts."""

from collections import defaultdict
from datetime import datetime

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.planning.plan import AuditEntry, Plan, RunClaimants
from bot.core.planning.schedule import Cron, Night, NightState, Schedule, night_source
from bot.ports.nights import NightsDue, ScheduleListing, Timed
from bot.store.audit import add_audit
from bot.store.changes import ChangeRows, topics
from bot.store.database import insert
from bot.store.rows import load, load_all, load_claimants, load_runs, values
from bot.store.tables import claimants, policies, repos, runs
from bot.store.tables_scarce import crons, nights


class NightRows(ChangeRows):
    """Implements ``NightStore`` and ``NightLister``."""

    async def timed_repos(self) -> tuple[Timed, ...]:
        """Return every active repository with what says when its nights are, by id."""
        async with self._db.read() as conn:
            found = await load_all(conn, Repo, repos, repos.c.active)
            stored = await load_all(conn, StoredPolicy, policies)
            times = await load_all(conn, Cron, crons)
        known = {(row.repo_id, row.ref): row for row in stored}
        by_repo: defaultdict[RepoId, list[Cron]] = defaultdict(list)
        for row in times:
            by_repo[row.repo_id].append(row)
        return tuple(
            Timed(repo, known.get((repo.id, repo.default_branch)), tuple(by_repo[repo.id]))
            for repo in sorted(found, key=lambda repo: repo.id)
        )

    async def save_schedule(self, schedule: Schedule) -> None:
        """Write times that are new or changed, and drop those that are gone.

        A time that another replica has written meanwhile stays: both read the same policy.
        """

        async def work(conn: AsyncConnection) -> None:
            for row in schedule.drop:
                await conn.execute(delete(crons).where(_same(row)))
            for row in schedule.put:
                query = insert(conn, crons).values(values(row))
                changed = {"cron": row.cron, "next": row.next}
                query = query.on_conflict_do_update(
                    index_elements=["repo_id", "name"],
                    set_=changed,
                    where=crons.c.cron != row.cron,
                )
                await conn.execute(query)

        await self._db.write(work)

    async def put_back(self, seen: Cron, row: Cron) -> None:
        """Write an earlier time in place of the one seen."""
        change = update(crons).where(_same(seen), crons.c.next == seen.next).values(next=row.next)
        await self._db.write(lambda conn: conn.execute(change))

    async def nights_due(self, now: datetime) -> NightsDue:
        """Return what should start now, longest due first."""
        async with self._db.read() as conn:
            found = await load_all(conn, Cron, crons, crons.c.next <= now)
            asked = await load_all(conn, Night, nights, nights.c.state == NightState.ASKED)
            if not (found or asked):
                return NightsDue()
            ids = {row.repo_id for row in found} | {row.repo_id for row in asked}
            known = {
                repo.id: repo for repo in await load_all(conn, Repo, repos, repos.c.id.in_(ids))
            }
        return NightsDue(
            tuple((known[row.repo_id], row) for row in sorted(found, key=lambda row: row.next)),
            tuple((known[row.repo_id], row) for row in sorted(asked, key=lambda row: row.at)),
        )

    async def fire(
        self, seen: Cron, then: datetime, night: Night, changes: Plan, now: datetime
    ) -> bool:
        """Move the time on, keep the night and start it, in one transaction.

        False: the time has moved, or the night was started before, by a clock that ran ahead.
        """
        move = update(crons).where(_same(seen), crons.c.next == seen.next).values(next=then)

        async def work(conn: AsyncConnection) -> bool:
            if (await conn.execute(move)).rowcount == 0:
                return False
            query = insert(conn, nights).values(values(night))
            query = query.on_conflict_do_update(
                index_elements=["repo_id", "name", "at"],
                set_={"state": night.state, "sha": night.sha, "note": night.note},
                where=nights.c.state == NightState.SKIPPED,
            )
            if (await conn.execute(query)).rowcount == 0:
                return False
            await self.write_changes(conn, changes, now)
            return True

        return self._told(await self._db.write(work), changes)

    async def fire_asked(self, night: Night, changes: Plan, now: datetime) -> bool:
        """Start a night that was asked for; False: another replica has."""

        async def work(conn: AsyncConnection) -> bool:
            if not await _save(conn, night, NightState.ASKED):
                return False
            await self.write_changes(conn, changes, now)
            return True

        return self._told(await self._db.write(work), changes)

    def _told(self, written: bool, changes: Plan) -> bool:
        if written:
            self._wake.poke(*topics(changes))
        return written

    async def open_nights(self) -> tuple[tuple[Night, tuple[RunClaimants, ...]], ...]:
        """Return the nights that are not known to be done, with the runs they want or wanted."""
        async with self._db.read() as conn:
            found = await load_all(conn, Night, nights, nights.c.state == NightState.STARTED)
            return tuple(
                [
                    (night, await _runs_of(conn, night.repo_id, night_source(night.name, night.at)))
                    for night in sorted(found, key=lambda night: night.at)
                ]
            )

    async def settle_night(self, night: Night) -> None:
        """Write that a started night is done."""
        await self._db.write(lambda conn: _save(conn, night, NightState.STARTED))

    async def list_nights(self, *, each: int) -> tuple[ScheduleListing, ...]:
        """Return every time with its last nights, ``each`` at most, by repository and name."""
        async with self._db.read() as conn:
            known = {repo.id: repo for repo in await load_all(conn, Repo, repos)}
            times = await load_all(conn, Cron, crons)
            told = []
            for row in times:
                mine = (nights.c.repo_id == row.repo_id) & (nights.c.name == row.name)
                query = select(nights).where(mine).order_by(nights.c.at.desc()).limit(each)
                found = (await conn.execute(query)).mappings()
                last = tuple(load(Night, item) for item in found)
                told.append(ScheduleListing(known[row.repo_id], row, last))
        return tuple(sorted(told, key=lambda item: (item.repo.full_name, item.cron.name)))

    async def ask_night(self, night: Night, entry: AuditEntry) -> None:
        """Ask the service to start a night now; twice in a second is once."""

        async def work(conn: AsyncConnection) -> None:
            query = insert(conn, nights).values(values(night)).on_conflict_do_nothing()
            await conn.execute(query)
            await add_audit(conn, (entry,))

        await self._db.write(work)

    async def runs_of_night(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return the runs that a night wants or wanted, oldest first."""
        async with self._db.read() as conn:
            return await _runs_of(conn, repo_id, source)

    async def prune_nights(self, before: datetime) -> None:
        """Forget nights that are older; what runs still want is kept."""
        old = delete(nights).where(nights.c.at < before, nights.c.state != NightState.STARTED)
        await self._db.write(lambda conn: conn.execute(old))


async def _runs_of(conn: AsyncConnection, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
    carriers = select(claimants.c.run_id).where(claimants.c.source == source)
    found = await load_runs(conn, runs.c.repo_id == repo_id, runs.c.id.in_(carriers))
    wanted = await load_claimants(conn, (run.id for run in found))
    return tuple(RunClaimants(run, wanted.get(run.id, ())) for run in found)


async def _save(conn: AsyncConnection, night: Night, before: NightState) -> bool:
    """Write a night that was in the state ``before``; False: it is not any more."""
    mine = (nights.c.repo_id == night.repo_id) & (nights.c.name == night.name)
    change = update(nights).where(mine, nights.c.at == night.at, nights.c.state == before)
    written = await conn.execute(change.values(state=night.state, sha=night.sha, note=night.note))
    return written.rowcount == 1


def _same(row: Cron) -> ColumnElement[bool]:
    return (crons.c.repo_id == row.repo_id) & (crons.c.name == row.name)
