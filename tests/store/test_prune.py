"""Old rows are deleted in small batches, and nothing that is still needed."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import select

from bot.core.model.ids import Sha
from bot.core.model.pulls import Approval, Head, Pull, Push
from bot.core.model.repos import StoredPolicy
from bot.core.model.run_events import DispatchStarted, RunEvent, Source
from bot.core.model.runs import Outcome
from bot.core.model.views import GateDue, Reply
from bot.core.planning.plan import Plan
from bot.core.policy.levels import Level
from bot.store import Store
from bot.store import report_tables as r
from bot.store import tables as t
from bot.store.database import all_rows
from bot.store.runs import SaveRun
from tests.accounts import account
from tests.store.building import NOW, REPO, SHA, after, delivery, done, put, run


@pytest.mark.both_databases
async def test_old_done_rows_are_pruned_in_batches_and_live_ones_stay(store: Store) -> None:
    for n in range(5):
        await store.deliveries.put(delivery(f"old{n}"), ignored="not ours")
    await store.deliveries.put(delivery("waiting"))
    await put(store, run("old"), run("open"))
    old = next(
        item
        for item in await store.runs.claim("me", NOW, lease_s=30, limit=9)
        if item.run.suite == "old"
    )
    run_event = RunEvent(old.run.id, Source.RUNNER, NOW, DispatchStarted(1))
    end = SaveRun(done(old.run, outcome=Outcome.SUCCESS), due=None, run_events=(run_event,))
    await store.runs.save(old.lease, end, NOW)
    assert await store.prune(NOW, limit=3) == 0
    assert await store.prune(after(1), limit=3) == 4
    assert await store.prune(after(1), limit=3) == 2
    assert await store.prune(after(1), limit=3) == 0
    assert [item.run.suite for item in await store.runs.at(REPO.id, SHA)] == ["open"]
    assert await store.deliveries.known_guids(("waiting", "old0")) == {"waiting"}


@pytest.mark.both_databases
async def test_a_settled_gate_is_pruned_unless_its_commit_is_a_head(store: Store) -> None:
    gone = Sha("b" * 40)
    pull = Pull(REPO.id, 1, SHA, REPO.id, "main", account("ann"))
    gates = (GateDue(REPO.id, SHA, 1), GateDue(REPO.id, gone, 1))
    await store.commit(Plan(repo=REPO, pull=pull, gates=gates), NOW, done=None)
    for due in await store.checks.claim("me", NOW, lease_s=30, limit=9):
        await store.checks.shown(due.lease, github_id=1, version=1, ended=True, now=NOW)
    assert await store.prune(after(1), limit=9) == 1
    await store.commit(Plan(gates=gates[:1]), after(2), done=None)
    (kept,) = await store.checks.claim("me", after(2), lease_s=30, limit=9)
    assert kept.github_id == 1


PLACES = [Sha(f"{number:040x}") for number in range(1, 9)]
OLD_AGE = 1000  # seconds: rows from before NOW are old then


def past(number: int) -> datetime:
    return NOW - timedelta(seconds=number)


async def fill(store: Store, rng: random.Random) -> tuple[list[Pull], list[str]]:
    """Store pull requests that share commits, with old and new rows; return what is at work."""
    pulls, suites = [], []
    for number in range(1, 13):
        shas, is_old = rng.sample(PLACES, 2), rng.random() < 0.7
        when = past(2 * OLD_AGE if is_old else 1)
        pull = Pull(REPO.id, number, shas[-1], REPO.id, "main", account(f"a{number}"))
        pull = replace(pull, open=rng.random() < 0.4, updated_at=when, head_ref=f"b{number}")
        pulls.append(pull)
        for sha in shas:
            head = Head(REPO.id, number, sha, account(f"p{number}"), when)
            given = Approval(REPO.id, sha, account(f"r{number}"), Level.WRITE, "button", when)
            push = Push(REPO.id, pull.head_ref, sha, account(f"x{number}"), when)
            plan = Plan(repo=REPO, pull=pull, head=head, approval=given, push=push)
            await store.commit(plan, when, done=None)
        said = Reply(REPO.id, 100 + number, number, "said")
        await store.commit(Plan(replies=(said,)), when, done=None)
        if rng.random() < 0.3:
            suites.append(f"s{number}")
            sha = rng.choice(PLACES)
            await put(store, replace(run(f"s{number}"), sha=sha, number=number))
    for due in await store.replies.claim("me", NOW, lease_s=30, limit=99):
        await store.replies.shown(due.lease, github_id=1, version=1, now=NOW)
    row = StoredPolicy(REPO.id, "main", "b", "version: 1", past(2 * OLD_AGE))
    await store.commit(Plan(policy=row), NOW, done=None)
    return pulls, suites


async def needed(store: Store, pulls: list[Pull]) -> list[object]:
    """Return all that the open pull requests and the unfinished runs rest on."""
    found: list[object] = [await store.policies.get(REPO.id, "main")]
    runs = [item for sha in PLACES for item in await store.runs.at(REPO.id, sha)]
    shas = {item.run.sha for item in runs}
    numbers = {item.run.number for item in runs}
    for pull in pulls:
        heads = await store.pulls.heads(REPO.id, pull.number)
        if pull.open:
            shas |= {head.sha for head in heads}
            found += [heads, await store.replies.exists(100 + pull.number)]
        if pull.open or pull.number in numbers:
            found.append(await store.pulls.get(REPO.id, pull.number))
    for sha in sorted(shas):
        found += [
            await store.pulls.approvals(REPO.id, sha),
            await store.pulls.authors(REPO.id, sha),
        ]
    return [*found, runs]


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(4))
async def test_pruning_takes_nothing_that_an_open_pull_request_or_a_run_needs(
    store: Store, seed: int
) -> None:
    pulls, suites = await fill(store, random.Random(seed))
    before = await needed(store, pulls)
    while await store.prune(past(OLD_AGE), limit=3):
        pass
    assert await needed(store, pulls) == before
    work = {pull.number for pull in pulls if pull.open} | {int(suite[1:]) for suite in suites}
    for pull in pulls:
        is_old = pull.updated_at == past(2 * OLD_AGE)
        kept = await store.pulls.get(REPO.id, pull.number) is not None
        assert kept or (is_old and pull.number not in work)
        answered = await store.replies.exists(100 + pull.number)
        assert answered is (pull.open or not is_old)


async def test_what_nobody_works_on_is_pruned_whole(store: Store) -> None:
    pulls, suites = await fill(store, random.Random(1))
    for pull in pulls:
        await store.commit(Plan(pull=replace(pull, open=False)), NOW, done=None)
    for item in await store.runs.claim("me", NOW, lease_s=30, limit=99):
        end = SaveRun(done(item.run, outcome=Outcome.SUCCESS), due=None)
        await store.runs.save(item.lease, end, NOW)
    assert suites
    while await store.prune(after(1), limit=50):
        pass
    for table in (t.pulls, t.heads, t.approvals, t.pushes, t.policies, r.replies, t.runs):
        assert not await store._db.read(partial(all_rows, query=select(table))), table.name
