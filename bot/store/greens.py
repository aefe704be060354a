"""The last green run of the same work as one that failed, and what it ran with."""

from collections.abc import Iterable

from sqlalchemy import select

from bot.core.model.ids import RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.usual import LastGreen
from bot.core.report.digest import environment_of
from bot.store.database import DbConnection
from bot.store.rows import load_by_run
from bot.store.tables import rayjobs, run_events, runs
from bot.store.usual import passed_before


async def last_greens(conn: DbConnection, found: Iterable[Run]) -> dict[RunId, LastGreen]:
    """Return for each run that failed the last one that passed, if its log tells of it."""
    failed = [run for run in found if run.state is State.DONE and run.outcome is Outcome.FAILURE]
    greens = {run.id: await _green(conn, run) for run in failed}
    return {run_id: green for run_id, green in greens.items() if green}


async def _green(conn: DbConnection, run: Run) -> LastGreen | None:
    query = (
        select(runs.c.id, runs.c.sha, runs.c.ended_at)
        .where(passed_before(run))
        .order_by(runs.c.ended_at.desc())
        .limit(1)
    )
    row = (await conn.execute(query)).first()
    if row is None:
        return None
    events = await load_by_run(conn, RunEvent, run_events, {row.id})
    jobs = await load_by_run(conn, RayJob, rayjobs, {row.id})
    known = environment_of(events.get(row.id, ()), jobs.get(row.id, ()))
    return LastGreen(row.sha, row.ended_at, known) if known else None
