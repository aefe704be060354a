"""The verdict from the ends of the Actions run and its RayJobs, row by row."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.messages import quote
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import LogRead, WorkflowRunEnded
from bot.core.model.runs import Outcome, Run
from bot.core.runs.observed import Observed
from bot.core.runs.verdict import Decided, Pending, judge
from tests.core.building import a_rayjob, at, dispatched, with_changes
from tests.core.runs.steps import FILLED

PLAIN, RAY = dispatched(), dispatched(rayjob=True)
SILENT: dict[str, Any] = {"silent_since": at(5)}
OTHER: dict[str, Any] = {"job_id": "job-2"}


def seen(conclusion: str | None, *, read: bool = False, final: str | None = None) -> Observed:
    """Return the end of an Actions run after 30 min; ``read``: its log, with this last word."""
    return Observed(
        started_at=at(0),
        seen_end_at=at(30),
        ended=True,
        conclusion=conclusion,
        log=LogRead(1, final) if read or final else None,
    )


def decided(outcome: Outcome) -> Decided:
    return Decided(outcome, FILLED)


SUCCESS, FAILURE, TIMED_OUT = map(decided, (Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMED_OUT))
BROKEN, CANCELLED = decided(Outcome.BROKEN), decided(Outcome.CANCELLED)
WAITS = Pending(FILLED)
IN_DOUBT = Pending(FILLED, unknown=True)  # broken at the time limit
ASKS_LOG = Pending(FILLED, unknown=True, read_log=True)
GREEN, READ = seen("success"), seen("success", read=True)
IDLE = replace(GREEN, end=WorkflowRunEnded(1, "success", idle=True))
NEEDS = replace(seen("failure"), end=WorkflowRunEnded(1, "failure", needed="build"))
NEEDS_CANCELLED = replace(seen("cancelled"), end=WorkflowRunEnded(1, "cancelled", needed="build"))
OF_JOBS = dispatched()
OF_JOBS = replace(OF_JOBS, snapshot=with_changes(OF_JOBS.snapshot, jobs=("unit",)))
AT_NIGHT = replace(PLAIN, snapshot=replace(PLAIN.snapshot, apart="schedule:1"))
HIDDEN = replace(GREEN, end=WorkflowRunEnded(1, "success", failed_job="unit"))
BY_RAYJOB = [
    pytest.param(GREEN, [a_rayjob("SUCCEEDED")], SUCCESS, id="SUCCEEDED"),
    pytest.param(GREEN, [a_rayjob("FAILED")], FAILURE, id="FAILED"),
    pytest.param(GREEN, [a_rayjob("TIMEOUT")], TIMED_OUT, id="TIMEOUT"),
    pytest.param(GREEN, [a_rayjob()], WAITS, id="not ended: it runs on"),
    pytest.param(
        seen("success", final="SUCCEEDED"), [a_rayjob()], WAITS, id="alive: no log ends it"
    ),
    pytest.param(GREEN, [a_rayjob(**SILENT)], ASKS_LOG, id="silent: ask the log"),
    pytest.param(READ, [a_rayjob(**SILENT)], IN_DOUBT, id="silent, no word in the log"),
    pytest.param(
        seen("success", final="SUCCEEDED"),
        [a_rayjob(**SILENT)],
        SUCCESS,
        id="silent: the log's word (K)",
    ),
    pytest.param(
        seen("success", final="FAILED"), [a_rayjob(**SILENT)], FAILURE, id="silent: log FAILED"
    ),
    pytest.param(
        seen("success", final="NOT_FOUND"),
        [a_rayjob(**SILENT)],
        IN_DOUBT,
        id="silent: NOT_FOUND is no end in a log either",
    ),
    pytest.param(READ, [a_rayjob("NOT_FOUND")], IN_DOUBT, id="NOT_FOUND"),
    pytest.param(READ, [a_rayjob("STOPPED")], IN_DOUBT, id="STOPPED"),
    pytest.param(READ, [a_rayjob("ODD")], IN_DOUBT, id="a word nobody knows"),
    pytest.param(GREEN, [a_rayjob("NOT_FOUND")], ASKS_LOG, id="NOT_FOUND: ask log"),
    pytest.param(
        seen("success", final="SUCCEEDED"),
        [a_rayjob("NOT_FOUND")],
        SUCCESS,
        id="NOT_FOUND, confirmed: the log's word",
    ),
    pytest.param(
        GREEN,
        [a_rayjob("SUCCEEDED", confirmed=False)],
        ASKS_LOG,
        id="unconfirmed: never green",
    ),
    pytest.param(
        seen("success", final="SUCCEEDED"),
        [a_rayjob("SUCCEEDED", confirmed=False)],
        IN_DOUBT,
        id="unconfirmed: not by the log while the submitter answers",
    ),
    pytest.param(
        seen("success", final="SUCCEEDED"),
        [a_rayjob(confirmed=False, **SILENT)],
        IN_DOUBT,
        id="unconfirmed and silent: the log's word is no evidence",
    ),
    pytest.param(GREEN, [a_rayjob("FAILED", confirmed=False)], FAILURE, id="unconfirmed: red"),
    pytest.param(
        GREEN,
        [a_rayjob("SUCCEEDED"), a_rayjob("FAILED", **OTHER)],
        FAILURE,
        id="several: the worst",
    ),
    pytest.param(
        GREEN,
        [a_rayjob("TIMEOUT"), a_rayjob("FAILED", **OTHER)],
        FAILURE,
        id="several: FAILED is worse than TIMEOUT",
    ),
    pytest.param(
        GREEN, [a_rayjob("FAILED"), a_rayjob(**OTHER)], FAILURE, id="several: red needs not all"
    ),
    pytest.param(
        GREEN, [a_rayjob("SUCCEEDED"), a_rayjob(**OTHER)], WAITS, id="several: green needs all"
    ),
    pytest.param(
        seen("success", final="SUCCEEDED"),
        [a_rayjob("SUCCEEDED"), a_rayjob(**OTHER, **SILENT)],
        IN_DOUBT,
        id="several: the log's last word is of one only",
    ),
    pytest.param(GREEN, [], ASKS_LOG, id="never seen: ask the log"),
]


@pytest.mark.parametrize(("observed", "jobs", "expected"), BY_RAYJOB)
def test_a_green_actions_run_waits_for_its_rayjob(
    observed: Observed, jobs: list[RayJob], expected: Pending | Decided
) -> None:
    assert judge(RAY, observed, tuple(jobs), at(31)) == expected


@pytest.mark.parametrize(
    ("minutes", "expected"), [(30, WAITS), (31.9, WAITS), (32, BROKEN), (600, BROKEN)]
)
def test_a_rayjob_that_nobody_saw_for_two_minutes_makes_broken(
    minutes: float, expected: Pending | Decided
) -> None:
    assert judge(RAY, READ, (), at(minutes)) == expected


def test_a_rayjob_is_waited_for_when_the_end_has_no_time() -> None:
    assert judge(RAY, replace(READ, seen_end_at=None), (), at(600)) == WAITS


@pytest.mark.parametrize("run", [PLAIN, RAY])
@pytest.mark.parametrize("jobs", [(), (a_rayjob("SUCCEEDED"),), (a_rayjob(),)])
@pytest.mark.parametrize(
    ("conclusion", "outcome"),
    [
        ("failure", FAILURE),
        ("cancelled", CANCELLED),
        ("timed_out", TIMED_OUT),
        ("skipped", BROKEN),
        ("neutral", BROKEN),
        ("startup_failure", BROKEN),
        ("action_required", BROKEN),
        ("stale", BROKEN),
        ("deleted", BROKEN),
        ("what_comes_next", BROKEN),
        (None, BROKEN),
    ],
)
def test_an_actions_run_that_is_not_green_decides_alone(
    run: object, jobs: tuple[RayJob, ...], conclusion: str | None, outcome: Decided
) -> None:
    assert judge(run, seen(conclusion), jobs, at(31)) == outcome  # type: ignore[arg-type]


def test_without_a_rayjob_the_actions_run_alone_makes_green() -> None:
    assert judge(PLAIN, GREEN, (), at(31)) == SUCCESS
    ran = replace(GREEN, end=WorkflowRunEnded(1, "success"))
    assert judge(PLAIN, ran, (), at(31)) == SUCCESS
    assert judge(PLAIN, IDLE, (), at(31)) == BROKEN
    assert judge(dispatched(label=None), IDLE, (), at(31)) == BROKEN
    assert judge(PLAIN, HIDDEN, (), at(31)) == FAILURE


@pytest.mark.parametrize(
    ("least", "started", "expected"),
    [
        pytest.param(0, True, SUCCESS, id="no limit"),
        pytest.param(30, True, SUCCESS, id="just long enough"),
        pytest.param(31, True, BROKEN, id="too soon"),
        pytest.param(10, False, BROKEN, id="nobody saw it start"),
        pytest.param(0, False, SUCCESS, id="no limit, nobody saw it start"),
    ],
)
def test_a_green_end_too_soon_is_not_believed(
    least: int, started: bool, expected: Pending | Decided
) -> None:
    observed = GREEN if started else replace(GREEN, started_at=None)
    assert judge(dispatched(min_minutes=least), observed, (), at(31)) == expected
    ray = dispatched(rayjob=True, min_minutes=least)
    assert judge(ray, observed, (a_rayjob("SUCCEEDED"),), at(31)) == expected


def test_an_end_too_soon_says_how_soon_and_what_is_the_minimum() -> None:
    verdict = judge(dispatched(min_minutes=31), GREEN, (), at(31))
    assert isinstance(verdict, Decided)
    assert verdict.why == (
        "green after 30 min, below the suite's minimum of 31 min, so it probably ran nothing"
    )


@pytest.mark.parametrize(("limit", "expected"), [(31, TIMED_OUT), (30, TIMED_OUT), (32, CANCELLED)])
def test_github_cancels_a_job_at_its_own_limit(limit: int, expected: Pending | Decided) -> None:
    verdict = judge(dispatched(timeout_minutes=limit), seen("cancelled"), (), at(31))
    assert verdict == expected


def test_a_failed_rayjob_brings_its_message_and_who_said_so() -> None:
    job = a_rayjob("FAILED", message="out of memory")
    verdict = judge(RAY, GREEN, (job,), at(31))
    assert verdict.why == "RayJob FAILED, out of memory"
    asked = judge(RAY, GREEN, (replace(job, final_from="state", message=""),), at(31))
    assert asked.why == "RayJob FAILED (as the submitter says)"


def test_an_unknown_end_says_what_is_known() -> None:
    assert "12:05" in judge(RAY, READ, (a_rayjob(**SILENT),), at(31)).why
    assert "says STOPPED" in judge(RAY, READ, (a_rayjob("STOPPED"),), at(31)).why
    assert "gone" in judge(RAY, READ, (a_rayjob("STOPPED", message="gone"),), at(31)).why
    assert "`job-1`" in judge(RAY, READ, (a_rayjob(confirmed=False),), at(31)).why


WORDS = st.sampled_from([None, "SUCCEEDED", "FAILED", "TIMEOUT", "NOT_FOUND", "STOPPED", "ODD"])
JOBS = st.builds(
    RayJob,
    job_id=st.sampled_from(["a", "b"]),
    run_id=st.just(RAY.id),
    seen=st.just("log"),
    confirmed=st.booleans(),
    final=WORDS,
    silent_since=st.sampled_from([None, at(5)]),
)
ENDS = st.builds(
    Observed,
    started_at=st.sampled_from([None, at(0)]),
    seen_end_at=st.sampled_from([None, at(30)]),
    ended=st.just(True),
    conclusion=st.sampled_from([None, "success", "failure", "cancelled", "skipped"]),
    rayjobs_listed=st.booleans(),
    log=st.one_of(st.none(), st.builds(LogRead, attempt=st.just(1), final=WORDS)),
)


@pytest.mark.parametrize("final", ["FAILED", "TIMEOUT"])
def test_a_rayjob_that_failed_with_its_workflow_is_named(final: str) -> None:
    verdict = judge(RAY, seen("failure"), (a_rayjob(final),), at(30))
    assert verdict == Decided(Outcome.FAILURE, quote(f"RayJob {final}"))
    plain = judge(PLAIN, seen("failure"), (a_rayjob(final),), at(30))
    assert plain == Decided(Outcome.FAILURE, quote("The Actions run failed"))


@given(ENDS, st.lists(JOBS, max_size=3), st.integers(0, 3000))
def test_no_answer_is_never_green(observed: Observed, jobs: list[RayJob], minutes: int) -> None:
    verdict = judge(RAY, observed, tuple(jobs), at(minutes))
    if not (isinstance(verdict, Decided) and verdict.outcome is Outcome.SUCCESS):
        return
    by_submitter = all(job.confirmed and job.final == "SUCCEEDED" for job in jobs)
    said = observed.log is not None and observed.log.final == "SUCCEEDED"
    no_answer = len(jobs) == 1 and (
        jobs[0].silent_since or jobs[0].final in {"NOT_FOUND", "STOPPED", "ODD"}
    )
    assert observed.conclusion == "success"
    assert jobs
    assert all(job.confirmed for job in jobs)
    assert by_submitter or (said and no_answer)


def test_a_neutral_end_is_not_said_to_be_skipped() -> None:
    told = judge(PLAIN, seen("neutral"), (), at(31))
    assert isinstance(told, Decided)
    assert told.why == "the Actions run ended with `neutral`"


@pytest.mark.parametrize(
    ("run", "observed", "outcome", "key"),
    [
        (OF_JOBS, NEEDS, Outcome.FAILURE, "run_needs"),
        (OF_JOBS, NEEDS_CANCELLED, Outcome.CANCELLED, "run_needs_cancelled"),
        (OF_JOBS, seen("failure"), Outcome.FAILURE, "run_own_failed"),
        (OF_JOBS, seen("absent"), Outcome.BROKEN, "run_no_job"),
        (OF_JOBS, seen("skipped"), Outcome.SKIPPED, "run_not_in"),
        (AT_NIGHT, seen("skipped"), Outcome.SKIPPED, "run_not_in"),
        (PLAIN, seen("skipped"), Outcome.BROKEN, "run_skipped"),
        (OF_JOBS, seen("success"), Outcome.SUCCESS, "run_passed"),
    ],
)
def test_a_suite_that_names_jobs_is_judged_by_them(
    run: Run, observed: Observed, outcome: Outcome, key: str
) -> None:
    found = judge(run, observed, (), at(40))
    assert isinstance(found, Decided)
    assert (found.outcome, found.why.key) == (outcome, key)
