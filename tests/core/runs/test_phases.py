"""The phases of a run, and how long each took, whoever was heard first."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bot.core.model import run_events as ev
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run, State
from bot.core.runs.phases import RunPhase, Span, phases
from tests.core import views as s
from tests.core.building import with_changes

NAME, RUNNER = "verl-9f8e7d6-1", "a3-16-0007"
UNIT = with_changes(s.SNAPSHOT, rayjob=False, pool=None)
ENDED = s.run_event("14:24", ev.RayJobChanged(NAME, "Complete", "SUCCEEDED"))
OVER = s.run_event("14:25", ev.WorkflowRunEnded(1, "success"))


def spans(
    run: Run, *events: ev.RunEvent, jobs: tuple[RayJob, ...] = ()
) -> dict[RunPhase, tuple[str, str]]:
    """Return the phases with their ends as times of the day; "" for one that goes on."""
    found = phases(s.suite(run, *events, jobs=jobs))
    return {span.phase: (f"{span.start:%H:%M}", _clock(span.end)) for span in found}


def _clock(at: datetime | None) -> str:
    return f"{at:%H:%M}" if at else ""


def test_a_training_goes_through_all_phases() -> None:
    done = s.done(Outcome.SUCCESS, "")
    assert spans(done, *s.STORY, ENDED, OVER, jobs=(s.rayjob(),)) == {
        RunPhase.QUEUED: ("14:00", "14:02"),
        RunPhase.RUNNER: ("14:02", "14:03"),
        RunPhase.PREPARING: ("14:03", "14:05"),
        RunPhase.STARTING: ("14:05", "14:09"),
        RunPhase.RUNNING: ("14:09", "14:24"),
    }


def test_a_suite_without_a_rayjob_runs_from_its_start_to_the_end_of_its_workflow() -> None:
    done = s.done(Outcome.SUCCESS, "", snapshot=UNIT)
    assert spans(done, *s.STORY[:2], OVER)[RunPhase.RUNNING] == ("14:03", "14:25")
    assert RunPhase.STARTING not in spans(done, *s.STORY[:2], OVER)


def test_a_runner_and_a_rayjob_have_their_names() -> None:
    found = phases(s.suite(s.live(), *s.STORY))
    named = {span.phase: span.name for span in found if span.name}
    assert named == {RunPhase.RUNNER: RUNNER, RunPhase.STARTING: NAME}


@pytest.mark.parametrize(
    ("job", "phase"),
    [
        pytest.param(s.rayjob(), RunPhase.STARTING, id="nothing of it was heard"),
        pytest.param(s.rayjob(lines=3), RunPhase.RUNNING, id="it printed"),
        pytest.param(s.rayjob(final="FAILED"), RunPhase.RUNNING, id="it ended"),
    ],
)
def test_a_rayjob_that_was_never_heard_to_run_runs_once_it_shows_it(
    job: RayJob, phase: RunPhase
) -> None:
    seen = s.run_event("14:05", ev.RayJobSeen(NAME))
    assert list(spans(s.live(), *s.STORY[:2], seen, jobs=(job,)))[-1] is phase


def test_nothing_that_lags_makes_a_phase_negative() -> None:
    early = s.run_event("14:01", ev.RayJobAnnounced(NAME))
    found = phases(s.suite(s.done(Outcome.SUCCESS, ""), *s.STORY[:2], early, OVER))
    assert all(span.end is None or span.end >= span.start for span in found)


@pytest.mark.parametrize(
    ("state", "waits"),
    [(State.WAITING_FOR_RUNNER, True), (State.CANCELLING, True), (State.RUNNING, False)],
)
def test_only_a_run_without_a_runner_waits_for_one(state: State, *, waits: bool) -> None:
    run = s.live(state=state, started_at=None)
    assert (RunPhase.RUNNER in spans(run)) == waits


def test_what_was_never_sent_or_never_ended_has_no_open_phase() -> None:
    unsent = s.done(Outcome.BROKEN, "", started_at=None, actions_run_id=None)
    assert spans(unsent) == {RunPhase.QUEUED: ("14:00", "14:25")}
    assert spans(replace(unsent, dispatched_at=None)) == {}
    lost = s.live(state=State.DONE)
    assert list(spans(lost, *s.STORY[:2])) == [RunPhase.QUEUED, RunPhase.RUNNER]


def test_a_phase_without_a_second_is_left_out_unless_it_has_a_name() -> None:
    run = s.live(created_at=s.at("14:02"), started_at=s.at("14:02"))
    found = phases(s.suite(run, *s.STORY[1:3]))
    assert [span.phase for span in found] == [
        RunPhase.RUNNER,
        RunPhase.PREPARING,
        RunPhase.STARTING,
    ]
    assert found[0] == Span(RunPhase.RUNNER, s.at("14:02"), s.at("14:02"), RUNNER)
    assert found[1].start + timedelta(minutes=3) == found[1].end
