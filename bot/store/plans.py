"""Writes a plan: everything a delivery or a sweep leads to, in one transaction."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import update

from bot.core.model.ids import RunId
from bot.core.model.run_events import RunEvent, WorkflowRunChanged
from bot.core.model.runs import State
from bot.core.planning.plan import Plan
from bot.ports.wake import Topic
from bot.store import check_rows, repos, run_rows
from bot.store.audit import add_audit
from bot.store.database import DbConnection, NewId, insert_unless_there
from bot.store.pulls import restate, save_former_heads, save_head, save_pull
from bot.store.rows import upsert, values
from bot.store.tables import approvals, policies, pushes, runs, selections
from bot.store.unjudged import forget_unjudged


async def write_plan(conn: DbConnection, plan: Plan, now: datetime, new_id: NewId) -> None:
    """Write a plan inside a transaction; the caller pokes its topics after the commit.

    Raise ``Transient`` if a run that the plan joins was superseded since the plan read it.
    """
    await _save_records(conn, plan)
    if plan.selection is not None:
        await forget_unjudged(conn, plan.selection)
    placed = await _change_runs(conn, plan, now)
    for gate in sorted(plan.gates, key=lambda item: (item.repo_id, item.sha)):
        await check_rows.touch_gate(conn, gate, now, new_id)
    for check in plan.republish:
        await check_rows.republish_check(conn, check, now, new_id)
    if plan.proposal is not None:
        await check_rows.add_proposal(conn, plan.proposal, now)
    for reply in plan.replies:
        run_ids = tuple(placed.get(run_id, run_id) for run_id in reply.run_ids)
        await check_rows.put_reply(conn, replace(reply, run_ids=run_ids), now)
    await add_audit(conn, plan.audit)


def topics(plan: Plan) -> tuple[Topic, ...]:
    """Return the loops that have something to do once the plan is written."""
    runner = bool(plan.new_runs or _known_runs(plan) or plan.installation)
    shown = plan.gates or plan.replies or plan.republish or plan.installation
    reporter = bool(plan.new_runs or shown or plan.proposal)
    chosen = ((Topic.RUNNER, runner), (Topic.REPORTER, reporter))
    return tuple(topic for topic, wanted in chosen if wanted)


async def _save_records(conn: DbConnection, plan: Plan) -> None:
    """Write the state that GitHub reported; the newest report counts."""
    if plan.repo is not None:
        await repos.save_repo(conn, plan.repo)
    if plan.head is not None:
        await save_head(conn, plan.head)
    await save_former_heads(conn, plan.former_heads)
    if plan.push is not None:  # a commit keeps its first pusher
        await conn.execute(insert_unless_there(conn, pushes), values(plan.push))
    if plan.pull is not None:
        await save_pull(conn, plan.pull)
    for table, record in (
        (selections, plan.selection),
        (approvals, plan.approval),
        (policies, plan.policy),
    ):
        if record is not None:
            await upsert(conn, table, record)
    for restated in plan.restated:
        await restate(conn, restated)
    if plan.installation is not None:
        await repos.save_installation(conn, plan.installation)
    if plan.forget_policy is not None:
        await repos.forget_policy(conn, *plan.forget_policy)


async def _change_runs(conn: DbConnection, plan: Plan, now: datetime) -> dict[RunId, RunId]:
    """Change runs; return for each new run its own id, or that of the open run it joined."""
    known = await run_rows.lock_runs(conn, _known_runs(plan))
    await run_rows.refuse_superseded(conn, {claimant.run_id for claimant in plan.add_claimants})
    await run_rows.set_apart(conn, plan.mistaken)  # first: others may take their places
    placed: dict[RunId, RunId] = {}
    added = [claimant for claimant in plan.add_claimants if claimant.run_id in known]
    for run, its_claimants in plan.new_runs:
        placed[run.id] = await run_rows.place_run(conn, run, now)
        added += [replace(claimant, run_id=placed[run.id]) for claimant in its_claimants]
    await run_rows.add_claimants(conn, added, now)
    await _force(conn, plan, placed, now)
    for drop in plan.drop_claimants:
        await run_rows.drop_claimant(conn, drop, now)
    for run_id in plan.mistaken:
        await run_rows.give_up_mistaken(conn, run_id, now)
    for run_id, stop_request in plan.stop_requests:
        await run_rows.request_stop(conn, placed.get(run_id, run_id), stop_request, now)
    moved = tuple(
        replace(event, run_id=placed.get(event.run_id, event.run_id)) for event in plan.run_events
    )
    poked = await run_rows.add_run_events(conn, moved)
    ended = poked & {event.run_id for event in moved if _tells_end(event)}
    if plan.installation is not None:
        poked |= await repos.open_runs_without_access(conn, plan.installation)
        await check_rows.retry_refused(conn, plan.installation, now)
    await run_rows.poke_runs(conn, poked - ended, now)
    await run_rows.poke_runs(conn, ended, now, first=True)
    return placed


def _tells_end(event: RunEvent) -> bool:
    return isinstance(event.what, WorkflowRunChanged) and event.what.status == "completed"


def _known_runs(plan: Plan) -> set[RunId]:
    """Return the stored runs that the plan writes to."""
    return {
        *(claimant.run_id for claimant in plan.add_claimants),
        *(drop.run_id for drop in plan.drop_claimants),
        *(run_id for run_id, _ in plan.stop_requests),
        *plan.mistaken,
        *(run_id for run_id, _ in plan.forced),
        *(event.run_id for event in plan.run_events),
    }


async def _force(conn: DbConnection, plan: Plan, placed: dict[RunId, RunId], now: datetime) -> None:
    """Lift the limits for runs that wait, also for those that a new one has met, and poke them."""
    met = ((placed[run.id], run.forced) for run, _ in plan.new_runs if placed[run.id] != run.id)
    for run_id, who in (*plan.forced, *met):
        waits = (runs.c.id == run_id) & (runs.c.state == State.QUEUED) & (runs.c.forced == "")
        if who and (await conn.execute(update(runs).where(waits).values(forced=who))).rowcount:
            await run_rows.poke_runs(conn, {run_id}, now)
