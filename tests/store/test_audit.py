"""The audit in the database: what people did is written each time, the bot's own word once."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from bot.core.model.ids import RepoId, Sha
from bot.core.model.repos import Repo
from bot.core.planning.plan import BY_ITSELF, AuditEntry, Plan
from bot.store import Store
from bot.store.audit import AuditQuery
from bot.store.runs import SaveRun
from tests.accounts import account
from tests.store.building import NOW, REPO, SHA, after, done, put, run

OTHER = Repo(RepoId(8), "Other", "Place", "main", installation_id=70)
ENTRY = AuditEntry(NOW, "kim", "start unit", True, "trust", REPO.id, 1, SHA, "guid-1")


async def write(store: Store, *entries: AuditEntry) -> None:
    assert await store.commit(Plan(audit=entries), NOW, done=None)


async def listed(store: Store, query: AuditQuery | None = None) -> list[AuditEntry]:
    return [item.entry for item in await store.audit.search(query or AuditQuery())]


@pytest.fixture
async def filled(store: Store) -> Store:
    for repo in (REPO, OTHER):
        await store.commit(Plan(repo=repo), NOW, done=None)
    await write(
        store,
        replace(ENTRY, what="one"),
        replace(ENTRY, what="two", who="Lee", number=2, at=after(60)),
        replace(ENTRY, what="three", repo_id=OTHER.id, at=after(120)),
        AuditEntry(after(180), "kim", "four", True, "operator"),
    )
    return store


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (AuditQuery(), ["four", "three", "two", "one"]),
        (AuditQuery(limit=2), ["four", "three"]),
        (AuditQuery(number=2), ["two"]),
        (AuditQuery(who="lee"), ["two"]),
        (AuditQuery(who="KIM", number=1), ["three", "one"]),
        (AuditQuery(repo="other/place"), ["three"]),
        (AuditQuery(repo=str(REPO.id)), ["two", "one"]),
        (AuditQuery(repo="nobody/nothing"), []),
        (AuditQuery(since=after(120)), ["four", "three"]),
    ],
)
async def test_decisions_are_found_newest_first(
    filled: Store, query: AuditQuery, found: Iterable[str]
) -> None:
    assert [item.what for item in await listed(filled, query)] == found


@pytest.mark.both_databases
async def test_a_decision_comes_back_whole_with_its_repository(filled: Store) -> None:
    last, third, *_, first = await filled.audit.search(AuditQuery())
    assert first.entry == replace(ENTRY, what="one")
    assert (last.repo, third.repo, first.repo) == (None, "Other/Place", "owner/name")


async def test_what_a_person_does_twice_is_written_twice(store: Store) -> None:
    await write(store, ENTRY)
    await write(store, ENTRY)
    assert await listed(store) == [ENTRY, ENTRY]


@pytest.mark.both_databases
async def test_what_the_bot_decides_is_written_once_a_commit_of_a_pull_request(
    store: Store,
) -> None:
    auto = replace(ENTRY, who=BY_ITSELF, delivery=None)
    others = [
        replace(auto, allowed=False),
        replace(auto, rule="draft"),
        replace(auto, what="start multinode"),
        replace(auto, number=2),
        replace(auto, number=None),
        replace(auto, sha=Sha("b" * 40)),
        replace(auto, repo_id=None, number=None, sha=None),
    ]
    for _ in range(2):
        await write(store, auto, *others, auto)
        await write(store, replace(auto, at=after(60), delivery="guid-2"))
    assert sorted(map(repr, await listed(store))) == sorted(map(repr, [auto, *others]))


async def test_a_runs_end_and_its_audit_are_one_transaction(store: Store) -> None:
    await put(store, run("ppo"))
    (claimed,) = await store.runs.claim("me", NOW, lease_s=30, limit=1)
    save = SaveRun(done(claimed.run), due=None, audit=(ENTRY,))
    assert not await store.runs.save(replace(claimed.lease, owner="else"), save, NOW)
    assert await listed(store) == []
    assert await store.runs.save(claimed.lease, save, NOW)
    assert await listed(store) == [ENTRY]


@pytest.mark.both_databases
async def test_old_decisions_go_in_small_batches(store: Store) -> None:
    made = [replace(ENTRY, what=str(n), at=after(n)) for n in range(5)]
    await write(store, *made)
    gone = [await store.audit.prune(after(3), limit=2) for _ in range(3)]
    assert gone == [2, 1, 0]
    assert await listed(store) == [made[4], made[3]]


@pytest.mark.both_databases
async def test_what_somebody_did_is_listed_since_a_time(store: Store) -> None:
    def entry(who: str, seconds: float) -> AuditEntry:
        made = AuditEntry(after(seconds), who, "rerun ppo", allowed=True, rule="E", repo_id=REPO.id)
        return replace(made, who_id=account(who).id)

    renamed = replace(entry("a", 6), who="c")
    entries = (entry("a", 0), entry("b", 5), renamed)
    await store.commit(Plan(repo=REPO, audit=entries), NOW, done=None)
    assert await store.audit.since(REPO.id, account("a"), after(1)) == (entries[2],)
