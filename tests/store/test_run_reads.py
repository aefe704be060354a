"""Runs are found by what events, operators and pages know of them."""

from dataclasses import replace

import pytest

from bot.core.github.events import InstallationEvent
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.runs import Outcome, Run, State
from bot.core.planning.plan import Plan
from bot.core.queue.state import Acquired
from bot.store import Store
from bot.store.run_reads import RunQuery
from bot.store.runs import SaveRun
from tests.store.building import NOW, REPO, claimant, done, put, run
from tests.store.test_checks import claim, show
from tests.store.test_holds import OTHER_SLOT, SLOT, runs
from tests.store.test_tokens import announced

pytestmark = pytest.mark.both_databases


@pytest.mark.parametrize(
    ("start", "found"),
    [("01A", ["01AC", "01AB"]), ("01AB", ["01AB"]), ("01_", []), ("%", []), ("9", [])],
)
async def test_runs_are_found_by_the_start_of_their_id(
    store: Store, start: str, found: list[str]
) -> None:
    await put(store, *(run(name, id=RunId(name)) for name in ("01AB", "01AC", "01B")))
    assert list(await store.runs.ids_from(start, limit=9)) == found
    assert len(await store.runs.ids_from(start, limit=1)) == min(1, len(found))


async def on(store: Store, label: str) -> list[str]:
    return [item.run.suite for item in await store.runs.search(RunQuery(label=label))]


async def test_runs_are_found_by_the_label_they_took_or_wait_for(store: Store) -> None:
    holder, waits, both = await runs(store, 3)
    assert await store.queue.acquire(holder, ((SLOT,),), NOW) == Acquired(0)
    await put(store, run("took", label="a2"))
    await store.queue.acquire(waits, ((SLOT,),), NOW)
    await store.queue.acquire(both, ((SLOT, OTHER_SLOT),), NOW)
    assert await on(store, "a3") == ["s2", "s1"]
    assert await on(store, "a2") == ["took", "s2"]
    assert await on(store, "a") == []
    assert await on(store, "a_") == []


async def test_a_run_leads_to_the_check_run_that_shows_it(store: Store) -> None:
    made = run()
    await put(store, made)
    assert await store.checks.of_run(made.id) is None
    await show(store, await claim(store))
    assert await store.checks.of_run(made.id) == 5
    assert await store.checks.of_run(RunId("nobody")) is None


async def test_the_attempt_of_an_actions_run_is_found(store: Store) -> None:
    first = run(actions_run_id=9, state=State.DONE, ended_at=NOW)
    second = run(attempt=2, actions_run_id=9, actions_attempt=2)
    await put(store, first, second)
    assert await store.runs.of_actions_attempt(REPO.id, 9, 1) == first
    assert await store.runs.of_actions_attempt(REPO.id, 9, 2) == second
    assert await store.runs.of_actions_attempt(REPO.id, 9, 3) is None
    assert await store.runs.of_actions_attempt(RepoId(8), 9, 1) is None


async def test_runs_are_listed_by_what_people_know_of_them(store: Store) -> None:
    elsewhere = replace(REPO, id=RepoId(8), owner="Octo", name="Other")
    one = run(number=1)
    two = run("grpo", state=State.RUNNING)
    three = run(repo_id=elsewhere.id, sha=Sha("b" * 40))
    await put(store, one)
    await put(store, two, source="pr:2")
    changes = Plan(repo=elsewhere, new_runs=((three, (claimant(three, "pr:1"),)),))
    assert await store.commit(changes, NOW, done=None)
    cases: list[tuple[RunQuery, list[Run]]] = [
        (RunQuery(), [three, two, one]),
        (RunQuery(limit=1), [three]),
        (RunQuery(limit=1, before=three.id), [two]),
        (RunQuery(before=two.id), [one]),
        (RunQuery(repo="owner/name"), [two, one]),
        (RunQuery(repo="octo/OTHER"), [three]),
        (RunQuery(repo="8"), [three]),
        (RunQuery(repo="owner/other"), []),
        (RunQuery(repo="owner"), []),
        (RunQuery(sha=Sha("b" * 40)), [three]),
        (RunQuery(sha=Sha("aaaaaaa")), [two, one]),
        (RunQuery(number=1), [three, one]),
        (RunQuery(number=2), [two]),
        (RunQuery(state=State.RUNNING), [two]),
        (RunQuery(number=1, repo="7"), [one]),
    ]
    for query, expected in cases:
        found = await store.runs.search(query)
        assert [item.run for item in found] == expected, query
    newest = (await store.runs.search(RunQuery(limit=1)))[0]
    assert newest.repo == elsewhere


