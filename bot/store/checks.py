"""Check rows under the reporter's lease, with the rows that their texts need."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    RowMapping,
    Select,
    Update,
    case,
    exists,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.messages import NOTHING
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Approval, Pull
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run, State
from bot.core.model.selections import StoredSelection
from bot.core.model.usual import UNKNOWN_USUAL
from bot.core.model.views import GateView, Proposal, PullComment, SuiteView
from bot.core.planning.shared import weigh
from bot.ports.wake import Topic
from bot.store.check_rows import bump_links, bump_quarantined, replace_check
from bot.store.database import DbConnection
from bot.store.greens import last_greens
from bot.store.leases import (
    FREE,
    Lease,
    claim_parameters,
    claim_statement,
    held,
    held_parameters,
    lease_of,
    still_held,
)
from bot.store.prepared import prepared
from bot.store.published import LISTED_AFTER, Published, due_now
from bot.store.pull_comments import put_comment
from bot.store.report_tables import checks
from bot.store.rows import load_by_run, load_found, load_repos, oldest_first, runs_of_ids
from bot.store.streaks import past_ends
from bot.store.tables import approvals, pulls, rayjobs, repos, run_events, runs, selections
from bot.store.unjudged import why_unjudged
from bot.store.usual import usual_of

Item = TypeVar("Item")
Commit = tuple[RepoId, Sha]
Repos = Sequence[RepoId]
Shas = Sequence[Sha]

# Progress of a run is shown at most so often.
PROGRESS_EVERY = timedelta(seconds=60)
_OF_ROW = (
    *("external_id", "sha", "name", "github_id", "create_tried", "ended", "want_version"),
    *("refusals", "shown"),
)


@dataclass(frozen=True, slots=True)
class Written:
    """What a check run says now, and what the comments of a gate's pull requests should say."""

    contents: str = ""  # a name of it: see `DueCheck.shows`
    comments: tuple[PullComment, ...] = ()


NOTHING_WRITTEN = Written()


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A check run that should show more than it does."""

    lease: Lease
    external_id: str
    repo: Repo
    sha: Sha
    name: str
    github_id: int | None  # None: not created yet
    create_tried: bool  # a create was sent and its answer is not stored: look for it first
    ended: bool  # shown as completed: can't be reopened
    want_version: int
    refusals: int  # since the last success
    shown: str  # the contents that GitHub shows, and the lease that wrote them
    view: SuiteView | GateView | Proposal
    remark: str = ""  # why a click started nothing; first in the summary

    def shows(self, contents: str) -> bool:
        """Return True if GitHub shows these contents for sure.

        Whoever held the row since may have written others, and died before it was recorded.
        """
        return self.shown == f"{self.lease.number - 1} {contents}"


def due_checks() -> Select[Any]:
    """Return the query of due checks: gates and ends first, then creations, then progress."""
    done = select(runs.c.state).where(runs.c.id == checks.c.run_id).correlate(checks)
    rank = case(
        (checks.c.run_id.is_(None), 0),
        (done.scalar_subquery() == State.DONE, 0),
        (checks.c.github_id.is_(None), 1),
        else_=2,
    )
    callable_now = exists().where(repos.c.id == checks.c.repo_id, repos.c.active)
    return (
        select(checks.c.external_id)
        .where(due_now(checks), checks.c.retired_at.is_(None), callable_now)
        .order_by(rank, checks.c.due, checks.c.external_id)
    )


@cache
def _claim() -> ReturningUpdate[Any]:
    return claim_statement(checks, due_checks())


class Checks(Published):
    """Claims checks and records the versions that GitHub shows."""

    _table = checks
    _urgent = checks.c.urgent_version

    def _key(self, lease: Lease) -> ColumnElement[bool]:
        return checks.c.external_id == lease.key

    async def claim(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[DueCheck, ...]:
        """Claim due checks: gates and ends first, then creations, then progress."""
        asked = claim_parameters(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: DbConnection) -> tuple[DueCheck, ...]:
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            rows = sorted(rows, key=lambda row: (row["due"], row["external_id"]))
            return tuple(sorted(await _due_checks(conn, rows, now), key=_rank))

        return await self._db.write(work)

    async def shown(
        self,
        lease: Lease,
        *,
        github_id: int,
        version: int,
        ended: bool,
        now: datetime,
        written: Written = NOTHING_WRITTEN,
    ) -> None:
        """Record the version that GitHub shows. A newer state is due at once, progress later.

        The comments that say the same on the pull requests are due from now on.
        """
        change = self._update_shown(
            lease,
            github_id=github_id,
            version=version,
            now=now,
            later=now + PROGRESS_EVERY,
            ended=ended,
            shown=f"{lease.number} {written.contents}",
            progress_from=now + PROGRESS_EVERY,
        )

        async def work(conn: DbConnection) -> None:
            await bump_links(conn, lease, github_id, now)
            mine = (await conn.execute(*change)).rowcount
            for comment in written.comments if mine else ():
                await put_comment(conn, comment, now)

        await self._db.write(work)

    async def creating(self, lease: Lease, now: datetime) -> bool:
        """Note that a create is about to be sent; return False if it must not be.

        On GitHub the newest check run of a name counts: that of an earlier attempt is not made once
        a later one has its own.
        """
        mine = held_parameters(lease, lease.key)
        tried = {**mine, "create_tried": True, "due": now + LISTED_AFTER}

        async def work(conn: DbConnection) -> bool:
            noted = await conn.execute(_held_row(overtaken=False), tried)
            if not noted.rowcount:
                retired = {**mine, "retired_at": now, "due": None, **FREE}
                await conn.execute(_held_row(overtaken=True), retired)
            return noted.rowcount == 1

        return await self._db.write(work)

    async def replace(self, lease: Lease, now: datetime) -> None:
        """Retire a completed check: a new row with a new external id takes its place, due now."""
        mine = self._key(lease) & held(checks, lease)
        await self._db.write(lambda conn: replace_check(conn, mine, now, self._new_id, ""))
        self._wake.poke(Topic.REPORTER)

    async def quarantines_ended(self, now: datetime) -> None:
        """Look anew at the gates that the end of a quarantine may change."""
        if await self._db.write(lambda conn: bump_quarantined(conn, now)):
            self._wake.poke(Topic.REPORTER)

    async def of_run(self, run_id: RunId) -> int | None:
        """Return GitHub's id of the check run that shows a run; None: not shown yet."""
        query = (
            select(checks.c.github_id)
            .where(checks.c.run_id == run_id, checks.c.github_id.is_not(None))
            .order_by(checks.c.retired_at.is_not(None), checks.c.touched_at.desc())
            .limit(1)
        )
        number: int | None = await self._db.read(lambda conn: conn.scalar(query))
        return number


