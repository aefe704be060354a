"""Which Actions run a native suite follows, and the steps of a run that GitHub starts itself."""

from dataclasses import replace
from typing import Any

import pytest

from bot.core.messages import Messages, quote
from bot.core.model.run_events import (
    DispatchStarted,
    DispatchUnsent,
    JobChanged,
    NativeRunUnclear,
    RunEvent,
    Source,
    VerdictReached,
    WorkflowRunChanged,
)
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.selections import SuiteSelection
from bot.core.model.snapshot import Label
from bot.core.planning.permissions import Allowed, Refusal, Requester, may_start
from bot.core.planning.trust import Authorship, Person, Trusted
from bot.core.policy.levels import Level
from bot.core.policy.models import Start, Trigger
from bot.core.report.context import Context
from bot.core.report.gate import gate_check
from bot.core.runs.dispatch_inputs import refusal
from bot.core.runs.native import (
    EVENTS,
    TO_APPROVE,
    WAITS,
    apart,
    apart_source,
    as_change,
    as_it_was,
    as_seen,
    events_of,
    is_waiting,
    may_adopt,
    native_suites,
)
from bot.core.runs.steps import Bind, Dispatch, End, ReadEnd, SendCancel, Step, Wait
from tests.accounts import account
from tests.core import views
from tests.core.building import (
    LABEL,
    SHA,
    a_run,
    a_stop_request,
    at,
    dispatched,
    ended,
    learned,
    log,
    started,
    told,
    with_changes,
)
from tests.core.policies import loaded
from tests.core.runs.seen import SEEN
from tests.core.runs.steps import INFRA, concludes, ends, reads_end, step_of, waits

POLICY = loaded("""\
version: 1
runners:
  npu-8: {npus: 8, slots: 2}
suites:
  unit: {workflow: unit.yml, runners: [npu-8]}
  own: {workflow: own.yml, runners: [npu-8], paths: ["own/**"], start: native}
""")
NATIVE = learned(as_seen(SEEN), at(1), Source.WEBHOOK)
UNCLEAR = learned(NativeRunUnclear(51, quote("of #1 or #2")), at(2), Source.WEBHOOK)


def native(run: Run) -> Run:
    """Let GitHub have started it."""
    return replace(run, snapshot=with_changes(run.snapshot, start=Start.NATIVE), label=None)


WAITING = native(a_run())
BOUND = native(dispatched())
OF_JOBS = replace(BOUND, snapshot=with_changes(BOUND.snapshot, jobs=("unit",)))
WAITS_RUNNER = State.WAITING_FOR_RUNNER


def was(outcome: Outcome | None, actions_run_id: int | None, **changes: Any) -> Run:
    state = State.DONE if outcome else State.QUEUED
    made = a_run(outcome=outcome, state=state, actions_run_id=actions_run_id)
    return replace(native(made), **changes)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (".github/workflows/own.yml", ("own",)),
        (".github/workflows/own.yml@refs/heads/main", ("own",)),
        (".github/workflows/unit.yml", ()),
        ("elsewhere/own.yml", ()),
        ("", ()),
    ],
)
def test_a_workflow_is_that_of_its_native_suites(path: str, names: tuple[str, ...]) -> None:
    assert native_suites(POLICY, path) == names


def test_what_only_schedules_start_is_of_no_pull_request() -> None:
    night = POLICY.suites["own"].model_copy(update={"triggers": (Trigger.SCHEDULE,)})
    policy = POLICY.model_copy(update={"suites": {"night": night}})
    assert native_suites(policy, ".github/workflows/own.yml") == ()
    assert native_suites(policy, ".github/workflows/own.yml", apart=True) == ("night",)


def test_a_run_apart_says_nothing_of_a_pull_request() -> None:
    seen = replace(SEEN, event="schedule")
    assert apart_source(seen) == "github:schedule:50"
    frozen = WAITING.snapshot
    alone = replace(frozen, apart=apart(seen))
    assert frozen.essence != alone.essence
    assert events_of([frozen]) == EVENTS
    assert events_of([alone]) == ("schedule",)
    assert events_of([frozen, alone]) == (*EVENTS, "schedule")


@pytest.mark.parametrize(
    ("claim", "attempts", "event", "adopted"),
    [
        ("the first", (), "pull_request", True),
        ("the first, of a push", (), "push", True),
        ("one waits for it", (was(None, None),), "pull_request", True),
        ("one waits for a re-run", (was(None, None, rerun_of=40),), "pull_request", False),
        ("another is followed", (was(None, 40),), "pull_request", False),
        ("newer than what has ended", (was(Outcome.FAILURE, 40),), "pull_request", True),
        ("older than what has ended", (was(Outcome.FAILURE, 60),), "pull_request", False),
        ("the same that was let go of", (was(Outcome.SUPERSEDED, 50),), "pull_request", False),
        ("a push's, after another", (was(Outcome.SUCCESS, 40),), "push", False),
        ("never started before", (was(Outcome.BROKEN, None),), "pull_request", True),
        (
            "older than the attempt before",
            (was(Outcome.FAILURE, 60), was(Outcome.BROKEN, None, attempt=2)),
            "pull_request",
            False,
        ),
    ],
)
def test_the_newest_run_is_followed_one_at_a_time(
    claim: str, attempts: tuple[Run, ...], event: str, adopted: bool
) -> None:
    seen = replace(SEEN, event=event)
    assert may_adopt(seen, reversed(attempts)) is adopted, claim


