"""The one writer of a run's state: the result of each step becomes the run's new row."""

import re
from dataclasses import replace
from datetime import datetime

from bot.core.messages import NOTHING, Message
from bot.core.model import run_events as ev
from bot.core.model.queue import QueuePosition
from bot.core.model.runs import Outcome, Run, State, StopRequest
from bot.core.model.views import SuiteView
from bot.core.planning.attempts import AttemptMaker, audit_of, next_attempt
from bot.core.planning.plan import AuditEntry
from bot.core.queue.state import Blocked
from bot.core.report.digest import cause_of, failed_tests_of, infra_of
from bot.core.runs.jobs import npus_held
from bot.core.runs.observed import fold
from bot.core.runs.steps import Bind, CleanedUp, Conclude, End, RequestStop, Wait
from bot.ports.wake import Topic
from bot.services.workers import Deps, Service
from bot.store.runs import ClaimedRun, SaveRun
from bot.telemetry import get_log

# States whose begin a person should see at once; the others are shown with the next progress.
_SHOWN_AT_ONCE = {State.NEEDS_APPROVAL, State.RUNNING, State.CANCELLING, State.DONE}
# Reasons that every run has in turn, and that its state says already.
_USUAL = frozenset({"waits_dispatched", "waits_label", "waits_runner", "waits_github", "waits_log"})


def _gist(why: Message) -> str:
    """Return a reason without its numbers and times: a change of those alone is no news."""
    return "" if why.key in _USUAL else re.sub(r"\d+", "", why)


def _is_news(run: Run, before: Run) -> bool:
    """Return True if a run has a reason to wait, or a trouble, that it did not have before."""
    if run.state is State.FINISHING:  # the verdict's reason, which is shown with the end
        return False
    return _gist(run.why) not in {"", _gist(before.why)}


