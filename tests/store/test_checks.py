"""Check rows: one a run and one a commit, shown newest first of what matters."""

from dataclasses import replace

import pytest

from bot.core.github.events import InstallationEvent
from bot.core.messages import quote
from bot.core.model.ids import Sha
from bot.core.model.pulls import Approval, Pull
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import DispatchStarted, RunEvent, Source
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.selections import SelectionDetails, StoredSelection
from bot.core.model.views import GateDue, GateView, SuiteView
from bot.core.planning.plan import Plan
from bot.core.policy.levels import Level
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.checks import DueCheck
from bot.store.published import NotShown
from bot.store.runs import SaveRun
from tests.accounts import account
from tests.conftest import StoreFactory
from tests.store.building import NOW, REPO, SHA, after, done, put, run
from tests.store.recording_wake import RecordingWake

GATE = GateDue(REPO.id, SHA, 1)


async def claims(
    store: Store, at: float = 0, owner: str = "me", limit: int = 9
) -> tuple[DueCheck, ...]:
    return await store.checks.claim(owner, after(at), lease_s=30, limit=limit)


async def claim(store: Store, at: float = 0, owner: str = "me") -> DueCheck:
    (due,) = await claims(store, at, owner)
    return due


async def show(store: Store, due: DueCheck, at: float = 0, *, ended: bool = False) -> None:
    await store.checks.shown(
        due.lease, github_id=5, version=due.want_version, ended=ended, now=after(at)
    )


async def fail(store: Store, due: DueCheck, failure: NotShown, at: float = 0) -> None:
    await store.checks.failed(due.lease, failure, version=due.want_version, now=after(at))


async def touch(store: Store, gate: GateDue = GATE, at: float = 0) -> None:
    assert await store.commit(Plan(repo=REPO, gates=(gate,)), after(at), done=None)


async def save(store: Store, row: Run, at: float = 0, **more: object) -> None:
    """Save the due run as the runner does."""
    await store.commit(
        Plan(run_events=(RunEvent(row.id, Source.RUNNER, NOW, DispatchStarted(int(at))),)),
        after(at),
        done=None,
    )
    (claimed,) = await store.runs.claim("runner", after(at), lease_s=30, limit=1)
    saved = SaveRun(row, **{"due": None, **more})  # type: ignore[arg-type]
    assert await store.runs.save(claimed.lease, saved, after(at))


async def shown_run(store: Store) -> Run:
    """Store a run whose check run is shown."""
    made = run()
    await put(store, made)
    await show(store, await claim(store))
    return made


async def test_a_gate_that_was_first_is_shown_anew_once_its_check_run_is_there(
    store: Store,
) -> None:
    await touch(store)
    await show(store, await claim(store), ended=True)
    made = await shown_run(store)
    assert await claims(store, 59) == ()
    view = (await claim(store, 60)).view
    assert isinstance(view, GateView)
    assert view.check_ids == {made.id: 5}


async def test_a_gate_keeps_its_name_for_those_who_do_not_know_the_policys(store: Store) -> None:
    await touch(store, replace(GATE, name="npu-gate"))
    for at, unnamed in enumerate((GATE, replace(GATE, closed=quote("superseded")))):
        await touch(store, unnamed, at * 60)
        assert (await claim(store, at * 60)).name == "npu-gate"


async def test_a_gate_without_a_policy_has_the_usual_name(store: Store) -> None:
    await touch(store)
    assert (await claim(store)).name == "ascend-ci"


async def test_a_new_run_has_a_check_that_is_due(store: Store) -> None:
    made = run("ppo", number=1)
    await put(store, made)
    due = await claim(store)
    assert (due.external_id, due.name, due.sha, due.repo) == (made.id, "Ascend / ppo", SHA, REPO)
    assert (due.github_id, due.create_tried, due.ended) == (None, False, False)
    assert due.view == SuiteView(made, (), ())


async def test_a_suite_is_shown_with_its_story_and_its_rayjobs(store: Store) -> None:
    made = run()
    await put(store, made)
    job, run_event = (
        RayJob("j", made.id, "log", confirmed=True),
        RunEvent(made.id, Source.RUNNER, NOW, DispatchStarted(1)),
    )
    await save(store, made, run_events=(run_event,), rayjobs=(job,))
    view = (await claim(store)).view
    assert isinstance(view, SuiteView)
    assert run_event in view.run_events
    assert view.rayjobs == (job,)


async def test_what_is_shown_is_not_due(store: Store) -> None:
    await shown_run(store)
    assert await claims(store, 999) == ()


async def test_a_try_to_create_is_remembered_when_its_answer_is_lost(store: Store) -> None:
    await put(store, run())
    assert await store.checks.creating((await claim(store)).lease, NOW)
    assert (await claim(store, 30)).create_tried


async def test_no_news_makes_the_look_for_a_lost_create_sooner(store: Store) -> None:
    made = run()
    await put(store, made)
    due = await claim(store)
    assert await store.checks.creating(due.lease, NOW)
    await fail(store, due, NotShown(after(10), "lost"))
    await save(store, replace(made, state=State.RUNNING), 5)
    assert await claims(store, 9) == ()
    assert (await claim(store, 10)).create_tried


