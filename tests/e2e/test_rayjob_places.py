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


async def test_the_label_is_given_back_at_the_actions_end_the_pool_at_the_rayjobs(
    cluster: Cluster,
) -> None:
    first, job = await _start(cluster, 1)
    await _start(cluster, 2)
    unit = cluster.world.open_pull(path="verl/b.py")
    await cluster.world.settle()
    assert _dispatched(cluster, unit) == []
    await cluster.finish(first)
    await cluster.world.until(lambda: bool(_dispatched(cluster, unit)), every_s=5)
    assert job.state == "RUNNING"
    await cluster.finish(_dispatched(cluster, unit)[0])  # so the label has a place
    third = cluster.world.open_pull(path="multi/3.py")
    for _ in range(3):
        await cluster.world.pass_time(100)
    assert _dispatched(cluster, third) == []
    assert "a2-cluster" in str(cluster.check(third).title) + str(cluster.check(third).summary)
    job.events.append(final("SUCCEEDED"))
    job.state, job.ended_at = "SUCCEEDED", "2026-01-01T00:00:00Z"
    cluster.server.release.set()
    await cluster.world.until(lambda: bool(_dispatched(cluster, third)), every_s=5)
