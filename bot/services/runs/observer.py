"""Asks GitHub and the submitter how a run goes, and stops it there."""

from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

from bot.core.digest.result import Digest, Unread
from bot.core.github.answers import in_words
from bot.core.messages import NOTHING, Message
from bot.core.model import run_events as ev
from bot.core.model.queue import label_resource
from bot.core.model.rayjobs import RayJob, unconfirmed
from bot.core.model.repos import Repo
from bot.core.model.runs import Run, State
from bot.core.rayjob.evidence import ActionsLog
from bot.core.rayjob.record import NotOffered, RayJobRecord
from bot.core.runs.jobs import deleted_end, green_end, own_end, told_end
from bot.core.runs.observed import fold
from bot.core.runs.steps import DeleteRayJobs, FindRayJobs, ReadEnd, SendCancel
from bot.core.secrets.redaction import Redactor
from bot.ports.errors import LogMissing, Permanent, SubmitterRefused, Transient
from bot.ports.github import ActionsJob
from bot.ports.rayjobs import Submitter
from bot.services.rayjobs.digesters import Digesters
from bot.services.rayjobs.row import shown_message
from bot.services.runs.job_lists import ends_of
from bot.services.runs.ledger import Ledger
from bot.services.runs.native import Natives
from bot.services.workers import Deps, Service
from bot.store.runs import ClaimedRun, SaveRun

_REFUSED_FOR = timedelta(seconds=60)  # after a run's end a refused log is asked for again
_SAID = 2_000  # characters of an annotation: GitHub's own are shorter