async def test_a_lost_lease_writes_nothing(store: Store) -> None:
    await put(store, run())
    late = await claim(store)
    fresh = await claim(store, 30, "other")
    assert not await store.checks.creating(late.lease, NOW)
    await show(store, late, 31)
    await fail(store, late, NotShown(None, "late", refused=True), at=31)
    await store.checks.replace(late.lease, NOW)
    again = await claim(store, 60, "third")
    assert (again.external_id, again.github_id) == (fresh.external_id, None)


@pytest.mark.both_databases
async def test_a_new_state_is_shown_at_once_and_in_the_gate_when_its_minute_is_over(
    store: Store,
) -> None:
    made = await shown_run(store)
    await touch(store)
    await show(store, await claim(store))
    await save(store, replace(made, state=State.RUNNING), at=1, show=True)
    suite = await claim(store, 1)
    assert (suite.external_id, suite.github_id, suite.want_version) == (made.id, 5, 2)
    await show(store, suite, 1)
    assert await claims(store, 59) == ()
    assert isinstance((await claim(store, 60)).view, GateView)


async def test_an_end_is_shown_at_once_in_the_check_and_the_gate(store: Store) -> None:
    made = await shown_run(store)
    await touch(store)
    await show(store, await claim(store))
    await save(store, done(made, outcome=Outcome.FAILURE), at=1)
    assert {type(due.view) for due in await claims(store, 1)} == {GateView, SuiteView}


async def test_a_done_run_is_shown_without_being_asked_for(store: Store) -> None:
    made = await shown_run(store)
    await save(store, done(made, outcome=Outcome.SUCCESS))
    assert (await claim(store)).external_id == made.id


async def test_progress_waits_for_its_minute(store: Store) -> None:
    made = await shown_run(store)
    await save(store, made, at=1, progress=True)
    await save(store, made, at=30, progress=True)
    assert await claims(store, 59) == ()
    due = await claim(store, 60)
    assert due.want_version == 3
    await show(store, due, 60)
    await save(store, made, at=200, progress=True)
    assert (await claim(store, 200)).want_version == 4


@pytest.mark.both_databases
async def test_progress_never_postpones_a_state(store: Store) -> None:
    made = await shown_run(store)
    await save(store, made, at=1, show=True)
    await save(store, made, at=2, progress=True)
    assert (await claim(store, 2)).want_version == 3


async def test_a_state_that_changes_while_it_is_shown_is_due_at_once(store: Store) -> None:
    made = await shown_run(store)
    await save(store, made, at=1, show=True)
    due = await claim(store, 1)
    await save(store, made, at=2, show=True)
    await show(store, due, 3)
    assert (await claim(store, 3)).want_version == 3


async def test_progress_that_comes_while_it_is_shown_waits_for_its_minute(store: Store) -> None:
    made = await shown_run(store)
    await save(store, made, at=1, show=True)
    due = await claim(store, 1)
    await save(store, made, at=2, progress=True)
    await show(store, due, 3)
    assert await claims(store, 62) == ()
    assert (await claim(store, 63)).want_version == 3


@pytest.mark.both_databases
async def test_gates_and_ends_come_first_then_creations_then_progress(store: Store) -> None:
    suites = {suite: run(suite) for suite in ("progress", "end", "new")}
    await put(store, suites["progress"], suites["end"])
    for due in await claims(store):
        await show(store, due)
    for claimed in await store.runs.claim("runner", NOW, lease_s=30, limit=9):
        await store.runs.save(claimed.lease, SaveRun(claimed.run, due=None), NOW)
    await save(store, suites["progress"], at=100, progress=True)
    await put(store, suites["new"], at=after(101))
    for claimed in await store.runs.claim("runner", after(101), lease_s=30, limit=9):
        await store.runs.save(claimed.lease, SaveRun(claimed.run, due=None), NOW)
    await save(store, done(suites["end"]), at=102)
    await touch(store, at=103)
    found = [*await claims(store, 104, limit=2), *await claims(store, 104)]
    assert [due.name for due in found] == [
        "Ascend / end",
        "ascend-ci",
        "Ascend / new",
        "Ascend / progress",
    ]


@pytest.mark.both_databases
async def test_a_touched_gate_is_made_once_and_bumped_after(store: Store) -> None:
    await touch(store)
    first = await claim(store)
    assert (first.name, first.sha, first.want_version, len(first.external_id)) == (
        "ascend-ci",
        SHA,
        1,
        26,
    )
    await show(store, first)
    broken = SelectionDetails(policy_errors=(quote("line 3: no"),))
    row = StoredSelection(REPO.id, SHA, 1, "p", broken)
    changed = Plan(selection=row, gates=(replace(GATE, number=0, name="npu"),))
    await store.commit(changed, NOW, done=None)
    again = await claim(store)
    assert (again.external_id, again.name, again.want_version) == (first.external_id, "npu", 2)
    assert isinstance(again.view, GateView)
    assert again.view.policy_errors == ("line 3: no",)