@cache
def _held_row(*, overtaken: bool) -> Update:
    """Return the update of a row under its lease, if a later attempt has a row, or has none."""
    later = _later_check()
    its = update(checks).where(still_held(checks, checks.c.external_id))
    return its.where(later if overtaken else ~later)


def _later_check() -> ColumnElement[bool]:
    """Return SQL for "a later attempt of the run that the row shows has a row"."""
    mine, later, its = runs.alias("mine"), runs.alias("later"), checks.alias("its")
    same = [later.c[name] == mine.c[name] for name in ("repo_id", "sha", "suite")]
    return exists().where(
        mine.c.id == checks.c.run_id,
        *same,
        later.c.attempt > mine.c.attempt,
        its.c.run_id == later.c.id,
    )


def _rank(due: DueCheck) -> int:
    """Return the order in which checks are claimed; the query's, which RETURNING loses."""
    if not isinstance(due.view, SuiteView) or due.view.run.state is State.DONE:
        return 0
    return 1 if due.github_id is None else 2


async def _due_checks(
    conn: DbConnection, rows: Sequence[RowMapping], now: datetime
) -> tuple[DueCheck, ...]:
    if not rows:
        return ()
    known = await load_repos(conn, {row["repo_id"] for row in rows})
    suites = await _suite_views(conn, {row["run_id"] for row in rows if row["run_id"]})
    of_gates = [row for row in rows if row["run_id"] is row["proposal"] is None]
    gates = await _gate_views(conn, of_gates, known, now)

    def view(row: RowMapping) -> SuiteView | GateView | Proposal:
        proposal: Proposal | None = row["proposal"]
        if proposal is not None:
            return proposal
        return suites[row["run_id"]] if row["run_id"] else gates[row["external_id"]]

    return tuple(
        DueCheck(
            lease=lease_of(row, row["external_id"]),
            repo=known[row["repo_id"]],
            view=view(row),
            remark=row["remark"],
            **{name: row[name] for name in _OF_ROW},
        )
        for row in rows
    )


