"""A run after its Actions run has ended, up to its own end."""

from dataclasses import replace
from typing import Any

import pytest

from bot.core.digest.result import Digest, Found, Progress
from bot.core.messages import quote
from bot.core.model.run_events import RunEvent, VerdictReached
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.policy.models import OnHiddenFailure
from bot.core.runs.steps import DeleteRayJobs, End, ReadLog, Step
from tests.core.building import (
    a_rayjob,
    a_stop_request,
    asked,
    at,
    dispatched,
    ended,
    learned,
    log,
    with_changes,
)
from tests.core.runs.steps import (
    CHANGE,
    DELETED,
    DONE,
    GREEN,
    INFRA,
    LIVE,
    LOST,
    PLAIN,
    RAY,
    UNKNOWN,
    UNKNOWN_END,
    concludes,
    ends,
    failed_delete,
    finds_rayjobs,
    row,
    step_of,
    stopping,
    stops,
    waits,
)

OF_JOBS = replace(PLAIN, snapshot=with_changes(PLAIN.snapshot, jobs=("unit",)))
AFTER = [
    row(concludes(Outcome.SUCCESS), "green", PLAIN, *GREEN, at_min=30),
    row(concludes(Outcome.FAILURE), "red", PLAIN, ended("failure"), at_min=30),
    row(concludes(Outcome.BROKEN), "skipped", PLAIN, ended("skipped"), at_min=30),
    row(ends(Outcome.SKIPPED), "its jobs skipped", OF_JOBS, ended("skipped"), at_min=30),
    row(finds_rayjobs(last=True), "all RayJobs are asked for", RAY, *GREEN, at_min=30),
    row(finds_rayjobs(last=True), "even with one known", RAY, *GREEN, at_min=30, rayjobs=(DONE,)),
    row(ReadLog(), "no submitter", RAY, *GREEN, at_min=30, submitter=False),
    row(ReadLog(), "submitter down", RAY, *GREEN, at_min=30, submitter_down="x"),
    row(ReadLog(), "healthy and no answer for 2 min", RAY, *GREEN, at_min=32),
    row(
        concludes(Outcome.SUCCESS),
        "all ends are known",
        RAY,
        *GREEN,
        asked(),
        at_min=30,
        rayjobs=(DONE,),
    ),
    row(waits(State.RUNNING), "detached", RAY, *GREEN, asked(), at_min=31, rayjobs=(LIVE,)),
    row(ReadLog(), "never seen: the log", RAY, *GREEN, asked(), at_min=31),
    row(finds_rayjobs(), "never seen: again", RAY, *GREEN, asked(), log(), at_min=31),
    row(
        waits(State.RUNNING), "never seen, down", RAY, *GREEN, log(), at_min=31, submitter_down="x"
    ),
    row(DeleteRayJobs(1), "never seen for 2 min", RAY, *GREEN, log(), at_min=32),
    row(
        concludes(Outcome.BROKEN),
        "that and nothing to ask",
        RAY,
        *GREEN,
        log(),
        at_min=32,
        submitter=False,
    ),
    row(DeleteRayJobs(1), "red, one lives", RAY, ended("failure"), at_min=30, rayjobs=(LIVE,)),
    row(
        DeleteRayJobs(1),
        "red, end unknown",
        RAY,
        ended("failure"),
        at_min=30,
        rayjobs=(a_rayjob("NOT_FOUND"),),
    ),
    row(DeleteRayJobs(1), "red, none seen", RAY, ended("failure"), at_min=30),
    row(
        concludes(Outcome.FAILURE),
        "red, none seen, one try",
        RAY,
        ended("failure"),
        failed_delete(1, 30),
        at_min=30.1,
    ),
    row(
        concludes(Outcome.FAILURE),
        "red, all over",
        RAY,
        ended("failure"),
        at_min=30,
        rayjobs=(DONE,),
    ),
    row(
        concludes(Outcome.FAILURE),
        "red, deleted",
        RAY,
        ended("failure"),
        DELETED,
        at_min=30,
        rayjobs=(LIVE,),
    ),
    row(
        concludes(Outcome.FAILURE),
        "red, delete failed: it goes on after the end",
        RAY,
        ended("failure"),
        failed_delete(1, 30),
        at_min=30.1,
        rayjobs=(LIVE,),
    ),
    row(
        concludes(Outcome.FAILURE),
        "red, an hour of deletes",
        RAY,
        ended("failure"),
        failed_delete(1, 30),
        at_min=90,
        rayjobs=(LIVE,),
    ),
    row(DeleteRayJobs(1), "by hand on GitHub", RAY, ended("cancelled"), at_min=30, rayjobs=(LIVE,)),
    row(
        stops(StopReason.TIME_OUT),
        "detached, at the limit",
        RAY,
        *GREEN,
        asked(),
        at_min=60,
        rayjobs=(LIVE,),
    ),
]