def test_a_run_is_of_the_app_that_started_it_whoever_runs_it_again() -> None:
    bot, ann = account("bot"), account("ann")
    ours = replace(SEEN, actor=bot, triggered_by=bot)
    assert ours.is_of(bot)
    assert not replace(ours, triggered_by=ann).is_of(bot)
    assert replace(ours, triggered_by=ann, attempt=2).is_of(bot)
    assert not replace(ours, actor=ann).is_of(bot)


def test_a_change_tells_the_status() -> None:
    assert as_change(SEEN) == WorkflowRunChanged(1, "in_progress")


def held(minutes: float = 2) -> RunEvent:
    said = WorkflowRunChanged(1, "completed", "action_required")
    return learned(said, at(minutes), Source.WEBHOOK)


def job(status: str, minutes: float) -> RunEvent:
    return learned(JobChanged(1, 1, status, None, "", "x"), at(minutes), Source.WEBHOOK)


@pytest.mark.parametrize(
    ("claim", "run", "known", "at_min", "changes", "expected"),
    [
        ("waits", WAITING, (), 0.3, {}, waits(State.QUEUED)),
        ("not wanted", WAITING, (), 1, {"wanted": False}, ends(Outcome.SUPERSEDED)),
        (
            "cancelled",
            replace(WAITING, stop_request=a_stop_request()),
            (),
            1,
            {},
            ends(Outcome.CANCELLED),
        ),
        (
            "cancelled as it starts",
            replace(WAITING, stop_request=a_stop_request()),
            (NATIVE,),
            1,
            {},
            Bind(50, 1, "https://x/50", "pull_request"),
        ),
        ("started, not wanted", WAITING, (NATIVE,), 1, {"wanted": False}, ends(Outcome.SUPERSEDED)),
        ("started", WAITING, (NATIVE,), 1, {}, Bind(50, 1, "https://x/50", "pull_request")),
        ("it can't be told of which it is", WAITING, (UNCLEAR,), 3, {}, waits(State.QUEUED)),
        ("nor 2 min later", WAITING, (UNCLEAR,), 4, {}, ends(Outcome.BROKEN)),
        (
            "another one is surely its own",
            WAITING,
            (UNCLEAR, NATIVE),
            4,
            {},
            Bind(50, 1, "https://x/50", "pull_request"),
        ),
        ("run again", replace(WAITING, rerun_of=99), (), 1, {}, Dispatch(1)),
        ("no runner yet", BOUND, (), 5, {}, waits(State.WAITING_FOR_RUNNER)),
        ("no runner for a day", BOUND, (), 1440, {}, reads_end()),
        ("runs", BOUND, (started(),), 30, {}, waits(State.RUNNING)),
        ("over our limit: GitHub's holds", BOUND, (started(),), 90, {}, waits(State.RUNNING)),
        ("runs for a day", BOUND, (started(),), 1440, {}, reads_end()),
        ("held", BOUND, (held(),), 5, {}, waits(State.NEEDS_APPROVAL)),
        ("approved", BOUND, (held(), job("queued", 4)), 5, {}, waits(State.WAITING_FOR_RUNNER)),
        (
            "approved, by a list",
            BOUND,
            (held(), told("queued", at(4), source=Source.POLL)),
            5,
            {},
            waits(State.WAITING_FOR_RUNNER),
        ),
        ("nobody wants it", BOUND, (started(),), 5, {"wanted": False}, ends(Outcome.SUPERSEDED)),
        (
            "cancelled beside suites that go on",
            replace(BOUND, stop_request=a_stop_request()),
            (started(),),
            11,
            {"shared": True},
            ends(Outcome.CANCELLED),
        ),
        ("its jobs are left out", OF_JOBS, (ended("skipped", 4),), 5, {}, ends(Outcome.SKIPPED)),
        ("a job of another suite runs", OF_JOBS, (started(),), 5, {}, waits(WAITS_RUNNER)),
        (
            "cancelled by a person",
            replace(BOUND, stop_request=a_stop_request()),
            (),
            11,
            {},
            SendCancel(force=False),
        ),
        ("passed", BOUND, (started(), ended("success")), 31, {}, concludes(Outcome.SUCCESS)),
        ("failed", BOUND, (started(), ended("failure")), 31, {}, concludes(Outcome.FAILURE)),
    ],
)
def test_a_step(
    claim: str,
    run: Run,
    known: tuple[RunEvent, ...],
    at_min: float,
    changes: dict[str, Any],
    expected: Step,
) -> None:
    assert step_of(run, *known, at_min=at_min, **changes) == expected, claim