async def test_a_runs_story_holds_its_claimants_events_and_rayjobs(store: Store) -> None:
    one = run()
    await put(store, one)
    await store.tokens.redeem(announced(one), NOW)
    story = await store.runs.story(one.id)
    assert story is not None
    assert (story.run, story.repo, story.claimants) == (one, REPO, (claimant(one),))
    assert [run_event.key for run_event in story.run_events] == ["rayjob:rj-1"]
    assert [job.job_id for job in story.rayjobs] == ["rj-1"]
    assert await store.runs.story(RunId("NONE")) is None


async def live(store: Store, made: Run, **more: object) -> Run:
    """Store a run that was dispatched."""
    await put(store, made)
    (claimed,) = await store.runs.claim("me", NOW, lease_s=30, limit=9)
    moved: Run = replace(made, dispatched_at=NOW, **more)  # type: ignore[arg-type]
    assert await store.runs.save(claimed.lease, SaveRun(moved, due=None), NOW)
    return moved


async def test_runs_are_found_by_what_they_are_known_by(store: Store) -> None:
    first = await live(store, run("a"), actions_run_id=9, actions_attempt=1, dispatch_id="D")
    ended = await live(store, run("b"), actions_run_id=8)
    assert await store.runs.of_actions_run(REPO.id, 9) == first
    assert await store.runs.of_actions_run(RepoId(1), 9) is None
    assert await store.runs.of_dispatch("D") == first
    assert await store.runs.of_dispatch("E") is None
    assert await store.runs.of_check(REPO.id, first.id) == first
    assert await store.runs.of_check(RepoId(1), first.id) is None
    assert await store.runs.of_check(REPO.id, "unknown") is None
    assert [item.run for item in await store.runs.of_claimant(REPO.id, "pr:1")] == [first, ended]
    assert await store.runs.of_claimant(RepoId(1), "pr:1") == ()


async def test_the_open_runs_that_a_pull_request_pinned_are_found(store: Store) -> None:
    pinned = await live(store, run("a", number=1), actions_run_id=9)
    await live(store, run("b", number=1), actions_run_id=8)
    added = tuple(claimant(pinned, source) for source in ("pin:12:5", "pin:3:6"))
    await store.commit(Plan(add_claimants=added), NOW, done=None)
    for number, found in ((12, [pinned]), (3, [pinned]), (1, []), (2, [])):
        assert [item.run for item in await store.runs.pinned(REPO.id, number)] == found
    assert await store.runs.pinned(RepoId(1), 12) == ()


async def test_the_latest_attempt_of_an_actions_run_is_found(store: Store) -> None:
    first = await live(store, run(), actions_run_id=9)
    await store.commit(Plan(add_claimants=(claimant(first, "x"),)), NOW, done=None)
    (claimed,) = await store.runs.claim("me", NOW, lease_s=30, limit=9)
    ended = done(first, outcome=Outcome.FAILURE)
    assert await store.runs.save(claimed.lease, SaveRun(ended, due=None), NOW)
    second = await live(store, run(attempt=2), actions_run_id=9, actions_attempt=2)
    assert await store.runs.of_actions_run(REPO.id, 9) == second
    assert [item.run for item in await store.runs.of_claimant(REPO.id, "pr:1")] == [second]


async def test_live_runs_are_the_open_dispatched_ones_of_active_repositories(
    store: Store,
) -> None:
    await put(store, run("live"), run("queued"), run("ended"))
    found = await store.runs.claim("me", NOW, lease_s=30, limit=9)
    rows = {claimed.run.suite: claimed for claimed in found}
    live = replace(rows["live"].run, dispatched_at=NOW)
    assert await store.repos.with_dispatched_runs() == ()
    await store.runs.save(rows["live"].lease, SaveRun(live, due=None), NOW)
    ended = done(rows["ended"].run, dispatched_at=NOW)
    await store.runs.save(rows["ended"].lease, SaveRun(ended, due=None), NOW)
    assert await store.runs.dispatched(REPO.id) == (live,)
    assert await store.repos.with_dispatched_runs() == (REPO,)
    gone = InstallationEvent(70, active=False)
    await store.commit(Plan(installation=gone), NOW, done=None)
    assert await store.repos.with_dispatched_runs() == ()
