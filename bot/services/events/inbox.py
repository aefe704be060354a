"""Claims stored deliveries and commits what their events change."""

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from bot.core.github import events as e
from bot.core.github.events import PullRequestAction
from bot.core.github.payloads import parse
from bot.core.model.deliveries import Delivery
from bot.core.model.views import GateDue
from bot.core.planning.audit import audited
from bot.core.planning.plan import Plan
from bot.ports.errors import DatabaseTrouble, Held, Permanent, Transient
from bot.services.events.check_run import CheckRuns
from bot.services.events.installation import named_now, plan_installation, was_removed
from bot.services.events.issue_comment import IssueComments
from bot.services.events.merge_group import MergeGroups
from bot.services.events.pull_request import PullRequests
from bot.services.events.push import Pushes
from bot.services.events.strangers import TooOften
from bot.services.events.workflow_run import WorkflowRuns
from bot.services.workers import LEASE_S, Deps, Service
from bot.store.deliveries import HOLDS_UP
from bot.store.leases import Lease
from bot.telemetry import bind_context, get_log

BATCH = 8
# A delivery that failed so often is parked and listed in health. For a day it is tried every hour.
MAX_TRIES = 8
_SHORTEST_WAIT_S = 2
_LONGEST_WAIT_S = 300
# To look whether it may be handled, or a newer one has come: that costs no call to GitHub.
_POSTPONED_S = 10
_POSTPONED_PART = 0.1  # of the time that it has waited: many may wait at once


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """The handlers of GitHub's events, one for each file of this folder."""

    pull_requests: PullRequests
    issue_comments: IssueComments
    check_runs: CheckRuns
    merge_groups: MergeGroups
    pushes: Pushes
    workflow_runs: WorkflowRuns


class Inbox(Service):
    """Handles deliveries; those of one subject are handled one after the other, if they can be."""

    def __init__(self, deps: Deps, handlers: EventHandlers) -> None:
        super().__init__(deps)
        self._handlers = handlers
        self._log = get_log("inbox")

    async def step(self) -> bool:
        """Handle the deliveries that are due; return True if there were any."""
        claimed = await self._store.deliveries.claim(
            self._worker.owner, self._clock.now(), lease_s=LEASE_S, limit=BATCH
        )
        async with asyncio.TaskGroup() as group:
            for lease, delivery in claimed:
                group.create_task(self._handle(lease, delivery))
        return bool(claimed)

    async def _handle(self, lease: Lease, delivery: Delivery) -> None:
        told = {"event": delivery.event, "action": delivery.action}
        log = self._log.bind(delivery=delivery.guid, **told)
        bind_context(delivery=delivery.guid)  # this task is the delivery's
        try:
            plan = await self._plan(delivery)
            now = self._clock.now()
            if not await self._store.commit(audited(plan, now, delivery.guid), now, done=lease):
                log.warning("a delivery lost its lease or its head moved; it is handled anew")
        except TooOften as error:
            await self._postpone(lease, delivery, error)
        except Transient as error:  # GitHub's failure does not count against the delivery
            if self._is_passed_by(delivery, error) and await self._drop(lease, delivery, error):
                return
            wait_s = error.retry_after_s
            due = self._due(self._patience_s(delivery) if wait_s is None else wait_s)
            await self._store.deliveries.retry(
                lease, due=due, note=str(error), park=False, counts=False
            )
        except Permanent as error:  # such as an app that was removed meanwhile
            log.error("GitHub refuses what a delivery needs", why=str(error), status=error.status)
            await self._failed(lease, delivery, error)
        except Exception as error:  # noqa: BLE001  one broken delivery must not stop the rest
            self._worker.failed("inbox", error, log)
            await self._failed(lease, delivery, error)

    async def _postpone(self, lease: Lease, delivery: Delivery, error: TooOften) -> None:
        """Leave a delivery for later; drop it if a newer one tells the same of its pull request."""
        if await self._drop(lease, delivery, error, error.gates):
            return
        wait_s = max(_POSTPONED_S, _POSTPONED_PART * self._age_s(delivery))
        await self._store.deliveries.retry(
            lease, due=self._due(wait_s), note=str(error), park=False, counts=False
        )

    def _is_passed_by(self, delivery: Delivery, error: Transient) -> bool:
        """Return True if later deliveries of the same pull request did not wait for this one."""
        for_all = isinstance(error, Held | DatabaseTrouble)
        old = self._age_s(delivery) >= HOLDS_UP.total_seconds()
        return delivery.event == "pull_request" and old and not for_all

    async def _drop(
        self,
        lease: Lease,
        delivery: Delivery,
        error: Transient,
        gates: tuple[GateDue, ...] = (),
    ) -> bool:
        """Drop a delivery if a newer one tells the same of its pull request; return True then.

        One of another base is never dropped: only it tells when that came.
        """
        newer = await self._store.deliveries.is_followed(lease, delivery)
        if not newer or delivery.action == PullRequestAction.EDITED:
            return False
        await self._store.commit(Plan(gates=gates), self._clock.now(), done=lease, note=str(error))
        return True

    async def _failed(self, lease: Lease, delivery: Delivery, error: Exception) -> None:
        park = delivery.tries + 1 >= MAX_TRIES
        await self._store.deliveries.retry(
            lease,
            due=self._due(2**delivery.tries),
            note=f"{type(error).__name__}: {error}",
            park=park,
            counts=True,
        )

    def _patience_s(self, delivery: Delivery) -> float:
        """Return the wait for what GitHub may never answer: half of the time that it took so far.

        Anybody can open a pull request whose list of files GitHub fails to make.
        """
        return max(self._age_s(delivery) / 2, _SHORTEST_WAIT_S)

    def _age_s(self, delivery: Delivery) -> float:
        return (self._clock.now() - delivery.received_at).total_seconds()

    def _due(self, seconds: float) -> datetime:
        return self._clock.now() + timedelta(seconds=min(seconds, _LONGEST_WAIT_S))

    async def _plan(self, delivery: Delivery) -> Plan:
        """Plan what a delivery changes."""
        event = parse(delivery.event, json.loads(delivery.body or b"{}"), None)
        if isinstance(event, e.Ignored | e.Malformed):
            return Plan()  # stored by an older version that read more events
        if isinstance(event, e.InstallationEvent):
            return await self._dispatch(event)
        if await was_removed(self._store, event.repo):
            return Plan()
        repo = await named_now(self._github, self._store, event.repo)
        return await self._dispatch(replace(event, repo=repo))

    async def _dispatch(self, event: e.Event) -> Plan:
        handlers = self._handlers
        match event:
            case e.PullRequestEvent():
                return await handlers.pull_requests.changed(event)
            case e.IssueCommentEvent():
                return await handlers.issue_comments.created(event)
            case e.CheckRunEvent() | e.CheckSuiteEvent():
                return await handlers.check_runs.clicked(event)
            case e.MergeGroupEvent():
                return await handlers.merge_groups.changed(event)
            case e.PushEvent():
                return await handlers.pushes.pushed(event)
            case e.WorkflowRunEvent():
                return await handlers.workflow_runs.run_changed(event)
            case e.WorkflowJobEvent():
                return await handlers.workflow_runs.job_changed(event)
            case e.RepositoryEvent() | e.InstallationEvent():
                return await plan_installation(self._github, self._store, event)
            case _:
                assert_never(event)
