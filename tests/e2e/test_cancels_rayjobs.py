"""Cancelling what runs on the cluster: RayJobs deleted, kept trying, and a bot that dies in it."""

from dataclasses import replace
from typing import Any

import pytest

from bot.app import Parts
from bot.sim.model import Pull, Run
from tests.e2e.cluster import LINES, ONE_TRY, RUNNING, Cluster
from tests.e2e.people import say
from tests.e2e.test_crashes import GITHUB_WRITES, Killed, Ticking, survive
from tests.e2e.world import World
from tests.submitter.faulty_submitter import Name, Watch

CALL_TRIES = 3  # of one call, in the adapter
SMALL_POOL = ONE_TRY.replace("npus: 16, chip: a2}}", "npus: 8, chip: a2}}")  # one run at once


async def alive(cluster: Cluster, name: str) -> tuple[Pull, Run]:
    """Open a pull request whose RayJob runs and is watched."""
    pull = cluster.world.open_pull(path=f"multi/{name}.py", text=name)
    await cluster.world.settle()
    return pull, await watched(cluster, name)


async def watched(cluster: Cluster, name: str) -> Run:
    """Let the newest workflow run submit a RayJob that goes on and on."""
    run = cluster.world.github.runs()[-1]
    cluster.world.github.actions.start(run)
    await cluster.world.settle()
    found = {"run_id": str(run.id), "attempt": "1"}
    job = cluster.server.add([RUNNING, *LINES], f"rj-{name}", watches=[Watch(end="hang")], **found)
    await cluster.world.until(lambda: job.watched > 0, every_s=5)
    return run


def deletes(cluster: Cluster, run: Run) -> int:
    asked = [call for call in cluster.server.named("delete") if call.path.endswith(f"/{run.id}")]
    return len(asked)


async def test_a_rayjob_is_deleted_a_minute_after_the_cancel_or_at_the_workflows_end(
    cluster: Cluster,
) -> None:
    world, ends = cluster.world, [False, True]
    for ended in ends:
        pull, run = await alive(cluster, f"a{ended}")
        await say(world, pull, "maintainer", "/ascend-e2e cancel")
        assert run.cancelled
        await world.pass_time(40)
        assert deletes(cluster, run) == 0  # the submit job's own clean-up comes first
        if ended:
            await cluster.finish(run, "cancelled")
        else:
            await world.pass_time(11)
        assert deletes(cluster, run) == 1
        assert cluster.server.deleted[-1] == (str(run.id), "1")
        if not ended:
            await cluster.finish(run, "cancelled")
        check = await cluster.ended(pull, every_s=200)
        assert (check.conclusion, check.title) == ("cancelled", "Cancelled by maintainer")
        assert deletes(cluster, run) == 1


def left(world: World) -> float | None:
    registry = world.bot.parts.metrics.registry
    return registry.get_sample_value("ascend_ci_leftovers_total")


async def test_a_place_is_held_until_its_rayjob_is_gone_or_for_an_hour(cluster: Cluster) -> None:
    world, server = cluster.world, cluster.server
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": SMALL_POOL})
    await world.settle()
    first, run = await alive(cluster, "a")
    queue = []
    for name in "bc":
        queue.append(world.open_pull(path=f"multi/{name}.py"))
        await world.pass_time(1)
    second, third = queue
    server.fail("delete", 503, times=3)
    await say(world, first, "maintainer", "/ascend-e2e cancel")
    await cluster.finish(run, "cancelled")
    await world.pass_time(10)
    assert world.github.runs() == [run]
    assert cluster.check(first).status == "in_progress"
    await world.until(lambda: len(world.github.runs()) == 2, every_s=100)
    assert deletes(cluster, run) == 4
    assert cluster.check(first).conclusion == "cancelled"
    assert left(world) == 0
    run = await watched(cluster, "b")
    server.fail("delete", 503, times=999)
    await say(world, second, "maintainer", "/ascend-e2e cancel")
    await cluster.finish(run, "cancelled")
    for minutes in (1, 4, 5, 10, 20, 15):
        await world.pass_time(60 * minutes)
    await world.restart()
    assert len(world.github.runs()) == 2
    assert 6 <= deletes(cluster, run) / CALL_TRIES <= 20
    await world.until(lambda: len(world.github.runs()) == 3, every_s=200)
    assert world.github.runs()[-1].inputs["sha"] == third.head_sha
    check = await cluster.ended(second)
    assert check.conclusion == "cancelled"
    assert "they may still run" in f"{check.title} {check.summary}"
    assert left(world) == 1