AT_LIMIT = [
    row(waits(State.RUNNING), "unknown end, before", RAY, *UNKNOWN_END, at_min=59, rayjobs=(LOST,)),
    row(
        ends(Outcome.BROKEN, retried=True, cleans_up=True),
        "unknown end",
        RAY,
        *UNKNOWN_END,
        at_min=60,
        rayjobs=(LOST,),
    ),
    row(
        ends(Outcome.BROKEN, retried=True),
        "unknown end, no submitter",
        RAY,
        *UNKNOWN_END,
        at_min=60,
        rayjobs=(LOST,),
        submitter=False,
    ),
]


def verdict(outcome: Outcome, minutes: float = 30) -> RunEvent:
    return learned(VerdictReached(outcome, quote("so it is")), at(minutes))


RED = (ended("failure"), verdict(Outcome.FAILURE))
STALLED = dispatched(stop_request=a_stop_request(StopReason.STALL))


def hiding(rule: OnHiddenFailure, run: Run = PLAIN) -> Run:
    """Return a run of a suite with that rule for what a green end hides."""
    return replace(run, snapshot=with_changes(run.snapshot, on_hidden_failure=rule))


IGNORES = hiding(OnHiddenFailure.IGNORE)
FINISHING = [
    row(ReadLog(), "the log is not read", PLAIN, *RED, at_min=30),
    row(ends(Outcome.FAILURE), "the change's fault", PLAIN, *RED, log(digest=CHANGE), at_min=31),
    row(ends(Outcome.FAILURE), "nobody knows", PLAIN, *RED, log(digest=UNKNOWN), at_min=31),
    row(ends(Outcome.FAILURE), "no digest", PLAIN, *RED, log(), at_min=31),
    row(ends(Outcome.FAILURE, retried=True), "infra", PLAIN, *RED, log(digest=INFRA), at_min=31),
    row(
        ends(Outcome.FAILURE, retried=True),
        "infra, one knows",
        RAY,
        *RED,
        log(digest=UNKNOWN),
        at_min=31,
        rayjobs=(a_rayjob("FAILED", complete=True, digest=INFRA),),
    ),
    row(
        ends(Outcome.FAILURE),
        "infra and change",
        RAY,
        *RED,
        log(digest=CHANGE),
        at_min=31,
        rayjobs=(a_rayjob("FAILED", complete=True, digest=INFRA),),
    ),
    row(
        ends(Outcome.FAILURE),
        "infra, retried",
        dispatched(retries=1),
        *RED,
        log(digest=INFRA),
        at_min=31,
    ),
    row(
        ends(Outcome.FAILURE),
        "infra, env changed",
        dispatched(retryable=False),
        *RED,
        log(digest=INFRA),
        at_min=31,
    ),
    row(
        ends(Outcome.FAILURE),
        "infra, no retries",
        dispatched(infra_retries=0),
        *RED,
        log(digest=INFRA),
        at_min=31,
    ),
    row(
        ends(Outcome.FAILURE),
        "infra, unwanted",
        PLAIN,
        *RED,
        log(digest=INFRA),
        at_min=31,
        wanted=False,
    ),
    row(
        ends(Outcome.FAILURE),
        "cancel changes nothing",
        stopping(rayjob=False),
        *RED,
        log(digest=INFRA),
        at_min=31,
    ),
    row(
        waits(State.FINISHING),
        "RayJob's log",
        RAY,
        *RED,
        log(),
        at_min=31,
        rayjobs=(a_rayjob("FAILED"),),
    ),
    row(ends(Outcome.FAILURE), "10 min", RAY, *RED, at_min=40, rayjobs=(a_rayjob("FAILED"),)),
    row(
        ends(Outcome.FAILURE),
        "not for an unconfirmed one",
        RAY,
        *RED,
        log(),
        at_min=31,
        rayjobs=(a_rayjob("FAILED", confirmed=False),),
    ),
    row(
        ends(Outcome.BROKEN, retried=True),
        "broken",
        PLAIN,
        ended("skipped"),
        verdict(Outcome.BROKEN),
        log(),
        at_min=31,
    ),
    row(
        ends(Outcome.TIMED_OUT),
        "at the limit",
        dispatched(stop_request=a_stop_request(StopReason.TIME_OUT)),
        ended("cancelled"),
        verdict(Outcome.TIMED_OUT),
        log(),
        at_min=31,
    ),
    row(
        ends(Outcome.TIMED_OUT, retried=True),
        "stalled",
        STALLED,
        ended("cancelled"),
        verdict(Outcome.TIMED_OUT),
        log(),
        at_min=31,
    ),
    row(
        ends(Outcome.CANCELLED),
        "a person's cancel",
        stopping(),
        ended("cancelled"),
        DELETED,
        verdict(Outcome.CANCELLED),
        log(),
        at_min=31,
    ),
]

