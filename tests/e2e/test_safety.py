"""One poisoned delivery stops nothing else: it is tried eight times, parked and counted."""

from dataclasses import replace
from typing import Any

from bot.app import Parts
from bot.services.workers import Worker
from tests.e2e.world import World


class Poisoned:
    """GitHub's port, that breaks in an unforeseen way for one pull request."""

    def __init__(self, port: object, number: int) -> None:
        self._port, self.number, self.met = port, number, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def pull_files(self, repo: Any, number: int, changed: int) -> Any:
        if number == self.number:
            self.met += 1
            raise RuntimeError("nobody foresaw this")
        port: Any = self._port
        return await port.pull_files(repo, number, changed)


async def test_a_poisoned_delivery_is_parked_and_blocks_nobody(world: World) -> None:
    poisoned: list[Poisoned] = []

    def wrap(parts: Parts) -> Parts:
        github: Any = Poisoned(parts.github, 1)
        poisoned.append(github)
        return replace(parts, github=github, loop=Worker("lenient", parts.metrics))

    world.wrap = wrap
    await world.restart()
    bad = world.open_pull()
    poisoned[0].number = bad.number
    await world.settle()
    good = world.open_pull(path="verl/b.py")
    await world.settle()
    assert [run.inputs["sha"] for run in world.github.runs()] == [good.head_sha]
    for _ in range(12):
        await world.pass_time(300)
    assert poisoned[0].met == 8
    store = world.bot.parts.store
    health = await store.health.counts(world.clock.now())
    assert (health.deliveries_parked, health.deliveries_waiting) == (1, 0)
    poisoned[0].number = 0
    world.github.people.push(bad, {"verl/a.py": "2"})  # the subject goes on
    await world.settle()
    assert world.github.runs()[-1].inputs["sha"] == bad.head_sha


async def test_a_command_that_github_refuses_for_long_is_answered_once_it_does_no_more(
    world: World,
) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    await world.sweep()
    fault = world.github.fault("403", "GET", "*/pulls/*/files", times=99)
    world.github.people.comment(pull, "maintainer", "/ascend-e2e unit")
    for _ in range(10):
        await world.pass_time(200)
    assert fault.hits == 8
    await world.clock.advance(3601)
    await world.sweep()
    assert fault.hits > 8
    world.github.faults.clear()
    await world.clock.advance(3601)
    await world.sweep()
    assert [run.inputs["sha"] for run in world.github.runs()] == [pull.head_sha]
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert (health.deliveries_parked, health.deliveries_waiting) == (0, 0)


async def test_a_repository_without_a_policy_is_never_written_to(world: World) -> None:
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": None})
    await world.settle()
    world.github.calls.clear()
    pull = world.open_pull()
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    world.github.people.close(pull)
    await world.settle()
    assert [call.route for call in world.github.calls.counted() if call.method != "GET"] == []
