"""A run in a random world: answers lost, webhooks doubled and late, RayJobs that vanish."""

import random
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.core.messages import quote
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import (
    CancelSent,
    Dispatched,
    DispatchSearched,
    DispatchStarted,
    ForceCancelSent,
    LogRead,
    RayJobsDeleted,
    RayJobsListed,
    RunEvent,
    Source,
    VerdictReached,
    What,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.model.runs import Outcome, State, StopReason, StopRequest
from bot.core.runs.reconcile import SEARCH_AFTER_S, decide
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import (
    Acquire,
    CleanedUp,
    Conclude,
    DeleteRayJobs,
    Dispatch,
    End,
    FindRayJobs,
    ReadEnd,
    ReadLog,
    RequestStop,
    Search,
    SendCancel,
    Step,
    Wait,
)
from tests.core.building import LABEL, T0, a_run

LIMITS = {StopReason.TIME_OUT, StopReason.STALL, StopReason.NO_RUNNER}
MOST_STEPS = 40  # in a row, without time passing
BOUND = timedelta(minutes=60, hours=26)
WORDS = st.sampled_from(["SUCCEEDED", "FAILED", "TIMEOUT", "NOT_FOUND", "STOPPED"])
CONCLUSIONS = st.sampled_from(["success", "failure", "cancelled", "skipped"])


class World(RuleBasedStateMachine):
    """GitHub, the submitter and people; `_carry_out` is the runner."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.wanted, self.down = T0, True, ""
        self.run = a_run(rayjob=True)
        self.run_events: dict[tuple[str, str], RunEvent] = {}
        self.rayjobs: dict[str, RayJob] = {}
        self.submitted: dict[str, str | None] = {}  # what the submitter knows: id, final
        self.actions: list[str | None] = []  # GitHub's runs of ours; None while not ended
        self.searchable = True
        self.loses = self.delete_fails = False
        self.log_says: str | None = None
        self.end: End | None = None
        self.cleans_up = False
        self.mixer = random.Random(7)

    # -- the runner --------------------------------------------------------------------------------

    def _situation(self) -> ReconcileInput:
        known = [*self.run_events.values()]
        self.mixer.shuffle(known)
        jobs = tuple(self.rayjobs.values())
        return ReconcileInput(
            self.run, self.wanted, tuple(known), jobs, self.now, submitter_down=quote(self.down)
        )

    def _note(self, what: What, source: Source = Source.RUNNER) -> None:
        run_event = RunEvent(self.run.id, source, self.now, what)
        self.run_events.setdefault((run_event.source, run_event.key), run_event)

    def _count(self, kind: type[What]) -> int:
        return sum(isinstance(run_event.what, kind) for run_event in self.run_events.values())

    def _settle(self) -> datetime | None:
        """Take steps until the run waits; return when it wants to be looked at."""
        for _ in range(MOST_STEPS):
            if self.end and not self.cleans_up:
                return None
            asked = self._situation()
            step = decide(asked)
            assert decide(asked) == step
            until = self._carry_out(step)
            if until:
                assert until > self.now
                stop = self.run.stop_request
                if stop and stop.kind in LIMITS and not self.end:
                    assert until <= stop.at + timedelta(seconds=30)
                return until
        raise AssertionError(f"no end of steps: {step}")

    def _carry_out(self, step: Step) -> datetime | None:
        match step:
            case Wait():
                assert (step.state is State.DONE) == (self.end is not None)
                self.run = replace(self.run, state=step.state)
                return step.until
            case CleanedUp():
                self.cleans_up = False
            case Acquire():
                self.run = replace(self.run, label=LABEL)
            case RequestStop():
                assert (
                    self.run.stop_request is None
                    or self.run.stop_request.kind is StopReason.SUPERSEDE
                )
                self.run = replace(
                    self.run, stop_request=StopRequest(step.kind, "", step.reason, self.now)
                )
            case Conclude():
                self._note(VerdictReached(step.outcome, step.why))
            case End():
                self._ends(step)
            case Dispatch() | Search():
                self._starting(step)
            case _:
                return self._ask(step)
        return None

    def _ends(self, step: End) -> None:
        self.end = step
        if step.outcome is Outcome.SUCCESS:
            jobs = self.rayjobs.values()
            by_record = all(job.final == "SUCCEEDED" for job in jobs)
            assert self.actions[0] == "success"
            assert jobs
            assert all(job.confirmed for job in jobs)
            assert by_record or (self.log_says == "SUCCEEDED" and len(jobs) == 1)
        self.cleans_up = step.cleans_up
        done = replace(self.run, state=State.DONE, outcome=step.outcome)
        self.run = replace(done, why=step.why, ended_at=self.now)

    def _starting(self, step: Dispatch | Search) -> None:
        number = self._count(DispatchStarted)
        if isinstance(step, Search):
            assert step.number == number
            if self.actions and self.searchable:
                self._taken(found=True)
            else:
                self._note(DispatchSearched(number, step.search))
            return
        assert self._count(DispatchSearched) == number * len(SEARCH_AFTER_S)
        assert step.number == number + 1
        self.run = replace(self.run, dispatched_at=self.run.dispatched_at or self.now)
        self._note(DispatchStarted(step.number))
        self.actions.append(None)
        if not self.loses:
            self._taken(found=False)

    def _taken(self, *, found: bool) -> None:
        self.run = replace(self.run, actions_run_id=99, state=State.WAITING_FOR_RUNNER)
        self._note(Dispatched(1, found))

    def _ask(self, step: Step) -> datetime | None:
        match step:
            case ReadEnd():
                if self.actions[0] is None:
                    return self.now + step.again
                self._note(WorkflowRunEnded(1, self.actions[0]))
            case FindRayJobs():
                return self._find(step)
            case ReadLog():
                self._note(LogRead(1, self.log_says))
            case SendCancel():
                taken = self.actions[0] is None
                self._note(ForceCancelSent(taken) if step.force else CancelSent(taken))
                if step.force and self.actions[0] is None:
                    self.actions[0] = "cancelled"
            case DeleteRayJobs():
                problem = "503" if self.delete_fails else ""
                self._note(RayJobsDeleted(step.number, problem))
        return None

    def _find(self, step: FindRayJobs) -> datetime | None:
        if self.down:
            return self.now + timedelta(seconds=10)
        new = self.submitted.keys() - self.rayjobs.keys()
        for job_id in new:
            self.rayjobs[job_id] = RayJob(job_id, self.run.id, "workflow", confirmed=True)
        if step.last:
            self._note(RayJobsListed(1))
        return None if new or step.last else step.then

    # -- the world ---------------------------------------------------------------------------------

    @rule(lost=st.booleans(), listed=st.booleans(), fails=st.booleans())
    def weather(self, lost: bool, listed: bool, fails: bool) -> None:
        self.loses, self.searchable, self.delete_fails = lost, listed, fails

    @rule(down=st.booleans())
    def submitter(self, down: bool) -> None:
        self.down = "submitter unreachable" if down else ""
        since = self.now if down else None
        for key, job in self.rayjobs.items():
            self.rayjobs[key] = replace(job, silent_since=since)

    @rule(seconds=st.sampled_from([1, 3, 20, 70, 400, 4000, 90000]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self._settle()

    @rule(wanted=st.booleans())
    def somebody_wants_it(self, wanted: bool) -> None:
        self.wanted = wanted
        self._settle()

    @rule()
    def somebody_cancels(self) -> None:
        first = self.run.stop_request or StopRequest(
            StopReason.CANCEL, "ann", quote("cancelled by ann"), self.now
        )
        self.run = replace(self.run, stop_request=first)
        self._settle()

    @precondition(lambda self: self.run.actions_run_id)
    @rule(twice=st.booleans(), settle=st.booleans())
    def a_job_begins(self, twice: bool, settle: bool) -> None:
        self._said("in_progress", twice=twice, settle=settle)

    @precondition(lambda self: self.actions and self.actions[0] is None)
    @rule(conclusion=CONCLUSIONS, lost=st.booleans(), twice=st.booleans())
    def actions_end(self, conclusion: str, lost: bool, twice: bool) -> None:
        self.actions[0] = conclusion
        if not lost and self.run.actions_run_id:
            self._said("completed", twice=twice, settle=True)

    @precondition(lambda self: self.run.actions_run_id)
    @rule()
    def a_false_end_is_said(self) -> None:
        self._said("completed", twice=False, settle=True)

    def _said(self, status: str, *, twice: bool, settle: bool) -> None:
        for source in (Source.WEBHOOK, Source.POLL)[: 1 + twice]:
            self._note(WorkflowRunChanged(1, status), source)
        if settle:
            self._settle()

    @precondition(lambda self: self.actions and len(self.submitted) < 2)
    @rule(announced=st.booleans(), confirmed=st.booleans())
    def a_rayjob_is_submitted(self, announced: bool, confirmed: bool) -> None:
        job_id = f"job-{len(self.submitted)}"
        self.submitted[job_id] = None
        if announced and self.run.state is not State.DONE:
            job = RayJob(job_id, self.run.id, "announcement", confirmed=confirmed)
            self.rayjobs.setdefault(job_id, job)

    @precondition(lambda self: self.rayjobs)
    @rule(word=WORDS, complete=st.booleans())
    def a_rayjob_ends(self, word: str, complete: bool) -> None:
        key, job = next(iter(self.rayjobs.items()))
        self.rayjobs[key] = replace(job, final=word, final_from="watch", complete=complete)
        self._settle()

    @rule(word=WORDS)
    def the_log_will_say(self, word: str) -> None:
        self.log_says = self.log_says if self._count(LogRead) else word

    # -- what always holds -------------------------------------------------------------------------

    @invariant()
    def a_run_that_ended_stays_so(self) -> None:
        assert (self.run.state is State.DONE) == (self.end is not None)

    def teardown(self) -> None:
        """See that the run ends within its limits, once the world behaves; how, does not matter."""
        if self.actions and self.run.actions_run_id is None:
            self.loses = self.loses and not self.searchable
        self.down = ""
        limit = self.now + BOUND
        while (self.cleans_up or not self.end) and self.now < limit:
            self.now = self._settle() or self.now
        assert self.end, f"still {self.run.state}: {decide(self._situation())}"
        assert not self.cleans_up, f"still cleaning up: {decide(self._situation())}"


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