def test_what_was_followed_is_known_as_it_was() -> None:
    whole = replace(SEEN, head_repo_id=9, head_branch="topic", pulls=(5,))
    told = as_seen(whole)
    assert as_it_was(told, SHA) == replace(whole, status="", path="")
    assert is_waiting(WAITING)
    assert not is_waiting(BOUND)


def test_it_says_what_it_waits_for() -> None:
    assert step_of(WAITING, UNCLEAR, at_min=4) == End(Outcome.BROKEN, quote("of #1 or #2"))
    assert step_of(WAITING, at_min=0) == Wait(State.QUEUED, at(seconds=20), WAITS)
    assert step_of(BOUND, held(), at_min=3) == Wait(State.NEEDS_APPROVAL, at(8), TO_APPROVE)
    newer = learned(as_seen(replace(SEEN, id=51)), at(2), Source.POLL)
    bound = step_of(WAITING, newer, NATIVE, at_min=2)
    assert bound == Bind(51, 1, "https://x/50", "pull_request")
    assert step_of(BOUND, at_min=1440) == ReadEnd(again=at(60) - at())
    assert isinstance(step_of(replace(WAITING, rerun_of=9), at_min=20), Dispatch)


def test_an_infrastructures_failure_is_tried_again_as_others_are() -> None:
    verdict = learned(VerdictReached(Outcome.FAILURE, quote("x")), at(30))
    step = step_of(BOUND, ended("failure"), verdict, log(digest=INFRA), at_min=31)
    assert step == ends(Outcome.FAILURE, retried=True)


@pytest.mark.parametrize("level", [Level.READ, Level.TRIAGE])
def test_a_rerun_needs_the_tiers_level_and_no_approval(level: Level) -> None:
    asked = Requester(
        Person(account("ann"), level),
        SHA,
        Authorship(frozenset({account("bob")})),
        Trusted(False, quote("a stranger")),
    )
    answer = may_start(Messages(), POLICY, "own", asked, "")
    assert answer == Allowed() if level is Level.TRIAGE else isinstance(answer, Refusal)
    assert isinstance(may_start(Messages(), POLICY, "unit", asked, ""), Refusal)


def test_a_refused_rerun_says_what_github_runs_again() -> None:
    text = refusal(native(a_run(workflow="own.yml")), 403, "Unable to retry")
    assert text.startswith("GitHub refuses to run `own.yml` again (older than 30 days")
    assert text.endswith("GitHub said: Unable to retry")


CTX = Context("octo/project")


def githubs(name: str, **changes: Any) -> Run:
    made = views.other(name, views.live(**changes))
    frozen = with_changes(made.snapshot, start=Start.NATIVE, labels=(Label(LABEL, 8, 2),))
    return replace(made, snapshot=frozen)


def selected(name: str) -> SuiteSelection:
    essence = githubs(name).snapshot.essence
    return views.chosen(name, native=True, auto=False, essence=essence)


OWN = selected("own")


def test_the_gate_waits_for_what_github_has_not_started() -> None:
    for changes in ({}, {"draft": True}, {"trusted": False}):
        view = views.gate(views.selection(OWN, **changes))
        check = gate_check(view, CTX, views.NOW)
        assert (check.status, check.title) == ("in_progress", "Waiting for GitHub to start own")
        assert "waiting for GitHub to start it" in check.summary


def test_the_gate_links_what_waits_for_an_approval_on_github() -> None:
    urls = ["https://github.com/o/n/actions/runs/1", "https://github.com/o/n/actions/runs/2"]
    runs = tuple(
        githubs(name, state=State.NEEDS_APPROVAL, actions_url=url)
        for name, url in zip(("own", "second"), urls, strict=True)
    )
    view = views.gate(views.selection(OWN, selected("second")), runs=runs)
    check = gate_check(view, CTX, views.NOW)
    assert (check.conclusion, check.buttons) == ("action_required", ())
    assert check.title == "Waiting for an approval on GitHub: own and second"
    assert all(url in check.summary for url in urls)


@pytest.mark.parametrize(("conclusion", "retries"), [("absent", False), ("stale", True)])
def test_a_job_that_no_run_has_is_not_looked_for_again(conclusion: str, retries: bool) -> None:
    known = (learned(VerdictReached(Outcome.BROKEN, quote("no")), at(5)), ended(conclusion, 4))
    step = step_of(OF_JOBS, *known, log(), at_min=6)
    assert isinstance(step, End)
    assert bool(step.retry) is retries


@pytest.mark.parametrize(("minutes", "again"), [(20, True), (24 * 60, False)])
def test_a_re_run_of_its_jobs_waits_a_day_for_those_of_others(minutes: float, again: bool) -> None:
    run = replace(OF_JOBS, actions_run_id=None, rerun_of=99, state=State.DISPATCHING)
    known = (
        learned(DispatchStarted(1), at(0)),
        learned(DispatchUnsent(1, quote("it runs")), at(0)),
    )
    step = step_of(run, *known, at_min=minutes)
    assert isinstance(step, Dispatch) is again