class RunObserver(Service):
    """Carries out the steps that ask about a dispatched run or stop it."""

    def __init__(
        self, deps: Deps, ledger: Ledger, digesters: Digesters, rayjobs: Submitter | None
    ) -> None:
        super().__init__(deps)
        self._ledger = ledger
        self._digesters = digesters
        self._rayjobs = rayjobs
        self._natives = Natives(deps)

    async def read_end(self, claimed: ClaimedRun, repo: Repo, step: ReadEnd) -> None:
        """Read the Actions run: its end counts only as GitHub's API tells it."""
        run = claimed.run
        try:
            end = await self._own_end(claimed, repo)
            if end is None and _may_be_over(claimed):
                end = await self._end_of_all(claimed, repo)
        except Permanent as error:
            if error.status != 404:
                raise
            end = deleted_end(run, claimed.run_events)
        if end:
            await self._ended(claimed, repo, end)
        else:
            await self._ledger.save(claimed, SaveRun(run, self._clock.now() + step.again))

    async def _own_end(self, claimed: ClaimedRun, repo: Repo) -> ev.WorkflowRunEnded | None:
        """Return the end of the jobs that the suite names, if they have ended before others."""
        if not claimed.run.snapshot.suite.jobs:
            return None
        return own_end(claimed.run, ends_of(await self._jobs(claimed, repo)), None)

    async def _end_of_all(self, claimed: ClaimedRun, repo: Repo) -> ev.WorkflowRunEnded | None:
        """Return the end of an Actions run that has ended; None while it goes on."""
        run = claimed.run
        assert run.actions_run_id is not None
        seen = await self._github.actions_run(repo, run.actions_run_id)
        if seen.attempt > run.actions_attempt:
            seen = await self._github.actions_attempt(repo, run.actions_run_id, run.actions_attempt)
        asks = seen.conclusion == ev.APPROVAL and seen.attempt == run.actions_attempt
        if seen.status != "completed" or asks:
            return None
        if run.snapshot.suite.jobs:
            jobs = ends_of(await self._jobs(claimed, repo))
            return own_end(run, jobs, seen.conclusion or "failure")
        return await self._end(claimed, repo, seen.conclusion)

    async def _jobs(self, claimed: ClaimedRun, repo: Repo) -> tuple[ActionsJob, ...]:
        """Return the jobs of the Actions run, as they were told to have ended, or later."""
        run = claimed.run
        assert run.actions_run_id is not None
        if not run.snapshot.suite.jobs:
            return await self._github.jobs(repo, run.actions_run_id, run.actions_attempt)
        since = fold(run, claimed.run_events).seen_end_at or self._clock.now()
        return await self._job_lists.newest(repo, run.actions_run_id, run.actions_attempt, since)

    async def _end(
        self, claimed: ClaimedRun, repo: Repo, conclusion: str | None
    ) -> ev.WorkflowRunEnded:
        """Return the end; without a RayJob to judge by, a green one is judged by its jobs."""
        run = claimed.run
        if conclusion != "success" or run.snapshot.suite.rayjob:
            return ev.WorkflowRunEnded(run.actions_attempt, conclusion)
        if told := told_end(run, claimed.run_events):
            return told
        assert run.actions_run_id is not None
        jobs = await self._github.jobs(repo, run.actions_run_id, run.actions_attempt)
        return green_end(run, ends_of(jobs))

    async def _ended(self, claimed: ClaimedRun, repo: Repo, ended: ev.WorkflowRunEnded) -> None:
        """Save the end; free the label's slot unless a detached RayJob holds it as its pool."""
        run, now = claimed.run, self._clock.now()
        if run.snapshot.native and not run.snapshot.apart:  # before its result counts
            given_up = await self._natives.judge_anew(repo, run.sha)
            if given_up.mistaken:
                await self._store.commit(given_up, now, done=None)
        label_is_pool = run.snapshot.suite.rayjob and run.snapshot.pool is None
        release = () if label_is_pool or run.label is None else (label_resource(run.label),)
        run_event = ev.RunEvent(run.id, ev.Source.RUNNER, now, ended)
        await self._ledger.save(claimed, SaveRun(run, now, (run_event,), release=release))

    async def find_rayjobs(self, claimed: ClaimedRun, repo: Repo, step: FindRayJobs) -> None:
        """Ask the submitter which RayJobs this Actions run attempt has.

        Without an answer the run goes on: its Actions side does not need the submitter.
        """
        run, now = claimed.run, self._clock.now()
        assert self._rayjobs is not None
        if run.state is State.WAITING_FOR_RUNNER:  # its job has begun, or nobody would ask
            run = replace(run, state=State.RUNNING)
        assert run.actions_run_id is not None
        try:
            found = await self._rayjobs.of_workflow(run.actions_run_id, run.actions_attempt)
        except (Transient, SubmitterRefused) as error:
            said = shown_message(Redactor(run.snapshot.log.redact), str(error))
            why = Message("submitter_fails", error=in_words(said))
            await self._ledger.save(claimed, SaveRun(replace(run, why=why), step.then))
            return
        records = () if isinstance(found, NotOffered) else found
        known = {job.job_id for job in claimed.rayjobs}
        unknown = [item for item in records if item.job_id not in known and item.is_of(repo)]
        new = tuple([await self._rayjob(run, repo, item) for item in unknown])
        noted: list[ev.What] = [ev.RayJobSeen(job.job_id) for job in new]
        if step.last:
            noted.append(ev.RayJobsListed(run.actions_attempt))
        due = now if new or step.last else step.then
        run_events = tuple(ev.RunEvent(run.id, ev.Source.RUNNER, now, what) for what in noted)
        save = SaveRun(replace(run, why=NOTHING), due, run_events, rayjobs=new)
        await self._ledger.save(claimed, save)

    async def _rayjob(self, run: Run, repo: Repo, record: RayJobRecord) -> RayJob:
        """Return a RayJob of the submitter's list; its reader confirms what others name, too."""
        assert run.actions_run_id is not None
        redact = Redactor(run.snapshot.log.redact)
        job = RayJob(
            record.job_id,
            run.id,
            "workflow",
            confirmed=record.belongs_to(repo, run.actions_run_id, run.actions_attempt),
            status=shown_message(redact, record.status),
            deployment=shown_message(redact, record.job_deployment_status),
            message=shown_message(redact, record.message),
        )
        if not job.confirmed or record.is_proven:
            return job
        rivals = await self._store.rayjobs.rivals(job, run.repo_id, elsewhere=True)
        return replace(job, confirmed=not rivals)

    async def send_cancel(self, claimed: ClaimedRun, repo: Repo, step: SendCancel) -> None:
        """Ask GitHub to cancel the run; if there is nothing to cancel, its end is read next.

        A newer attempt is a person's: a cancel would hit that one.
        """
        run = claimed.run
        assert run.actions_run_id is not None
        call = self._github.force_cancel if step.force else self._github.cancel
        try:
            seen = await self._github.actions_run(repo, run.actions_run_id)
            is_ours = seen.attempt == run.actions_attempt
            acquired = is_ours and await call(repo, run.actions_run_id)
        except Permanent as error:
            if error.status != 404:
                raise
            acquired = False  # deleted on GitHub: its end is read next
        now = self._clock.now()
        sent = ev.ForceCancelSent(acquired) if step.force else ev.CancelSent(acquired)
        noted = [ev.RunEvent(run.id, ev.Source.RUNNER, now, sent)]
        if not acquired:
            over = ev.WorkflowRunChanged(run.actions_attempt, "completed")
            noted.append(ev.RunEvent(run.id, ev.Source.API, now, over))
        await self._ledger.save(claimed, SaveRun(run, now, tuple(noted)))

    async def delete_rayjobs(self, claimed: ClaimedRun, step: DeleteRayJobs) -> None:
        """Delete the RayJobs of this attempt, and save the answer."""
        run = claimed.run
        assert self._rayjobs is not None
        assert run.actions_run_id is not None
        problem = ""
        try:
            await self._rayjobs.delete_workflow(run.actions_run_id, run.actions_attempt)
        except (Transient, SubmitterRefused) as error:
            redact = Redactor(run.snapshot.log.redact)
            problem = shown_message(redact, in_words(str(error))) or type(error).__name__
        now = self._clock.now()
        deleted = ev.RayJobsDeleted(step.number, problem)
        run_event = ev.RunEvent(run.id, ev.Source.RUNNER, now, deleted)
        await self._ledger.save(claimed, SaveRun(run, now, (run_event,)))

    async def read_log(self, claimed: ClaimedRun, repo: Repo) -> None:
        """Read the Actions log of the most telling job for RayJob markers and a digest."""
        run = claimed.run
        assert run.actions_run_id is not None
        job_id = None
        try:
            jobs = _of_suite(claimed, await self._jobs(claimed, repo))
            conclusion = fold(run, claimed.run_events).conclusion
            passed = conclusion == "success" and not run.snapshot.suite.rayjob
            job = _on_label(run, jobs) if passed else _telling(jobs)
            partial = len(_failed(jobs)) > 1
            read, job_id = await self._log_of(run, repo, job, passed=passed, partial=partial)
        except Permanent as error:
            if not error.is_gone and self._has_just_ended(claimed):  # it may be a slip
                raise Transient(str(error)) from error
            read = ev.LogRead(
                run.actions_attempt, problem=Message("log_refused", error=in_words(str(error)))
            )
        now = self._clock.now()
        known = {job.job_id for job in claimed.rayjobs}
        new: tuple[RayJob, ...] = ()
        if job_id and job_id not in known:
            new = (unconfirmed(run.id, job_id, "log", submitter=self._rayjobs is not None),)
        run_event = ev.RunEvent(run.id, ev.Source.RUNNER, now, read)
        await self._ledger.save(claimed, SaveRun(run, now, (run_event,), rayjobs=new))

    def _has_just_ended(self, claimed: ClaimedRun) -> bool:
        seen_end_at = fold(claimed.run, claimed.run_events).seen_end_at
        return seen_end_at is not None and self._clock.now() - seen_end_at < _REFUSED_FOR

    async def _log_of(
        self, run: Run, repo: Repo, job: ActionsJob | None, *, passed: bool, partial: bool
    ) -> tuple[ev.LogRead, str | None]:
        """Read the log of a job; return what it says, and the RayJob that it names."""
        if job is None:
            return ev.LogRead(run.actions_attempt, problem=Message("log_no_job")), None
        log = self._digesters.of(run)
        markers = ActionsLog()
        try:
            async with aclosing(self._github.job_log(repo, job.id)) as chunks:
                async for chunk in chunks:
                    log.feed(chunk)
                    markers.feed(chunk)
                    await log.read()
                    if log.unread is Unread.SIZE:
                        break
        except LogMissing:
            lost = await self._digest_of_lost(run, repo, job)
            if lost is None:
                raise
            return ev.LogRead(run.actions_attempt, digest=lost, step=job.failed_step), None
        said = markers.end()
        final = said.final.value if said.final else None
        digest = await log.digest(passed=passed)
        read = ev.LogRead(run.actions_attempt, final, digest, step=job.failed_step, partial=partial)
        return read, said.job_id

    async def _digest_of_lost(self, run: Run, repo: Repo, job: ActionsJob) -> Digest | None:
        """Return what the annotations of a job without a log say, if its runner was lost."""
        try:
            said = await self._github.annotations(repo, job.check_id)
        except Permanent:
            return None
        log = self._digesters.of(run)
        log.feed("".join(f"##[error]{text[:_SAID]}\n" for text in said).encode())
        digest = await log.digest()
        return digest if digest.failure_class == "runner_lost" else None


