"""RayJob suites end to end: no fault of a submitter makes a run green or loses its end."""

from typing import Any

import pytest

from tests.e2e.cluster import GOOD, JOB, LINES, RUNNING, Cluster
from tests.e2e.kept_logs import kept_lines
from tests.submitter.faulty_submitter import Watch, final

# How a stream goes and what it says last; the workflow is green each time.
STREAMS: dict[str, tuple[list[Watch], str, str]] = {
    "cut and replayed from the start": (
        [Watch(events=3, end="cut"), Watch(start="first")],
        *("SUCCEEDED", "success"),
    ),
    "cut in mid-line": (
        [Watch(events=3, end="cut", torn=9), Watch(start="after")],
        *("SUCCEEDED", "success"),
    ),
    "cut, going on from now": (
        [Watch(events=3, end="cut"), Watch(start="now")],
        *("FAILED", "failure"),
    ),
    "no numbers, replayed": (
        [Watch(events=3, end="cut", numbered=False), Watch(start="first", numbered=False)],
        *("SUCCEEDED", "success"),
    ),
    "refused at first": ([Watch(code=503), Watch(code=502), Watch()], "TIMEOUT", "timed_out"),
    "junk before": ([Watch(junk=b"\x00\xff<html>\n\n{}\n")], "SUCCEEDED", "success"),
    "in pieces of three bytes": ([Watch(chunk=3)], "SUCCEEDED", "success"),
}


async def test_a_broken_stream_loses_no_end_good_or_bad_and_doubles_no_line(
    cluster: Cluster,
) -> None:
    begun = await cluster.begin_each(STREAMS)
    jobs = {}
    for number, (name, (watches, word, _)) in enumerate(STREAMS.items()):
        _, run = begun[name]
        events: list[Any] = [RUNNING, *LINES, final(word, "exit 1")]
        jobs[name] = cluster.add(run, events, job_id=f"rj-{number}", watches=watches)
        cluster.world.github.actions.finish(run)
    for number, (name, (watches, _, conclusion)) in enumerate(STREAMS.items()):
        assert (await cluster.ended(begun[name][0])).conclusion == conclusion, name
        kept = kept_lines(cluster.world, f"rj-{number}")
        printed = [line for line in kept if line.startswith("step")]
        assert printed == [line["line"] for line in LINES], name
        assert jobs[name].watched >= len(watches), name


async def test_without_room_for_its_log_a_run_ends_right_and_its_check_run_says_so(
    cluster: Cluster,
) -> None:
    folder = cluster.world.settings.data_dir
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "logs").write_text("nothing can be written below a file\n")
    pull, run = await cluster.begin()
    cluster.add(run, GOOD, state="SUCCEEDED")
    await cluster.finish(run)
    check = await cluster.ended(pull)
    assert check.conclusion == "success"
    assert "its log is cut off: the log file can't be used:" in f"{check.summary}{check.text}"


async def test_what_tells_no_end_of_its_own_rayjob_is_never_green(cluster: Cluster) -> None:
    endless, nameless, others = "a stream without an end", "no RayJob", "another run's RayJob"
    begun = await cluster.begin_each((endless, nameless, others))
    for pull, _ in begun.values():
        assert cluster.check(pull).status == "in_progress"  # not waiting for a runner
    job = cluster.add(begun[endless][1], [RUNNING, *LINES], job_id="rj-endless")
    cluster.add(begun[others][1], GOOD, run_id="999", state="SUCCEEDED")
    text = f"ascend-ci: rayjob {JOB}\nascend-ci: final SUCCEEDED\n"
    for name, (_, run) in begun.items():
        await cluster.finish(run, text=text if name == others else "")
    await cluster.world.pass_time(60)
    for pull, _ in begun.values():
        assert cluster.check(pull).status == "in_progress"
    check = await cluster.ended(begun[nameless][0])
    assert check.conclusion == "failure"
    assert "CI saw no RayJob" in f"{check.title} {check.summary}"
    await cluster.world.until(lambda: job.watched > 2, every_s=10)
    assert cluster.check(begun[endless][0]).status == "in_progress"
    job.state, job.ended_at = "SUCCEEDED", "2026-01-01T00:00:00Z"
    assert (await cluster.ended(begun[endless][0])).conclusion == "success"
    assert (await cluster.ended(begun[others][0], every_s=1800)).conclusion == "failure"


