"""Repositories, pull requests, policies, selections and approvals come back as written."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from bot.core.github.events import InstallationEvent
from bot.core.messages import quote
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY
from bot.core.model.pulls import Approval, Head, Pull, Push
from bot.core.model.repos import StoredPolicy
from bot.core.model.selections import (
    Cost,
    MergeGroup,
    SelectionDetails,
    StoredSelection,
    SuiteSelection,
)
from bot.core.planning.plan import Plan
from bot.core.policy.levels import Level
from bot.core.policy.models import Mode, Tier
from bot.core.policy.selection import Choice
from bot.store import Store
from bot.store.columns import EPOCH
from bot.store.runs import SaveRun
from tests.accounts import account
from tests.store.building import NOW, REPO, SHA, after, put, run

OTHER = Sha("b" * 40)
PULL = Pull(REPO.id, 1, SHA, 8, "main", account("ann"), draft=True, changed_files=3, updated_at=NOW)


async def commit(store: Store, **changes: object) -> None:
    assert await store.commit(Plan(**changes), NOW, done=None)  # type: ignore[arg-type]


@pytest.mark.both_databases
async def test_a_repository_is_renamed_and_keeps_its_installation(store: Store) -> None:
    assert await store.repos.get(REPO.id) is None
    await commit(store, repo=REPO)
    await commit(store, repo=replace(REPO, name="new", installation_id=None))
    assert await store.repos.get(REPO.id) == replace(REPO, name="new")


async def test_a_late_payload_does_not_bring_a_suspended_repository_back(store: Store) -> None:
    await commit(store, repo=REPO)
    await commit(store, installation=InstallationEvent(70, active=False))
    for number in (70, None):
        await commit(store, repo=replace(REPO, installation_id=number))
    assert await store.repos.active() == ()
    await commit(store, repo=replace(REPO, installation_id=72))  # installed anew
    assert [repo.installation_id for repo in await store.repos.active()] == [72]


@pytest.mark.both_databases
async def test_a_suspended_installation_pokes_the_runs_of_its_repositories(store: Store) -> None:
    other = replace(REPO, id=RepoId(3), installation_id=71)
    await commit(store, repo=other)
    await put(store, run(), run(repo_id=other.id))
    for claimed in await store.runs.claim("me", NOW, lease_s=30, limit=9):
        await store.runs.save(claimed.lease, SaveRun(claimed.run, due=None), NOW)
    await commit(store, installation=InstallationEvent(70, active=False))
    assert await store.repos.active() == (other,)
    claimed_runs = await store.runs.claim("me", NOW, lease_s=30, limit=9)
    assert [claimed.run.repo_id for claimed in claimed_runs] == [REPO.id]
    await commit(store, installation=InstallationEvent(70, active=True))
    assert await store.repos.active() == (other, REPO)


@pytest.mark.both_databases
async def test_repositories_taken_from_an_installation_are_not_active(store: Store) -> None:
    other = replace(REPO, id=RepoId(3))
    await commit(store, repo=REPO)
    await commit(store, repo=other)
    await commit(store, installation=InstallationEvent(70, gone=(REPO.id,)))
    await commit(store, installation=InstallationEvent(70, active=True))
    assert await store.repos.active() == (other,)
    await commit(store, installation=InstallationEvent(70, gone=(other.id,)))
    assert await store.repos.active() == ()
    await commit(store, installation=InstallationEvent(70, back=(REPO.id,)))
    assert await store.repos.active() == (REPO,)
    await commit(store, installation=InstallationEvent(70, active=False, back=(other.id,)))
    assert await store.repos.active() == ()
    await commit(store, installation=InstallationEvent(70, active=True))
    assert await store.repos.active() == (other, REPO)


@pytest.mark.both_databases
async def test_a_pull_request_is_the_one_last_seen(store: Store) -> None:
    await commit(store, pull=PULL)
    assert await store.pulls.get(REPO.id, 1) == PULL
    moved = replace(PULL, head_sha=OTHER, head_repo_id=None, updated_at=None)
    await commit(store, pull=moved)  # its fork was deleted
    assert await store.pulls.get(REPO.id, 1) == replace(moved, head_repo_id=8)
    assert await store.pulls.get(REPO.id, 2) is None


@pytest.mark.both_databases
async def test_a_pull_request_keeps_the_time_of_its_base(store: Store) -> None:
    for pull, based_at in (
        (PULL, None),
        (replace(PULL, base_ref="old", updated_at=after(1)), after(1)),
        (replace(PULL, base_ref="old", updated_at=after(2)), after(1)),
        (replace(PULL, base_ref="old", updated_at=after(3), based_at=after(3)), after(3)),
    ):
        await commit(store, pull=pull)
        known = await store.pulls.get(REPO.id, 1)
        assert known is not None
        assert known.based_at == based_at


@pytest.mark.both_databases
async def test_pulls_at_a_commit_are_the_open_ones(store: Store) -> None:
    closed, second = replace(PULL, number=2, open=False), replace(PULL, number=3)
    for pull in (second, closed, PULL, replace(PULL, number=4, head_sha=OTHER)):
        await commit(store, pull=pull)
    assert await store.pulls.at(REPO.id, SHA) == (PULL, second)
    assert [pull.number for pull in await store.pulls.open(REPO.id)] == [1, 3, 4]
    await commit(store, head=Head(REPO.id, 4, SHA, PULL.author, NOW))
    await commit(store, head=Head(REPO.id, 3, OTHER, PULL.author, NOW, since=after(-9)))
    await commit(store, head=Head(REPO.id, 3, OTHER, PULL.author, NOW, since=after(5)))
    ever = await store.pulls.ever_at(REPO.id, SHA)
    assert [item.pull.number for item in ever] == [1, 2, 3, 4]
    other = await store.pulls.ever_at(REPO.id, OTHER)
    assert [(item.pull.number, item.since) for item in other] == [(3, after(-9)), (4, None)]


@pytest.mark.both_databases
async def test_heads_are_oldest_first_and_a_push_back_makes_one_the_newest(store: Store) -> None:
    first, second = (
        Head(REPO.id, 1, SHA, account("ann"), NOW),
        Head(REPO.id, 1, OTHER, account("bob"), after(1)),
    )
    await commit(store, head=first)
    await commit(store, head=second)
    assert await store.pulls.heads(REPO.id, 1) == (first, second)
    await commit(store, head=replace(first, pusher=account("eve"), seen_at=after(2)))
    assert [(head.sha, head.pusher) for head in await store.pulls.heads(REPO.id, 1)] == [
        (OTHER, account("bob")),
        (SHA, account("eve")),
    ]


@pytest.mark.both_databases
async def test_a_pushed_commit_keeps_its_first_pusher_and_is_the_own_of_all(store: Store) -> None:
    first = Push(REPO.id, "topic", SHA, account("ann"), NOW)
    pushes = (
        first,
        replace(first, by=account("eve")),
        replace(first, branch="x", by=account("bob")),
    )
    for push in pushes:
        await commit(store, push=push)
    assert await store.pulls.pusher(REPO.id, "topic", SHA) == account("ann")
    assert await store.pulls.pusher(REPO.id, "topic", OTHER) == NOBODY
    assert await store.pulls.authors(REPO.id, SHA) == {account("ann"), account("bob")}
    await commit(store, pull=replace(PULL, head_sha=SHA, author=account("cat")))
    assert account("cat") in await store.pulls.authors(REPO.id, SHA)


@pytest.mark.both_databases
async def test_a_listed_login_stays_bound_until_it_is_listed_no_more(store: Store) -> None:
    logins = store.listed_logins
    both = frozenset({"ann", "bob"})
    await logins.bind(REPO.id, "main", both, {"ann": 1, "bob": 0})
    await logins.bind(REPO.id, "main", both, {"ann": 7})
    await logins.bind(REPO.id, "old", frozenset({"ann"}), {"ann": 9})
    assert await logins.of(REPO.id, "main") == {"ann": 1, "bob": 0}
    await logins.bind(REPO.id, "main", frozenset({"bob"}), {})
    assert await logins.of(REPO.id, "main") == {"bob": 0}
    assert await logins.of(REPO.id, "old") == {"ann": 9}
    assert await logins.elsewhere(REPO.id, "main") == {"old": {"ann": 9}}


async def test_a_head_seen_twice_keeps_its_time_and_learns_its_pusher(store: Store) -> None:
    found = Head(REPO.id, 1, SHA, NOBODY, NOW)
    await commit(store, head=found)
    await commit(store, head=replace(found, pusher=account("ann"), seen_at=after(5)))
    await commit(store, head=replace(found, pusher=NOBODY, seen_at=after(9)))
    assert await store.pulls.heads(REPO.id, 1) == (replace(found, pusher=account("ann")),)


async def test_times_come_back_aware_in_utc_to_the_microsecond(store: Store) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=8)))
    await commit(store, head=Head(REPO.id, 1, SHA, NOBODY, there))
    (head,) = await store.pulls.heads(REPO.id, 1)
    assert head.seen_at == NOW
    assert head.seen_at.utcoffset() == timedelta(0)


@pytest.mark.both_databases
async def test_a_policy_is_read_kept_and_forgotten(store: Store) -> None:
    policy = StoredPolicy(REPO.id, "main", "blob", "version: 1", NOW)
    none = StoredPolicy(REPO.id, "v0.1", "", None, NOW)
    await commit(store, policy=policy)
    await commit(store, policy=none)
    assert await store.policies.get(REPO.id, "main") == policy
    assert await store.policies.get(REPO.id, "v0.1") == none
    await commit(store, forget_policy=(REPO.id, "main"))
    assert await store.policies.get(REPO.id, "main") == replace(policy, read_at=EPOCH)
    assert await store.policies.get(REPO.id, "v0.1") == none


@pytest.mark.both_databases
async def test_a_selection_is_one_a_pull_request(store: Store) -> None:
    one = StoredSelection(REPO.id, SHA, 1, "p1", SelectionDetails())
    suite = SuiteSelection(
        Choice("unit", True, quote("why"), "src/**", ("src/a",)),
        Cost(2, 8, npu_hours=16.5, where="pool"),
        tier=Tier.HEAVY,
        passed_at=OTHER,
    )
    full = SelectionDetails(
        policy_ref="main",
        mode=Mode.DRY_RUN,
        trusted=False,
        approve=Level.MAINTAIN,
        protected=(".github/x",),
        suites=(suite,),
        group=MergeGroup(7, NOW),
    )
    for selection in (replace(one, number=2), one, replace(one, data=full)):
        await commit(store, selection=selection)
    found = await store.pulls.selections(REPO.id, SHA)
    assert found == (replace(one, data=full), replace(one, number=2))


@pytest.mark.both_databases
async def test_approvals_are_of_a_commit_and_a_person(store: Store) -> None:
    ann = Approval(REPO.id, SHA, account("ann"), Level.WRITE, "button", NOW)
    bob = Approval(REPO.id, SHA, account("bob"), Level.ADMIN, "command", after(1))
    for approval in (bob, ann, replace(ann, sha=OTHER), replace(ann, via="start")):
        await commit(store, approval=approval)
    assert await store.pulls.approvals(REPO.id, SHA) == (replace(ann, via="start"), bob)
