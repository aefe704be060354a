"""One commit for a decision: everything a delivery or a sweep leads to, in one transaction."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Executable, case, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.model.ids import RunId
from bot.core.model.pulls import Pull
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Claimant, Run, State, StopReason, StopRequest
from bot.ports.inbox import DropClaimant, Plan
from bot.ports.lease import Lease
from bot.ports.wake import Topic, Wake
from bot.store.audit import add_audit
from bot.store.checks_touch import (
    NewId,
    add_proposal,
    add_run_check,
    put_reply,
    show_again,
    touch_gate,
)
from bot.store.database import Database, insert
from bot.store.deliveries import finish_delivery
from bot.store.records import runs_let_down, save_records, take_up_reports
from bot.store.rows import FREE, moment, values
from bot.store.tables import claimants, pulls, run_events, runs

# Two commits may race for a suite's open place or its next attempt number; each round one wins.
_TRIES = 20


class ChangeRows:
    """Implements the inbox's ``commit``."""

    _db: Database
    _wake: Wake
    _new_id: NewId

    async def commit(
        self, changes: Plan, now: datetime, *, done: Lease | None, note: str = ""
    ) -> bool:
        """Write ``changes`` and mark the delivery done, in one transaction."""

        async def work(conn: AsyncConnection) -> bool:
            if changes.basis is not None and not await _is_head(conn, changes.basis):
                return False
            if done is not None and not await finish_delivery(conn, done, note):
                return False
            await self.write_changes(conn, changes, now)
            return True

        written = await self._db.write(work)
        if written:
            self._wake.poke(*topics(changes))
        return written

    async def write_changes(self, conn: AsyncConnection, changes: Plan, now: datetime) -> None:
        """Write ``changes`` inside a transaction; who owns it pokes their topics afterwards."""
        await save_records(conn, changes)
        placed = await self._change_runs(conn, changes, now)
        for gate in sorted(changes.gates, key=lambda item: (item.repo_id, item.sha)):
            await touch_gate(conn, gate, now, self._new_id)
        for again in changes.republish:
            await show_again(conn, again, now, self._new_id)
        if changes.proposal is not None:
            await add_proposal(conn, changes.proposal, now)
        for reply in changes.replies:
            run_ids = tuple(placed.get(run_id, run_id) for run_id in reply.run_ids)
            await put_reply(conn, replace(reply, run_ids=run_ids), now)
        await add_audit(conn, changes.audit)

    async def _change_runs(
        self, conn: AsyncConnection, changes: Plan, now: datetime
    ) -> dict[RunId, RunId]:
        """Change runs; return where each new run went: it itself, or the open one."""
        known = await lock_runs(conn, _touched(changes))
        placed: dict[RunId, RunId] = {}
        added = [claimant for claimant in changes.add_claimants if claimant.run_id in known]
        for run, its_wants in changes.new_runs:
            placed[run.id] = await place_run(conn, run, now)
            added += [replace(claimant, run_id=placed[run.id]) for claimant in its_wants]
        await add_claimants(conn, added, now)
        await _force(conn, changes, placed, now)
        for drop in changes.drop_claimants:
            await drop_claimant(conn, drop, now)
        for run_id, stop_request in changes.stop_requests:
            await request_stop(conn, placed.get(run_id, run_id), stop_request, now)
        moved = (
            replace(run_event, run_id=placed.get(run_event.run_id, run_event.run_id))
            for run_event in changes.run_events
        )
        poked = await add_run_events(conn, tuple(moved))
        if changes.installation is not None:
            poked |= await runs_let_down(conn, changes.installation)
            await take_up_reports(conn, changes.installation, now)
        await poke_runs(conn, poked, now)
        return placed


async def _is_head(conn: AsyncConnection, basis: Pull) -> bool:
    """Tell whether a pull request is open at that head; it stays so until the commit."""
    same = (pulls.c.repo_id == basis.repo_id) & (pulls.c.number == basis.number)
    query = select(pulls.c.head_sha).where(same, pulls.c.open).with_for_update()
    return await conn.scalar(query) == basis.head_sha


