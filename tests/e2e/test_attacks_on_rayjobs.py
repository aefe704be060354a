"""Attacks with the ids of RayJobs: a tenant of the same app names what is another's."""

from typing import Any

import pytest

from bot.sim import NewPull
from bot.sim.model import Pull, Run
from tests.e2e.cluster import GOOD, JOB, Cluster
from tests.e2e.test_announcements import announce, dispatch_id, rayjobs, token
from tests.e2e.world import FILES, World
from tests.submitter.faulty_submitter import Watch

OTHER = "acme/other"


async def other_tenant(world: World) -> tuple[Pull, Run]:
    """Let another repository of the app start a workflow of its own."""
    world.github.create_repo(OTHER, FILES)
    world.github.install("acme")
    world.github.grant("maintainer", "maintain", OTHER)
    await world.settle()
    new = NewPull(repo=OTHER)
    pull = world.github.people.open_pull("maintainer", {"multi/theirs.py": "1"}, new)
    await world.settle()
    [run] = world.github.runs(OTHER)
    world.github.actions.start(run)
    await world.settle()
    return pull, run


def logs_kept(world: World, run_id: str) -> list[bytes]:
    """Return the logs that the bot keeps of a run."""
    folder = world.settings.data_dir / "logs" / run_id
    assert folder.parent.exists()
    return [file.read_bytes() for file in folder.glob("*")]


async def named_by_both(cluster: Cluster) -> tuple[Pull, Run, Run]:
    """Announce one RayJob for its own run, then for another repository's."""
    world = cluster.world
    _, ours = await cluster.begin()
    job = cluster.add(ours, GOOD, watches=[Watch(events=3, end="hang"), Watch()])
    assert (await announce(world, dispatch_id(ours), token(world, ours))).status == 202
    await world.until(lambda: job.watched > 0 or bool(cluster.server.named("state")))
    pull, theirs = await other_tenant(world)
    assert (await announce(world, dispatch_id(theirs), token(world, theirs))).status == 202
    return pull, ours, theirs


@pytest.mark.parametrize(
    "record",
    [{"lack": 404}, {"run_id": "", "attempt": ""}, {"fail": 503}],
    ids=["none", "names no run", "does not answer"],
)
async def test_another_tenants_log_is_not_read_by_naming_its_rayjob(
    cluster: Cluster, record: dict[str, Any]
) -> None:
    world = cluster.world
    if "lack" in record:
        cluster.server.lack("state", "list", code=record["lack"])
    if "fail" in record:
        cluster.server.fail("state", record["fail"], times=1000)
    pull, _, theirs = await named_by_both(cluster)
    job = cluster.server.jobs[JOB]
    if "run_id" in record:
        job.run_id = job.attempt = ""
    await cluster.finish(theirs)
    asked = len(cluster.server.named("state"))
    await world.until(lambda: len(cluster.server.named("state")) > asked + 2, every_s=30)
    cluster.server.release.set()
    await world.pass_time(120)
    [row] = await rayjobs(world, dispatch_id(theirs))
    assert (row.confirmed, row.lines, row.final) == (False, 0, None)
    assert logs_kept(world, row.run_id) in ([], [b""])
    check = world.check("multinode", pull.head_sha)
    shown = f"{check.title} {check.summary} {check.text}"
    assert "step 1" not in shown
    assert check.conclusion != "success"


async def test_a_secret_in_the_message_of_a_rayjobs_record_is_not_stored(cluster: Cluster) -> None:
    world = cluster.world
    secret = f"ghp_{'a1B2' * 9}"
    _, run = await cluster.begin()
    cluster.server.lack("state", code=404)  # only the list tells of it
    cluster.add(run, GOOD, message=f"AppFailed: Bearer {secret}", watches=[Watch(end="hang")])
    await world.until(lambda: bool(cluster.server.named("list")), every_s=30)
    [row] = await rayjobs(world, dispatch_id(run))
    assert row.message.startswith("AppFailed")
    assert secret not in row.message
    cluster.server.release.set()


async def test_of_two_claims_on_one_rayjob_neither_counts_until_its_record_proves_one(
    cluster: Cluster,
) -> None:
    """A record that nobody proved is one more claim: who holds the shared token can make it."""
    world = cluster.world
    cluster.server.lack("state", "list")
    _, ours, theirs = await named_by_both(cluster)
    await world.until(lambda: contested(world) == 2, every_s=15)
    for run in (ours, theirs):
        [row] = await rayjobs(world, dispatch_id(run))
        assert not row.confirmed
    cluster.server.have("state")
    await cluster.finish(ours)
    sha = str(ours.inputs["sha"])
    asked = len(cluster.server.named("state"))
    await world.until(lambda: len(cluster.server.named("state")) > asked + 3, every_s=30)
    for run in (ours, theirs):
        [row] = await rayjobs(world, dispatch_id(run))
        assert (row.confirmed, row.final) == (False, None)
    assert world.check("multinode", sha).status == "in_progress"
    cluster.server.jobs[JOB].repository_id = number_of(world)
    cluster.server.release.set()
    await world.until(lambda: world.check("multinode", sha).status == "completed", every_s=30)
    assert world.check("multinode", sha).conclusion == "success"
    [row] = await rayjobs(world, dispatch_id(theirs))
    assert (row.confirmed, row.lines) == (False, 0)


async def test_a_rayjob_submitted_in_the_name_of_a_run_but_for_another_repository_is_not_its_own(
    cluster: Cluster,
) -> None:
    world = cluster.world
    records: dict[str, dict[str, Any]] = {"a": {"repository_id": 4711}, "b": {"repository": OTHER}}
    begun = await cluster.begin_each(records)
    for name, (_, run) in begun.items():
        cluster.add(run, GOOD, job_id=f"rj-{name}", state="SUCCEEDED", **records[name])
        await cluster.finish(run)
    for pull, run in begun.values():
        check = await cluster.ended(pull)
        assert await rayjobs(world, dispatch_id(run)) == ()
        assert check.conclusion == "failure"
        assert "CI saw no RayJob" in f"{check.title} {check.summary}"


def number_of(world: World) -> int:
    return world.github.state.repo("octo/project").id


def contested(world: World) -> float:
    """Return the number of alarms."""
    return float(world.bot.parts.metrics.contested._value.get())


async def test_a_run_can_not_name_rayjobs_without_end_nor_a_path_as_one(cluster: Cluster) -> None:
    world = cluster.world
    _, run = await cluster.begin()  # of two nodes
    answers = [
        (await announce(world, dispatch_id(run), token(world, run), f"rj-{number}")).status
        for number in range(12)
    ]
    assert answers == [202] * 10 + [422] * 2
    assert (await announce(world, dispatch_id(run), token(world, run), "rj-0")).status == 200
    for name in ("..", ".", "", "a/b", "%2e%2e", "x" * 254):
        said = await announce(world, dispatch_id(run), token(world, run), name)
        assert (said.status, name) == (400, name)
    assert len(await rayjobs(world, dispatch_id(run))) == 10
