"""Moves each due run one step further; a step is safe to take twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Self, assert_never

from bot.core.github.answers import in_words
from bot.core.messages import NOTHING, Message
from bot.core.model.queue import Need, QueuePosition, label_resource
from bot.core.model.repos import Repo
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.snapshot import Snapshot
from bot.core.queue.admission import fitting, limits_now, too_big
from bot.core.queue.state import Acquired, Blocked
from bot.core.runs import reconcile, steps
from bot.core.runs.offline import OfflineLabel
from bot.core.runs.reconcile_input import ReconcileInput
from bot.ports.errors import DatabaseTrouble, Permanent, Transient, is_told
from bot.ports.rayjobs import Submitter
from bot.services.rayjobs.digesters import Digesters
from bot.services.runs.claims import Claims
from bot.services.runs.dispatcher import Dispatcher
from bot.services.runs.ledger import Ledger
from bot.services.runs.not_started import NotStarted
from bot.services.runs.observer import RunObserver
from bot.services.runs.submitter_health import SubmitterHealth
from bot.services.workers import LEASE_S, Deps, Service
from bot.store.runs import ClaimedRun, SaveRun
from bot.telemetry import bind_context, get_log

RENEW_S = 10  # during a long step, like reading a log
BATCH = 8
AT_ONCE = 64  # steps of one process
PATIENCE_S = 5.0  # how long a loop waits for its steps
_TRY_AGAIN = timedelta(seconds=10)
_REFUSED_AGAIN = timedelta(minutes=5)
# A release wakes waiting runs at once; this is the safety net.
_LOOK_AT_QUEUE = timedelta(minutes=1)
# Far back in the queue may be many runs, and their places matter little.
_FAR_BACK = ((16, _LOOK_AT_QUEUE), (256, timedelta(minutes=10)))
_LOOK_FAR_BACK = timedelta(minutes=30)


class RunReconciler(Service):
    """Claims runs, decides the next step of each and carries it out."""

    def __init__(
        self, deps: Deps, claims: Claims, digesters: Digesters, rayjobs: Submitter | None
    ) -> None:
        """``rayjobs`` is None if no submitter is configured."""
        super().__init__(deps)
        self._ledger = Ledger(deps)
        self._dispatcher = Dispatcher(deps, self._ledger, claims)
        self._observer = RunObserver(deps, self._ledger, digesters, rayjobs)
        self._not_started = NotStarted(deps)
        self._health = SubmitterHealth(rayjobs, self._clock) if rayjobs else None
        self._steps: set[asyncio.Task[None]] = set()
        self._log = get_log("runner")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Stop the long steps; their runs are claimed again when the leases end."""
        for task in self._steps:
            task.cancel()
        await asyncio.gather(*self._steps, return_exceptions=True)

    async def step(self) -> bool:
        """Take one step of each due run; return True if there were any.

        A long step, like reading a dear log, goes on by itself: other runs must not wait for it.
        """
        room = min(BATCH, AT_ONCE - len(self._steps))
        if room <= 0:
            return False
        claimed = await self._store.runs.claim(
            self._worker.owner, self._clock.now(), lease_s=LEASE_S, limit=room
        )
        tasks = {asyncio.create_task(self._advance(item)) for item in claimed}
        for task in tasks:
            self._steps.add(task)
            task.add_done_callback(self._steps.discard)
        if tasks:
            done, late = await asyncio.wait(tasks, timeout=PATIENCE_S)
            for task in late:
                task.add_done_callback(self._ended_late)
            errors = [error for task in done if (error := task.exception())]
            if errors:
                raise errors[0] if len(errors) == 1 else BaseExceptionGroup("steps", errors)
        return bool(claimed)

    def _ended_late(self, task: asyncio.Task[None]) -> None:
        """Log the error of a step that nobody waited for."""
        if not task.cancelled() and (error := task.exception()) and not is_told(error):
            self._log.error("a long step raised", exc_info=error)

    async def _advance(self, claimed: ClaimedRun) -> None:
        told = {"run": claimed.run.id, "suite": claimed.run.suite, "sha": claimed.run.sha}
        log = self._log.bind(**told)
        bind_context(**told)  # this task is the run's
        try:
            async with self._keeping(claimed):
                await self._take(claimed)
        except Transient as error:
            wait = timedelta(seconds=error.retry_after_s or _TRY_AGAIN.total_seconds())
            if not error.is_told:
                log.warning("a step has to wait", why=str(error))
            await self._later(claimed, self._why_to_wait(claimed.run, error), wait)
        except Permanent as error:
            log.error("a step was refused", why=str(error), status=error.status)
            await self._later(
                claimed, Message("github_refuses", error=in_words(str(error))), _REFUSED_AGAIN
            )
        except Exception as error:  # noqa: BLE001  one broken run must not stop the others
            self._worker.failed("runner", error, log)
            await self._later(claimed, claimed.run.why, _REFUSED_AGAIN)

    def _why_to_wait(self, run: Run, error: Transient) -> Message:
        """Return why a step is tried again; what is not GitHub's failure is told elsewhere."""
        if not error.is_told:
            return run.why
        known = run.why.fields.get("since") if run.why.key == "waits_failing" else None
        return Message(
            "waits_failing", since=known or self._clock.now(), error=in_words(str(error))
        )

    async def _later(self, claimed: ClaimedRun, why: Message, wait: timedelta) -> None:
        """Take the step again after a while; a run that did not start holds no place till then."""
        until = self._clock.now() + wait
        # An intent that was stored since the claim must not be undone.
        run = await self._store.runs.get(claimed.run.id) or claimed.run
        if run.state is State.QUEUED:
            await self._ledger.wait(claimed, steps.Wait(State.QUEUED, until, why))
        else:
            over = run.state is State.DONE  # its reason stands
            await self._ledger.save(claimed, SaveRun(run if over else replace(run, why=why), until))

    @asynccontextmanager
    async def _keeping(self, claimed: ClaimedRun) -> AsyncIterator[None]:
        """Renew the lease during a long step."""
        task = asyncio.create_task(self._renew(claimed))
        try:
            yield
        finally:
            task.cancel()

    async def _renew(self, claimed: ClaimedRun) -> None:
        while True:
            await self._clock.sleep(RENEW_S)
            with suppress(DatabaseTrouble):  # the lease may hold until it can be written again
                await self._store.runs.renew(claimed.lease, self._clock.now(), lease_s=LEASE_S)

    async def _take(self, claimed: ClaimedRun) -> None:
        """Decide and carry out one step."""
        repo = await self._store.repos.get(claimed.run.repo_id)
        if repo is None or not repo.active:
            if claimed.run.state is State.DONE:
                await self._ledger.cleaned_up(claimed, steps.CleanedUp(claimed.run.why))
                return
            end = steps.End(Outcome.BROKEN, Message("run_app_removed"))
            await self._ledger.end(claimed, end)
            return
        await self._carry_out(claimed, repo, reconcile.decide(await self._reconcile_input(claimed)))

    async def _reconcile_input(self, claimed: ClaimedRun) -> ReconcileInput:
        down = NOTHING
        if self._health is not None and claimed.run.snapshot.suite.rayjob:
            down = await self._health.down()
        return ReconcileInput(
            run=claimed.run,
            wanted=bool(claimed.claimants),
            run_events=claimed.run_events,
            rayjobs=claimed.rayjobs,
            now=self._clock.now(),
            submitter=self._health is not None,
            submitter_down=down,
            offline=await self._offline_label(claimed.run),
            shared=await self._is_shared(claimed.run),
        )

    async def _is_shared(self, run: Run) -> bool:
        """Return True if a run that should stop shares its Actions run with others that go on."""
        stops = run.stop_request is not None and run.state is not State.DONE
        if run.actions_run_id is None or not (stops and run.snapshot.suite.jobs):
            return False
        others = await self._store.runs.following(run.repo_id, run.actions_run_id)
        return any(
            other.id != run.id and other.state is not State.DONE and other.stop_request is None
            for other in others
        )

    async def _offline_label(self, run: Run) -> OfflineLabel | None:
        """Return the label that a run waits for, if it looks offline."""
        labels = [run.label] if run.label else [label.name for label in run.snapshot.labels]
        if run.state is not State.WAITING_FOR_RUNNER or not run.dispatched_at or len(labels) > 1:
            return None
        now = self._clock.now()
        return await self._store.workflow_jobs.offline_label(
            run.repo_id, labels[0], run.dispatched_at, now
        )

    async def _carry_out(self, claimed: ClaimedRun, repo: Repo, step: steps.Step) -> None:
        match step:
            case steps.Acquire():
                await self._acquire(claimed)
            case steps.Dispatch():
                await self._dispatcher.dispatch(claimed, repo, step)
            case steps.Search():
                await self._dispatcher.search(claimed, repo, step)
            case _ if isinstance(step, steps.Saving):
                await self._save(claimed, step)
            case _:
                await self._ask(claimed, repo, step)

    async def _save(self, claimed: ClaimedRun, step: steps.Saving) -> None:
        match step:
            case steps.Wait():
                await self._ledger.wait(claimed, step)
            case steps.RequestStop():
                await self._ledger.stop_request(claimed, step)
            case steps.Conclude():
                await self._ledger.conclude(claimed, step)
            case steps.End():
                await self._ledger.end(claimed, step)
            case steps.CleanedUp():
                await self._ledger.cleaned_up(claimed, step)
            case steps.Bind():
                await self._ledger.bind(claimed, step)
            case _:
                assert_never(step)

    async def _ask(self, claimed: ClaimedRun, repo: Repo, step: steps.Asking) -> None:
        match step:
            case steps.AskWhyNotStarted():
                why = await self._not_started.why(repo, claimed.run)
                told = replace(step.otherwise, why=why) if why else step.otherwise
                await self._ledger.wait(claimed, told)
            case steps.ReadEnd():
                await self._observer.read_end(claimed, repo, step)
            case steps.FindRayJobs():
                await self._observer.find_rayjobs(claimed, repo, step)
            case steps.ReadLog():
                await self._observer.read_log(claimed, repo)
            case steps.SendCancel():
                await self._observer.send_cancel(claimed, repo, step)
            case steps.DeleteRayJobs():
                await self._observer.delete_rayjobs(claimed, step)
            case _:
                assert_never(step)

    async def _acquire(self, claimed: ClaimedRun) -> None:
        """Acquire a slot of the first free label and NPUs of the pool, or queue for them."""
        run, now = claimed.run, self._clock.now()
        frozen = await self._limited(run)
        if why := too_big(frozen):
            await self._ledger.wait(claimed, steps.Wait(State.QUEUED, now + _LOOK_AT_QUEUE, why))
            return
        limited = replace(run, snapshot=fitting(frozen))
        acquired = await self._store.queue.acquire(limited, needs_of(limited), now)
        if isinstance(acquired, Acquired):
            label = limited.snapshot.labels[acquired.choice].name
            npus = run.snapshot.suite.nodes * run.snapshot.npus_at(label)
            placed = replace(run, label=label, npus=npus, queue_position=None, why=NOTHING)
            await self._ledger.save(claimed, SaveRun(placed, now))
        else:
            await self._ledger.queued(claimed, acquired, look_again(acquired, now))

    async def _limited(self, run: Run) -> Snapshot:
        """Return the run's snapshot with the limits of the current policy, if it is known."""
        policy = await self._policies.known(run.repo_id, run.snapshot.policy_ref)
        return limits_now(run.snapshot, policy) if policy else run.snapshot


def look_again(answer: QueuePosition | Blocked, now: datetime) -> datetime:
    """Return when a run without a place asks again: at the latest when its rule changes."""
    due = now + next((wait for most, wait in _FAR_BACK if answer.ahead <= most), _LOOK_FAR_BACK)
    until = answer.until if isinstance(answer, Blocked) else None
    return min(due, until) if until else due


def needs_of(run: Run) -> tuple[tuple[Need, ...], ...]:
    """Return the needs of a run on each of its labels, in order of preference."""
    frozen = run.snapshot
    needs: list[tuple[Need, ...]] = []
    for label in frozen.labels:
        slot = Need(label_resource(label.name), 1, label.slots)
        if frozen.pool is None:
            needs.append((slot,))
            continue
        npus = frozen.suite.nodes * frozen.npus_at(label.name)
        needs.append((slot, Need(f"pool:{frozen.pool.name}", npus, frozen.pool.npus)))
    return tuple(needs)
