"""One commit for a plan: runs, claimants, stop requests, events, gates, replies and audit."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from bot.core.messages import quote
from bot.core.model.ids import RunId, Sha
from bot.core.model.pulls import Pull
from bot.core.model.run_events import NativeRunSeen, RunEvent, Source, WorkflowRunChanged
from bot.core.model.runs import Claimant, Outcome, Run, State, StopReason, StopRequest
from bot.core.planning.plan import AuditEntry, DropClaimant, Plan, RunClaimants
from bot.ports.errors import Transient
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.audit import AuditQuery
from bot.store.database import all_rows
from bot.store.leases import Lease
from bot.store.runs import ClaimedRun, SaveRun
from bot.store.tables import audit
from tests.accounts import account
from tests.conftest import StoreFactory
from tests.store.building import NOW, REPO, SHA, after, claimant, delivery, done, put, run
from tests.store.recording_wake import RecordingWake

pytestmark = pytest.mark.both_databases


CANCEL = StopRequest(StopReason.CANCEL, by="ann", reason=quote("cancelled by ann"), at=NOW)
OVER = WorkflowRunChanged(1, "completed", "success")


async def claim(store: Store, at: float = 0, owner: str = "me") -> ClaimedRun:
    (claimed,) = await store.runs.claim(owner, after(at), lease_s=30, limit=9)
    return claimed


async def rest(store: Store, claimed: ClaimedRun, run: Run | None = None) -> None:
    """Give a claimed run back with nothing to do."""
    assert await store.runs.save(claimed.lease, SaveRun(run or claimed.run, due=None), NOW)


async def commit(store: Store, **changes: object) -> None:
    assert await store.commit(Plan(**changes), NOW, done=None)  # type: ignore[arg-type]


async def stored(store: Store) -> tuple[RunClaimants, ...]:
    return await store.runs.at(REPO.id, SHA)


async def test_a_new_run_is_stored_with_its_claimants_and_is_due(store: Store) -> None:
    made = run(number=1, origin="a push", not_before=after(60), dispatch_id="D1")
    claimants = (claimant(made, "pr:1"), claimant(made, "pin:5", auto=False, by=account("ann")))
    await commit(store, repo=REPO, new_runs=((made, claimants),))
    claimed = await claim(store)
    assert claimed.run == made
    assert set(claimed.claimants) == set(claimants)
    assert (claimed.run_events, claimed.rayjobs) == ((), ())


async def test_claimants_of_a_new_run_go_to_the_open_one(store: Store) -> None:
    first, second = run(), run()
    await put(store, first, source="pr:1")
    await rest(store, await claim(store))
    await put(store, second, source="pr:2")
    ((found, claimants),) = [(item.run, item.claimants) for item in await stored(store)]
    assert found == first
    assert [item.source for item in claimants] == ["pr:1", "pr:2"]
    assert (await claim(store)).run.id == first.id  # it was poked


async def test_an_attempt_number_that_is_taken_becomes_the_next_free_one(store: Store) -> None:
    first = run()
    await put(store, first)
    claimed = await claim(store)
    ended = done(first, outcome=Outcome.FAILURE)
    assert await store.runs.save(claimed.lease, SaveRun(ended, due=None), NOW)
    await put(store, run())
    assert [item.run.attempt for item in await stored(store)] == [1, 2]


async def test_other_suites_shas_and_repositories_have_runs_of_their_own(store: Store) -> None:
    await put(store, run("a"), run("b"), run("a", sha="b" * 40), run("a", repo_id=8))
    assert len(await store.runs.claim("me", NOW, lease_s=30, limit=9)) == 4


async def test_the_last_claimant_gone_supersedes_and_pokes(store: Store) -> None:
    made = run()
    await put(store, made, source="pr:1")
    await commit(store, add_claimants=(claimant(made, "pr:2"),))
    await rest(store, await claim(store))
    await commit(store, drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),))
    assert await store.runs.claim("me", NOW, lease_s=30, limit=9) == ()
    await commit(
        store, drop_claimants=(DropClaimant(made.id, "pr:2", quote("superseded by 9f8e7d6")),)
    )
    assert (await claim(store)).run.stop_request == StopRequest(
        StopReason.SUPERSEDE, by="", reason=quote("superseded by 9f8e7d6"), at=NOW
    )


async def test_a_claim_on_a_run_that_was_superseded_meanwhile_is_refused_whole(
    store: Store,
) -> None:
    made, other = run("a"), run("b")
    await put(store, made, source="pr:1")
    claimed = await claim(store)
    await commit(store, drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),))
    ended = done(made, outcome=Outcome.SUPERSEDED)
    assert await store.runs.save(claimed.lease, SaveRun(ended, due=None), NOW)
    with pytest.raises(Transient, match="superseded meanwhile"):
        await commit(store, new_runs=((other, ()),), add_claimants=(claimant(made, "pr:1"),))
    assert [item.run.suite for item in await stored(store)] == ["a"]


async def test_dropping_a_claimant_that_is_not_there_changes_nothing(store: Store) -> None:
    made = run()
    await commit(store, new_runs=((made, ()),))
    await rest(store, await claim(store))
    await commit(store, drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),))
    assert await store.runs.claim("me", NOW, lease_s=30, limit=9) == ()


async def test_a_claimant_that_moves_in_one_commit_supersedes_nothing(store: Store) -> None:
    made = run()
    await put(store, made, source="pr:1")
    await commit(
        store,
        add_claimants=(claimant(made, "group:x"),),
        drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),),
    )
    assert (await claim(store)).run.stop_request is None


async def test_the_first_stop_request_stays(store: Store) -> None:
    made = run()
    await put(store, made)
    await commit(store, stop_requests=((made.id, CANCEL),))
    await commit(store, stop_requests=((made.id, replace(CANCEL, by="bob")),))
    await commit(store, drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),))
    assert (await claim(store)).run.stop_request == CANCEL


async def superseded(store: Store, state: State = State.QUEUED) -> Run:
    """Store a run in a state, without claimants."""
    made = run()
    await put(store, made)
    claimed = await claim(store)
    await rest(store, claimed, replace(made, state=state))
    await commit(store, drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),))
    return made


async def test_a_claimant_again_before_the_dispatch_takes_the_supersede_stop_request_back(
    store: Store,
) -> None:
    made = await superseded(store)
    reader = await claim(store)
    assert reader.run.stop_request is not None
    await commit(store, add_claimants=(claimant(made, "pr:2"),))
    again = await claim(store, owner="other")
    assert again.run.stop_request is None
    ended = done(reader.run, outcome=Outcome.SUPERSEDED)
    assert not await store.runs.save(reader.lease, SaveRun(ended, due=None), NOW)


async def test_a_claimant_again_after_the_dispatch_leaves_the_stop_request(store: Store) -> None:
    made = await superseded(store, State.DISPATCHING)
    await commit(store, add_claimants=(claimant(made, "pr:2"),))
    stop_request = (await claim(store)).run.stop_request
    assert stop_request is not None
    assert stop_request.kind is StopReason.SUPERSEDE


async def test_a_claimant_does_not_take_a_persons_cancel_back(store: Store) -> None:
    made = run()
    await put(store, made)
    await commit(store, stop_requests=((made.id, CANCEL),))
    await commit(store, add_claimants=(claimant(made, "pr:2"),))
    assert (await claim(store)).run.stop_request == CANCEL


async def test_a_new_event_is_kept_and_pokes_a_known_one_does_neither(store: Store) -> None:
    made = run()
    await put(store, made)
    await rest(store, await claim(store))
    run_event = RunEvent(made.id, Source.WEBHOOK, NOW, OVER)
    await commit(store, run_events=(run_event, replace(run_event, source=Source.POLL)))
    claimed = await claim(store)
    assert claimed.run_events == (replace(run_event, source=Source.POLL), run_event)
    await rest(store, claimed)
    await commit(
        store, run_events=(replace(run_event, what=WorkflowRunChanged(1, "completed", "failure")),)
    )
    assert await store.runs.claim("me", NOW, lease_s=30, limit=9) == ()


async def test_events_claimants_and_stop_requests_of_a_done_run_do_not_wake_it(
    store: Store,
) -> None:
    made = run()
    await put(store, made)
    await rest(store, await claim(store), done(made, outcome=Outcome.SUCCESS))
    await commit(
        store,
        run_events=(RunEvent(made.id, Source.WEBHOOK, NOW, OVER),),
        add_claimants=(claimant(made, "pr:2"),),
        stop_requests=((made.id, CANCEL),),
        drop_claimants=(DropClaimant(made.id, "pr:1", quote("closed")),),
    )
    assert await store.runs.claim("me", after(99), lease_s=30, limit=9) == ()
    (found,) = await stored(store)
    assert found.run.stop_request is None


async def test_events_of_a_run_that_was_pruned_are_dropped(store: Store) -> None:
    made = run()
    await put(store, made)
    await commit(
        store,
        run_events=(
            RunEvent(RunId("nobody"), Source.WEBHOOK, NOW, OVER),
            RunEvent(made.id, Source.WEBHOOK, NOW, OVER),
        ),
    )
    assert [run_event.run_id for run_event in (await claim(store)).run_events] == [made.id]


async def test_claimants_of_a_run_that_was_pruned_are_dropped(store: Store) -> None:
    await commit(store, add_claimants=(Claimant(RunId("nobody"), "pr:1"),))
    assert await store.runs.of_claimant(REPO.id, "pr:1") == ()


async def test_a_lost_delivery_lease_writes_nothing(store: Store) -> None:
    await store.deliveries.put(delivery("g"))
    ((lease, _),) = await store.deliveries.claim("me", NOW, lease_s=30, limit=1)
    await store.deliveries.claim("other", after(31), lease_s=30, limit=1)
    made = run()
    changes = Plan(repo=REPO, new_runs=((made, (claimant(made),)),))
    assert not await store.commit(changes, after(32), done=lease)
    assert not await store.commit(changes, after(32), done=Lease("999", "me", 1))
    assert await stored(store) == ()
    assert await store.repos.get(REPO.id) is None


async def test_audit_entries_are_written(store: Store) -> None:
    entry = AuditEntry(NOW, "ann", "approve", allowed=False, rule="trust.approve", sha=SHA)
    await commit(store, audit=(entry, replace(entry, who="bob\x00")))
    query = select(audit).order_by(audit.c.seq)
    found = await store._db.read(lambda conn: all_rows(conn, query))
    assert [row.who for row in found] == ["ann", "bob\ufffd"]
    assert (found[0].at, found[0].allowed) == (NOW, False)


async def test_a_commit_pokes_those_it_has_work_for(store_factory: StoreFactory) -> None:
    pokes = RecordingWake()
    store = await store_factory(wake=pokes)
    await commit(store, repo=REPO)
    assert pokes.topics() == []
    made = run()
    await put(store, made)
    assert pokes.topics() == [Topic.REPORTER, Topic.RUNNER]
    await commit(store, stop_requests=((made.id, CANCEL),))
    assert pokes.topics() == [Topic.RUNNER]


async def test_what_was_decided_on_a_head_is_not_written_once_it_has_moved(store: Store) -> None:
    old = Pull(REPO.id, 1, SHA, REPO.id, "main", account("ann"))
    await commit(store, repo=REPO, pull=old)
    await commit(store, basis=old, audit=(entry("in time"),))
    for moved in (replace(old, head_sha=Sha("b" * 40)), replace(old, open=False)):
        await commit(store, pull=moved)
        late = Plan(basis=old, audit=(entry("too late"),))
        assert not await store.commit(late, NOW, done=None)
    newer = replace(old, updated_at=after(1))  # GitHub's answer, before the webhook that tells it
    await commit(store, pull=replace(old, head_sha=Sha("b" * 40), updated_at=NOW))
    await commit(store, basis=newer, audit=(entry("newer than the row"),))
    await commit(store, basis=replace(old, number=2), audit=(entry("without a row"),))
    said = await store.audit.search(AuditQuery(who="ann", since=NOW))
    assert {item.entry.what for item in said} == {"in time", "newer than the row", "without a row"}


def entry(what: str) -> AuditEntry:
    return AuditEntry(NOW, "ann", what, allowed=True, rule="trust", repo_id=REPO.id)


async def test_a_mistaken_run_leaves_its_place_and_one_that_ended_loses_its_result(
    store: Store,
) -> None:
    first, goes_on = run("ended", actions_run_id=8), run("open", actions_run_id=9)
    await put(store, first)
    claimed = await claim(store)
    ended = done(first, outcome=Outcome.SUCCESS)
    assert await store.runs.save(claimed.lease, SaveRun(ended, due=None), NOW)
    await put(store, goes_on)
    seen = NativeRunSeen(9, 1, "", "push")
    await commit(store, run_events=(RunEvent(goes_on.id, Source.WEBHOOK, NOW, seen),))
    later = run("open", attempt=2)
    made = ((later, (claimant(later),)),)
    await commit(store, mistaken=(first.id, goes_on.id), new_runs=made)
    known, followed = await store.runs.natives_at(REPO.id, SHA)
    assert followed == {9: seen}
    assert known == await stored(store)
    told = {item.run.id: (item.run, item.claimants) for item in known}
    assert told[first.id][0].outcome is Outcome.SUPERSEDED
    assert told[goes_on.id][0].stop_request
    assert [run.mistaken for run, _ in told.values()] == [True, True, False]
    assert [bool(claimants) for _, claimants in told.values()] == [False, False, True]
    claimed = next(
        item
        for item in await store.runs.claim("me", NOW, lease_s=30, limit=9)
        if item.run.id == goes_on.id
    )
    unaware = replace(claimed.run, mistaken=False)
    assert await store.runs.save(claimed.lease, SaveRun(unaware, due=None), NOW)
    again = await store.runs.get(goes_on.id)
    assert again is not None
    assert again.mistaken
    assert await store.runs.natives_at(REPO.id, Sha("d" * 40)) == ((), {})
