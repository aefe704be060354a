"""What a submitter's stream does to a kept log: no line is lost, none is there twice."""

import itertools
from functools import partial
from typing import Any

from tests.e2e.cluster import JOB, RUNNING, Cluster
from tests.e2e.kept_logs import kept_lines, output_of
from tests.submitter.faulty_submitter import Watch, final, log

PLAIN = [f"step {number}" for number in range(8)]
CHINESE = [f"第{number}步 · 损失 0.{number}" for number in range(8)]
LONG = [*PLAIN[:3], "x" * 5_000_000 + " the end", *PLAIN[3:]]
Unnumbered = partial(Watch, numbered=False)

STREAMS = {
    "a line of 5 MB, cut and replayed": (
        LONG,
        [Watch(events=4, end="cut", torn=4_000_000), Watch(start="first", chunk=65_536)],
    ),
    "cut in mid-character": (
        CHINESE,
        [Watch(events=4, end="cut", torn="损"), Watch()],
    ),
    "cut in mid-character and replayed without numbers": (
        CHINESE,
        [Unnumbered(events=4, end="cut", torn="损"), Unnumbered(start="first")],
    ),
    "pieces of one byte": (CHINESE, [Watch(chunk=1)]),
    "replayed from the start without numbers": (
        PLAIN,
        [Unnumbered(events=6, end="cut"), Unnumbered(start="first")],
    ),
    "replayed twice without numbers": (
        PLAIN,
        [
            Unnumbered(events=3, end="cut"),
            Unnumbered(start="first", events=6, end="cut"),
            Unnumbered(start="first"),
        ],
    ),
    "going on from now without numbers": (
        PLAIN,
        [Unnumbered(events=4, end="cut"), Unnumbered(start="now")],
    ),
    "replayed with numbers": (PLAIN, [Watch(events=6, end="cut"), Watch(start="first")]),
}


# Each stream is read to one end: how its lines came and what its end says are read apart.
ENDS = itertools.cycle([("SUCCEEDED", "success"), ("FAILED", "failure")])
CASES = {name: (*stream, *end) for (name, stream), end in zip(STREAMS.items(), ENDS, strict=False)}


async def test_every_line_is_kept_once_and_the_end_is_believed(cluster: Cluster) -> None:
    begun = await cluster.begin_each(CASES)
    jobs = {}
    for number, (name, (lines, watches, word, _)) in enumerate(CASES.items()):
        _, run = begun[name]
        events: list[Any] = [RUNNING, *map(log, lines), final(word)]
        jobs[name] = cluster.add(run, events, job_id=f"rj-{number}", watches=watches, state=None)
        cluster.world.github.actions.finish(run)
    for number, (name, (lines, watches, _, conclusion)) in enumerate(CASES.items()):
        check = await cluster.ended(begun[name][0], every_s=5)
        assert check.conclusion == conclusion, name
        assert output_of(kept_lines(cluster.world, f"rj-{number}")) == lines, name
        assert jobs[name].watched == len(watches), name


SILENT = {  # how the workflow ends, and the job, while its stream stays open and says nothing
    "a failed workflow": ("failure", "FAILED", "failure"),
    "a green workflow, a failed job": ("success", "FAILED", "failure"),
    "a green workflow, a good job": ("success", "SUCCEEDED", "success"),
}


async def test_a_silent_stream_of_a_job_that_ended_holds_nothing_up(cluster: Cluster) -> None:
    world = cluster.world
    begun = await cluster.begin_each(SILENT)
    jobs = [
        cluster.add(run, [RUNNING, log("a")], job_id=f"rj-{number}", watches=[Watch(end="hang")])
        for number, (_, run) in enumerate(begun.values())
    ]
    await world.until(lambda: all(job.watched for job in jobs), every_s=1)
    for job, (_, run), (workflow, word, _) in zip(
        jobs, begun.values(), SILENT.values(), strict=True
    ):
        job.state, job.ended_at = word, "2026-01-01T00:00:00Z"
        world.github.actions.finish(run, workflow)
    began_at = world.clock.now()
    for (pull, _), (_, _, conclusion) in zip(begun.values(), SILENT.values(), strict=True):
        assert (await cluster.ended(pull, every_s=4)).conclusion == conclusion
    assert (world.clock.now() - began_at).total_seconds() <= 60 + 40


async def test_half_a_line_that_never_comes_again_is_kept_as_half(cluster: Cluster) -> None:
    pull, run = await cluster.begin()
    watches = [
        Unnumbered(events=4, end="cut", torn="损"),
        Unnumbered(start="now", missed=1),
    ]
    events: list[Any] = [RUNNING, *map(log, CHINESE), final("SUCCEEDED")]
    cluster.add(run, events, watches=watches, state=None)
    await cluster.finish(run)
    assert (await cluster.ended(pull, every_s=5)).conclusion == "success"
    kept = output_of(kept_lines(cluster.world, JOB))
    assert (kept[:3], kept[4:]) == (CHINESE[:3], CHINESE[4:])
    assert kept[3].startswith("第3步 · ")
    assert "损失" not in kept[3]
