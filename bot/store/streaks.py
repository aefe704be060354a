"""How the last runs of a suite in quarantine ended: one that always passes needs none."""

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import select

from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.usual import PastEnd
from bot.store.database import DbConnection
from bot.store.tables import runs

_MOST = 20
_SINCE = timedelta(days=30)
_TOLD = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMED_OUT, Outcome.BROKEN)


async def past_ends(conn: DbConnection, found: Iterable[Run]) -> dict[RunId, tuple[PastEnd, ...]]:
    """Return the ends of the same work up to that of each run with a quarantine, newest first."""
    asked = [run for run in found if run.state is State.DONE and run.snapshot.quarantine]
    return {run.id: await _ends(conn, run) for run in asked}


async def _ends(conn: DbConnection, run: Run) -> tuple[PastEnd, ...]:
    until = run.ended_at or run.created_at
    query = (
        select(runs.c.outcome, runs.c.failed_tests)
        .where(
            runs.c.repo_id == run.repo_id,
            runs.c.suite == run.suite,
            runs.c.essence == run.snapshot.essence,
            runs.c.outcome.in_(_TOLD),
            runs.c.ended_at <= until,
            runs.c.ended_at > until - _SINCE,
        )
        .order_by(runs.c.ended_at.desc())
        .limit(_MOST)
    )
    rows = (await conn.execute(query)).all()
    return tuple(PastEnd(row.outcome, row.failed_tests) for row in rows)
