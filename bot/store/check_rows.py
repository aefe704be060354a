"""Making and bumping check and reply rows, inside the transactions of others."""

from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Text,
    Update,
    case,
    delete,
    exists,
    func,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.sql.dml import ReturningInsert

from bot.core.github.events import InstallationEvent
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.runs import Run, State
from bot.core.model.views import GateDue, Proposal, Reply
from bot.core.planning.plan import RepublishCheck
from bot.store.database import DbConnection, Insert, NewId, insert, insert_unless_there
from bot.store.leases import FREE, Lease, held_parameters, still_held
from bot.store.prepared import prepared
from bot.store.published import is_lost
from bot.store.report_tables import (
    IS_PROPOSAL,
    checks,
    pull_comments,
    replies,
    reply_runs,
)
from bot.store.rows import moment
from bot.store.tables import pulls, repos, runs, selections
from bot.store.unjudged import forget_unjudged, note_unjudged

_GATE = "ascend-ci"  # the name of a gate whose policy can't be read

# What a replaced row hands on to its successor.
_INHERITED = ("repo_id", "sha", "name", "run_id", "number", "closed")


async def add_run_check(conn: DbConnection, run: Run, now: datetime) -> None:
    """Make a run's check row, due now; its external id is the run's own."""
    named = {"run_id": run.id, "name": f"Ascend / {run.suite}", "number": run.number or 0}
    await conn.execute(insert(conn, checks), _row(run, run.id, now) | named)


def _row(its: Run | GateDue | Proposal, external_id: str, now: datetime) -> dict[str, Any]:
    where = {"repo_id": its.repo_id, "sha": its.sha}
    return {"external_id": external_id, **where, "due": now, "touched_at": now}


async def touch_gate(conn: DbConnection, gate: GateDue, now: datetime, new_id: NewId) -> None:
    """Make the gate of a commit, or bump it if it exists.

    A closed gate is never made.
    """
    if gate.closed:
        await _close_gate(conn, _gate_at(gate.repo_id, gate.sha), gate, now)
        return
    if gate.unknown:
        await note_unjudged(conn, gate)
    row = {**_row(gate, new_id(now), now), "name": _GATE, **_gate_values(gate)}
    made = await conn.execute(_put_gate(insert(conn, checks)), row)
    if made.first() is None:
        query, its = _bump_gate(gate.repo_id, gate.sha, now)
        change = (query, {**its, **_gate_values(gate)})
        if gate.name:
            query, its = _bump_gate_of_name(gate.repo_id, gate.sha, now, gate.name)
        if not (await conn.execute(query, {**its, **_gate_values(gate)})).rowcount:
            await _leave_name(conn, _gate_at(gate.repo_id, gate.sha), now, new_id)
            await conn.execute(*change)


async def _leave_name(
    conn: DbConnection, current: ColumnElement[bool], now: datetime, new_id: NewId
) -> None:
    """Let a gate that gets another name leave its check run as it is, if an older one has its name.

    On GitHub that one, which may be green, would be the newest of the name again.
    """
    former = checks.alias("former")
    same = (former.c.repo_id == checks.c.repo_id) & (former.c.sha == checks.c.sha)
    same &= (former.c.name == checks.c.name) & former.c.retired_at.is_not(None)
    await replace_check(conn, current & exists().where(same), now, new_id, "")


@cache
def _put_gate(query: Insert) -> ReturningInsert[Any]:
    one = query.on_conflict_do_nothing(index_elements=["repo_id", "sha"], index_where=_gate_row())
    return one.returning(checks.c.external_id)


async def _close_gate(
    conn: DbConnection, current: ColumnElement[bool], gate: GateDue, now: datetime
) -> None:
    """Close the gate of a commit that a pull request left; with another one it is looked at anew.

    An ended gate is closed only if it waits to be shown anew: it may be about to open again.
    """
    # Locked first: two pull requests may leave the commit, or get it, at the same moment.
    await conn.execute(select(checks.c.external_id).where(current).with_for_update())
    there = (pulls.c.repo_id == gate.repo_id) & (pulls.c.head_sha == gate.sha) & pulls.c.open
    await forget_unjudged(conn, gate)  # it is no matter of the others
    change = update(checks).where(current).values(_bumped(now))
    if not await conn.scalar(select(pulls.c.number).where(there).limit(1)):
        waits = checks.c.want_version > checks.c.shown_version
        change = change.where(~checks.c.ended | waits).values(closed=gate.closed)
    await conn.execute(change)


async def add_proposal(conn: DbConnection, proposal: Proposal, now: datetime) -> None:
    """Make the check of a proposed policy, due now; the same proposal is shown once.

    Those of former heads go: each holds two policies, and anybody can push a thousand.
    """
    its = (checks.c.repo_id == proposal.repo_id) & (checks.c.number == proposal.number)
    former = delete(checks).where(its, text(IS_PROPOSAL), checks.c.sha != proposal.sha)
    await conn.execute(former)
    named = {"name": f"{proposal.gate} policy", "number": proposal.number, "proposal": proposal}
    row = _row(proposal, proposal.key, now) | named
    await conn.execute(insert_unless_there(conn, checks), row)