@pytest.mark.both_databases
async def test_a_gate_says_what_is_known_of_its_commit(store: Store) -> None:
    made = await shown_run(store)
    second = run("other")
    await put(store, second)
    pull = Pull(REPO.id, 1, SHA, REPO.id, "main", account("ann"))
    selection = StoredSelection(REPO.id, SHA, 1, "p", SelectionDetails())
    approval = Approval(REPO.id, SHA, account("bob"), Level.WRITE, "button", NOW)
    await store.commit(Plan(approval=replace(approval, sha=Sha("b" * 40))), NOW, done=None)
    changes = Plan(pull=pull, selection=selection, approval=approval, gates=(GATE,))
    await store.commit(changes, NOW, done=None)
    gate = next(due for due in await claims(store) if isinstance(due.view, GateView))
    assert gate.view == GateView(
        sha=SHA,
        pulls=(pull,),
        selections=(selection,),
        runs=(made, second),
        check_ids={made.id: 5},
        approvals=(approval,),
        closed=quote(""),
        at=NOW,
    )


async def test_closing_makes_no_gate(store: Store) -> None:
    await touch(store, replace(GATE, closed=quote("superseded by 9f8e7d6")))
    assert await claims(store) == ()


@pytest.mark.both_databases
async def test_closing_shows_an_open_gate_and_leaves_an_ended_one(store: Store) -> None:
    closing = replace(GATE, closed=quote("closed"))
    await touch(store)
    await show(store, await claim(store))
    await touch(store, closing)
    due = await claim(store)
    assert isinstance(due.view, GateView)
    assert due.view.closed == "closed"
    await show(store, due, ended=True)
    await touch(store, replace(GATE, closed=quote("superseded")))
    assert await claims(store) == ()


async def test_closing_shows_a_gate_that_was_about_to_open_again(store: Store) -> None:
    await touch(store)
    await show(store, await claim(store), ended=True)
    await touch(store)  # an approval
    await touch(store, replace(GATE, closed=quote("superseded")))
    view = (await claim(store)).view
    assert isinstance(view, GateView)
    assert view.closed == "superseded"


@pytest.mark.both_databases
async def test_a_gate_is_looked_at_anew_when_one_of_its_pull_requests_leaves(store: Store) -> None:
    other = Pull(REPO.id, 2, SHA, REPO.id, "main", account("ann"))
    await store.commit(Plan(repo=REPO, pull=other, gates=(GATE,)), NOW, done=None)
    await show(store, await claim(store))
    await touch(store, replace(GATE, closed=quote("closed")))
    left = await claim(store)
    assert isinstance(left.view, GateView)
    assert (left.view.closed, left.view.pulls) == ("", (other,))
    await show(store, left)
    gone = replace(other, open=False)
    await store.commit(
        Plan(pull=gone, gates=(replace(GATE, closed=quote("closed")),)), NOW, done=None
    )
    last = (await claim(store)).view
    assert isinstance(last, GateView)
    assert last.closed == "closed"


async def test_a_gate_that_is_a_head_again_is_no_longer_closed(store: Store) -> None:
    await touch(store)
    await touch(store, replace(GATE, closed=quote("closed")))
    await touch(store)
    view = (await claim(store)).view
    assert isinstance(view, GateView)
    assert view.closed == ""


@pytest.mark.both_databases
async def test_a_replaced_gate_gets_a_new_row_that_is_due_and_is_bumped_from_then_on(
    store: Store,
) -> None:
    await touch(store)
    old = await claim(store)
    await show(store, old, ended=True)
    await touch(store, at=1)
    ended = await claim(store, 1)
    assert ended.ended
    await store.checks.replace(ended.lease, after(1))
    new = await claim(store, 1)
    assert new.external_id != old.external_id
    assert (new.github_id, new.ended, new.create_tried, new.name) == (
        None,
        False,
        False,
        "ascend-ci",
    )
    await show(store, new, 1)
    await touch(store, at=2)
    assert (await claim(store, 2)).external_id == new.external_id


@pytest.mark.both_databases
async def test_a_check_that_failed_for_now_is_due_later(store: Store) -> None:
    await put(store, run())
    await fail(store, await claim(store), NotShown(after(60), "502"))
    assert await claims(store, 59) == ()
    assert len(await claims(store, 60)) == 1


@pytest.mark.both_databases
async def test_nothing_is_shown_in_a_repository_that_may_not_be_called(store: Store) -> None:
    await put(store, run())
    gone = InstallationEvent(70, active=False)
    await store.commit(Plan(installation=gone), NOW, done=None)
    assert await claims(store) == ()
    back = InstallationEvent(70, active=True)
    await store.commit(Plan(installation=back), NOW, done=None)
    assert len(await claims(store)) == 1


async def test_a_replaced_check_pokes_the_reporter(store_factory: StoreFactory) -> None:
    pokes = RecordingWake()
    store = await store_factory(wake=pokes)
    await touch(store)
    due = await claim(store)
    pokes.topics()
    await store.checks.replace(due.lease, NOW)
    assert pokes.topics() == [Topic.REPORTER]