class Ledger(Service):
    """Folds events into rows and saves them under the run's lease."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._metrics = self._worker.metrics
        self._log = get_log("ledger")

    async def save(self, claimed: ClaimedRun, result: SaveRun) -> None:
        """Save the result of a step; with ``show`` a person sees it at once, in any state."""
        before, run = claimed.run, result.run
        seen = fold(run, (*claimed.run_events, *result.run_events))
        run = replace(run, started_at=run.started_at or seen.started_at)
        if run.snapshot.native and run.started_at:  # GitHub placed it, and it uses NPUs
            run = replace(run, npus=npus_held(run, (*claimed.run_events, *result.run_events)))
        changed = run.state is not before.state
        # Places in a long queue shift all the time, so a new place alone is only progress.
        queues = (run.queue_position is None) != (before.queue_position is None)
        told = changed and run.state in _SHOWN_AT_ONCE
        news = _is_news(run, before)
        at_once = told or queues or news or result.show
        moved = run.why != before.why or run.queue_position != before.queue_position
        shown = replace(result, run=run, show=at_once, news=news, progress=changed or moved)
        await self._save(claimed, shown)

    async def wait(self, claimed: ClaimedRun, step: Wait) -> None:
        """Save that there is nothing to do until then."""
        run = replace(claimed.run, state=step.state, why=step.why)
        idle = step.state is State.QUEUED  # a run that can't start holds nothing
        if idle:
            run = replace(run, label=None, npus=0, queue_position=None)
        await self.save(claimed, SaveRun(run, step.until, release_all=idle))

    async def queued(
        self, claimed: ClaimedRun, answer: QueuePosition | Blocked, due: datetime
    ) -> None:
        """Save a run's place in a queue, or the rule that blocks it."""
        place = answer if isinstance(answer, QueuePosition) else None
        why = answer.why if isinstance(answer, Blocked) else NOTHING
        run = replace(claimed.run, state=State.QUEUED, queue_position=place, why=why)
        audit: tuple[AuditEntry, ...] = ()
        if isinstance(answer, Blocked) and _is_news(run, claimed.run):
            audit = (self._entry(run, "start", answer.rule, allowed=False),)
        await self.save(claimed, SaveRun(run, due, audit=audit))

    async def stop_request(self, claimed: ClaimedRun, step: RequestStop) -> None:
        """Save that the run should stop because it reached a limit."""
        now = self._clock.now()
        run = replace(claimed.run, stop_request=StopRequest(step.kind, "", step.reason, now))
        entry = self._entry(run, "cancel", f"limit: {step.reason}", allowed=True)
        await self.save(claimed, SaveRun(run, now, audit=(entry,)))

    def _entry(self, run: Run, verb: str, rule: str, *, allowed: bool) -> AuditEntry:
        """Return the audit entry for a rule's decision about this attempt."""
        again = f" (attempt {run.attempt})" if run.attempt > 1 else ""
        entry = audit_of(run, f"{verb} {run.suite}{again}", rule, self._clock.now())
        return replace(entry, allowed=allowed)

    async def bind(self, claimed: ClaimedRun, step: Bind) -> None:
        """Save the Actions run that GitHub started by itself for this run."""
        now = self._clock.now()
        run = replace(
            claimed.run,
            state=State.WAITING_FOR_RUNNER,
            why=NOTHING,
            actions_run_id=step.actions_run_id,
            actions_attempt=step.attempt,
            actions_url=step.url,
            dispatched_at=now,
            snapshot=replace(claimed.run.snapshot, own_jobs=step.own_jobs),
        )
        started = ev.StartedByGitHub(step.attempt, step.event)
        run_event = ev.RunEvent(run.id, ev.Source.RUNNER, now, started)
        await self.save(claimed, SaveRun(run, now, (run_event,)))

    async def conclude(self, claimed: ClaimedRun, step: Conclude) -> None:
        """Save the verdict; from here on only logs are read."""
        now = self._clock.now()
        run = replace(claimed.run, state=State.FINISHING, why=step.why)
        verdict = ev.VerdictReached(step.outcome, step.why)
        run_event = ev.RunEvent(run.id, ev.Source.RUNNER, now, verdict)
        await self.save(claimed, SaveRun(run, now, (run_event,)))

    async def end(self, claimed: ClaimedRun, step: End) -> None:
        """Save the end and the next attempt, if one follows, in one transaction."""
        now = self._clock.now()
        if not step.cleans_up:
            self._alarm_leftovers(claimed, step.why)
        view = SuiteView(claimed.run, claimed.run_events, claimed.rayjobs)
        failed = step.outcome is Outcome.FAILURE
        run = replace(
            claimed.run,
            state=State.DONE,
            outcome=step.outcome,
            why=step.why,
            cause=cause_of(view) if failed else "",
            infra=failed and infra_of(view),
            failed_tests=failed_tests_of(view) if failed else (),
            retry=step.retry,
            queue_position=None,
            ended_at=now,
        )
        retry = self._next_attempt(run, step, now) if step.retry else None
        told: tuple[ev.RunEvent, ...] = ()
        if retry:
            follows = ev.NextAttemptMade(retry.attempt, step.retry)
            told = (ev.RunEvent(run.id, ev.Source.RUNNER, now, follows),)
        due, free = (now, False) if step.cleans_up else (None, True)
        save = SaveRun(run, due, told, release_all=free, retry=retry, show=True)
        await self._save(claimed, save)

    async def cleaned_up(self, claimed: ClaimedRun, step: CleanedUp) -> None:
        """Save that nothing of an ended run goes on, and give its places back."""
        self._alarm_leftovers(claimed, step.why)
        run = replace(claimed.run, why=step.why)
        await self._save(claimed, SaveRun(run, None, release_all=True, show=True))

    def _alarm_leftovers(self, claimed: ClaimedRun, why: Message) -> None:
        """Alarm the operators if RayJobs are left that nothing will delete."""
        if why.key == "run_leftover":
            self._metrics.leftovers.inc()
            told = {"run": claimed.run.id, "actions_run": claimed.run.actions_run_id}
            self._log.error("RayJobs may be left on the cluster", why=why.fields["left"], **told)

    def _next_attempt(self, run: Run, step: End, now: datetime) -> Run:
        """Make the next attempt; the store gives it the claimants of this one."""
        request = replace(
            next_attempt(run, Message("origin_retry", attempt=run.attempt, why=step.retry)),
            forced=run.forced,
            retries=run.retries + 1 if step.counts else run.retries,
            continues=run if run.snapshot.native else None,
        )
        return AttemptMaker(now, self._new_id).make(request)[0]

    async def _save(self, claimed: ClaimedRun, save: SaveRun) -> None:
        save = replace(save, was_done=claimed.run.state is State.DONE)
        if not await self._store.runs.save(claimed.lease, save, self._clock.now()):
            self._log.warning(
                "the lease of a run was lost; its step is taken again", run=save.run.id
            )
            return
        if save.run.state is not claimed.run.state:
            self._log_move(save.run)
        topics = [Topic.REPORTER] if save.show or save.progress else []
        topics += [Topic.FOLLOWER] if save.rayjobs else []
        topics += [Topic.RUNNER] if save.due or save.release or save.release_all else []
        self._wake.poke(*topics)

    def _log_move(self, run: Run) -> None:
        self._metrics.states.labels(run.state, run.outcome or "").inc()
        self._log.info(
            "run moved",
            run=run.id,
            suite=run.suite,
            sha=run.sha,
            attempt=run.attempt,
            state=run.state,
            outcome=run.outcome,
            why=run.why,
        )
