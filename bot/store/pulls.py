"""Pull requests with their heads, selections and approvals."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import CompoundSelect, Select, case, func, select

from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Approval, Head, Pull, PullAt, Push
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.runs import Run
from bot.core.model.selections import StoredSelection
from bot.core.planning.plan import Restated
from bot.store.database import DbConnection, Insert, all_scalars, insert
from bot.store.prepared import prepared
from bot.store.report_tables import unjudged
from bot.store.rows import Reads, load, load_all, load_found, runs_at, upsert, values
from bot.store.tables import approvals, heads, policies, pulls, pushes, repos, selections
from bot.store.unjudged import unjudged_heads, unjudged_in


@dataclass(frozen=True, slots=True)
class PullStory:
    """A pull request with the selection for its head and the runs there."""

    repo: Repo
    pull: Pull
    selection: StoredSelection | None
    policy: str | None  # the text, as it is now, of the policy that selected
    runs: tuple[Run, ...]


class Pulls(Reads):
    """Reads pull requests."""

    async def get(self, repo_id: RepoId, number: int) -> Pull | None:
        """Return the pull request as last seen."""
        return await self._one(Pull, pulls, repo_id=repo_id, number=number)

    async def at(self, repo_id: RepoId, sha: Sha) -> tuple[Pull, ...]:
        """Return the open pull requests that have this head, by number."""
        return await self._found(Pull, *_open_at(repo_id, sha))

    async def ever_at(self, repo_id: RepoId, sha: Sha) -> tuple[PullAt, ...]:
        """Return the pull requests, open or not, that have or had this head, by number."""

        async def work(conn: DbConnection) -> tuple[PullAt, ...]:
            found = await load_found(conn, Pull, *_ever_at(repo_id, sha))
            had = await load_found(conn, Head, *_heads_at(repo_id, sha))
            since = {head.number: head.since for head in had}
            return tuple(PullAt(pull, since.get(pull.number)) for pull in found)

        return await self._db.read(work)

    async def open(self, repo_id: RepoId) -> tuple[Pull, ...]:
        """Return the pull requests believed open, by number."""
        here = pulls.c.repo_id == repo_id
        return await self._all(Pull, pulls, here, pulls.c.open, order=[pulls.c.number])

    async def unplanned(self, repo_id: RepoId) -> tuple[tuple[Pull, StoredSelection | None], ...]:
        """Return the open pull requests of whose head it is not known what it needs, by number.

        There is no selection, one of a policy with errors, or one that may be old (None, too).
        """
        here = pulls.c.repo_id == repo_id
        its = (selections.c.repo_id == pulls.c.repo_id) & (selections.c.sha == pulls.c.head_sha)
        of_open = select(selections.c.sha).join(pulls, its).where(here, pulls.c.open)

        async def work(conn: DbConnection) -> tuple[tuple[Pull, StoredSelection | None], ...]:
            found = await load_all(conn, Pull, pulls, here, pulls.c.open, order=[pulls.c.number])
            chosen = await load_all(
                conn,
                StoredSelection,
                selections,
                selections.c.repo_id == repo_id,
                selections.c.sha.in_(of_open),
            )
            unknown = await unjudged_in(conn, repo_id)
            rows = {(row.sha, row.number): row for row in chosen}
            rows = {key: row for key, row in rows.items() if key not in unknown}
            both = ((pull, rows.get((pull.head_sha, pull.number))) for pull in found)
            return tuple((pull, row) for pull, row in both if row is None or row.data.policy_errors)

        return await self._db.read(work)

    async def is_unknown(self, pull: Pull) -> bool:
        """Return True if it is not known what the head of a pull request needs."""
        query, asked = unjudged_heads(pull.repo_id, pull.number)
        found = await self._db.read(lambda conn: all_scalars(conn, query, asked))
        return pull.head_sha in found

    async def former_heads(self, pull: Pull) -> frozenset[Sha]:
        """Return the commits whose gates still show them as the head, other than the head.

        One is the head as last seen; GitHub did not let us judge the others.
        """
        query, asked = _heads_shown(pull.repo_id, pull.number)
        shown = await self._db.read(lambda conn: all_scalars(conn, query, asked))
        return frozenset(shown) - {pull.head_sha}

    async def heads(self, repo_id: RepoId, number: int) -> tuple[Head, ...]:
        """Return the commits that were its head, oldest first."""
        return await self._found(Head, *_heads_of(repo_id, number))

    async def pusher(self, repo_id: RepoId, branch: str, sha: Sha) -> Account:
        """Return who pushed a commit to a branch of the repository; nobody: no webhook told."""
        found = await self._one(Push, pushes, repo_id=repo_id, branch=branch, sha=sha)
        return found.by if found else NOBODY

    async def authors(self, repo_id: RepoId, sha: Sha) -> frozenset[Account]:
        """Return who pushed a commit, and the authors of its pull requests.

        These are all pull requests that have or had it as their head.
        """

        async def work(conn: DbConnection) -> frozenset[Account]:
            rows = [
                *await conn.execute(*_authors(repo_id, sha)),
                *await conn.execute(*_pushers(repo_id, sha)),
            ]
            return frozenset(Account(number) for row in rows for number in row if number)

        return await self._db.read(work)

    async def approvals(self, repo_id: RepoId, sha: Sha) -> tuple[Approval, ...]:
        """Return the approvals of a commit, oldest first."""
        return await self._found(Approval, *_approvals_of(repo_id, sha))

    async def selections(self, repo_id: RepoId, sha: Sha) -> tuple[StoredSelection, ...]:
        """Return the selections at a commit, one for each pull request."""
        return await self._found(StoredSelection, *_selections_at(repo_id, sha))

    async def story(self, full_name: str, number: int) -> PullStory | None:
        """Return a pull request by its repository's name now; None if there is none."""
        named = func.lower(repos.c.owner + "/" + repos.c.name) == full_name.lower()

        async def work(conn: DbConnection) -> PullStory | None:
            for repo in await load_all(conn, Repo, repos, named):
                it = (pulls.c.repo_id == repo.id) & (pulls.c.number == number)
                for pull in await load_all(conn, Pull, pulls, it):
                    return await _story(conn, repo, pull)
            return None

        return await self._db.read(work)


