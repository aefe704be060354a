"""A check run that GitHub set back to queued is shown anew, with the reason nothing started."""

from bot.core.planning.plan import AuditEntry, Plan, RepublishCheck
from bot.store import Store
from tests.store.rows import NOW, REPO, SHA, after
from tests.store.test_checks import claim, claims, show, touch


async def republish(store: Store, remark: str) -> None:
    change = Plan(republish=(RepublishCheck(REPO.id, SHA, None, remark),))
    assert await store.commit(change, after(9), done=None)


async def test_an_ended_check_is_shown_anew_with_the_remark(store: Store) -> None:
    await touch(store)
    first = await claim(store)
    await show(store, first, ended=True)
    await republish(store, "you may not")
    due = await claim(store, 10)
    assert due.remark == "you may not"
    assert due.github_id is None
    assert due.external_id != first.external_id


async def test_an_open_check_is_left_alone(store: Store) -> None:
    await touch(store)
    await show(store, await claim(store), ended=False)
    await republish(store, "you may not")
    assert await claims(store, 10) == ()


async def test_what_somebody_did_is_listed_since_a_time(store: Store) -> None:
    def entry(who: str, seconds: float) -> AuditEntry:
        return AuditEntry(after(seconds), who, "rerun ppo", allowed=True, rule="E", repo_id=REPO.id)

    entries = (entry("a", 0), entry("b", 5), entry("a", 6))
    await store.commit(Plan(repo=REPO, audit=entries), NOW, done=None)
    assert await store.audit.since(REPO.id, "a", after(1)) == (entries[2],)