def _gate_at(repo_id: RepoId, sha: Sha) -> ColumnElement[bool]:
    return (checks.c.repo_id == repo_id) & (checks.c.sha == sha) & _gate_row()


def _gate_row() -> ColumnElement[bool]:
    return _no_run() & checks.c.retired_at.is_(None)


def _no_run() -> ColumnElement[bool]:
    """Return SQL for "the row is a gate": neither a run's check nor a proposal's."""
    return checks.c.run_id.is_(None) & checks.c.proposal.is_(None)


def _gate_values(gate: GateDue) -> dict[str, Any]:
    known = {"number": gate.number, "name": gate.name}
    return {"closed": gate.closed} | {name: value for name, value in known.items() if value}


def _bumped(now: datetime) -> dict[str, Any]:
    """Return the columns of a row that should be shown anew at once, also a refused one.

    One whose creation may have happened waits until GitHub's list would show it.
    """
    waits = is_lost(checks) & (checks.c.due > now)
    return {
        "want_version": checks.c.want_version + 1,
        "urgent_version": checks.c.want_version + 1,
        "due": case((waits, checks.c.due), else_=moment(now)),
        "touched_at": now,
    }


async def bump_state(conn: DbConnection, run: Run, now: datetime, *, news: bool = False) -> None:
    """Show a run's new state at once; its commit's gate too at its end or with ``news``.

    The replies that list it show that it runs.
    """
    await conn.execute(*_bump_run(run.id, now))
    if run.state is State.RUNNING:
        await _bump_listing(conn, run.id, now)
    sums_up = run.outcome or run.state is State.NEEDS_APPROVAL  # the gate's own conclusion
    bump = _bump_gate if sums_up or news else _bump_gate_later
    await conn.execute(*bump(run.repo_id, run.sha, now))


@prepared
def _bump_run(run_id: RunId, now: datetime) -> Update:
    return update(checks).where(_of_run(run_id)).values(_bumped(now))


def _of_run(run_id: RunId) -> ColumnElement[bool]:
    return (checks.c.run_id == run_id) & checks.c.retired_at.is_(None)


@prepared
def _bump_gate(repo_id: RepoId, sha: Sha, now: datetime) -> Update:
    return update(checks).where(_gate_at(repo_id, sha)).values(_bumped(now))


@prepared
def _bump_gate_of_name(repo_id: RepoId, sha: Sha, now: datetime, name: str) -> Update:
    its = _gate_at(repo_id, sha) & (checks.c.name == name)
    return update(checks).where(its).values(_bumped(now))


@prepared
def _bump_gate_later(repo_id: RepoId, sha: Sha, now: datetime) -> Update:
    return _bump_later(_gate_at(repo_id, sha), now)


@prepared
def _bump_run_later(run_id: RunId, now: datetime) -> Update:
    return _bump_later(_of_run(run_id), now)


async def bump_quarantined(conn: DbConnection, now: datetime) -> int:
    """Look anew at the gates of open heads with a suite that has a quarantine; return how many."""
    its = (pulls.c.repo_id == checks.c.repo_id) & (pulls.c.head_sha == checks.c.sha) & pulls.c.open
    chosen = (selections.c.repo_id == checks.c.repo_id) & (selections.c.sha == checks.c.sha)
    some = type_coerce(selections.c.data, Text).contains('"quarantine":[{', autoescape=True)
    heads = exists().where(its), exists().where(chosen, some)
    change = update(checks).where(_gate_row(), *heads).values(_bumped(now))
    return (await conn.execute(change)).rowcount


async def bump_progress(conn: DbConnection, run_id: RunId, now: datetime) -> None:
    """Make a run's progress due when its interval allows; an earlier due time stays."""
    await conn.execute(*_bump_run_later(run_id, now))


def _bump_later(row: ColumnElement[bool], now: datetime) -> Update:
    """Return the update that shows a row anew when its interval allows.

    What GitHub refuses waits for a new state.
    """
    tried = checks.c.due.is_not(None) | (checks.c.refusals == 0)
    interval = case((checks.c.progress_from > now, checks.c.progress_from), else_=moment(now))
    change = {
        "want_version": checks.c.want_version + 1,
        "due": func.coalesce(checks.c.due, interval),
        "touched_at": now,
    }
    return update(checks).where(row, tried).values(change)


async def bump_links(conn: DbConnection, lease: Lease, github_id: int, now: datetime) -> None:
    """Link a run's new check run: in replies at once, in its gate when the interval allows.

    Call it before the row gets its id: a row that has this id is linked already.
    """
    query, asked = _not_linked(github_id)
    held = held_parameters(lease, lease.key)
    found = (await conn.execute(query, {**asked, **held})).first()
    if found is None:
        return
    run_id, repo_id, sha = found
    await _bump_listing(conn, run_id, now)
    await conn.execute(*_bump_gate_later(repo_id, sha, now))


