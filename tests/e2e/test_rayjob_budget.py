"""What RayJob suites cost of GitHub's quota, however long they take."""

from bot.sim.model import CheckRun, Pull, Run
from tests.e2e.call_budget import Budget
from tests.e2e.cluster import JOB, RUNNING, Cluster
from tests.submitter.faulty_submitter import Job, Watch, final, log

ROUNDS = 4  # a call that each round repeats exceeds any budget here: none has room for four
STEPS = [log(f"step:{number} - critic/score/mean:0.5") for number in range(20)]


async def _train(cluster: Cluster) -> tuple[Pull, Run, Job]:
    """Let a RayJob train for some minutes while everything polls that can."""
    pull, run = await cluster.begin()
    job = cluster.add(run, [RUNNING, *STEPS], watches=[Watch(end="hang"), Watch()])
    await cluster.world.until(lambda: bool(cluster.server.named("watch")), every_s=5)
    for _ in range(ROUNDS):
        await cluster.world.pass_time(60)
        await cluster.world.sweep()
    return pull, run, job


async def _end(cluster: Cluster, pull: Pull, job: Job, word: str) -> CheckRun:
    job.events.append(final(word))
    job.state, job.ended_at = word, "2026-01-01T00:30:00Z"
    cluster.server.release.set()
    return await cluster.ended(pull, every_s=5)


async def test_a_long_rayjob_that_passes_costs_11_calls_besides_progress_and_lists(
    cluster: Cluster,
) -> None:
    budget = Budget(cluster.world)
    pull, run, job = await _train(cluster)
    await cluster.finish(run)
    assert (await _end(cluster, pull, job, "SUCCEEDED")).conclusion == "success"
    assert cluster.world.gate(pull.head_sha).conclusion == "success"
    assert budget.progress > 0
    budget.assert_at_most(11)


async def test_a_long_rayjob_that_fails_costs_15_calls_besides_progress_and_lists(
    cluster: Cluster,
) -> None:
    budget = Budget(cluster.world)
    pull, run, job = await _train(cluster)
    said = f"ascend-ci: rayjob {JOB}\nValueError: the buffer is empty\nascend-ci: final FAILED\n"
    await cluster.finish(run, "failure", said)
    assert (await _end(cluster, pull, job, "FAILED")).conclusion == "failure"
    assert cluster.world.gate(pull.head_sha).conclusion == "failure"
    budget.assert_at_most(15)
