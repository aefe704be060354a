"""What a suite's last good runs took and measured, for the report of a run that has ended."""

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import ColumnElement, Text, and_, not_, or_, select, type_coerce

from bot.core.digest.result import Progress
from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.usual import GoodRun, Usual
from bot.core.runs.hidden import HIDES
from bot.store.database import DbConnection
from bot.store.tables import rayjobs, runs

GOOD_RUNS = 5
_SINCE = timedelta(days=30)
_why = type_coerce(runs.c.why, Text)  # as stored: its key comes first
_TOLD = frozenset({Outcome.SUCCESS, Outcome.FAILURE})  # ends that show what was measured


async def usual_of(conn: DbConnection, found: Iterable[Run]) -> dict[RunId, Usual]:
    """Return what is usual for the runs that have measured something.

    Good runs are of the same work, passed, and were for no pull request: nightly runs and pushes.
    """
    ended = [run for run in found if run.state is State.DONE and run.outcome in _TOLD]
    return {run.id: await _usual(conn, run) for run in ended}


def passed_before(run: Run) -> ColumnElement[bool]:
    """Return the condition for runs of the same work that passed before this one ended.

    One whose log shows that a process died is none, whatever GitHub calls it.
    """
    until = run.ended_at or run.created_at
    return and_(
        runs.c.repo_id == run.repo_id,
        runs.c.suite == run.suite,
        runs.c.essence == run.snapshot.essence,
        runs.c.outcome == Outcome.SUCCESS,
        not_(or_(*(_why.startswith(f'["{key}"') for key in HIDES))),
        runs.c.ended_at < until,
        runs.c.ended_at > until - _SINCE,
    )


async def _usual(conn: DbConnection, run: Run) -> Usual:
    query = (
        select(runs.c.id, runs.c.started_at, runs.c.ended_at)
        .where(passed_before(run), runs.c.number.is_(None), runs.c.started_at.is_not(None))
        .order_by(runs.c.ended_at.desc())
        .limit(GOOD_RUNS)
    )
    good = (await conn.execute(query)).all()
    told = await _progress(conn, [row.id for row in good]) if good else {}
    items = (GoodRun(row.ended_at - row.started_at, told.get(row.id)) for row in good)
    return Usual(run.snapshot.policy_ref, tuple(items))


async def _progress(conn: DbConnection, run_ids: list[str]) -> dict[str, Progress]:
    """Return the last progress of each run's first RayJob with any."""
    query = (
        select(rayjobs.c.run_id, rayjobs.c.progress)
        .where(rayjobs.c.run_id.in_(run_ids))
        .order_by(rayjobs.c.job_id.desc())
    )
    rows = (await conn.execute(query)).all()
    return {row.run_id: row.progress for row in rows if row.progress is not None}