async def _suite_views(conn: DbConnection, run_ids: set[str]) -> dict[str, SuiteView]:
    if not run_ids:
        return {}
    story = await load_by_run(conn, RunEvent, run_events, run_ids)
    jobs = await load_by_run(conn, RayJob, rayjobs, run_ids)
    found = await load_found(conn, Run, *runs_of_ids(tuple(run_ids)))
    usual, past = await usual_of(conn, found), await past_ends(conn, found)
    greens = await last_greens(conn, found)
    return {
        run.id: SuiteView(
            run,
            story.get(run.id, ()),
            jobs.get(run.id, ()),
            usual.get(run.id, UNKNOWN_USUAL),
            past.get(run.id, ()),
            greens.get(run.id),
        )
        for run in found
    }


async def check_ids(conn: DbConnection, run_ids: Iterable[str]) -> dict[str, int]:
    """Return GitHub's id of the check run that shows each run, where there is one."""
    found = (await conn.execute(*_shown(tuple(run_ids)))).all()
    return {row.run_id: row.github_id for row in found}


@prepared
def _shown(run_ids: Sequence[str]) -> Select[Any]:
    return select(checks.c.run_id, checks.c.github_id).where(
        checks.c.run_id.in_(run_ids),
        checks.c.retired_at.is_(None),
        checks.c.github_id.is_not(None),
    )


def _grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> dict[Any, tuple[Item, ...]]:
    groups: defaultdict[Hashable, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return {name: tuple(group) for name, group in groups.items()}


async def _gate_views(
    conn: DbConnection, rows: Sequence[RowMapping], known: Mapping[RepoId, Repo], now: datetime
) -> dict[str, GateView]:
    """Load the rows behind the gates of many commits, with one query for each table."""
    if not rows:
        return {}
    commits = [sorted({row[name] for row in rows}) for name in ("repo_id", "sha")]
    heads = await load_found(conn, Pull, *_heads_at(*commits))
    heads = tuple(sorted(heads, key=lambda pull: pull.number))  # by SQL, SQLite reads them all
    chosen = await load_found(conn, StoredSelection, *_selections_at(*commits))
    found = await load_found(conn, Run, *_runs_at(*commits))
    granted = await load_found(conn, Approval, *_approvals_at(*commits))
    shown = await check_ids(conn, (run.id for run in found))
    unjudged = await why_unjudged(conn, *commits)
    pulls_at = _grouped(heads, lambda pull: (pull.repo_id, pull.head_sha))
    selected = _grouped(chosen, _commit)
    runs_at, approved = _grouped(found, _commit), _grouped(granted, _commit)

    def view(row: RowMapping) -> GateView:
        commit = (row["repo_id"], row["sha"])
        at = runs_at.get(commit, ())
        open_here = pulls_at.get(commit, ())
        weighed = weigh(open_here, selected.get(commit, ()), known[row["repo_id"]].default_branch)
        return GateView(
            sha=row["sha"],
            pulls=open_here,
            selections=weighed.selections,
            runs=at,
            check_ids={run.id: shown[run.id] for run in at if run.id in shown},
            approvals=approved.get(commit, ()),
            closed=row["closed"],
            unknown=unjudged.get(commit, NOTHING),
            overruled=weighed.overruled,
            at=now,
        )

    return {row["external_id"]: view(row) for row in rows}


def _at(repo_id: Column[Any], sha: Column[Any], asked: tuple[Repos, Shas]) -> ColumnElement[bool]:
    """Return SQL for "the row is at one of these commits"; for pairs SQLite takes no index.

    A commit of one repository may be that of another one, too: who reads groups by both.
    """
    repo_ids, shas = asked
    return repo_id.in_(repo_ids) & sha.in_(shas)


@prepared
def _heads_at(repo_ids: Repos, shas: Shas) -> Select[Any]:
    here = _at(pulls.c.repo_id, pulls.c.head_sha, (repo_ids, shas))
    return select(pulls).where(here, pulls.c.open)


@prepared
def _selections_at(repo_ids: Repos, shas: Shas) -> Select[Any]:
    here = _at(selections.c.repo_id, selections.c.sha, (repo_ids, shas))
    return select(selections).where(here).order_by(selections.c.number)


@prepared
def _runs_at(repo_ids: Repos, shas: Shas) -> Select[Any]:
    return oldest_first(_at(runs.c.repo_id, runs.c.sha, (repo_ids, shas)))


@prepared
def _approvals_at(repo_ids: Repos, shas: Shas) -> Select[Any]:
    here = _at(approvals.c.repo_id, approvals.c.sha, (repo_ids, shas))
    return select(approvals).where(here).order_by(approvals.c.at, approvals.c.by_id)


def _commit(item: Run | StoredSelection | Approval) -> Commit:
    return item.repo_id, item.sha
