"""The delivery of webhooks. A test can make them late, doubled, out of order or lost."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import aiohttp

from bot.sim.model import App, State

TIMEOUT_S = 10  # GitHub counts a slower answer as a failure
KEPT = timedelta(days=3)  # the deliveries API reaches no further back


@dataclass(slots=True)
class Delivery:
    """One attempt to deliver an event. `status_code=None`: not sent yet."""

    id: int
    guid: str
    event: str
    action: str | None
    body: bytes
    app: App
    created_at: datetime
    installation_id: int | None
    repository_id: int | None
    redelivery: bool = False
    delivered_at: datetime | None = None
    status_code: int | None = None
    status: str = ""
    duration_s: float = 0.0

    def again(self, number: int, now: datetime) -> Delivery:
        """Return another attempt to deliver the same event, under the same GUID."""
        kept = (self.guid, self.event, self.action, self.body, self.app)
        return Delivery(
            number, *kept, now, self.installation_id, self.repository_id, redelivery=True
        )

    def payload(self) -> Any:
        """Return the body, parsed."""
        return json.loads(self.body)


class Deliveries:
    """The queue of webhooks. They are sent at once unless they are held.

    `hold()` keeps events, `release()` sends them, `flush()` sends them and waits. `drop(n)` and
    `duplicate(n)` act on the next n events, `drop_if(test)` on every match. `shuffle(seed)` mixes
    the waiting ones.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.pending: list[Delivery] = []
        self.sent: list[Delivery] = []
        self.dropped: list[Delivery] = []
        self.validator: Callable[[Delivery], list[str]] | None = None
        self.problems: list[str] = []
        self.delay_s = 0.0
        self._held = False
        self._to_drop = 0
        self._to_double = 0
        self._drop_if: Callable[[Delivery], bool] | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._session: aiohttp.ClientSession | None = None

    def hold(self) -> None:
        """Keep deliveries until `release` or `flush`."""
        self._held = True

    def release(self) -> None:
        """Send the waiting events, and from now on every event at once."""
        self._held = False
        self._poke()

    def drop(self, count: int = 1) -> None:
        """Lose the next events. They are listed as failed and never arrive."""
        self._to_drop += count

    def drop_if(self, test: Callable[[Delivery], bool] | None) -> None:
        """Lose every event that passes the test. `None` ends this."""
        self._drop_if = test

    def duplicate(self, count: int = 1) -> None:
        """Send the next events twice, with one GUID."""
        self._to_double += count

    def shuffle(self, seed: int) -> None:
        """Mix the waiting events. The same seed gives the same order."""
        random.Random(seed).shuffle(self.pending)  # noqa: S311 - a test's order, no secret

    def emit(self, delivery: Delivery) -> None:
        """Put a new event into the queue."""
        if self.validator is not None:
            self.problems += self.validator(delivery)
        if self._lost(delivery):
            self._record(delivery, 0, "failed to connect to host")
            self.dropped.append(delivery)
            return
        copies = 2 if self._to_double else 1
        self._to_double -= copies - 1
        self.pending += [delivery] * copies
        self._poke()

    def _lost(self, delivery: Delivery) -> bool:
        if self._to_drop:
            self._to_drop -= 1
            return True
        return bool(self._drop_if and self._drop_if(delivery))

    def _record(self, delivery: Delivery, code: int, status: str) -> None:
        delivery.delivered_at = self._state.clock.now()
        delivery.status_code = code
        delivery.status = status
        if delivery not in self.sent:
            self.sent.append(delivery)

    def redeliver(self, delivery_id: int) -> Delivery | None:
        """Send an old event again under its own GUID. Return `None` if it is no longer known."""
        old = next((one for one in self.listed() if one.id == delivery_id), None)
        if old is None:
            return None
        new = old.again(self._state.new_id(), self._state.clock.now())
        self.pending.append(new)
        self._poke()
        return new

    def listed(self) -> list[Delivery]:
        """Return the deliveries of the last three days, newest first."""
        since = self._state.clock.now() - KEPT
        shown = [one for one in self.sent if (one.delivered_at or one.created_at) >= since]
        return sorted(shown, key=lambda one: -one.id)

    def _poke(self) -> None:
        if self.pending and not self._held:
            self._idle.clear()
            self._wake.set()

    async def flush(self) -> None:
        """Send every waiting event, one after another, even while held."""
        while self.pending:
            await self._send(self.pending.pop(0))
        if not self._held:
            self._idle.set()

    async def idle(self) -> None:
        """Wait until nothing is left to send (at once while held)."""
        if not self._held:
            await self._idle.wait()

    async def run(self) -> None:
        """Send events as they come until cancelled: the automatic mode."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self.pending and not self._held:
                delivery = self.pending.pop(0)
                if self.delay_s:
                    await self._state.clock.sleep(self.delay_s)
                await self._send(delivery)
            self._idle.set()

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, delivery: Delivery) -> None:
        if delivery.app.webhook_url is None:
            self._record(delivery, 0, "no webhook URL")
            return
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            self._session = aiohttp.ClientSession(timeout=timeout)
        started = self._state.clock.now()
        try:
            async with self._session.post(
                delivery.app.webhook_url, data=delivery.body, headers=headers_for(delivery)
            ) as response:
                fine = response.status < 400
                text = "OK" if fine else (response.reason or "error")
                self._record(delivery, response.status, text)
        except (aiohttp.ClientError, TimeoutError) as error:
            word = "timed out" if isinstance(error, TimeoutError) else "failed to connect to host"
            self._record(delivery, 0, word)
        delivery.duration_s = (self._state.clock.now() - started).total_seconds()


def sign(secret: str, body: bytes) -> str:
    """Return the value of `X-Hub-Signature-256`."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def headers_for(delivery: Delivery) -> dict[str, str]:
    """Return the headers GitHub sends with a delivery."""
    return {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/0000000",
        "X-GitHub-Delivery": delivery.guid,
        "X-GitHub-Event": delivery.event,
        "X-GitHub-Hook-ID": str(delivery.app.id * 10 + 1),
        "X-GitHub-Hook-Installation-Target-ID": str(delivery.app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        "X-Hub-Signature-256": sign(delivery.app.secret, delivery.body),
    }
