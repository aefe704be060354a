"""From a stored delivery to one committed change; one case an event."""

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from bot.core.github.events import (
    ActionsJobChanged,
    ActionsRunChanged,
    ButtonPressed,
    CheckRerequested,
    CommentCreated,
    Event,
    Ignored,
    InstallationChanged,
    Malformed,
    MergeGroupChanged,
    PullChanged,
    Pushed,
    RepoChanged,
    SuiteRerequested,
)
from bot.core.github.payloads import parse
from bot.core.model.deliveries import Delivery
from bot.core.model.repos import Repo
from bot.core.planning.audit import audited
from bot.core.planning.plan import Plan
from bot.ports.clock import Clock
from bot.ports.errors import Permanent, Transient
from bot.ports.inbox import InboxStore
from bot.ports.lease import Lease
from bot.services.events.check_run import Clicks
from bot.services.events.issue_comment import Comments
from bot.services.events.merge_group import Groups
from bot.services.events.pull_request import Pulls
from bot.services.events.push import Pushes
from bot.services.events.workflow_run import Actions
from bot.services.workers import Worker
from bot.telemetry import get_log

LEASE_S = 30
BATCH = 8
MAX_TRIES = 8  # a delivery that failed so often is poisoned: parked, listed in health
_LONGEST_WAIT_S = 300


@dataclass(frozen=True, slots=True)
class Cases:
    """Who answers which event."""

    pulls: Pulls
    actions: Actions
    comments: Comments
    clicks: Clicks
    groups: Groups
    pushes: Pushes


class Inbox:
    """Handles deliveries, one at a time a subject."""

    def __init__(self, store: InboxStore, cases: Cases, clock: Clock, loop: Worker) -> None:
        self._store = store
        self._cases = cases
        self._clock = clock
        self._loop = loop
        self._log = get_log("inbox")

    async def step(self) -> bool:
        """Handle what is due; tell whether there was anything."""
        claimed = await self._store.claim_deliveries(
            self._loop.owner, self._clock.now(), lease_s=LEASE_S, limit=BATCH
        )
        async with asyncio.TaskGroup() as group:
            for lease, delivery in claimed:
                group.create_task(self._handle(lease, delivery))
        return bool(claimed)

    async def _handle(self, lease: Lease, delivery: Delivery) -> None:
        log = self._log.bind(delivery=delivery.guid, event=delivery.event, action=delivery.action)
        try:
            led = await self._lead(delivery)
            now = self._clock.now()
            if not await self._store.commit(audited(led, now, delivery.guid), now, done=lease):
                log.warning("a delivery lost its lease or its head moved; it is handled anew")
        except Transient as error:
            await self._later(lease, delivery, str(error), error.retry_after_s)
        except Permanent as error:  # such as the app removed while its last events come in
            log.error("GitHub refuses what a delivery needs", why=str(error), status=error.status)
            await self._failed(lease, delivery, error)
        except Exception as error:  # noqa: BLE001  one poisoned delivery must not stop the rest
            self._loop.failed("inbox", error, log)
            await self._failed(lease, delivery, error)

    async def _later(
        self, lease: Lease, delivery: Delivery, note: str, wait_s: float | None
    ) -> None:
        """Give it back: the other side could not answer, which is nobody's poison."""
        seconds = wait_s if wait_s is not None else 2 ** min(delivery.tries + 1, 6)
        await self._store.retry_delivery(
            lease, due=self._due(seconds), note=note, park=False, counts=False
        )

    async def _failed(self, lease: Lease, delivery: Delivery, error: Exception) -> None:
        park = delivery.tries + 1 >= MAX_TRIES
        await self._store.retry_delivery(
            lease,
            due=self._due(2**delivery.tries),
            note=f"{type(error).__name__}: {error}",
            park=park,
            counts=True,
        )

    def _due(self, seconds: float) -> datetime:
        return self._clock.now() + timedelta(seconds=min(seconds, _LONGEST_WAIT_S))

    async def _lead(self, delivery: Delivery) -> Plan:
        """Return what a delivery leads to."""
        payload = json.loads(delivery.body or b"{}")
        event = parse(delivery.event, payload, None)
        if isinstance(event, Ignored | Malformed):
            return Plan()  # stored by an older version that read more
        if not isinstance(event, InstallationChanged) and await self._left_out(event.repo):
            return Plan()
        return await self._case(event)

    async def _left_out(self, told: Repo) -> bool:
        """Tell whether a delivery came late: its repository may not be called any more."""
        known = await self._store.repo(told.id)
        if known is None or known.active:
            return False
        return told.installation_id is None or known.installation_id in {None, told.installation_id}

    async def _case(self, event: Event) -> Plan:
        match event:
            case PullChanged():
                return await self._cases.pulls.changed(event)
            case ActionsRunChanged():
                return await self._cases.actions.run_changed(event)
            case ActionsJobChanged():
                return await self._cases.actions.job_changed(event)
            case Pushed():
                return await self._cases.pushes.pushed(event)
            case MergeGroupChanged():
                return await self._cases.groups.changed(event)
            case RepoChanged() | InstallationChanged():
                return _noted(event)
            case CommentCreated():
                return await self._cases.comments.created(event)
            case CheckRerequested() | SuiteRerequested() | ButtonPressed():
                return await self._cases.clicks.pressed(event)
            case _:
                assert_never(event)


def _noted(event: RepoChanged | InstallationChanged) -> Plan:
    """Return what is only written down."""
    if isinstance(event, RepoChanged):
        return Plan(repo=event.repo)
    return Plan(installation=event)