@prepared
def _open_at(repo_id: RepoId, sha: Sha) -> Select[Any]:
    here = (pulls.c.repo_id == repo_id) & (pulls.c.head_sha == sha)
    return select(pulls).where(here, pulls.c.open).order_by(pulls.c.number)


@prepared
def _heads_shown(repo_id: RepoId, number: int) -> CompoundSelect[Any]:
    here = (pulls.c.repo_id == repo_id) & (pulls.c.number == number)
    its = (unjudged.c.repo_id == repo_id) & (unjudged.c.number == number)
    return select(pulls.c.head_sha).where(here).union_all(select(unjudged.c.sha).where(its))


@prepared
def _ever_at(repo_id: RepoId, sha: Sha) -> Select[Any]:
    here = pulls.c.number.in_(_numbers_at(repo_id, sha))
    return select(pulls).where(pulls.c.repo_id == repo_id, here).order_by(pulls.c.number)


def _numbers_at(repo_id: RepoId, sha: Sha) -> CompoundSelect[Any]:
    """Return the numbers of the pull requests that have or had this head: each half by an index."""
    has = select(pulls.c.number).where(pulls.c.repo_id == repo_id, pulls.c.head_sha == sha)
    had = select(heads.c.number).where(heads.c.repo_id == repo_id, heads.c.sha == sha)
    return has.union(had)


@prepared
def _heads_at(repo_id: RepoId, sha: Sha) -> Select[Any]:
    return select(heads).where(heads.c.repo_id == repo_id, heads.c.sha == sha)


@prepared
def _heads_of(repo_id: RepoId, number: int) -> Select[Any]:
    its = (heads.c.repo_id == repo_id) & (heads.c.number == number)
    return select(heads).where(its).order_by(heads.c.seen_at, heads.c.sha)


@prepared
def _authors(repo_id: RepoId, sha: Sha) -> Select[Any]:
    """Return the query of the authors of a commit's pull requests, with who pushed it to them."""
    here = (heads.c.repo_id == pulls.c.repo_id) & (heads.c.number == pulls.c.number)
    return (
        select(pulls.c.author_id, heads.c.pusher_id)
        .join_from(pulls, heads, here & (heads.c.sha == sha), isouter=True)
        .where(pulls.c.repo_id == repo_id, pulls.c.number.in_(_numbers_at(repo_id, sha)))
    )


@prepared
def _pushers(repo_id: RepoId, sha: Sha) -> Select[Any]:
    return select(pushes.c.by_id).where(pushes.c.repo_id == repo_id, pushes.c.sha == sha)


@prepared
def _approvals_of(repo_id: RepoId, sha: Sha) -> Select[Any]:
    here = (approvals.c.repo_id == repo_id) & (approvals.c.sha == sha)
    return select(approvals).where(here).order_by(approvals.c.at, approvals.c.by_id)


