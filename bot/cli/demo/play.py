"""A scene being played: what it may do, what it waits for, how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bot import resources
from bot.cli.demo.errors import DemoError
from bot.cli.demo.expected import Expected, Wish, differences
from bot.cli.demo.github import LOOK_S, Check, GitHub, Json, Seen, Submitter

SCENE_S = 90.0  # each takes under 26 s on an idle machine: writes to GitHub are paced
PULLS = "demo/pulls/"


def files_of(change: str) -> dict[str, str]:
    """Return the files of a change in `config/demo/pulls`, by their path in the repository."""
    folder = f"{PULLS}{change}"
    names = resources.names(folder)
    return {name.removeprefix(f"{folder}/"): resources.text(name) for name in names}


@dataclass(slots=True)
class Play:
    """One scene's stage and its course; `changed` is called after each step."""

    github: GitHub
    submitter: Submitter
    limit_s: float = SCENE_S
    changed: Callable[[], None] = lambda: None
    started_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    step: str = "waits"
    state: str = "running"  # then ok or failed
    pulls: list[int] = field(default_factory=list)
    expected: list[Wish] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return (self.ended_at or time.monotonic()) - self.started_at

    def says(self, step: str) -> None:
        """Note what happens now."""
        self.step = step
        self.changed()

    async def open(self, author: str, title: str, change: str, *, fork: bool = False) -> Json:
        """Open a pull request with the files of a change."""
        self.says(f"{author} opens “{title}”")
        pull = await self.github.do(
            "open_pull", author=author, title=title, files=files_of(change), fork=fork
        )
        self.pulls.append(pull["number"])
        return pull

    async def push(self, number: int, change: str) -> Json:
        """Push the files of a change to a pull request."""
        return await self.github.do("push", pull=number, files=files_of(change))

    async def comment(self, number: int, by: str, body: str) -> int:
        """Comment on a pull request; return the comment's id."""
        self.says(f"{by} comments “{body}”")
        done = await self.github.do("comment", pull=number, by=by, body=body)
        found: int = done["id"]
        return found

    async def rerun(self, expected: Expected, by: str) -> Check:
        """Press *Re-run* on a check run; return it, for its successor to be told from it."""
        check = self._shown(expected)
        self.says(f"{by} presses Re-run on {expected.label}")
        await self.github.do("rerun_check", check=check.id, by=by)
        return check

    async def press(self, expected: Expected, identifier: str, by: str) -> Check:
        """Press a button of a check run; return it."""
        check = self._shown(expected)
        self.says(f"{by} presses {identifier} on {expected.label}")
        await self.github.do("press", check=check.id, identifier=identifier, by=by)
        return check

    def _shown(self, expected: Expected) -> Check:
        check = self.github.seen.check(*expected.key)
        assert check is not None, "a scene expects a check run before it presses anything there"
        return check

    async def until(self, what: str, test: Callable[[Seen], bool]) -> None:
        """Wait for something; raise `DemoError` that names it when the scene's time is up."""
        self.says(f"waiting for {what}")
        if not await self.github.until(test, deadline=self.started_at + self.limit_s):
            message = f"waited for {what}, and it did not come within {self.limit_s:g} s"
            raise DemoError(message)

    async def until_rayjob_runs(self, sha: str) -> None:
        """Wait for a commit's workflow run, then for a running RayJob of it."""
        await self.until("the workflow to start", lambda seen: seen.dispatch(sha) is not None)
        dispatch = self.github.seen.dispatch(sha)
        assert dispatch is not None
        self.says("waiting for its RayJob to run")
        while "RUNNING" not in await self.submitter.statuses(dispatch.run_id):
            if time.monotonic() > self.started_at + self.limit_s:
                message = f"waited for its RayJob to run, and it did not within {self.limit_s:g} s"
                raise DemoError(message)
            await asyncio.sleep(LOOK_S)

    def nothing_started(self, sha: str) -> None:
        """Raise `DemoError` if a workflow run was dispatched for a commit."""
        if self.github.seen.dispatch(sha) is not None:
            message = f"a workflow run was dispatched for {sha[:7]}, and none should have been"
            raise DemoError(message)

    async def expect(self, *expected: Wish) -> None:
        """Wait until these are as expected; they must be so in the end, unless expected anew."""
        keys = {one.key for one in expected}
        self.expected = [one for one in self.expected if one.key not in keys]
        self.expected += expected
        names = ", ".join(dict.fromkeys(one.label for one in expected))
        try:
            await self.until(f"the end of {names}", lambda seen: not differences(expected, seen))
        except DemoError as error:
            message = "\n".join([str(error), *differences(expected, self.github.seen)])
            raise DemoError(message) from error

    def end(self, problems: Sequence[str]) -> None:
        """Note how it ended."""
        self.ended_at = time.monotonic()
        self.problems += problems
        self.state = "failed" if self.problems else "ok"
        self.says("differs from what was expected" if self.problems else "as expected")


Script = Callable[[Play], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A part of the story; `script` plays it to its end."""

    name: str
    title: str
    script: Script
    limit_s: float = SCENE_S
