"""Which places a RayJob suite holds when its Actions run has ended and its RayJob has not."""

from bot.sim.model import Pull, Run
from tests.e2e.cluster import RUNNING, Cluster
from tests.submitter.faulty_submitter import Job, Watch, final, log


async def _start(cluster: Cluster, number: int) -> tuple[Run, Job]:
    pull = cluster.world.open_pull(path=f"multi/{number}.py")
    await cluster.world.settle()
    run = cluster.world.github.runs()[-1]
    assert run.inputs["sha"] == pull.head_sha
    cluster.world.github.actions.start(run)
    await cluster.world.settle()
    events = [RUNNING, log(f"step of {number}")]
    job = cluster.server.add(
        events, f"rj-{number}", run_id=str(run.id), watches=[Watch(end="hang"), Watch()]
    )
    await cluster.world.until(lambda: job.watched > 0, every_s=5)
    return run, job


def _dispatched(cluster: Cluster, pull: Pull) -> list[Run]:
    return [run for run in cluster.world.github.runs() if run.inputs["sha"] == pull.head_sha]


async def test_the_label_is_given_back_when_the_actions_run_ends_before_the_rayjob(
    cluster: Cluster,
) -> None:
    first, job = await _start(cluster, 1)
    await _start(cluster, 2)
    pull = cluster.world.open_pull(path="verl/b.py")
    await cluster.world.settle()
    assert _dispatched(cluster, pull) == []
    await cluster.finish(first)
    await cluster.world.until(lambda: bool(_dispatched(cluster, pull)), every_s=5)
    assert job.state == "RUNNING"


async def test_the_pool_is_held_until_the_rayjob_ends(cluster: Cluster) -> None:
    first, job = await _start(cluster, 1)
    await _start(cluster, 2)
    await cluster.finish(first)
    pull = cluster.world.open_pull(path="multi/3.py")
    for _ in range(10):
        await cluster.world.pass_time(30)
    assert _dispatched(cluster, pull) == []
    assert "a2-cluster" in str(cluster.check(pull).title) + str(cluster.check(pull).summary)
    job.events.append(final("SUCCEEDED"))
    job.state, job.ended_at = "SUCCEEDED", "2026-01-01T00:00:00Z"
    cluster.server.release.set()
    await cluster.world.until(lambda: bool(_dispatched(cluster, pull)), every_s=5)