def _touched(changes: Plan) -> set[RunId]:
    """Return the known runs that the changes write to."""
    return {
        *(claimant.run_id for claimant in changes.add_claimants),
        *(drop.run_id for drop in changes.drop_claimants),
        *(run_id for run_id, _ in changes.stop_requests),
        *(run_id for run_id, _ in changes.forced),
        *(run_event.run_id for run_event in changes.run_events),
    }


def topics(changes: Plan) -> tuple[Topic, ...]:
    """Return who has something to do once the changes are written."""
    runner = bool(changes.new_runs or _touched(changes) or changes.installation)
    shown = changes.gates or changes.replies or changes.republish or changes.installation
    reporter = bool(changes.new_runs or shown or changes.proposal)
    chosen = ((Topic.RUNNER, runner), (Topic.REPORTER, reporter))
    return tuple(topic for topic, wanted in chosen if wanted)


async def lock_runs(conn: AsyncConnection, run_ids: set[RunId]) -> set[RunId]:
    """Lock runs in the order of their ids, so that two transactions can't wait for each other.

    Returns those that there are: others were pruned since they were read.
    """
    if not run_ids:
        return set()
    query = select(runs.c.id).where(runs.c.id.in_(run_ids)).order_by(runs.c.id)
    return {RunId(run_id) for run_id in await conn.scalars(query.with_for_update())}


async def place_run(conn: AsyncConnection, run: Run, now: datetime) -> RunId:
    """Insert a run, due now, or return the open one of its (repository, SHA, suite)."""
    same = (runs.c.repo_id == run.repo_id) & (runs.c.sha == run.sha) & (runs.c.suite == run.suite)
    attempt = run.attempt
    for _ in range(_TRIES):
        row = {**values(run), "attempt": attempt, "due": now}
        made = await conn.execute(
            insert(conn, runs).values(row).on_conflict_do_nothing().returning(runs.c.id)
        )
        if made.first() is not None:
            await add_run_check(conn, run, now)
            return run.id
        acquired = select(runs.c.id).where(same, runs.c.state != State.DONE).with_for_update()
        holder = (await conn.execute(acquired)).scalar()
        if holder is not None:
            return RunId(holder)
        highest = await conn.scalar(select(func.max(runs.c.attempt)).where(same))
        attempt = (highest or 0) + 1
    message = f"run {run.id} ({run.suite}) finds no place"
    raise RuntimeError(message)


async def add_claimants(conn: AsyncConnection, added: list[Claimant], now: datetime) -> None:
    """Add wants and poke their runs; a run nobody wanted any more is wanted again."""
    if not added:
        return
    for claimant in added:
        await conn.execute(_put_claimant(conn, claimant))
    await _claim_again(conn, {claimant.run_id for claimant in added})
    await poke_runs(conn, {claimant.run_id for claimant in added}, now)


def _put_claimant(conn: AsyncConnection, claimant: Claimant) -> Executable:
    """Return the insert of a want; one that is there becomes a person's, and never a lesser one."""
    new = insert(conn, claimants).values(values(claimant))
    added, persons = new.excluded, claimants.c.auto & ~new.excluded.auto
    more = {
        "auto": claimants.c.auto & added.auto,
        "by": case((persons, added.by), else_=claimants.c.by),
        "rank": case((added.rank < claimants.c.rank, added.rank), else_=claimants.c.rank),
    }
    return new.on_conflict_do_update(index_elements=["run_id", "source"], set_=more)