def _may_be_over(claimed: ClaimedRun) -> bool:
    """Return True if the Actions run was told to have ended, or if all of it is the suite's."""
    if not claimed.run.snapshot.suite.jobs:
        return True
    attempt = claimed.run.actions_attempt
    told = (item.what for item in claimed.run_events)
    return any(
        isinstance(what, ev.WorkflowRunChanged)
        and (what.attempt, what.status) == (attempt, "completed")
        for what in told
    )


def _of_suite(claimed: ClaimedRun, jobs: tuple[ActionsJob, ...]) -> tuple[ActionsJob, ...]:
    """Return the jobs whose logs tell how a suite ended: its own, or the one that they needed."""
    run = claimed.run
    end = fold(run, claimed.run_events).end
    if end and end.needed:
        needs = (need for item in run.snapshot.own_jobs for need in item.needs)
        needed = [need for need in needs if need.key == end.needed]
        names = {end.needed} if not needed else set()
        return tuple(
            job for job in jobs if job.name in names or any(need.shows(job.name) for need in needed)
        )
    return tuple(job for job in jobs if run.snapshot.owns(job.name))


def _on_label(run: Run, jobs: tuple[ActionsJob, ...]) -> ActionsJob | None:
    """Return the first job that passed on a label of the suite."""
    own = {label.name.casefold() for label in run.snapshot.labels}
    passed = (job for job in jobs if job.conclusion == "success")
    return next((job for job in passed if not own.isdisjoint(map(str.casefold, job.labels))), None)


def _telling(jobs: tuple[ActionsJob, ...]) -> ActionsJob | None:
    """Return the most telling job: the first that failed, else the first that ran."""
    return next(iter(_failed(jobs) or _begun(jobs)), None)


def _begun(jobs: tuple[ActionsJob, ...]) -> list[ActionsJob]:
    return [job for job in jobs if job.conclusion not in {None, "skipped"}]


def _failed(jobs: tuple[ActionsJob, ...]) -> list[ActionsJob]:
    return [job for job in _begun(jobs) if job.conclusion not in {"success", "neutral"}]