SHORT = ONE_TRY.replace("rayjob: true\n", "rayjob: true\n    timeout_minutes: 60\n")


async def test_a_dead_submitter_holds_up_no_verdict_at_the_time_limit_but_a_place(
    cluster: Cluster,
) -> None:
    world, server = cluster.world, cluster.server
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": SHORT})
    await world.settle()
    detached, detaching = await alive(cluster, "a")
    endless, running = await alive(cluster, "b")
    waiting = world.open_pull(path="multi/c.py")
    await world.pass_time(1)
    dead: tuple[Name, ...] = ("healthz", "state", "list", "watch", "delete")
    server.lack(*dead, code=503)
    server.release.set()
    await cluster.finish(detaching)
    await world.pass_time(60 * 60)
    assert running.cancelled
    await world.pass_time(31)
    ends = {cluster.check(pull).title: cluster.check(pull) for pull in (detached, endless)}
    assert [check.conclusion for check in ends.values()] == ["failure", "timed_out"], ends
    assert world.gate(endless.head_sha).conclusion == "failure"
    await world.pass_time(20 * 60)
    for pull in (detached, endless):
        assert "CI still tries to delete its RayJobs" in (cluster.check(pull).summary or "")
    assert len(world.github.runs()) == 2  # no NPU is free until the RayJobs are known to be gone
    await cluster.finish(running, "cancelled")
    await world.restart()
    server.have(*dead)
    await world.until(lambda: len(world.github.runs()) == 3, every_s=60)
    await world.pass_time(300)
    assert world.github.runs()[-1].inputs["sha"] == waiting.head_sha
    assert {(str(run.id), "1") for run in (detaching, running)} == set(server.deleted)
    for pull in (detached, endless):
        assert "CI still tries to delete its RayJobs" not in (cluster.check(pull).summary or "")
    assert left(world) == 0


class Strike:
    """Kills the bot at named moments, once at each, in their order."""

    def __init__(self, *moments: str) -> None:
        self.moments = list(moments)

    def tick(self, name: str) -> None:
        if self.moments and name == self.moments[0]:
            self.moments.pop(0)
            raise Killed

    def wrap(self, parts: Parts) -> Parts:
        github: Any = Ticking(parts.github, GITHUB_WRITES, self)  # type: ignore[arg-type]
        rayjobs: Any = Ticking(parts.rayjobs, {"delete_workflow"}, self)  # type: ignore[arg-type]
        return replace(parts, github=github, rayjobs=rayjobs)


async def live_on(world: World, seconds: float) -> None:
    """Let time pass; a bot that dies meanwhile is started again, its leases run out."""
    await world.clock.advance(seconds)
    while not await survive(world, world.settle):
        await world.clock.advance(31)


@pytest.mark.parametrize(("deed", "when"), [("cancel", "before"), ("close", "after")])
async def test_a_bot_that_dies_around_every_call_of_a_cancel_finishes_it(
    cluster: Cluster, deed: str, when: str
) -> None:
    world = cluster.world
    calls = ("cancel", "delete_workflow", "force_cancel")
    strike = Strike(*(f"{when} {call}" for call in calls))
    world.wrap = strike.wrap
    await world.restart()
    pull, run = await alive(cluster, "a")
    if deed == "cancel":
        world.github.people.comment(pull, "maintainer", "/ascend-e2e cancel")
    else:
        world.github.people.close(pull)
    for seconds in (0, 61, 361):
        await live_on(world, seconds)
    assert strike.moments == []
    assert (run.cancelled, run.forced) == (True, True)
    assert set(cluster.server.deleted) == {(str(run.id), "1")}
    world.github.actions.finish(run, "cancelled")
    await live_on(world, 31)
    cluster.server.release.set()
    check = await cluster.ended(pull, every_s=60)
    assert check.conclusion == "cancelled"
    said = "Cancelled by maintainer" if deed == "cancel" else "the pull request was closed"
    assert said in str(check.title)
    assert world.gate(pull.head_sha).conclusion == ("failure" if deed == "cancel" else "cancelled")