async def _claim_again(conn: AsyncConnection, run_ids: set[RunId]) -> None:
    """Clear the supersede wish of runs that were not dispatched yet.

    The lease is taken away too: a runner that has read the wish must not end the run with it.
    """
    found = await conn.execute(
        select(runs.c.id, runs.c.stop_request).where(
            runs.c.id.in_(run_ids),
            runs.c.stop_request.is_not(None),
            runs.c.state.in_([State.NEEDS_APPROVAL, State.QUEUED]),
        )
    )
    cleared = [
        run_id for run_id, stop_request in found if stop_request.kind is StopReason.SUPERSEDE
    ]
    if cleared:
        await conn.execute(
            update(runs)
            .where(runs.c.id.in_(cleared))
            .values(stop_request=None, lease_number=runs.c.lease_number + 1, **FREE)
        )


async def _force(
    conn: AsyncConnection, changes: Plan, placed: dict[RunId, RunId], now: datetime
) -> None:
    """Lift the limits for runs that wait, also for those that a new one has met, and poke them."""
    met = ((placed[run.id], run.forced) for run, _ in changes.new_runs if placed[run.id] != run.id)
    for run_id, who in (*changes.forced, *met):
        waits = (runs.c.id == run_id) & (runs.c.state == State.QUEUED) & (runs.c.forced == "")
        if who and (await conn.execute(update(runs).where(waits).values(forced=who))).rowcount:
            await poke_runs(conn, {run_id}, now)


async def drop_claimant(conn: AsyncConnection, drop: DropClaimant, now: datetime) -> None:
    """Take a want off a run; the last one gone, wish it superseded."""
    gone = await conn.execute(
        delete(claimants).where(
            claimants.c.run_id == drop.run_id, claimants.c.source == drop.source
        )
    )
    if gone.rowcount == 0:
        return
    left = await conn.scalar(select(func.count()).where(claimants.c.run_id == drop.run_id))
    if left == 0:
        stop_request = StopRequest(kind=StopReason.SUPERSEDE, by="", reason=drop.reason, at=now)
        await request_stop(conn, drop.run_id, stop_request, now)


async def request_stop(
    conn: AsyncConnection, run_id: RunId, stop_request: StopRequest, now: datetime
) -> None:
    """Write a wish unless one stands in its way, and poke the run."""
    await conn.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.state != State.DONE)
        .values(
            stop_request=await stop_request_to_keep(conn, run_id, stop_request),
            due=now,
            pokes=runs.c.pokes + 1,
        )
    )


async def stop_request_to_keep(
    conn: AsyncConnection, run_id: RunId, stop_request: StopRequest
) -> StopRequest:
    """Return the first wish of a run, but any other before one to supersede it.

    A run may be wanted again: what nobody wanted for a while can still be cancelled.
    """
    query = select(runs.c.stop_request).where(runs.c.id == run_id).with_for_update()
    first: StopRequest | None = await conn.scalar(query)
    return first if first and first.kind is not StopReason.SUPERSEDE else stop_request


async def add_run_events(conn: AsyncConnection, added: tuple[RunEvent, ...]) -> set[RunId]:
    """Add facts of known runs that are not known yet; return the runs that learned something."""
    if not added:
        return set()
    known = await conn.scalars(
        select(runs.c.id).where(runs.c.id.in_({run_event.run_id for run_event in added}))
    )
    run_ids = set(known)
    rows = [
        {**values(run_event), "key": run_event.key}
        for run_event in added
        if run_event.run_id in run_ids
    ]
    if not rows:
        return set()
    query = insert(conn, run_events).on_conflict_do_nothing().returning(run_events.c.run_id)
    return set(await conn.scalars(query, rows))


async def poke_runs(
    conn: AsyncConnection, run_ids: set[RunId], now: datetime, *, first: bool = False
) -> None:
    """Make open runs due, and note that they were poked; one that is overdue keeps its turn.

    ``first``: they may start, so they come before whoever is due only to look at its place.
    """
    if run_ids:
        since = runs.c.created_at if first else runs.c.due
        due = case((since < now, since), else_=moment(now))
        await conn.execute(
            update(runs)
            .where(runs.c.id.in_(run_ids), runs.c.state != State.DONE)
            .values(due=due, pokes=runs.c.pokes + 1)
        )
