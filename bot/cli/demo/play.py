"""A scene being played: what it may do, what it waits for, how far it is."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot import resources
from bot.cli.demo.expected import Expectation, ExpectedCheck, differences
from bot.core.messages import Messages
from bot.sim import CannotError, NewPull, SimGitHub
from bot.sim.model import CheckRun, Pull, Run
from bot.submitter.jobs import Backend

SCENE_S = 180.0  # each takes under 20 s on an idle machine, much more on a busy one
LOOK_S = 0.1
PULLS = "demo/pulls/"


class DemoError(Exception):
    """A part did not start, or what was waited for did not come; the text says which."""


def files_of(change: str) -> dict[str, str]:
    """Return the files of a change in `config/demo/pulls`, by their path in the repository."""
    folder = f"{PULLS}{change}"
    names = resources.names(folder)
    return {name.removeprefix(f"{folder}/"): resources.text(name) for name in names}


@dataclass(slots=True)
class Play:
    """One scene's stage and its course; `changed` is called after each step.

    `messages` says what the bot writes, in the language of its policy.
    """

    github: SimGitHub
    submitter: Backend[Any]
    messages: Messages
    limit_s: float = SCENE_S
    changed: Callable[[], None] = lambda: None
    started_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    step: str = "waits"
    state: str = "running"  # then ok or failed
    pulls: list[Pull] = field(default_factory=list)
    expected: list[Expectation] = field(default_factory=list)
    main: ExpectedCheck | None = None  # the check run that the scene is about
    problems: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return (self.ended_at or time.monotonic()) - self.started_at

    def says(self, step: str) -> None:
        """Note what happens now."""
        self.step = step
        self.changed()

    def open(self, author: str, title: str, change: str, *, fork: bool = False) -> Pull:
        """Open a pull request with the files of a change."""
        self.says(f"{author} opens “{title}”")
        new = NewPull(title=title, fork=fork)
        pull = self.github.people.open_pull(author, files_of(change), new)
        self.pulls.append(pull)
        return pull

    def push(self, pull: Pull, change: str) -> str:
        """Push the files of a change to a pull request; return the new head."""
        self.says(f"{pull.author.login} pushes again")
        return self.github.people.push(pull, files_of(change))

    def comment(self, pull: Pull, by: str, body: str) -> int:
        """Comment on a pull request; return the comment's id."""
        self.says(f"{by} comments “{body}”")
        return self.github.people.comment(pull, by, body).id

    def rerun(self, expected: ExpectedCheck, by: str) -> CheckRun:
        """Press *Re-run* on a check run and return it."""
        check = self._shown(expected)
        self.says(f"{by} presses Re-run on {expected.label}")
        self.github.people.rerun_check(check, by)
        return check

    def press(self, expected: ExpectedCheck, identifier: str, by: str) -> None:
        """Press a button of a check run."""
        self.says(f"{by} presses {identifier} on {expected.label}")
        self.github.people.press(self._shown(expected), identifier, by)

    def _shown(self, expected: ExpectedCheck) -> CheckRun:
        check = self.github.check(*expected.key)
        assert check is not None, "a scene expects a check run before it presses anything there"
        return check

    def dispatched(self, sha: str) -> Run | None:
        """Return the newest workflow run that the bot dispatched for a commit."""
        found = [run for run in self.github.runs() if run.inputs.get("sha") == sha]
        return found[-1] if found else None

    async def until(self, what: str, test: Callable[[], bool]) -> None:
        """Wait for something; raise `DemoError` that names it when the scene's time is up."""
        self.says(f"waiting for {what}")
        while not test():
            self._check_time(what)
            await asyncio.sleep(LOOK_S)

    async def until_rayjob_runs(self, sha: str) -> None:
        """Wait for a commit's workflow run, then for a running RayJob of it."""
        await self.until("the workflow to start", lambda: self.dispatched(sha) is not None)
        run = self.dispatched(sha)
        assert run is not None
        self.says("waiting for its RayJob to run")
        while not any(
            job.state.status == "RUNNING" for job in await self.submitter.jobs_of(str(run.id), None)
        ):
            self._check_time("its RayJob to run")
            await asyncio.sleep(LOOK_S)

    def _check_time(self, what: str) -> None:
        if time.monotonic() > self.started_at + self.limit_s:
            raise DemoError(f"waited for {what}, and it did not come within {self.limit_s:g} s")

    def nothing_started(self, sha: str) -> None:
        """Raise `DemoError` if a workflow run was dispatched for a commit."""
        if self.dispatched(sha) is not None:
            message = f"a workflow run was dispatched for {sha[:7]}, and none should have been"
            raise DemoError(message)

    async def expect(self, *expected: Expectation) -> None:
        """Wait until these are as expected. They must still be so in the end.

        A later expectation of the same check run or reply replaces an earlier one.
        """
        keys = {one.key for one in expected}
        self.expected = [one for one in self.expected if one.key not in keys]
        self.expected += expected
        self.main = next((one for one in expected if isinstance(one, ExpectedCheck)), self.main)
        names = ", ".join(dict.fromkeys(one.label for one in expected))
        try:
            await self.until(f"the end of {names}", lambda: not differences(expected, self.github))
        except DemoError as error:
            message = "\n".join([str(error), *differences(expected, self.github)])
            raise DemoError(message) from error

    def end(self, problems: Sequence[str]) -> None:
        """Note how it ended."""
        self.ended_at = time.monotonic()
        self.problems += problems
        self.state = "failed" if self.problems else "ok"
        check = self.github.check(*self.main.key) if self.main else None
        self.says((check.title if check else None) or "ended")


Script = Callable[[Play], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A part of the story; `script` plays it to its end."""

    name: str
    title: str
    script: Script
    limit_s: float = SCENE_S

    async def play(self, play: Play) -> None:
        """Play it; what goes wrong is noted."""
        try:
            await self.script(play)
        except (DemoError, CannotError) as error:
            play.end([str(error)])
        else:
            play.end([])
