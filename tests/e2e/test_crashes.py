"""A bot that dies between any two writes and starts again goes on within ten seconds."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
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
STRIDE = 24  # moments from one kill to the next in a story that has about a hundred

STORE_WRITES = {
    *("commit", "runs.claim", "runs.save", "runs.note", "queue.acquire"),
    *("deliveries.claim", "deliveries.retry", "checks.claim", "checks.replace"),
    *(
        f"{part}.{name}"
        for part in ("checks", "replies", "pull_comments")
        for name in ("creating", "shown", "failed")
    ),
}
GITHUB_WRITES = {
    "dispatch",
    "create_check",
    "update_check",
    "cancel",
    "force_cancel",
    "comment",
    "edit_comment",
}


class Killed(BaseException):
    """The process is gone: nothing may catch this."""


@dataclass
class Bomb:
    """Counts the moments before and after every write, and strikes at some of them."""

    next: int = 0  # 0: at none
    moments: set[str] = field(default_factory=set)  # at each of these once
    count: int = 0
    struck: list[str] = field(default_factory=list)

    def tick(self, name: str) -> None:
        self.count += 1
        if self.count != self.next and name not in self.moments:
            return
        if self.count == self.next:
            self.next += STRIDE
        self.moments.discard(name)
        self.struck.append(f"{self.count}: {name}")
        raise Killed

    def arm(self, first: int = 0, moments: Iterable[str] = ()) -> None:
        """Strike at a moment and each `STRIDE` after it, and at named ones; 0 is none."""
        self.next, self.moments = first, set(moments)
        self.count, self.struck = 0, []

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


async def go_on(world: World, bomb: Bomb) -> None:
    """Let everything happen that a bot does within ten seconds of its last start.

    A dispatch that perhaps went out is looked for at GitHub first, for as long as it may come.
    """
    alive = await survive(world, world.settle)
    while not alive:
        unseen = bomb.struck[-1].endswith((": after note", ": before dispatch"))
        alive = True
        for seconds in (0, 2, 3, 5, *((31, 5) if unseen else ())):
            await world.clock.advance(seconds)
            alive = await survive(world, world.settle) and alive


async def story(world: World, bomb: Bomb, number: int, conclusion: str) -> Pull:
    """Run a pull request's suite from its opening to its end."""
    pull = world.open_pull(path=f"verl/{number}.py", text=str(number))
    await go_on(world, bomb)
    run = world.github.runs()[-1]
    world.github.actions.start(run)
    await go_on(world, bomb)
    await world.clock.advance(30)
    world.github.actions.finish(run, conclusion, log="ValueError: x\n")
    await go_on(world, bomb)
    return pull


def same_end(world: World, pull: Pull, conclusion: str, struck: list[str]) -> None:
    sha = pull.head_sha
    runs = [run for run in world.github.runs() if run.inputs["sha"] == sha]
    assert len(runs) == 1, struck
    checks = [(check.name, check.status, check.conclusion) for check in _checks(world, sha)]
    assert sorted(checks) == [
        ("Ascend / unit", "completed", conclusion),
        (GATE, "completed", conclusion),
    ], struck
    assert len(world.github.comments(pull)) == (conclusion == "failure"), struck


def _checks(world: World, sha: str) -> list[Any]:
    ours = world.github.state.the_app()
    return [check for check in world.github.check_runs(sha) if check.suite.app is ours]


async def test_a_bot_killed_at_any_write_ends_in_the_same_place(
    bombed: tuple[World, Bomb],
) -> None:
    world, bomb = bombed
    cases = [("success", 1), ("failure", 1 + STRIDE // 2)]
    if ALL:
        cases = [(end, first) for end, _ in cases for first in range(1, STRIDE + 1)]
    for number, (conclusion, first) in enumerate(cases):
        bomb.arm(first)
        pull = await story(world, bomb, number, conclusion)
        struck = bomb.struck
        bomb.arm()
        assert len(struck) > 2
        same_end(world, pull, conclusion, struck)


async def test_a_bot_killed_around_its_dispatch_dispatches_once(
    bombed: tuple[World, Bomb],
) -> None:
    world, bomb = bombed
    moments = ("before dispatch", "after dispatch", "after create_check")
    bomb.arm(moments=moments)
    pull = await story(world, bomb, 0, "success")
    assert len(bomb.struck) == len(moments)
    same_end(world, pull, "success", bomb.struck)


async def test_a_bot_killed_around_its_comment_comments_once(
    bombed: tuple[World, Bomb],
) -> None:
    world, bomb = bombed
    bomb.arm(moments=("before comment", "after comment"))
    pull = await story(world, bomb, 0, "failure")
    assert len(bomb.struck) == 2
    same_end(world, pull, "failure", bomb.struck)