@prepared
def _selections_at(repo_id: RepoId, sha: Sha) -> Select[Any]:
    here = (selections.c.repo_id == repo_id) & (selections.c.sha == sha)
    return select(selections).where(here).order_by(selections.c.number)


async def _story(conn: DbConnection, repo: Repo, pull: Pull) -> PullStory:
    chosen = await load_all(
        conn,
        StoredSelection,
        selections,
        selections.c.repo_id == repo.id,
        selections.c.sha == pull.head_sha,
        selections.c.number == pull.number,
    )
    selection = chosen[0] if chosen else None
    ref = selection.data.policy_ref if selection else ""
    where = (policies.c.repo_id == repo.id) & (policies.c.ref == ref)
    stored = await load_all(conn, StoredPolicy, policies, where)
    at_head = await load_found(conn, Run, *runs_at(repo.id, pull.head_sha))
    return PullStory(repo, pull, selection, stored[0].text if stored else None, at_head)


async def is_head(conn: DbConnection, basis: Pull) -> bool:
    """Return True unless a pull request's row tells of a later head or base, or of its close.

    Its row is locked until the commit. Without a row its webhook has not come yet, or was lost.
    """
    found = (await conn.execute(*_locked_head(basis.repo_id, basis.number))).first()
    if found is None or tuple(found)[:3] == (True, basis.head_sha, basis.base_ref):
        return True
    seen, told = found.updated_at, basis.updated_at
    return seen is not None and told is not None and seen < told


@prepared
def _locked_head(repo_id: RepoId, number: int) -> Select[Any]:
    same = (pulls.c.repo_id == repo_id) & (pulls.c.number == number)
    query = select(pulls.c.open, pulls.c.head_sha, pulls.c.base_ref, pulls.c.updated_at)
    return query.where(same).with_for_update()


async def save_pull(conn: DbConnection, pull: Pull) -> None:
    """Write a pull request; where its base is another one now, the time of that is kept."""
    row = values(pull)
    await conn.execute(_save_pull(insert(conn, pulls), tuple(row)), row)


@cache
def _save_pull(query: Insert, names: tuple[str, ...]) -> Insert:
    new = query.excluded
    changed: dict[str, Any] = {name: new[name] for name in names}
    moved = pulls.c.base_ref != new.base_ref
    changed["based_at"] = case(
        (moved, new.updated_at), else_=func.coalesce(new.based_at, pulls.c.based_at)
    )
    # A deleted fork is told no more, and is the one that it was.
    changed["head_repo_id"] = func.coalesce(new.head_repo_id, pulls.c.head_repo_id)
    return query.on_conflict_do_update(index_elements=["repo_id", "number"], set_=changed)


async def restate(conn: DbConnection, restated: Restated) -> None:
    """Write a selection that changed, unless it was made anew since it was read."""
    read = restated.read
    here = (selections.c.repo_id == read.repo_id) & (selections.c.sha == read.sha)
    query = select(selections).where(here, selections.c.number == read.number).with_for_update()
    found = (await conn.execute(query)).mappings().first()
    if found is not None and load(StoredSelection, found) == read:
        await upsert(conn, selections, restated.now)


async def save_head(conn: DbConnection, head: Head) -> None:
    """Write a head.

    If it is the newest head already, it only gains a pusher. An older head that is pushed again
    becomes the newest. A known pusher stays when a head without one is seen.
    """
    newest = await conn.scalar(*_newest_head(head.repo_id, head.number))
    query = _save_head(insert(conn, heads), comes_back=newest != head.sha)
    await conn.execute(query, values(head))


async def save_former_heads(conn: DbConnection, former: tuple[Head, ...]) -> None:
    """Write heads that were replaced; a known one stays as it is."""
    for head in former:
        row = insert(conn, heads).values(values(head))
        await conn.execute(row.on_conflict_do_nothing())


@prepared
def _newest_head(repo_id: RepoId, number: int) -> Select[Any]:
    its = (heads.c.repo_id == repo_id) & (heads.c.number == number)
    newest = (heads.c.seen_at.desc(), heads.c.sha.desc())
    return select(heads.c.sha).where(its).order_by(*newest).limit(1)


@cache
def _save_head(query: Insert, *, comes_back: bool) -> Insert:
    known, added = query.excluded.pusher_id == 0, query.excluded
    changed: dict[str, Any] = {
        name: case((known, heads.c[name]), else_=added[name]) for name in ("pusher", "pusher_id")
    }
    if comes_back:
        changed["seen_at"] = query.excluded.seen_at
    return query.on_conflict_do_update(index_elements=["repo_id", "number", "sha"], set_=changed)
