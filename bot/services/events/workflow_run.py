"""The events `workflow_run` and `workflow_job`: they tell of runs we follow.

A workflow run with our id that no run of ours follows is cancelled.
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.github.events import WorkflowJobEvent, WorkflowRunEvent
from bot.core.messages import Message, Messages
from bot.core.model.run_events import JobChanged, RunEvent, Source, WorkflowRunChanged
from bot.core.model.runs import Run, State
from bot.core.model.views import GateDue
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning.attempts import Claim, PolicyAt, audit_of, next_attempt
from bot.core.planning.permissions import Refusal, Requester, broken_policy, may_start
from bot.core.planning.plan import AuditEntry, Plan, RepublishCheck, joined
from bot.core.planning.pull_request import pr_source
from bot.core.planning.trust import Authorship, Trusted
from bot.core.runs.native import as_change, is_waiting
from bot.core.runs.offline import JobSeen, job_state, own_labels
from bot.ports.errors import Transient
from bot.services.runs.native import Natives
from bot.services.trust import TrustJudge
from bot.services.workers import Deps, Service

_SOON_S = 5.0  # the end of the attempt before should be known then
_BOUND_WITHIN = timedelta(seconds=30)  # a run takes a second to follow what was seen for it
_ULID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")


class WorkflowRuns(Service):
    """Stores what Actions reports as events of runs; a run's own step decides what they mean."""

    def __init__(self, deps: Deps, natives: Natives) -> None:
        super().__init__(deps)
        self._natives = natives
        self._trust = TrustJudge(deps)

    async def run_changed(self, event: WorkflowRunEvent) -> Plan:
        """Plan what an event of a workflow run changes."""
        runs = await self._store.runs.following(event.repo.id, event.run.id)
        if not runs:
            cancelled = await self._cancel_stray(event)
            found = await self._natives.seen(event.repo, event.run, Source.WEBHOOK)
            return replace(found, audit=(*found.audit, *cancelled))
        now = self._clock.now()
        plans = [await self._of_run(event, run, now) for run in runs]
        if any(run.snapshot.apart for run in runs):  # other suites may have begun since
            plans.append(await self._natives.seen(event.repo, event.run, Source.WEBHOOK))
        return joined(event.repo, plans)

    async def _of_run(self, event: WorkflowRunEvent, run: Run, now: datetime) -> Plan:
        """Plan what an event changes for one of the suites that follow this Actions run."""
        if event.run.attempt > run.actions_attempt:
            if not await self._ran_again(event, run, now):
                return Plan()
            return await self._adopt(event, run)
        if run.state is State.DONE:
            return await self._end_late(event, run)
        return Plan(repo=event.repo, run_events=(webhook_event(event, run, self._clock.now()),))

    async def _ran_again(self, event: WorkflowRunEvent, run: Run, now: datetime) -> bool:
        """Return True if a newer attempt runs jobs of the suite: one job can be run again alone."""
        if not run.snapshot.suite.jobs:
            return True
        attempt = event.run.attempt
        jobs = await self._job_lists.newest(event.repo, event.run.id, attempt, now)
        return any(job.attempt == attempt and run.snapshot.owns(job.name) for job in jobs)

    async def _adopt(self, event: WorkflowRunEvent, before: Run) -> Plan:
        """Follow a re-run that a person started in the Actions tab, as the next attempt."""
        now = self._clock.now()
        if before.state is not State.DONE:
            if event.run.status == "completed":
                reason = "the attempt before this one has not ended here yet"
                raise Transient(reason, retry_after_s=_SOON_S)
            over = WorkflowRunChanged(before.actions_attempt, "completed")
            run_event = RunEvent(before.id, Source.WEBHOOK, now, over)
            return Plan(repo=event.repo, run_events=(run_event,))
        if refusal := await self._refusal(event, before):
            return await self._refused(event, before, refusal)
        origin = Message("origin_actions", who=event.run.triggered_by.login or Message("somebody"))
        request = replace(
            next_attempt(before, origin), claims=await self._claims(event, before), adopts=event.run
        )
        run, claimants = self._maker().make(request)
        what = f"rerun {run.suite} in the Actions tab"
        return Plan(
            repo=event.repo,
            new_runs=((run, claimants),),
            run_events=(webhook_event(event, run, now),),
            gates=(GateDue(run.repo_id, run.sha, run.number or 0),),
            audit=(
                audit_of(run, what, "adopted", now, who=event.run.triggered_by.login or "somebody"),
            ),
        )

    async def _refusal(self, event: WorkflowRunEvent, before: Run) -> Refusal | None:
        """Return why a person may not have our run run again; GitHub lets anybody with write.

        By GitHub's own rules a native one may.
        """
        who, repo = event.run.triggered_by, event.repo
        by_us = who == await self._github.app_account(repo)
        if before.snapshot.native or by_us or not who:
            return None
        at = await self._policies.of(repo, before.snapshot.policy_ref)
        messages = Messages(before.snapshot.language)
        if not isinstance(at, PolicyAt):
            errors = at.errors if at else ()
            return Refusal(broken_policy(messages, errors, before.snapshot.policy_ref))
        person = await self._trust.person(repo, at, who)
        # It was dispatched, so its commit was trusted.
        trust = Trusted(True, Message("trust_no_pull"))
        requester = Requester(person, before.sha, Authorship(frozenset()), trust)
        answer = may_start(messages, at.policy, before.suite, requester, "")
        return answer if isinstance(answer, Refusal) else None

    async def _refused(self, event: WorkflowRunEvent, before: Run, refusal: Refusal) -> Plan:
        """Cancel a re-run that is not followed, and say why in the check run of the one before."""
        seen = await self._github.actions_run(event.repo, event.run.id)
        stopped = await self._cancel(event, before, seen, "trust: the run is not followed")
        if not stopped:
            return Plan(repo=event.repo)
        who, now = event.run.triggered_by, self._clock.now()
        what = f"rerun {before.suite} in the Actions tab"
        where = (before.repo_id, before.number, before.sha)
        entry = AuditEntry(now, who.login, what, False, "trust", *where, who_id=who.id)
        told = RepublishCheck(before.repo_id, before.sha, before.id, refusal.text)
        return Plan(repo=event.repo, republish=(told,), audit=(entry, *stopped))

    async def _claims(self, event: WorkflowRunEvent, before: Run) -> tuple[Claim, ...]:
        """Return for whom an adopted run runs: the pull requests at its commit, else itself."""
        pulls = await self._store.pulls.at(before.repo_id, before.sha)
        sources = [pr_source(pull.number) for pull in pulls]
        return tuple(
            Claim(source, auto=False, by=event.run.triggered_by)
            for source in sources or [f"pin:actions-{event.run.id}"]
        )

    async def job_changed(self, event: WorkflowJobEvent) -> Plan:
        """Plan what an event of a job changes."""
        runs = await self._store.runs.following(event.repo.id, event.run_id)
        await self._occupy_labels(event, known=bool(runs))
        if not runs:
            await self._wait_for_follower(event)
        its = [run for run in runs if run.state is not State.DONE and run.snapshot.owns(event.name)]
        changed = JobChanged(
            job_id=event.job_id,
            attempt=event.attempt,
            status=event.action,
            conclusion=event.conclusion,
            runner=event.runner,
            name=event.name,
            labels=event.labels,
        )
        now = self._clock.now()
        told = tuple(RunEvent(run.id, Source.WEBHOOK, now, changed) for run in its)
        plan = Plan(repo=event.repo, run_events=told)
        if event.conclusion == "skipped" or any(run.snapshot.owns(event.name) for run in runs):
            return plan
        return joined(event.repo, [plan, await self._natives.job_seen(event, changed)])

    async def _wait_for_follower(self, event: WorkflowJobEvent) -> None:
        """Raise ``Transient`` if a run is about to follow this Actions run."""
        at_commit, followed = await self._store.runs.natives_at(event.repo.id, event.sha)
        seen = followed.get(event.run_id)
        if seen is None or seen.created_at is None:
            return
        young = self._clock.now() - seen.created_at < _BOUND_WITHIN
        if young and any(is_waiting(item.run) for item in at_commit):
            raise Transient("the run of this job is not known yet", retry_after_s=1.0)

    async def _occupy_labels(self, event: WorkflowJobEvent, *, known: bool) -> None:
        """Store that the job occupies its labels, if the repository has a policy."""
        repo, labels = event.repo, own_labels(event.labels)
        if not labels:
            return
        if not known and await self._policies.of(repo, repo.default_branch) is None:
            return
        now, state = self._clock.now(), job_state(event.action, event.runner)
        seen = JobSeen(event.job_id, repo.id, event.run_id, labels, state, now)
        await self._store.workflow_jobs.put(seen, now)

    async def _cancel_stray(self, event: WorkflowRunEvent) -> tuple[AuditEntry, ...]:
        """Cancel a workflow run that we started with our id and do not follow.

        Anybody with write can start one with that id: it is theirs.
        """
        if event.run.status == "completed" or event.run.event != "workflow_dispatch":
            return ()
        cancelled: list[AuditEntry] = []
        for dispatch_id in _ULID.findall(event.run.display_title):
            run = await self._store.runs.of_dispatch(dispatch_id)
            if run is None or run.repo_id != event.repo.id:
                continue
            known = run.actions_run_id
            stray = run.state is State.DONE or (known is not None and known != event.run.id)
            if stray and event.run.is_of(await self._github.app_account(event.repo)):
                seen = await self._github.actions_run(event.repo, event.run.id)
                cancelled += await self._cancel(event, run, seen, "stray: not the run we follow")
        return tuple(cancelled)

    async def _end_late(self, event: WorkflowRunEvent, run: Run) -> Plan:
        """Cancel a workflow run that goes on although its run is done here; native runs go on.

        The webhook may be an old one, and a person may have started the workflow run again.
        """
        late = event.run.status != "completed" and event.run.attempt == run.actions_attempt
        if run.snapshot.native or not late:
            return Plan(repo=event.repo)
        seen = await self._github.actions_run(event.repo, event.run.id)
        if seen.attempt > run.actions_attempt:
            return await self._adopt(replace(event, run=seen), run)
        audit = await self._cancel(event, run, seen, "stray: the run is done here")
        return Plan(repo=event.repo, audit=audit)

    async def _cancel(
        self, event: WorkflowRunEvent, run: Run, seen: WorkflowRun, rule: str
    ) -> tuple[AuditEntry, ...]:
        """Cancel a workflow run as it was just seen; one that has ended is not recorded."""
        over = seen.status == "completed" or seen.attempt != event.run.attempt
        if over or not await self._github.cancel(event.repo, event.run.id):
            return ()
        what = f"cancel Actions run {event.run.id}"
        return (audit_of(run, what, rule, self._clock.now()),)


def webhook_event(event: WorkflowRunEvent, run: Run, now: datetime) -> RunEvent:
    """Return what a webhook told of a run of ours."""
    return RunEvent(run.id, Source.WEBHOOK, now, as_change(event.run))
