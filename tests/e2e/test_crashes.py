"""A bot that dies between any two writes and starts again ends in the same place."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bot.app import Parts
from bot.sim.model import Pull
from tests.databases import SqliteTemplate
from tests.e2e.world import GATE, World, open_world

# All points take minutes: a plain run takes some, `ASCEND_CI_ALL_CRASHES=1` takes every one.
ALL = bool(os.environ.get("ASCEND_CI_ALL_CRASHES"))
STRIDE = 1 if ALL else 24
POINTS = 120  # more than a failing run has; the counter tells when none is left

STORE_WRITES = {
    *("commit", "runs.claim", "runs.save", "runs.note", "queue.acquire"),
    *("deliveries.claim", "deliveries.retry", "checks.claim", "checks.replace"),
    *(
        f"{part}.{name}"
        for part in ("checks", "replies")
        for name in ("creating", "shown", "failed")
    ),
}
GITHUB_WRITES = {"dispatch", "create_check", "update_check", "cancel", "force_cancel"}


class Killed(BaseException):
    """The process is gone: nothing may catch this."""


@dataclass
class Bomb:
    """Counts the moments before and after every write, and strikes at one of them."""

    at: int | None = None
    count: int = 0
    points: list[str] = field(default_factory=list)

    def tick(self, name: str) -> None:
        self.count += 1
        self.points.append(name)
        if self.at is not None and self.count >= self.at:
            self.at = None
            raise Killed

    def arm(self, at: int | None) -> None:
        self.at, self.count, self.points = at, 0, []

    def wrap(self, parts: Parts) -> Parts:
        """Return parts whose writes tick."""
        store: Any = Ticking(parts.store, STORE_WRITES, self)
        github: Any = Ticking(parts.github, GITHUB_WRITES, self)
        return replace(parts, store=store, github=github)


class Ticking:
    """A port whose named calls tick before and after; all else is the port's own.

    ``part.call`` names a call of a part.
    """

    def __init__(self, port: object, names: set[str], bomb: Bomb) -> None:
        self._port, self._names, self._bomb = port, names, bomb

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._port, name)
        start = f"{name}."
        of_part = {one.removeprefix(start) for one in self._names if one.startswith(start)}
        if of_part:
            return Ticking(call, of_part, self._bomb)
        if name not in self._names:
            return call

        async def ticking(*args: Any, **more: Any) -> Any:
            claims = name == "claim"
            if not claims:
                self._bomb.tick(f"before {name}")
            answer = await call(*args, **more)
            if not claims or answer:  # an empty claim changed nothing
                self._bomb.tick(f"after {name}")
            return answer

        return ticking


@pytest.fixture
async def bombed(
    tmp_path: Path, sqlite_template: SqliteTemplate
) -> AsyncIterator[tuple[World, Bomb]]:
    async with open_world(tmp_path, sqlite_template.fresh(tmp_path)) as world:
        bomb = Bomb()
        world.wrap = bomb.wrap
        await world.restart()
        yield world, bomb


async def survive(world: World, deed: Callable[[], Awaitable[None]]) -> bool:
    """Do it; a bot that dies of it is started again. Tells whether it lived."""
    try:
        await deed()
    except BaseExceptionGroup as group:
        _, rest = group.split(Killed)
        if rest is not None:
            raise
    except Killed:
        pass
    else:
        return True
    await world.restart()
    return False


async def go_on(world: World) -> None:
    """Let everything happen that a bot does by itself within some minutes, dead or alive."""
    lived = await survive(world, world.settle)
    if lived:
        return
    for seconds in (31, 3, 5, 11, 26):
        await world.clock.advance(seconds)
        await world.settle()


async def story(world: World, number: int, conclusion: str) -> Pull:
    """Run a pull request's suite from its opening to its end."""
    pull = world.open_pull(path=f"verl/{number}.py", text=str(number))
    await go_on(world)
    run = world.github.runs()[-1]
    world.github.actions.start(run)
    await go_on(world)
    await world.clock.advance(30)
    world.github.actions.finish(run, conclusion, log="ValueError: x\n")
    await go_on(world)
    return pull


def same_end(world: World, pull: Pull, conclusion: str) -> None:
    sha = pull.head_sha
    runs = [run for run in world.github.runs() if run.inputs["sha"] == sha]
    assert len(runs) == 1, "one dispatch"
    checks = [(check.name, check.status, check.conclusion) for check in _checks(world, sha)]
    assert sorted(checks) == [
        ("Ascend / unit", "completed", conclusion),
        (GATE, "completed", conclusion),
    ]


def _checks(world: World, sha: str) -> list[Any]:
    ours = world.github.state.the_app()
    return [check for check in world.github.check_runs(sha) if check.suite.app is ours]


async def kill_everywhere(world: World, bomb: Bomb, conclusion: str, stride: range) -> list[str]:
    for at in stride:
        bomb.arm(at)
        pull = await story(world, at, conclusion)
        struck = bomb.at is None
        points = bomb.points[: at + 1]
        bomb.arm(None)
        try:
            same_end(world, pull, conclusion)
        except AssertionError as error:
            where = points[at - 1] if struck else "nowhere"
            raise AssertionError(f"killed at point {at}, {where}: {error}") from error
        if not struck:
            return points
    raise AssertionError("there are more points than these")


@pytest.mark.parametrize("conclusion", ["success", "failure"])
async def test_a_bot_killed_at_any_write_ends_in_the_same_place(
    bombed: tuple[World, Bomb], conclusion: str
) -> None:
    world, bomb = bombed
    start = 1 if conclusion == "success" else 1 + STRIDE // 2
    await kill_everywhere(world, bomb, conclusion, range(start, POINTS, STRIDE))


async def test_a_bot_killed_around_its_dispatch_dispatches_once(
    bombed: tuple[World, Bomb],
) -> None:
    world, bomb = bombed
    bomb.arm(None)
    same_end(world, await story(world, 0, "success"), "success")
    points = list(bomb.points)
    for word in ("before dispatch", "after dispatch", "after create_check"):
        bomb.arm(points.index(word) + 1)
        pull = await story(world, bomb.at or 0, "success")
        assert bomb.at is None, word
        same_end(world, pull, "success")