SAYS_DONE = (*GREEN, verdict(Outcome.SUCCESS))
DIED = Digest(hidden=True, title="ValueError: x", root_cause_line=3)
AT_SEVEN = Digest(
    hidden=True, title="ValueError: x", root_cause_line=3, progress=Progress(7, total=15)
)
SHORT = Digest(hidden=True, found=Found.NOTHING, progress=Progress(7, total=15))
FAILS = hiding(OnHiddenFailure.FAIL)
HIDDEN = [
    row(ends(Outcome.SUCCESS), "ignored", IGNORES, *GREEN, at_min=30),
    row(ReadLog(), "a green log is read", PLAIN, *SAYS_DONE, at_min=30),
    row(waits(State.FINISHING), "a RayJob's is", RAY, *SAYS_DONE, at_min=30, rayjobs=(DONE,)),
    row(ends(Outcome.SUCCESS), "for so long", PLAIN, *SAYS_DONE, at_min=40),
    row(ends(Outcome.FAILURE), "it fails", FAILS, *SAYS_DONE, log(digest=DIED), at_min=31),
    row(ends(Outcome.SUCCESS), "nothing", FAILS, *SAYS_DONE, log(digest=UNKNOWN), at_min=31),
    row(
        ends(Outcome.FAILURE),
        "hidden in a RayJob",
        hiding(OnHiddenFailure.FAIL, RAY),
        *SAYS_DONE,
        at_min=31,
        rayjobs=(a_rayjob("SUCCEEDED", complete=True, digest=DIED),),
    ),
    row(ends(Outcome.SUCCESS), "ignored late", IGNORES, *SAYS_DONE, log(digest=DIED), at_min=31),
]


@pytest.mark.parametrize(
    ("digest", "why"),
    [
        (UNKNOWN, "so it is"),
        (DIED, "its log shows that a process died (ValueError: x)"),
        (AT_SEVEN, "the training died at step 7 of 15 (ValueError: x)"),
        (SHORT, "the training ended at step 7 of 15"),
        (
            Digest(hidden=True, found=Found.NOTHING),
            "its log shows that a process died, or that tests failed",
        ),
    ],
)
def test_a_green_end_says_what_it_hides(digest: Digest, why: str) -> None:
    step = step_of(PLAIN, *SAYS_DONE, log(digest=digest), at_min=31)
    assert isinstance(step, End)
    assert (step.outcome, str(step.why)) == (Outcome.SUCCESS, why)


@pytest.mark.parametrize(
    ("run", "known", "at_min", "changes", "expected"),
    [*AFTER, *AT_LIMIT, *FINISHING, *HIDDEN],
)
def test_a_step(
    run: Run, known: tuple[RunEvent, ...], at_min: float, changes: dict[str, Any], expected: Step
) -> None:
    assert step_of(run, *known, at_min=at_min, **changes) == expected


def test_a_rayjobs_end_that_is_heard_after_its_workflows_is_named() -> None:
    heard = (a_rayjob("FAILED", complete=True),)
    step = step_of(RAY, *RED, log(), at_min=31, rayjobs=heard)
    assert isinstance(step, End)
    assert step.why == "RayJob FAILED"


def test_a_verdict_stands_whatever_is_heard_later() -> None:
    known = (*GREEN, verdict(Outcome.FAILURE), log())
    step = step_of(RAY, *known, at_min=31, rayjobs=(a_rayjob("SUCCEEDED", complete=True),))
    assert step == End(Outcome.FAILURE, quote("so it is"))


@pytest.mark.parametrize(
    ("digest", "why"),
    [
        (INFRA, "its log shows an infrastructure failure"),
        (Digest(infra=True, found=Found.NOTHING), "its log stops without an error"),
    ],
)
def test_a_retry_blames_the_infrastructure_only_where_the_log_does(
    digest: Digest, why: str
) -> None:
    step = step_of(PLAIN, *RED, log(digest=digest), at_min=31)
    assert isinstance(step, End)
    assert step.retry == why
