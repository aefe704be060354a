"""RayJob suites end to end: no fault of a submitter makes a run green or loses its end."""

from tests.e2e.cluster import GOOD, JOB, LINES, RUNNING, Cluster
from tests.e2e.kept_logs import kept_lines
from tests.submitter.faulty_submitter import Watch, final


async def test_both_witnesses_make_it_green_within_the_budget(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, GOOD, state="SUCCEEDED")
    await cluster.finish(run)
    assert (await cluster.ended(pull)).conclusion == "success"
    assert cluster.world.gate(pull.head_sha).conclusion == "success"
    cluster.world.github.calls.assert_at_most(12)  # 11, and one progress


BAD_ENDS = {"FAILED": "failure", "TIMEOUT": "timed_out"}


async def test_a_green_workflow_does_not_hide_a_bad_rayjob(cluster: Cluster) -> None:
    for word, conclusion in BAD_ENDS.items():
        pull, run = await cluster.begin(word)
        cluster.add(run, [RUNNING, *LINES, final(word, "exit 1")], job_id=word, state=word)
        await cluster.finish(run)
        assert (await cluster.ended(pull)).conclusion == conclusion, word


BREAKS = {
    "cut and replayed from the start": [Watch(events=3, end="cut"), Watch(start="first")],
    "cut in mid-line": [Watch(events=3, end="cut", torn=9), Watch(start="after")],
    "cut, going on from now": [Watch(events=3, end="cut"), Watch(start="now")],
    "no numbers, replayed": [
        Watch(events=3, end="cut", numbered=False),
        Watch(start="first", numbered=False),
    ],
    "refused at first": [Watch(code=503), Watch(code=502), Watch()],
    "junk before": [Watch(junk=b"\x00\xff<html>\n\n{}\n")],
    "in pieces of three bytes": [Watch(chunk=3)],
}


async def test_a_broken_stream_loses_no_end_and_doubles_no_line(cluster: Cluster) -> None:
    for number, (name, watches) in enumerate(BREAKS.items()):
        pull, run = await cluster.begin(str(number))
        job = cluster.add(run, GOOD, job_id=f"rj-{number}", watches=watches)
        await cluster.finish(run)
        assert (await cluster.ended(pull)).conclusion == "success", name
        kept = kept_lines(cluster.world, f"rj-{number}")
        printed = [line for line in kept if line.startswith("step")]
        assert printed == [line["line"] for line in LINES], name
        assert job.watched >= len(watches), name


async def test_a_stream_without_an_end_is_never_green(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    job = cluster.add(run, [RUNNING, *LINES])
    await cluster.finish(run)
    await cluster.world.until(lambda: job.watched > 2, every_s=10)
    assert cluster.check(pull).status == "in_progress"
    job.state, job.ended_at = "SUCCEEDED", "2026-01-01T00:00:00Z"
    assert (await cluster.ended(pull)).conclusion == "success"


async def test_a_submitter_that_forgot_the_job_is_broken_at_the_limit_not_green(
    cluster: Cluster,
) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, [RUNNING, *LINES], watches=[Watch(events=3, end="hang")])
    await cluster.world.until(lambda: bool(cluster.server.named("watch")), every_s=5)
    cluster.server.restart()
    cluster.server.release.set()
    await cluster.finish(run)
    await cluster.world.until(lambda: bool(cluster.server.named("state")), every_s=15)
    await cluster.world.pass_time(60)
    assert cluster.check(pull).status == "in_progress"
    check = await cluster.ended(pull, every_s=1800)
    assert check.conclusion == "failure"
    assert "Not your change" in str(check.title)


async def test_a_workflow_that_runs_is_not_shown_as_waiting_for_a_runner(
    cluster: Cluster,
) -> None:
    pull, _run = await cluster.begin()  # no RayJob yet: its image is pulled for minutes
    assert cluster.check(pull).status == "in_progress"


async def test_a_workflow_without_a_rayjob_is_broken_after_two_minutes(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    await cluster.finish(run)
    await cluster.world.pass_time(60)
    assert cluster.check(pull).status == "in_progress"
    check = await cluster.ended(pull)
    assert check.conclusion == "failure"
    assert "without a RayJob" in f"{check.title} {check.summary}"


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
    assert "the last line of the Actions log says" in f"{check.title} {check.summary}"


async def test_a_rayjob_of_another_run_makes_nothing_green(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, GOOD, run_id="999", state="SUCCEEDED")
    text = f"ascend-ci: rayjob {JOB}\nascend-ci: final SUCCEEDED\n"
    await cluster.finish(run, text=text)
    assert (await cluster.ended(pull, every_s=1800)).conclusion == "failure"


async def test_nothing_is_dispatched_while_the_submitter_is_down(cluster: Cluster) -> None:
    cluster.server.fail("healthz", 503, times=3)
    pull = cluster.world.open_pull(path="multi/a.py")
    await cluster.world.settle()
    assert cluster.world.github.runs() == []
    assert "submitter unreachable" in f"{cluster.check(pull).title} {cluster.check(pull).summary}"
    await cluster.world.until(lambda: bool(cluster.world.github.runs()), every_s=15)
    assert len(cluster.world.github.runs()) == 1


async def test_a_failed_workflow_deletes_the_rayjob_that_lives_on(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, [RUNNING, *LINES], watches=[Watch(end="hang")])
    await cluster.world.until(lambda: bool(cluster.server.named("watch")), every_s=5)
    cluster.server.fail("delete", 503, times=1)
    await cluster.finish(run, "failure")
    await cluster.world.until(lambda: bool(cluster.server.deleted), every_s=15)
    cluster.server.release.set()
    assert cluster.server.deleted[0] == (str(run.id), "1")
    assert (await cluster.ended(pull)).conclusion == "failure"


async def test_a_newer_push_deletes_the_rayjob_after_the_workflows_end(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    old = pull.head_sha
    cluster.add(run, [RUNNING, *LINES], watches=[Watch(end="hang")])
    await cluster.world.until(lambda: bool(cluster.server.named("watch")), every_s=5)
    cluster.world.github.people.push(pull, {"multi/a.py": "2"})
    await cluster.world.settle()
    assert run.cancelled
    assert cluster.server.deleted == []
    await cluster.finish(run, "cancelled")
    await cluster.world.until(lambda: bool(cluster.server.deleted), every_s=5)
    cluster.server.release.set()
    await cluster.world.until(
        lambda: cluster.world.check("multinode", old).status == "completed", every_s=5
    )
    assert cluster.world.check("multinode", old).conclusion == "cancelled"


async def test_what_can_not_be_deleted_for_an_hour_is_named(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    cluster.add(run, [RUNNING, *LINES], watches=[Watch(end="hang")])
    await cluster.world.until(lambda: bool(cluster.server.named("watch")), every_s=5)
    cluster.server.fail("delete", 503, times=1000)
    await cluster.finish(run, "failure")
    await cluster.world.until(
        lambda: "may be left" in f"{cluster.check(pull).title} {cluster.check(pull).summary}",
        every_s=900,
    )
    assert len(cluster.server.named("delete")) > 3
    cluster.server.release.set()
