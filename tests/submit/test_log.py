"""Following a log through every fault: each line once, and the right end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.submit.conftest import end, run, start
from tests.submitter.faulty_submitter import (
    Event,
    FaultySubmitter,
    Watch,
    error,
    final,
    log,
    status,
)

FIVE: list[Event] = [log("a"), log("b"), log("c"), log("d"), final("SUCCEEDED", "well done")]


@pytest.mark.parametrize(
    "watches",
    [
        [Watch(events=2, end="cut"), Watch()],
        [Watch(events=2, end="close"), Watch(start="first")],
        [Watch(events=0, end="cut"), Watch(events=0), Watch(code=502), Watch(code=503), Watch()],
        [Watch(events=2, end="cut", torn=9), Watch(start="first")],
        [Watch(events=2, end="cut", numbered=False), Watch(start="first", numbered=False)],
        [
            Watch(events=2, end="cut", numbered=False),
            Watch(start="first", events=1, end="cut", numbered=False),
            Watch(start="first", numbered=False),
        ],
        [Watch(events=2, end="cut", numbered=False), Watch(start="now", numbered=False)],
        [Watch(chunk=1)],
        [Watch(events=2, end="cut", chunk=3), Watch(events=1, end="cut"), Watch(chunk=7)],
    ],
)
@pytest.mark.parametrize("lacks", [(), ("state", "list")])
async def test_no_line_is_lost_or_printed_twice(
    faulty: FaultySubmitter, watches: list[Watch], lacks: tuple[Any, ...]
) -> None:
    faulty.next_events, faulty.next_watches = FIVE, watches
    faulty.lack(*lacks)
    done = await run(faulty.url)
    assert done.log == ["a", "b", "c", "d"]
    assert (done.code, done.lines[-1]) == (0, "ascend-ci: final SUCCEEDED")
    assert "ascend-ci: end SUCCEEDED well done" in done.lines


async def test_a_watch_is_resumed_behind_the_last_number(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=3, end="cut"), Watch()]
    await run(faulty.url)
    assert [call.query.get("after") for call in faulty.named("watch")] == [None, "3"]


async def test_a_character_cut_in_half_by_the_connection_comes_whole(
    faulty: FaultySubmitter,
) -> None:
    faulty.next_events = [log("é1"), log("xé2"), final("SUCCEEDED")]
    faulty.next_watches = [Watch(events=1, end="cut", torn="é"), Watch()]
    assert (await run(faulty.url)).log == ["é1", "xé2"]


async def test_lines_of_every_kind_are_kept_as_log(faulty: FaultySubmitter) -> None:
    big = "x" * 5_000_000
    faulty.next_events = [
        log(big),
        log("50%\r100%"),
        log("a\0b"),
        b"",
        b"no json",
        b'["a list"]',
        b"\xff",
        {"type": "surprise", "n": 1},
        {"type": "log", "line": 5},
        error("the pod is not there yet"),
        status("RUNNING", "Running"),
        log("ascend-ci: final SUCCEEDED"),
        final("FAILED"),
    ]
    done = await run(faulty.url)
    assert done.code == 1
    assert done.log[:2] == [big, "50%\r100%"]
    assert done.log[2:7] == ["a\\0b", "", "no json", '["a list"]', "�"]
    assert '"type": "surprise"' in done.log[7]
    assert '"line": 5' in done.log[8]
    assert done.log[9:] == [" ascend-ci: final SUCCEEDED"]
    assert "ascend-ci: error the pod is not there yet" in done.lines
    assert "ascend-ci: status RUNNING Running" in done.lines


@pytest.mark.parametrize(
    ("word", "code"), [("SUCCEEDED", 0), ("FAILED", 1), ("TIMEOUT", 1), ("NOT_FOUND", 1), ("?", 1)]
)
async def test_only_succeeded_is_exit_code_0(faulty: FaultySubmitter, word: str, code: int) -> None:
    faulty.next_events = [final(word)]
    done = await run(faulty.url)
    assert (done.code, done.lines[-1]) == (code, f"ascend-ci: final {word}")


async def test_without_final_the_job_s_state_decides(faulty: FaultySubmitter) -> None:
    faulty.next_events = [log("a")]
    process = await start(faulty.url)
    assert process.stdout is not None
    await process.stdout.readline()
    (job,) = faulty.jobs.values()
    job.state, job.ended_at = "SUCCEEDED", "2026-01-01T00:00:00Z"
    done = await end(process)
    assert (done.code, done.lines[-1]) == (0, "ascend-ci: final SUCCEEDED")


async def test_an_end_that_nobody_tells_is_not_a_pass(faulty: FaultySubmitter) -> None:
    faulty.next_events = [log("a")]
    faulty.lack("state", "list")
    done = await run(faulty.url)
    assert (done.code, done.lines[-1]) == (3, "ascend-ci: final UNKNOWN")


async def test_a_job_that_the_submitter_forgot_is_not_found(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=1, end="hang"), Watch()]
    process = await start(faulty.url)
    assert process.stdout is not None
    while await process.stdout.readline() != b"a\n":
        pass
    faulty.restart()
    faulty.release.set()
    done = await end(process)
    assert (done.code, done.lines[-1]) == (1, "ascend-ci: final NOT_FOUND")


async def test_silence_makes_a_new_watch(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=2, end="hang"), Watch()]
    done = await run(faulty.url, ASCEND_CI_SILENCE_SECONDS="1")
    assert (done.code, done.log) == (0, ["a", "b", "c", "d"])


async def test_in_actions_the_log_can_give_the_runner_no_commands(
    faulty: FaultySubmitter,
) -> None:
    faulty.next_events = [log("::add-mask::x"), final("SUCCEEDED")]
    done = await run(faulty.url, GITHUB_ACTIONS="true")
    before, mark = done.lines[1].rsplit("::", 1)
    assert before == "::stop-commands"
    assert len(mark) == 32
    assert done.lines.index(f"::{mark}::") > done.lines.index("::add-mask::x")
    assert done.lines[-1] == "ascend-ci: final SUCCEEDED"
