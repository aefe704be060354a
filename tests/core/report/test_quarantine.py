"""What a quarantine changes: which results count, when, and what is said of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.core.messages import NOTHING, TABLES, Message
from bot.core.model.ids import Sha
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.selections import MergeGroup, StoredSelection
from bot.core.model.usual import PastEnd
from bot.core.model.views import GateView
from bot.core.policy.models import Comment
from bot.core.policy.quarantine import Quarantine
from bot.core.report.comment import pull_comments
from bot.core.report.gate import gate_check
from bot.core.report.quarantine import passes_in_a_row
from bot.core.report.standing import GateReason, gate_state, standing
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.report.goldens import golden, show_check

TEST = "tests/a.py::test_b[x]"


def entry(until: str, test: str | None = None, **changes: object) -> Quarantine:
    told: dict[str, object] = {
        "suite": "npu-unit",
        "test": test,
        "until": until,
        "owner": "amy",
        "reason": "it hangs once in ten runs since the new image, see #7 @bob",
        "issue": 12,
    }
    return Quarantine.model_validate(told | changes)


HELD = entry("2026-08-30")
ENDED = entry("2026-08-20", issue="https://example.org/issues/12")
EARLY = entry("2026-12-31")
TESTS = entry("2026-08-30", "tests/a.py::*")
GREEN = s.done(Outcome.SUCCESS, Message("rayjob_succeeded", source=NOTHING))


def unit(outcome: Outcome = Outcome.FAILURE, *entries: Quarantine, tests: str = "") -> Run:
    run = s.done(outcome, Message("run_failed"), failed_tests=tuple(tests.split()))
    made = s.other("npu-unit", run)
    return replace(made, snapshot=replace(made.snapshot, quarantine=entries))


def chosen(*entries: Quarantine, **changes: object) -> StoredSelection:
    return s.selection(s.chosen(), replace(s.UNIT, quarantine=entries), **changes)


def gate(*entries: Quarantine, runs: tuple[Run, ...] = ()) -> GateView:
    return s.gate(chosen(*entries), runs=(GREEN, *runs))


UNKNOWN = replace(unit(Outcome.BROKEN), why=Message("end_unheard"))
QUEUED = s.other("npu-unit", s.QUEUED)
GATES = {
    "gate, failed in quarantine": gate(HELD, runs=(unit(),)),
    "gate, result unknown in quarantine": gate(HELD, runs=(UNKNOWN,)),
    "gate, not waited for": gate(HELD, runs=(QUEUED,)),
    "gate, passed in quarantine": gate(HELD, runs=(unit(Outcome.SUCCESS),)),
    "gate, nothing else": s.gate(s.selection(replace(s.UNIT, quarantine=(HELD,))), runs=(unit(),)),
    "gate, tests in quarantine": gate(TESTS, runs=(unit(tests=TEST),)),
    "gate, another test failed": gate(TESTS, runs=(unit(tests=f"{TEST} b.py::c"),)),
    "gate, ended": gate(ENDED, runs=(unit(),)),
    "gate, tests ended today": gate(entry("2026-08-22", "a*"), runs=(unit(),)),
    "gate, does not hold yet": gate(EARLY, runs=(unit(),)),
}
SUITES = {
    "suite, failed in quarantine": s.suite(unit(Outcome.FAILURE, HELD)),
    "suite, retried in quarantine": s.suite(
        replace(unit(Outcome.FAILURE, HELD), retry=Message("again_silent"))
    ),
    "suite, cancelled in quarantine": s.suite(
        replace(
            unit(Outcome.CANCELLED, HELD),
            stop_request=s.stop_request(StopReason.CANCEL, "carol"),
        )
    ),
    "suite, passed in quarantine": s.suite(unit(Outcome.SUCCESS, HELD)),
    "suite, passed often in quarantine": replace(
        s.suite(unit(Outcome.SUCCESS, HELD, TESTS)),
        past=(*[PastEnd(Outcome.SUCCESS)] * 5, PastEnd(Outcome.FAILURE, ("b.py::c",))),
    ),
    "suite, running in quarantine": s.suite(
        s.live(snapshot=replace(s.SNAPSHOT, quarantine=(TESTS,)))
    ),
    "suite, tests in quarantine": s.suite(unit(Outcome.FAILURE, TESTS, tests=TEST)),
    "suite, more than these tests failed": s.suite(unit(Outcome.FAILURE, TESTS)),
    "suite, ended": s.suite(unit(Outcome.FAILURE, ENDED)),
}


@pytest.mark.parametrize("language", TABLES)
def test_what_is_said_of_a_quarantine_reads_as_its_golden_file(language: str) -> None:
    ctx = replace(s.CTX, language=language)
    texts = {name: show_check(gate_check(view, ctx, s.NOW)) for name, view in GATES.items()}
    texts |= {name: show_check(suite_check(view, ctx, s.NOW)) for name, view in SUITES.items()}
    told = s.gate(chosen(HELD, comment=Comment.ALWAYS), runs=(GREEN, unit()))
    texts["comment"] = pull_comments(told, ctx, s.NOW)[0].body
    said, made = golden("quarantine", language, texts)
    assert made == said


def kind(view: GateView) -> GateReason:
    return standing(view).kind


@pytest.mark.parametrize(
    "outcome",
    [Outcome.FAILURE, Outcome.TIMED_OUT, Outcome.CANCELLED, Outcome.BROKEN, Outcome.SUCCESS],
)
def test_a_suite_in_quarantine_turns_no_gate_red(outcome: Outcome) -> None:
    assert kind(gate(HELD, runs=(unit(outcome),))) is GateReason.PASSED
    red = GateReason.PASSED if outcome is Outcome.SUCCESS else GateReason.FAILED
    for entries in ((), (ENDED,), (EARLY,), (HELD, EARLY)):
        assert kind(gate(*entries, runs=(unit(outcome),))) is red


@pytest.mark.parametrize(
    ("failed", "outcome", "counts"),
    [
        (TEST, Outcome.FAILURE, False),
        (f"{TEST} tests/a.py::c", Outcome.FAILURE, False),
        (f"{TEST} b.py::c", Outcome.FAILURE, True),
        ("", Outcome.FAILURE, True),  # a crash, an error of collection
        ("", Outcome.TIMED_OUT, True),
        ("", Outcome.BROKEN, True),
        ("", Outcome.CANCELLED, True),
    ],
)
def test_a_quarantine_of_tests_excuses_only_a_failure_of_these_alone(
    failed: str, outcome: Outcome, *, counts: bool
) -> None:
    view = gate(TESTS, runs=(unit(outcome, tests=failed),))
    assert kind(view) is (GateReason.FAILED if counts else GateReason.PASSED)


@pytest.mark.parametrize("run", [QUEUED, None, s.other("npu-unit", s.live(state=State.FINISHING))])
def test_a_gate_waits_for_a_suite_unless_all_of_it_is_in_quarantine(run: Run | None) -> None:
    runs = (run,) if run else ()
    assert kind(gate(HELD, runs=runs)) is GateReason.PASSED
    for entries in ((), (TESTS,), (ENDED,)):
        assert kind(gate(*entries, runs=runs)) is GateReason.RUNNING


def test_the_end_of_a_quarantine_turns_no_ended_gate_red_and_opens_one_without_a_result() -> None:
    later = HELD.ends_at + timedelta(days=90)
    judged, open_ = gate(HELD, runs=(unit(),)), gate(HELD, runs=(QUEUED,))
    for at in (s.NOW, later):
        assert gate_state(replace(judged, at=at)).conclusion == "success"
    assert gate_state(replace(open_, at=HELD.ends_at - timedelta(seconds=1))).status == "completed"
    assert gate_state(replace(open_, at=HELD.ends_at)).status == "in_progress"
    again = replace(unit(), ended_at=HELD.ends_at, attempt=2)
    assert gate_state(replace(gate(HELD, runs=(unit(), again)), at=later)).conclusion == "failure"


def test_a_commit_of_two_policies_is_excused_only_by_both() -> None:
    other = replace(chosen(), number=7014)
    assert kind(s.gate(chosen(HELD), other, runs=(GREEN, unit()))) is GateReason.FAILED
    other = replace(chosen(HELD), number=7014)
    assert kind(s.gate(chosen(HELD), other, runs=(GREEN, unit()))) is GateReason.PASSED


def test_a_change_of_a_workflow_by_a_stranger_is_never_excused() -> None:
    native = replace(s.UNIT, native=True, auto=False, quarantine=(HELD,))
    rewritten = s.selection(native, trusted=False, protected=(".github/workflows/u.yml",))
    assert kind(s.gate(rewritten, runs=(unit(Outcome.SUCCESS),))) is GateReason.APPROVAL
    trusted = s.selection(native, protected=(".github/workflows/u.yml",))
    assert kind(s.gate(trusted, runs=(unit(),))) is GateReason.NONE


@pytest.mark.parametrize(
    ("past", "suite", "tests"),
    [
        ("", 0, 0),
        ("ppp", 3, 3),
        ("ppxp", 2, 2),
        ("ptp", 1, 1),  # the tests of the entry failed
        ("pop", 1, 2),  # others failed
        ("xppppp", 0, 0),
    ],
)
def test_passes_in_a_row_are_of_the_suite_or_of_the_tests(
    past: str, suite: int, tests: int
) -> None:
    ends = {
        "p": PastEnd(Outcome.SUCCESS),
        "x": PastEnd(Outcome.TIMED_OUT),
        "t": PastEnd(Outcome.FAILURE, ("b.py::c", TEST)),
        "o": PastEnd(Outcome.FAILURE, ("b.py::c",)),
    }
    told = [ends[letter] for letter in past]
    assert (passes_in_a_row(HELD, told), passes_in_a_row(TESTS, told)) == (suite, tests)


def test_a_result_of_the_same_files_needs_no_quarantine() -> None:
    same = replace(s.UNIT, quarantine=(HELD,), passed_at=Sha("1a2b3c4d"))
    view = s.gate(s.selection(same, group=MergeGroup(1)), pulls=())
    assert [(line.excused, line.required) for line in standing(view).lines] == [(False, True)]
