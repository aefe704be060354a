"""What the suites do that a gate still waits for."""

from collections.abc import Iterable
from enum import StrEnum

from bot.core.model.runs import Run, State
from bot.core.report.standing import SuiteLine


class Phase(StrEnum):
    """What a suite does that has not ended; the one that is furthest comes first."""

    FINISHING = "finishing"
    NOW = "now"
    RUNNER = "runner"  # it waits for a runner
    STARTING = "starting"
    QUEUED = "queued"
    WAITING = "waiting"  # a rule or a fault keeps it from starting
    GITHUB = "by_github"  # GitHub has to start it
    STOPPING = "stopping"

    @property
    def short(self) -> str:
        """Return the phase as it is counted beside another one."""
        return {Phase.RUNNER: "starting", Phase.WAITING: "queued"}.get(self, self.value)


_OF_STATE = {
    State.NEEDS_APPROVAL: Phase.STARTING,  # it has been approved, or this suite would not be open
    State.DISPATCHING: Phase.STARTING,
    State.WAITING_FOR_RUNNER: Phase.RUNNER,
    State.RUNNING: Phase.NOW,
    State.CANCELLING: Phase.STOPPING,
    State.FINISHING: Phase.FINISHING,
}
# A run that has not begun waits until these are over.
_FAULTS = frozenset({"waits_offline", "waits_dispatch", "waits_failing", "github_refuses"})
_BEFORE_START = frozenset({State.DISPATCHING, State.WAITING_FOR_RUNNER})


def open_phases(lines: Iterable[SuiteLine]) -> dict[Phase, list[SuiteLine]]:
    """Return the suites of each phase, the furthest phase first."""
    found = [(_phase_of(line), line) for line in lines]
    return {
        phase: same for phase in Phase if (same := [line for its, line in found if its is phase])
    }


def _phase_of(line: SuiteLine) -> Phase:
    run = line.run
    if run is None:
        return Phase.GITHUB if line.native else Phase.STARTING
    if run.state in _BEFORE_START and run.why.key in _FAULTS:
        return Phase.WAITING
    return _of_queued(run) if run.state is State.QUEUED else _OF_STATE[run.state]


def _of_queued(run: Run) -> Phase:
    if run.why.key == "waits_github":
        return Phase.GITHUB
    return Phase.WAITING if run.why and run.queue_position is None else Phase.QUEUED
