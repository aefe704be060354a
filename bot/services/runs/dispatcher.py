"""Starts the workflow of a run exactly once: the intent is stored before the call.

After a lost answer the run is looked for before it is dispatched again.
"""

from dataclasses import replace
from datetime import timedelta

from bot.core.github.answers import in_words
from bot.core.messages import NOTHING, Message, quote
from bot.core.model import run_events as ev
from bot.core.model.people import NOBODY
from bot.core.model.repos import Repo
from bot.core.model.runs import Run, State
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.runs.dispatch_inputs import inputs_of, may_pass, refusal
from bot.core.runs.steps import Dispatch, Search
from bot.ports.errors import Lost, Permanent, Transient
from bot.services.runs.claims import Claims
from bot.services.runs.ledger import Ledger
from bot.services.runs.own_reruns import OwnReruns, Rerun
from bot.services.workers import Deps, Service
from bot.store.runs import ClaimedRun, SaveRun

_FIRST_LOOK = timedelta(seconds=2)  # GitHub's lists show a new run after this at the soonest
_RERUN_WITHIN = timedelta(days=30)  # GitHub's limits for re-runs
_MAX_ATTEMPTS = 50
_LOOK_AT_OTHERS = timedelta(minutes=3)  # that share the Actions run: they may take hours
_TRY_AGAIN = timedelta(seconds=10)
# One refusal may be GitHub's slip: of a new workflow, or while permissions change.
_REFUSED_FOR = timedelta(seconds=60)
_CLOCKS_DIFFER = timedelta(seconds=60)  # GitHub's clock and ours, when listing runs "since"