@prepared
def _not_linked(github_id: int) -> Select[Any]:
    """Return the query of the run of a leased row that does not have GitHub's id yet."""
    new = checks.c.github_id.is_distinct_from(github_id) & checks.c.run_id.is_not(None)
    mine = still_held(checks, checks.c.external_id)
    return select(checks.c.run_id, checks.c.repo_id, checks.c.sha).where(mine, new)


async def replace_check(
    conn: DbConnection, where: ColumnElement[bool], now: datetime, new_id: NewId, remark: str
) -> None:
    """Retire a check: a new row with a new external id takes its place, due now."""
    retire = (
        update(checks)
        .where(where, checks.c.retired_at.is_(None))
        .values(retired_at=now, due=None, touched_at=now, **FREE)
        .returning(*(checks.c[name] for name in _INHERITED))
    )
    old = (await conn.execute(retire)).mappings().first()
    if old is not None:
        row = {**old, "external_id": new_id(now), "remark": remark, "due": now, "touched_at": now}
        await conn.execute(insert(conn, checks), row)


async def republish_check(
    conn: DbConnection, republish: RepublishCheck, now: datetime, new_id: NewId
) -> None:
    """Publish an ended check again; GitHub shows an open one correctly.

    The newest check run counts on GitHub, so a suite's is that of its latest attempt.
    """
    here = (checks.c.repo_id == republish.repo_id) & (checks.c.sha == republish.sha)
    which = _no_run() if republish.run_id is None else _of_latest_attempt(republish.run_id)
    await replace_check(conn, here & checks.c.ended & which, now, new_id, republish.remark)


def _of_latest_attempt(run_id: RunId) -> ColumnElement[bool]:
    """Return SQL for "the row shows the latest attempt of the run's suite at its commit"."""
    run = runs.alias("clicked")
    same = (runs.c.repo_id == run.c.repo_id) & (runs.c.sha == run.c.sha)
    its = select(runs.c.id).join(run, same & (runs.c.suite == run.c.suite))
    latest = its.where(run.c.id == run_id).order_by(runs.c.attempt.desc()).limit(1)
    return checks.c.run_id == latest.scalar_subquery()


async def retry_refused(conn: DbConnection, changed: InstallationEvent, now: datetime) -> None:
    """Show at once what was refused: the suspended installation may have been the reason."""
    ours = select(repos.c.id).where(
        repos.c.active, repos.c.installation_id == changed.installation_id
    )
    for table in (checks, replies, pull_comments):
        refused = (table.c.refusals > 0) & table.c.repo_id.in_(ours)
        await conn.execute(update(table).where(refused).values(refusals=0, due=now))


async def put_reply(conn: DbConnection, reply: Reply, now: datetime) -> None:
    """Make a reply, or change its text; it is due now."""
    said = {"head": reply.head, "language": reply.language}
    due = {**said, "receipt_missing": reply.receipt_missing, "due": now}
    where = {"comment_id": reply.comment_id, "repo_id": reply.repo_id, "number": reply.number}
    row = {**where, **due, "made_at": now}
    changed = {**due, "want_version": replies.c.want_version + 1}
    await conn.execute(
        insert(conn, replies)
        .values(row)
        .on_conflict_do_update(index_elements=["comment_id"], set_=changed)
    )
    await conn.execute(reply_runs.delete().where(reply_runs.c.comment_id == reply.comment_id))
    known = set(await conn.scalars(select(runs.c.id).where(runs.c.id.in_(reply.run_ids))))
    rows = [
        {"comment_id": reply.comment_id, "position": position, "run_id": run_id}
        for position, run_id in enumerate(dict.fromkeys(reply.run_ids))
        if run_id in known
    ]
    if rows:
        await conn.execute(insert(conn, reply_runs), rows)


async def bump_replies(
    conn: DbConnection, run_id: str, successor: str | None, now: datetime
) -> None:
    """Show a run's end in the replies that list it; its successor takes its row there."""
    await _bump_listing(conn, run_id, now)
    if successor is not None:
        await conn.execute(
            update(reply_runs).where(reply_runs.c.run_id == run_id).values(run_id=successor)
        )


async def _bump_listing(conn: DbConnection, run_id: str, now: datetime) -> None:
    await conn.execute(*_bump_replies_of(run_id, now))


@prepared
def _bump_replies_of(run_id: str, now: datetime) -> Update:
    listing = select(reply_runs.c.comment_id).where(reply_runs.c.run_id == run_id)
    changed = {"want_version": replies.c.want_version + 1, "due": now}
    return update(replies).where(replies.c.comment_id.in_(listing)).values(changed)
