"""Authentication: a signed token for the app, and a fetched token for each installation."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol

import jwt

from bot.ports.clock import Clock
from bot.ports.errors import Permanent, Transient

BACKDATED = timedelta(seconds=60)  # GitHub advises this against clock drift
LIFETIME = timedelta(minutes=9)  # GitHub allows 10 minutes by its own clock
JWT_RENEWED_EARLY = timedelta(minutes=1)
TOKEN_RENEWED_EARLY = timedelta(minutes=5)  # of the hour that a token lives
_ALGORITHM = "RS256"


class Credentials(Protocol):
    """Provides the value of an ``Authorization`` header."""

    async def header(self) -> str:
        """Return the header's value; make or fetch a token if needed."""

    def forget(self, header: str) -> None:
        """Drop the refused token, unless it has already been replaced."""


class AppCredentials:
    """Signs and keeps the app's JWT."""

    def __init__(self, app_id: str, private_key: str, clock: Clock) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._clock = clock
        self._header = ""
        self._expires_at: datetime | None = None

    async def header(self) -> str:
        """Return ``Bearer`` and a JWT that is valid for at least another minute."""
        now = self._clock.now()
        if self._expires_at is None or now >= self._expires_at - JWT_RENEWED_EARLY:
            self._expires_at = now + LIFETIME
            self._header = f"Bearer {self._sign(now, self._expires_at)}"
        return self._header

    def forget(self, header: str) -> None:
        """Sign a new token next time."""
        if header == self._header:
            self._expires_at = None

    def _sign(self, now: datetime, expires_at: datetime) -> str:
        claims = {
            "iat": int((now - BACKDATED).timestamp()),
            "exp": int(expires_at.timestamp()),
            "iss": self._app_id,
        }
        return jwt.encode(claims, _key(self._private_key), algorithm=_ALGORITHM)


@lru_cache(maxsize=2)
def _key(pem: str) -> Any:
    """Return the key of a PEM, cached: parsing checks its numbers and takes longer than signing."""
    return jwt.get_algorithm_by_name(_ALGORITHM).prepare_key(pem)


class InstallationCredentials:
    """Keeps an installation's token; concurrent callers share one request."""

    def __init__(self, fetch: Callable[[], Awaitable[tuple[str, datetime]]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._header = ""
        self._expires_at: datetime | None = None
        self._lock = asyncio.Lock()
        self._finished = 0
        self._failure: Transient | Permanent | None = None

    async def header(self) -> str:
        """Return ``Bearer`` and a token valid for at least five minutes."""
        seen = self._finished
        async with self._lock:
            if self._fresh():
                return self._header
            if self._finished != seen and self._failure is not None:
                raise self._failure  # the number of the request that this caller waited for
            return await self._renew()

    def forget(self, header: str) -> None:
        """Fetch a new token next time."""
        if header == self._header:
            self._expires_at = None

    def _fresh(self) -> bool:
        at = self._expires_at
        return at is not None and self._clock.now() < at - TOKEN_RENEWED_EARLY

    async def _renew(self) -> str:
        try:
            token, self._expires_at = await self._fetch()
        except (Transient, Permanent) as exc:
            self._failure = exc
            raise
        finally:
            # Counted at the end: callers that came meanwhile saw the old number.
            self._finished += 1
        self._failure = None
        self._header = f"Bearer {token}"
        return self._header