async def test_a_submitter_that_forgot_the_job_is_broken_at_the_limit_not_green(
    cluster: Cluster,
) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, [RUNNING, *LINES], watches=[Watch(events=3, end="hang")])
    await cluster.world.until(lambda: bool(cluster.server.named("watch")), every_s=5)
    cluster.server.restart()
    cluster.server.release.set()
    await cluster.finish(run)
    await cluster.world.until(lambda: "no such job" in str(cluster.check(pull).title), every_s=15)
    assert cluster.check(pull).status == "in_progress"
    check = await cluster.ended(pull, every_s=1800)
    assert check.conclusion == "failure"
    assert "Result unknown" in str(check.title)


async def test_the_last_line_of_the_log_speaks_for_a_silent_submitter_and_says_so(
    cluster: Cluster,
) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, [RUNNING, *LINES], watches=[Watch(events=3, end="cut"), Watch(code=503)])
    await cluster.world.until(lambda: len(cluster.server.named("watch")) > 1, every_s=5)
    cluster.server.fail("state", 503, times=500)
    cluster.server.fail("healthz", 503, times=500)
    text = f"ascend-ci: rayjob {JOB}\nascend-ci: final SUCCEEDED\n"
    await cluster.finish(run, text=text)
    check = await cluster.ended(pull)
    assert check.conclusion == "success"
    assert "as the Actions log says" in f"{check.title} {check.summary}"


async def test_nothing_is_dispatched_while_the_submitter_is_down(cluster: Cluster) -> None:
    cluster.server.fail("healthz", 503, times=3)
    pull = cluster.world.open_pull(path="multi/a.py")
    await cluster.world.settle()
    assert cluster.world.github.runs() == []
    assert (
        "CI's RayJob submitter has been down since"
        in f"{cluster.check(pull).title} {cluster.check(pull).summary}"
    )
    await cluster.world.until(lambda: bool(cluster.world.github.runs()), every_s=15)
    assert len(cluster.world.github.runs()) == 1


async def test_a_rayjob_that_lives_on_is_deleted_after_its_workflows_end(cluster: Cluster) -> None:
    begun = await cluster.begin_each(("failed", "superseded"))
    jobs = {
        name: cluster.add(run, [RUNNING, *LINES], job_id=f"rj-{name}", watches=[Watch(end="hang")])
        for name, (_, run) in begun.items()
    }
    await cluster.world.until(lambda: all(job.watched for job in jobs.values()), every_s=5)
    (failing, failed), (pull, run) = begun.values()
    old = pull.head_sha
    cluster.world.github.people.push(pull, {"multi/a.py": "2"})
    await cluster.world.settle()
    assert run.cancelled
    assert cluster.server.deleted == []
    cluster.server.fail("delete", 503, times=1)
    await cluster.finish(failed, "failure")
    await cluster.finish(run, "cancelled")
    await cluster.world.until(lambda: len(cluster.server.deleted) > 1, every_s=15)
    assert set(cluster.server.deleted) == {(str(failed.id), "1"), (str(run.id), "1")}
    cluster.server.release.set()
    assert (await cluster.ended(failing)).conclusion == "failure"
    world = cluster.world
    await world.until(lambda: world.check("multinode", old).status == "completed", every_s=5)
    assert world.check("multinode", old).conclusion == "cancelled"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "CI's RayJob submitter has refused the bot's token"),
        (409, "the submitter answered 409"),
        (500, "the submitter answered 500"),
    ],
)
async def test_a_submitter_that_refuses_the_bot_is_named_and_the_actions_side_goes_on(
    cluster: Cluster, code: int, said: str
) -> None:
    world = cluster.world
    pull = world.open_pull(path="multi/a.py")
    await world.settle()
    [run] = world.github.runs()
    cluster.server.lack("list", "state", "watch", code=code)
    await world.pass_time(15)
    world.github.actions.start(run)
    await world.settle()
    await world.pass_time(70)  # progress is shown once a minute
    check = cluster.check(pull)
    shown = f"{check.title} {check.summary}"
    assert check.status == "in_progress"
    assert said in shown
    assert ("SUBMITTER_TOKEN" in shown) == (code == 401)
    assert "GitHub refuses" not in shown
    await cluster.finish(run, "failure")
    assert (await cluster.ended(pull, every_s=5)).conclusion == "failure"
    if code == 401:  # nothing starts that the bot could not follow
        late = world.open_pull(path="multi/b.py")
        await world.settle()
        assert said in f"{cluster.check(late).title} {cluster.check(late).summary}"
        assert len(world.github.runs()) == 1
        cluster.server.have("list", "state", "watch")
        await world.until(lambda: len(world.github.runs()) == 2, every_s=15)