class Dispatcher(Service):
    """Carries out `Dispatch` and `Search`."""

    def __init__(self, deps: Deps, ledger: Ledger, claims: Claims) -> None:
        super().__init__(deps)
        self._ledger = ledger
        self._claims = claims
        self._reruns = OwnReruns(deps)

    async def dispatch(self, claimed: ClaimedRun, repo: Repo, step: Dispatch) -> None:
        """Dispatch the run, unless somebody it runs for needs it no more, or may not have it."""
        run = claimed.run
        own = run.rerun_of is not None and bool(run.snapshot.suite.jobs)
        if own and await self._reruns.plan(repo, run) is None:
            await self._wait_for_others(claimed)
            return
        if await self._claims.dropped(claimed, repo):
            await self._ledger.save(claimed, SaveRun(claimed.run, self._clock.now()))
            return
        if own and run.rerun_of is not None:
            async with self._reruns.turn(run.rerun_of):
                await self._rerun_own(claimed, repo, step.number)
            return
        failed_only = run.rerun_of is not None and await self._can_rerun(repo, run)
        if run.rerun_of is not None and not failed_only and not run.snapshot.native:
            run = replace(run, rerun_of=None, actions_attempt=1)
        await self._begin(claimed, repo, (run, Rerun(failed_only)), step.number)

    async def _rerun_own(self, claimed: ClaimedRun, repo: Repo, number: int) -> None:
        """Run the jobs of a suite again, unless another suite's were a moment ago."""
        how = await self._reruns.plan(repo, claimed.run)
        if how is None:
            await self._wait_for_others(claimed)
            return
        if how.is_empty:  # all jobs are of others, which may need a higher level
            why = Message("run_no_job", jobs=claimed.run.snapshot.suite.jobs)
            await self._learn(claimed, claimed.run, ev.DispatchRefused(why))
            return
        run = replace(claimed.run, actions_attempt=how.attempt)
        await self._begin(claimed, repo, (run, how), number)

    async def _wait_for_others(self, claimed: ClaimedRun) -> None:
        """Wait while jobs of other suites go on in the same Actions run."""
        waits = replace(claimed.run, state=State.QUEUED, why=Message("waits_actions_run"))
        due = self._clock.now() + _LOOK_AT_OTHERS
        await self._ledger.save(claimed, SaveRun(waits, due))

    async def _begin(
        self, claimed: ClaimedRun, repo: Repo, order: tuple[Run, Rerun], number: int
    ) -> None:
        run, how = order
        run = replace(
            run,
            dispatch_id=run.dispatch_id or self._new_id(),
            state=State.DISPATCHING,
            dispatched_at=claimed.run.dispatched_at or self._clock.now(),
            queue_position=None,
            why=NOTHING,
        )
        # The intent is stored before the call, and the lease kept, unless it is lost.
        intent = (self._event(run, ev.DispatchStarted(number)),)
        if await self._store.runs.note(claimed.lease, run, intent, self._clock.now()):
            await self._send(claimed, repo, (run, how), number)

    async def _send(
        self, claimed: ClaimedRun, repo: Repo, order: tuple[Run, Rerun], number: int
    ) -> None:
        run, how = order
        try:
            answer = await self._start(repo, run, how)
        except Lost as error:
            failed = _failed(run, error)
            step = SaveRun(failed, self._clock.now() + _FIRST_LOOK)
            await self._ledger.save(claimed, step)
        except Transient as error:
            wait = timedelta(seconds=error.retry_after_s or _TRY_AGAIN.total_seconds())
            await self._unsent(claimed, run, (number, error), wait)
        except Permanent as error:
            await self._refused(claimed, repo, run, (number, error))
        else:
            await self._answered(claimed, run, answer, number)

    async def _unsent(
        self,
        claimed: ClaimedRun,
        run: Run,
        failed: tuple[int, Transient | Permanent],
        wait: timedelta,
    ) -> None:
        """Note that a dispatch did not begin anything; it is sent again after a while."""
        number, error = failed
        refused = isinstance(error, Permanent)
        run_event = self._event(run, ev.DispatchUnsent(number, quote(str(error)), refused))
        due = self._clock.now() + wait
        await self._ledger.save(claimed, SaveRun(_failed(run, error), due, (run_event,)))

    async def _refused(
        self, claimed: ClaimedRun, repo: Repo, run: Run, refused: tuple[int, Permanent]
    ) -> None:
        """Dispatch anew where GitHub refuses a re-run, unless somebody re-ran it already."""
        number, error = refused
        own = run.rerun_of is not None and run.snapshot.suite.jobs
        if own and await self._reruns.is_busy(repo, run):
            await self._learn(claimed, run, ev.DispatchUnsent(number, quote(str(error))))
            return
        if run.rerun_of is None or run.snapshot.native:
            since = self._refused_for(claimed)
            soon = run.rerun_of is None and since < _REFUSED_FOR
            if soon and may_pass(error.status, str(error)):
                await self._unsent(claimed, run, (number, error), max(_TRY_AGAIN, since))
                return
            why = refusal(run, error.status, str(error))
            await self._learn(claimed, run, ev.DispatchRefused(why))
            return
        if seen := await self._seen_rerun(repo, run):
            await self._adopt(claimed, run, seen, found=number > 1)
            return
        # Saved before the next intent: a lost answer to that one is searched as a dispatch.
        anew = replace(run, rerun_of=None, actions_attempt=1)
        await self._learn(claimed, anew, ev.DispatchUnsent(number, quote(str(error))))

    def _refused_for(self, claimed: ClaimedRun) -> timedelta:
        """Return how long GitHub has said no; what failed before, for other reasons, is not."""
        now = self._clock.now()
        refused = (
            item.at
            for item in claimed.run_events
            if isinstance(item.what, ev.DispatchUnsent) and item.what.refused
        )
        return now - min(refused, default=now)

    async def _start(self, repo: Repo, run: Run, how: Rerun) -> WorkflowRun | None:
        """Start the workflow, or re-run the former Actions run; None if GitHub names no run."""
        if run.rerun_of is not None:
            await self._rerun(repo, run.rerun_of, how)
            return None
        assert run.label is not None
        frozen = run.snapshot
        inputs = inputs_of(run, run.label)
        return await self._github.dispatch(repo, frozen.suite.workflow, frozen.ref, inputs)

    async def _rerun(self, repo: Repo, actions_run_id: int, how: Rerun) -> None:
        """Re-run a job or an Actions run, whole where its failed jobs alone can't be."""
        try:
            if how.job_id is not None:
                await self._github.rerun_job(repo, how.job_id)
            else:
                await self._github.rerun(repo, actions_run_id, failed_only=how.failed_only)
        except Permanent:
            if how.job_id is not None:  # a job of a called workflow can't be run again alone
                await self._rerun(repo, actions_run_id, replace(how, job_id=None))
                return
            if not how.failed_only:
                raise
            await self._github.rerun(repo, actions_run_id, failed_only=False)

    async def _can_rerun(self, repo: Repo, run: Run) -> bool:
        """Return True if GitHub can re-run only the failed jobs."""
        assert run.rerun_of is not None
        try:
            seen = await self._github.actions_run(repo, run.rerun_of)
        except Permanent:
            return False  # deleted, or expired
        young = seen.created_at and self._clock.now() - seen.created_at < _RERUN_WITHIN
        unchanged = seen.status == "completed" and seen.attempt == run.actions_attempt
        if not (young and unchanged and seen.attempt < _MAX_ATTEMPTS):
            return False
        jobs = await self._github.jobs(repo, run.rerun_of, seen.attempt)
        ends = {job.conclusion for job in jobs}
        return "success" in ends and bool(ends & {"failure", "cancelled", "timed_out"})

    async def _answered(
        self, claimed: ClaimedRun, run: Run, answer: WorkflowRun | None, number: int
    ) -> None:
        """Follow the run that GitHub named; an older server names none, so look for it."""
        if answer is None:
            accepted = self._event(run, ev.DispatchAccepted(number))
            due = self._clock.now() + _FIRST_LOOK
            await self._ledger.save(claimed, SaveRun(run, due, (accepted,)))
        else:
            await self._adopt(claimed, run, answer, found=False)

    async def search(self, claimed: ClaimedRun, repo: Repo, step: Search) -> None:
        """Look for our id; of several runs with it follow the first and cancel the others.

        Anybody with write can start a workflow with that id, so only runs that we started count.
        """
        run = claimed.run
        if run.rerun_of is not None:
            await self._search_rerun(claimed, repo, step)
            return
        since = (run.dispatched_at or run.created_at) - _CLOCKS_DIFFER
        listed = await self._github.runs_of_workflow(repo, run.snapshot.suite.workflow, since)
        assert run.dispatch_id is not None
        named = [item for item in listed if run.dispatch_id in item.display_title]
        app = await self._github.app_account(repo) if named else NOBODY
        ours = sorted((item for item in named if item.is_of(app)), key=lambda item: item.id)
        if not ours:
            await self._learn(claimed, run, ev.DispatchSearched(step.number, step.search))
            return
        for double in ours[1:]:
            await self._github.cancel(repo, double.id)
        await self._adopt(claimed, run, ours[0], found=_answer_lost(claimed))

    async def _search_rerun(self, claimed: ClaimedRun, repo: Repo, step: Search) -> None:
        """Look for the re-run."""
        if seen := await self._seen_rerun(repo, claimed.run):
            await self._adopt(claimed, claimed.run, seen, found=_answer_lost(claimed))
            return
        await self._learn(claimed, claimed.run, ev.DispatchSearched(step.number, step.search))

    async def _seen_rerun(self, repo: Repo, run: Run) -> WorkflowRun | None:
        """Return the re-run: the same Actions run with a higher attempt; None if there is none."""
        assert run.rerun_of is not None
        try:
            seen = await self._github.actions_run(repo, run.rerun_of)
        except Permanent:
            return None  # deleted
        return seen if seen.attempt > run.actions_attempt else None

    async def _adopt(
        self, claimed: ClaimedRun, run: Run, actions: WorkflowRun, *, found: bool
    ) -> None:
        run = replace(
            run,
            state=State.WAITING_FOR_RUNNER,
            actions_run_id=actions.id,
            actions_attempt=actions.attempt,
            actions_url=actions.html_url,
            why=NOTHING,
        )
        await self._learn(claimed, run, ev.Dispatched(run.actions_attempt, found))

    def _event(self, run: Run, what: ev.What) -> ev.RunEvent:
        return ev.RunEvent(run.id, ev.Source.RUNNER, self._clock.now(), what)

    async def _learn(self, claimed: ClaimedRun, run: Run, what: ev.What) -> None:
        """Save an event, and take the next step at once."""
        run_event = self._event(run, what)
        await self._ledger.save(claimed, SaveRun(run, run_event.at, (run_event,)))


def _failed(run: Run, error: Transient | Permanent) -> Run:
    """Return a run whose dispatch failed; its check run says since when, in GitHub's words."""
    since, words = run.dispatched_at or run.created_at, in_words(str(error))
    return replace(run, why=Message("waits_dispatch", since=since, error=words))


def _answer_lost(claimed: ClaimedRun) -> bool:
    """Return True if GitHub did not take the last dispatch for all that is known."""
    events = [item.what for item in claimed.run_events]
    tries = sum(isinstance(what, ev.DispatchStarted) for what in events)
    return ev.DispatchAccepted(tries) not in events
