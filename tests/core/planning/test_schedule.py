"""Schedules: when one fires, whatever restarts and policies come between, and what it starts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.messages import quote
from bot.core.model.ids import RunId, Sha
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.planning.attempts import AttemptMaker, PolicyAt
from bot.core.planning.commits import Commit
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.planning.schedule import (
    CATCH_UP,
    Firing,
    FiringState,
    NightRuns,
    Schedule,
    due_firing,
    finished,
    firing_source,
    latest_attempts,
    next_time,
    plan_firing,
    plan_skipped,
    refuse,
    schedule_change,
    too_far_ahead,
)
from bot.core.policy.models import Nightly
from tests.core.building import REPO, SHA
from tests.core.policies import loaded

AT = datetime(2026, 8, 22, 17, 0, tzinfo=UTC)
AWAY = "the service was away"
DAILY = "0 17 * * *"
ROW = Schedule(REPO, "a2", DAILY, AT)
FIRING = Firing(REPO, "a2", AT, FiringState.SKIPPED)
SOURCE = "nightly:a2@2026-08-22T17:00:00Z"
ENTRY = Nightly(name="a2", cron=DAILY, suites=("n-*",))
POLICY = """
version: 1
runners: {npu-8: {npus: 8}}
suites:
  n-one: {workflow: a.yml, runners: [npu-8], triggers: [nightly]}
  n-two: {workflow: a.yml, runners: [npu-8], triggers: [nightly], tier: heavy}
  n-not: {workflow: a.yml, runners: [npu-8]}
  other: {workflow: a.yml, runners: [npu-8], triggers: [nightly]}
