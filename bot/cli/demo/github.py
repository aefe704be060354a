"""The simulated GitHub and the submitter as the demo sees them: deeds of people, shared looks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from bot.cli.demo.errors import DemoError

Json = dict[str, Any]

LOOK_S = 0.2
CALL_S = 20.0


@dataclass(frozen=True, slots=True)
class Check:
    """A check run of the bot; a newer one has a higher id."""

    id: int
    name: str
    sha: str
    status: str
    conclusion: str | None
    title: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A workflow run that the bot dispatched."""

    run_id: int
    sha: str  # the commit under test, from its inputs
    status: str
    conclusion: str | None


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request."""

    pull: int
    user: str
    body: str

    @property
    def by_bot(self) -> bool:
        """Return True if an app wrote it."""
        return self.user.endswith("[bot]")


@dataclass(frozen=True, slots=True)
class Seen:
    """What GitHub shows at one moment; `raw` is the whole answer."""

    checks: tuple[Check, ...]
    dispatches: tuple[Dispatch, ...]
    comments: tuple[Comment, ...]
    raw: Json

    def check(self, name: str, sha: str) -> Check | None:
        """Return the newest check run of that name on a commit."""
        found = [check for check in self.checks if (check.name, check.sha) == (name, sha)]
        return max(found, key=lambda check: check.id, default=None)

    def dispatch(self, sha: str) -> Dispatch | None:
        """Return the newest workflow run dispatched for a commit."""
        found = [one for one in self.dispatches if one.sha == sha]
        return found[-1] if found else None


def read_state(raw: Json) -> Seen:
    """Decode the answer of `/_sim/state`."""
    checks = [_check(one) for one in raw["check_runs"]]
    dispatches = [
        Dispatch(one["id"], one["inputs"].get("sha", ""), one["status"], one["conclusion"])
        for one in raw["dispatches"]
    ]
    comments = [Comment(one["pull"], one["user"], one["body"]) for one in raw["comments"]]
    return Seen(tuple(checks), tuple(dispatches), tuple(comments), raw)


def _check(one: Json) -> Check:
    title = one["title"] or ""
    return Check(one["id"], one["name"], one["head_sha"], one["status"], one["conclusion"], title)


class GitHub:
    """A client of the control API."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self.url = url
        self._news = asyncio.Condition()
        self.seen = Seen((), (), (), {})

    async def do(self, verb: str, **arguments: object) -> Json:
        """Do a deed; raise `DemoError` when the simulation cannot."""
        async with self._session.post(f"{self.url}/_sim/{verb}", json=arguments) as answer:
            data: Json = await answer.json()
        if answer.status != 200:
            message = f"the simulated GitHub refused {verb}: {data.get('error', answer.status)}"
            raise DemoError(message)
        return data

    async def look(self) -> Seen:
        """Look at everything now."""
        async with self._session.get(f"{self.url}/_sim/state") as answer:
            self.seen = read_state(await answer.json())
        async with self._news:
            self._news.notify_all()
        return self.seen

    async def watch(self) -> None:
        """Look again and again, for all who wait in `until`."""
        while True:
            try:
                await self.look()
            except (aiohttp.ClientError, TimeoutError) as error:
                message = f"the simulated GitHub does not answer: {error!r}"
                raise DemoError(message) from error
            await asyncio.sleep(LOOK_S)

    async def until(self, test: Callable[[Seen], bool], *, deadline: float) -> bool:
        """Wait until a look passes the test; False when `deadline` (monotonic) comes first."""
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())), self._news:
                await self._news.wait_for(lambda: bool(self.seen.raw) and test(self.seen))
        except TimeoutError:
            return False
        return True


class Submitter:
    """A client of the submitter, for what GitHub does not show."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self.url = url

    async def statuses(self, run_id: int) -> list[str]:
        """Return how the RayJobs of a workflow run are."""
        async with self._session.get(f"{self.url}/api/v1/workflows/{run_id}") as answer:
            jobs = (await answer.json())["jobs"]
        return [job["status"] for job in jobs]


def open_session() -> aiohttp.ClientSession:
    """Open a session; nothing goes through a proxy."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=CALL_S))