nightly: [{name: a2, suites: ["n-*"]}]
"""


def hours(many: float) -> timedelta:
    return timedelta(hours=many)


def maker() -> AttemptMaker:
    numbers = count(1)
    return AttemptMaker(AT, lambda: f"NEW{next(numbers)}")


def a_commit() -> Commit:
    at = PolicyAt(loaded(POLICY), "main", "b" * 40)
    return Commit(REPO, SHA, at, SOURCE, Rank.NIGHTLY, quote("the nightly a2 of 2026-08-22 17:00"))


def attempt(suite: str, number: int, outcome: Outcome | None, *sources: str) -> RunClaimants:
    run = Run(
        id=RunId(f"OLD-{suite}-{number}"),
        repo_id=REPO,
        sha=SHA,
        suite=suite,
        attempt=number,
        snapshot=a_commit().freeze(suite, quote("")),
        created_at=AT,
        state=State.DONE if outcome else State.RUNNING,
        outcome=outcome,
    )
    return RunClaimants(run, tuple(Claimant(run.id, source) for source in sources))


@pytest.mark.parametrize(
    ("cron", "late", "note", "too_late"),
    [
        (DAILY, hours(0), "", False),
        (DAILY, timedelta(minutes=5), "", False),
        (DAILY, hours(0.5), "the service was away: caught up 30 min late", False),
        (DAILY, CATCH_UP, "the service was away: caught up 2 h late", False),
        (
            DAILY,
            CATCH_UP + timedelta(seconds=1),
            "the service was away: not caught up 2 h late",
            True,
        ),
        (
            DAILY,
            hours(49),
            "the service was away: caught up 1 h late, for all times missed since the one before",
            False,
        ),
        (
            DAILY,
            hours(72),
            "the service was away: caught up 0 s late, for all times missed since the one before",
            False,
        ),
        (
            DAILY,
            hours(24 * 5 + 6),
            f"{AWAY}: not caught up 6 h late, for all times missed since the one before",
            True,
        ),
    ],
)
def test_how_late_a_firing_may_be(cron: str, late: timedelta, note: str, *, too_late: bool) -> None:
    found = due_firing(replace(ROW, cron=cron), AT + late)
    assert found is not None
    assert (found.note, found.too_late) == (note, too_late)
    assert found.at <= AT + late < found.then


def test_a_time_that_has_not_come_is_not_due() -> None:
    assert due_firing(ROW, AT - timedelta(microseconds=1)) is None


CRONS = ["0 17 * * *", "*/5 * * * *", "30 3 * * 1", "0 0 1 * *", "15 */6 * * 1-5"]


@settings(max_examples=60, deadline=None)
@given(
    cron=st.sampled_from(CRONS),
    looks=st.lists(st.integers(0, 60 * 24 * 12), min_size=1, max_size=12),
)
def test_whenever_the_service_looks_each_time_fires_once_or_is_left_out_for_a_later_one(
    cron: str, looks: list[int]
) -> None:
    start = AT - timedelta(minutes=7)
    row = Schedule(REPO, "a2", cron, next_time(cron, start))
    fired: list[datetime] = []
    for minutes in sorted(looks):
        now = start + timedelta(minutes=minutes, seconds=17)
        found = due_firing(row, now)
        if found is None:
            assert row.next > now
            continue
        fired.append(found.at)
        assert found.late == now - found.at
        assert found.missed == (found.at != row.next)
        row = replace(row, next=found.then)
        assert due_firing(row, now) is None  # a restart, or another replica, finds nothing left
    assert fired == sorted(set(fired))
    steps = CronSim(cron, start)
    last = start + timedelta(minutes=max(looks), seconds=17)
    times = set()
    while (time := next(steps)) <= last:
        times.add(time)
    assert set(fired) <= times
    assert (max(times) == fired[-1]) if times else not fired


def test_times_follow_the_policy_and_keep_what_has_not_changed() -> None:
    rows = (ROW, replace(ROW, name="gone"), replace(ROW, name="moved"))
    entries = (ENTRY, Nightly(name="moved", cron="0 5 * * *"), Nightly(name="new"))
    now = AT + hours(30)  # the first one is overdue: it is left to fire
    found = schedule_change(REPO, entries, rows, now)
    assert found.put == (
        Schedule(REPO, "moved", "0 5 * * *", AT + hours(36)),
        Schedule(REPO, "new", DAILY, AT + hours(48)),
    )
    assert found.drop == (rows[1],)


def test_a_time_that_a_clock_set_back_has_left_far_ahead_is_told() -> None:
    rows = (ROW, replace(ROW, name="ahead", next=AT + hours(48)))
    early = replace(rows[1], next=AT + hours(24))
    assert too_far_ahead(rows, AT + hours(1)) == ((rows[1], early),)
    assert too_far_ahead(rows, AT + hours(25)) == ()


def test_a_firing_starts_its_suites_last_and_says_how_many() -> None:
    plan = plan_firing(FIRING, a_commit(), ENTRY, NightRuns(()), maker())
    assert plan.firing == replace(
        FIRING, state=FiringState.STARTED, sha=SHA, note="2 suites started"
    )
    runs = [run for run, _ in plan.changes.new_runs]
    assert [(run.suite, run.attempt, run.number) for run in runs] == [
        ("n-one", 1, None),
        ("n-two", 1, None),
    ]
    assert {run.snapshot.reason for run in runs} == {"the nightly schedule `a2`"}
    claimants = {claimant for _, claimants in plan.changes.new_runs for claimant in claimants}
    assert {(claimant.source, claimant.rank) for claimant in claimants} == {(SOURCE, Rank.NIGHTLY)}


def test_what_ran_on_the_commit_is_measured_anew_and_what_is_open_joined() -> None:
    before = (
        attempt("n-one", 1, Outcome.FAILURE),
        attempt("n-one", 2, Outcome.SUCCESS),
        attempt("n-two", 1, None, "nightly:a2@yesterday"),
    )
    late = replace(FIRING, note="the service was away")
    plan = plan_firing(late, a_commit(), ENTRY, NightRuns(before), maker())
    ((run, _),) = plan.changes.new_runs
    assert (run.suite, run.attempt) == ("n-one", 3)
    assert run.snapshot.reason == (
        "the nightly schedule `a2`, which runs it anew: attempt 2 passed on this commit"
    )
    assert [claimant.run_id for claimant in plan.changes.add_claimants] == ["OLD-n-two-1"]
    assert plan.firing.note == (
        "the service was away; 1 suite started; run anew on a commit that had them: n-one;"
        " joined an open attempt: n-two"
    )


def test_a_red_attempt_is_not_said_to_have_passed() -> None:
    before = (attempt("n-one", 1, Outcome.FAILURE), attempt("n-two", 1, None))
    plan = plan_firing(FIRING, a_commit(), ENTRY, NightRuns(before), maker())
    assert "attempt 1 ended on this commit" in plan.changes.new_runs[0][0].snapshot.reason
    alone = plan_firing(FIRING, a_commit(), ENTRY, NightRuns(before[1:] * 2), maker())
    assert alone.firing.note == "1 suite started; joined an open attempt: n-two"


def test_a_firing_that_only_joins_starts_nothing_of_its_own() -> None:
    before = (attempt("n-one", 1, None), attempt("n-two", 1, None))
    plan = plan_firing(FIRING, a_commit(), ENTRY, NightRuns(before), maker())
    assert plan.changes.new_runs == ()
    assert plan.firing.note == "joined an open attempt: n-one and n-two"


def at_head(item: RunClaimants, sha: Sha, **changes: Any) -> RunClaimants:
    return replace(item, run=replace(item.run, sha=sha, **changes))


def test_what_still_waits_at_an_older_head_gives_way() -> None:
    old, night = Sha("c" * 40), "nightly:a2@2026-08-21T17:00:00Z"
    waits = attempt("n-one", 1, None, night, "pr:5", "nightly:a2b@2026-08-21T17:00:00Z")
    before = (
        at_head(waits, old, state=State.QUEUED),
        at_head(attempt("n-two", 1, None, night), old),  # it runs
        at_head(attempt("other", 1, None, night), old, state=State.QUEUED),  # not in this one
        at_head(attempt("n-two", 2, None, night), SHA, state=State.QUEUED),
    )
    plan = plan_firing(FIRING, a_commit(), ENTRY, NightRuns((), before), maker())
    why = f"the schedule a2 has started its next run, at {SHA[:7]}"
    assert plan.changes.drop_claimants == (DropClaimant(waits.run.id, night, quote(why)),)


def test_a_firing_that_waits_for_a_day_gives_up_what_is_queued() -> None:
    runs = (
        at_head(attempt("n-one", 1, None, SOURCE, "pr:5"), SHA, state=State.QUEUED),
        attempt("n-two", 1, None, SOURCE),  # it runs
        at_head(attempt("other", 1, None, "pr:5"), SHA, state=State.QUEUED),
    )
    assert plan_skipped(FIRING, runs, AT + hours(23.9)) == Plan()
    why = "a run of the schedule a2 is skipped after 24 h in the queue"
    dropped = plan_skipped(FIRING, runs, AT + hours(24)).drop_claimants
    assert dropped == (DropClaimant(runs[0].run.id, SOURCE, quote(why)),)


def test_a_firing_that_starts_nothing_keeps_its_reasons() -> None:
    late = replace(FIRING, note="the service was away")
    plan = refuse(late, "there is no branch v1")
    assert plan.firing.note == "the service was away; there is no branch v1"
    assert (plan.firing.state, plan.changes.new_runs) == (FiringState.REFUSED, ())


def test_a_firing_is_done_when_the_last_attempt_of_each_of_its_suites_is() -> None:
    started = replace(FIRING, state=FiringState.STARTED, sha=SHA, note="2 suites started")
    source = firing_source("a2", AT)
    assert source == SOURCE
    first = attempt("n-one", 1, Outcome.BROKEN, source)
    second = attempt("n-one", 2, Outcome.SUCCESS, source)
    runnable = attempt("n-two", 1, None, source)
    ended = attempt("n-two", 1, Outcome.FAILURE, source, "pr:1")
    foreign = attempt("other", 1, None, "nightly:a3@2026-08-22T17:00:00Z")
    assert finished(started, (first, second, runnable)) is None
    done = finished(started, (second, first, ended, foreign))
    assert done == replace(
        started, state=FiringState.DONE, note="2 suites started; 1 of 2 suites passed"
    )
    assert list(latest_attempts(started, (first, second, foreign))) == ["n-one"]
