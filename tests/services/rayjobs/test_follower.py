"""One RayJob from its first event to its last, over everything that goes wrong in between."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from bot.core.messages import quote
from bot.core.model.run_events import LogRead
from bot.core.model.runs import Outcome
from bot.core.runs.verdict import Decided, Pending
from tests.databases import SqliteTemplate
from tests.services.rayjobs.following import HANG_S, JOB, World, digest_of, following
from tests.submitter.faulty_submitter import Event, Watch, error, final, log, status

ENDED = "2026-01-01T00:00:00Z"
OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 61.28 GiB total)"
LINES: list[Event] = [log("starting"), log("step one"), log(OOM), log("bye")]
TEXT = b"starting\nstep one\n" + OOM.encode() + b"\nbye\n"


@pytest.fixture
async def world(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[World]:
    async with following(sqlite_template.fresh(tmp_path), tmp_path) as made:
        yield made


@pytest.fixture
async def restless(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[World]:
    """A world whose clock lets a reader try eight times; for those that look for ever."""
    async with following(sqlite_template.fresh(tmp_path), tmp_path, leaps=8) as made:
        yield made


async def test_a_job_is_read_to_its_end_into_row_file_and_digest(world: World) -> None:
    world.server.add([*LINES, final("SUCCEEDED", "fine")])
    await world.seen()
    row = await world.follow()
    assert (row.final, row.final_from, row.message) == ("SUCCEEDED", "watch", "fine")
    assert row.complete
    assert await world.log_text() == TEXT + b"[rayjob final] SUCCEEDED fine\n"
    assert row.lines == 5
    assert row.digest == digest_of(await world.log_text(), passed=True)
    assert row.last_line_at == world.clock.now()
    assert await world.is_poked()


async def test_a_word_that_could_act_on_a_page_is_not_shown(world: World) -> None:
    world.server.add([status("@all `x`"), final("FAILED")])
    await world.seen()
    await world.follow()
    assert await world.texts() == [f"RayJob `{JOB}` in a state of its own"]


async def test_problems_of_the_watch_and_other_text_are_kept_as_lines(world: World) -> None:
    world.server.add([log("a"), error("hiccup"), b"<html>", b"", final("SUCCEEDED")])
    await world.seen()
    row = await world.follow()
    assert (await world.log_text()).splitlines()[1:3] == [b"[rayjob error] hiccup", b"<html>"]
    assert row.final == "SUCCEEDED"


async def test_secrets_are_in_neither_file_nor_row(world: World) -> None:
    secret = "ghp_" + "a1B2" * 9
    world.server.add([log(f"token {secret}"), final("FAILED", f"with {secret}")])
    await world.seen()
    row = await world.follow()
    assert secret.encode() not in await world.log_text()
    assert secret not in str(row)


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(Watch(), id="the rest by number"),
        pytest.param(Watch(start="first"), id="all again, numbered"),
        pytest.param(Watch(start="first", numbered=False), id="all again, unnumbered"),
        pytest.param(Watch(start="now", numbered=False), id="from now, unnumbered"),
    ],
)
@pytest.mark.parametrize("torn", [0, 12])
async def test_a_broken_watch_loses_and_doubles_nothing(
    world: World, again: Watch, torn: int
) -> None:
    numbered = again.numbered
    job = world.server.add([*LINES, final("FAILED", "exit 1")])
    job.watches = [Watch(events=2, end="cut", torn=torn, numbered=numbered), again]
    await world.seen()
    row = await world.follow()
    assert await world.log_text() == TEXT + b"[rayjob final] FAILED exit 1\n"
    assert row.lines == 5
    assert row.digest == digest_of(await world.log_text())
    assert row.digest is not None
    assert row.digest.root_cause_line == 3
    assert world.verdict(row) == Decided(Outcome.FAILURE, quote("RayJob FAILED, exit 1"))


async def test_back_off_grows_and_ends_with_news(world: World) -> None:
    world.server.add([log("a"), log("b"), final("SUCCEEDED")]).watches = [
        *[Watch(code=502)] * 6,
        Watch(events=1, end="cut"),
        Watch(),
    ]
    await world.seen()
    await world.follow()
    assert world.clock.slept == [1, 2, 5, 10, 30, 30, 1]


async def test_a_lost_final_is_replaced_by_the_jobs_state(world: World) -> None:
    world.server.add(LINES, state="SUCCEEDED", ended_at=ENDED)
    await world.seen()
    row = await world.follow()
    assert (row.final, row.final_from, row.complete) == ("SUCCEEDED", "state", True)
    assert await world.log_text() == TEXT
    assert world.verdict(row) == Decided(
        Outcome.SUCCESS, quote("The RayJob succeeded (as the submitter says)")
    )


async def test_the_rest_of_the_log_is_read_though_the_state_tells_the_end(world: World) -> None:
    job = world.server.add(LINES, state="FAILED", ended_at=ENDED)
    job.watches = [Watch(events=1, end="cut"), Watch(events=1, end="cut"), Watch()]
    await world.seen()
    row = await world.follow()
    assert (row.final, row.final_from, row.complete) == ("FAILED", "state", True)
    assert await world.log_text() == TEXT


async def test_a_log_that_can_not_be_read_to_its_end_is_given_up(world: World) -> None:
    job = world.server.add(LINES, state="FAILED", ended_at=ENDED)
    job.watches = [Watch(events=1, end="cut"), Watch(code=502)]
    await world.seen()
    row = await world.follow()
    assert (row.final, row.complete) == ("FAILED", True)
    assert await world.log_text() == b"starting\n"
    assert job.watched == 4


@pytest.mark.parametrize("plan", [Watch(), Watch(code=502), Watch(code=403), Watch(end="cut")])
async def test_an_end_that_nobody_tells_is_unknown_never_green(
    restless: World, plan: Watch
) -> None:
    restless.server.lack("state")
    restless.server.add(LINES).watches = [Watch(), plan]
    await restless.seen()
    row = await restless.follow_until_rest()
    assert (row.final, row.complete) == (None, False)
    assert row.silent_since is not None
    assert row.message
    assert await restless.is_poked()
    verdict = restless.verdict(row)
    assert isinstance(verdict, Pending)
    assert verdict.unknown
    by_log = restless.verdict(row, LogRead(1, "SUCCEEDED"))
    assert isinstance(by_log, Decided)
    assert by_log.why == "The RayJob succeeded (as the Actions log says)"


async def test_an_end_is_still_found_after_it_counted_as_unknown(world: World) -> None:
    world.server.lack("state")
    job = world.server.add([*LINES, final("SUCCEEDED")])
    job.watches = [Watch(events=4), *[Watch(events=0)] * 5, Watch()]
    await world.seen()
    row = await world.follow()
    assert (row.final, row.silent_since, row.complete) == ("SUCCEEDED", None, True)


@pytest.mark.parametrize("word", ["NOT_FOUND", "FISHY"])
async def test_a_word_that_tells_no_end_is_kept_and_the_end_looked_for(
    restless: World, word: str
) -> None:
    restless.server.lack("state")
    restless.server.add([*LINES, final(word, "who knows")])
    await restless.seen()
    row = await restless.follow_until_rest()
    assert row.final == ("NOT_FOUND" if word == "NOT_FOUND" else "OTHER")
    assert not row.complete
    assert await restless.is_poked()
    verdict = restless.verdict(row)
    assert isinstance(verdict, Pending)
    assert verdict.unknown
    assert "who knows" in verdict.why
    assert row.digest == digest_of(await restless.log_text())


async def test_a_stopped_job_is_read_no_further_and_its_end_is_not_known(world: World) -> None:
    world.server.lack("state")
    world.server.add([*LINES, final("STOPPED", "by somebody")])
    await world.seen()
    row = await world.follow()
    assert (row.final, row.complete) == ("STOPPED", True)
    verdict = world.verdict(row)
    assert isinstance(verdict, Pending)
    assert verdict.unknown


async def test_a_state_that_tells_the_end_corrects_a_word_that_does_not(world: World) -> None:
    world.server.add([*LINES, final("STOPPED")], state="SUCCEEDED", ended_at=ENDED)
    await world.seen()
    row = await world.follow()
    assert (row.final, row.final_from) == ("SUCCEEDED", "state")


async def test_a_job_that_a_restarted_submitter_forgot_is_not_found_until_it_is_back(
    restless: World,
) -> None:
    job = restless.server.add([*LINES, final("SUCCEEDED")])
    job.watches = [Watch(events=2, end="cut"), Watch()]
    await restless.seen()
    restless.clock.allow(0)
    async with restless.follower() as follower, asyncio.timeout(HANG_S):
        await follower.step()
        await restless.clock.at_rest.wait()
        restless.server.restart()
        restless.clock.allow(8)
        await restless.clock.at_rest.wait()
        row = await restless.row()
        assert (row.final, row.complete) == ("NOT_FOUND", False)
        assert await restless.is_poked()
        verdict = restless.verdict(row)
        assert isinstance(verdict, Pending)
        assert verdict.unknown
        restless.server.jobs[JOB] = job
        restless.clock.allow(8)
        await follower.idle()
    row = await restless.row()
    assert (row.final, row.final_from, row.complete) == ("SUCCEEDED", "watch", True)
    assert row.lines == 6  # four lines, what the restarted one said, and the end
    assert isinstance(restless.verdict(row), Decided)


async def test_a_submitter_that_does_not_answer_is_silent_until_it_does(restless: World) -> None:
    restless.server.fail("watch", 502, times=100)
    restless.server.fail("state", 503, times=300)
    job = restless.server.add([log("a"), final("SUCCEEDED")])
    await restless.seen()
    began_at = restless.clock.now()
    async with restless.follower() as follower, asyncio.timeout(HANG_S):
        await follower.step()
        await restless.clock.at_rest.wait()
        row = await restless.row()
        assert (row.final, row.silent_since) == (None, began_at)
        assert await restless.is_poked()
        verdict = restless.verdict(row)
        assert isinstance(verdict, Pending)
        assert (verdict.unknown, verdict.why) == (
            True,
            "CI's RayJob submitter has not answered since 05:06 UTC",
        )
        restless.server._faults.clear()
        restless.clock.allow(8)
        await follower.idle()
    row = await restless.row()
    assert (row.final, row.silent_since) == ("SUCCEEDED", None)
    assert job.watched == 1


@pytest.mark.parametrize("lacking", [(), ("state",)])
async def test_hours_of_silence_are_no_news_while_the_submitter_answers(
    world: World, lacking: tuple[Literal["state"], ...]
) -> None:
    world.server.lack(*lacking)
    job = world.server.add([log("a"), final("SUCCEEDED")])
    job.watches = [Watch(events=1, end="hang"), *[Watch(events=0, end="hang")] * 4, Watch()]
    await world.seen()
    row = await world.follow()
    assert (row.final, row.silent_since) == ("SUCCEEDED", None)
    assert job.watched == 6
    assert world.clock.slept == []
    asked = world.server.named("healthz" if lacking else "state")
    assert len(asked) == 5


async def test_silence_of_a_dead_submitter_is_told(restless: World) -> None:
    restless.server.lack("state")
    restless.server.fail("healthz", 503, times=100)
    restless.server.add([log("a")]).watches = [Watch(end="hang")]
    await restless.seen()
    restless.clock.allow(0)
    row = await restless.follow_until_rest()
    assert row.silent_since == restless.clock.now()
    assert row.final is None


async def test_a_job_whose_record_names_our_run_is_confirmed(world: World) -> None:
    world.server.add([final("SUCCEEDED")])
    await world.seen(confirmed=False, seen="log")
    row = await world.follow()
    assert row.confirmed
    assert isinstance(world.verdict(row), Decided)


@pytest.mark.parametrize("other", [{"run_id": "2"}, {"attempt": "2"}])
async def test_a_job_of_another_run_is_neither_confirmed_nor_read(
    world: World, other: dict[str, str]
) -> None:
    job = world.server.add([log("secrets of others"), final("SUCCEEDED")], **other)
    await world.seen(confirmed=False, seen="log")
    row = await world.follow()
    assert (row.confirmed, row.final, row.lines, row.complete) == (False, None, 0, True)
    assert job.watched == 0
    verdict = world.verdict(row)
    assert isinstance(verdict, Pending)
    assert verdict.unknown
    assert isinstance(world.verdict(row, LogRead(1, "SUCCEEDED")), Pending)


async def test_a_record_that_names_no_run_does_not_confirm(world: World) -> None:
    world.server.add([final("SUCCEEDED")], run_id="", attempt="")
    await world.seen(confirmed=False, seen="log")
    row = await world.follow()
    assert (row.confirmed, row.final) == (False, "SUCCEEDED")
    verdict = world.verdict(row)
    assert isinstance(verdict, Pending)
    assert verdict.unknown


async def test_without_records_the_id_is_taken_as_ours_and_that_is_told(world: World) -> None:
    world.server.lack("state", code=405)
    world.server.add([final("SUCCEEDED")], run_id="2")
    await world.seen(confirmed=False, seen="log")
    row = await world.follow()
    assert row.confirmed
    assert await world.texts() == [f"RayJob `{JOB}` taken as ours: the submitter keeps no records"]


async def test_an_id_of_which_nobody_knows_is_not_confirmed(restless: World) -> None:
    await restless.seen(confirmed=False, seen="log")
    row = await restless.follow_until_rest()
    assert (row.confirmed, row.complete) == (False, False)
    verdict = restless.verdict(row)
    assert isinstance(verdict, Pending)
    assert verdict.unknown


async def test_a_job_is_confirmed_as_soon_as_the_submitter_answers_again(world: World) -> None:
    world.server.fail("state", 503, 503, 503)
    world.server.add([log("a"), final("SUCCEEDED")]).watches = [Watch(events=1), Watch()]
    await world.seen(confirmed=False, seen="log")
    row = await world.follow()
    assert (row.confirmed, row.final) == (True, "SUCCEEDED")


async def test_a_token_that_is_refused_is_told(restless: World) -> None:
    restless.server.fail("watch", 401, times=100)
    restless.server.fail("state", 401, times=100)
    restless.server.add([final("SUCCEEDED")])
    await restless.seen()
    row = await restless.follow_until_rest()
    assert row.silent_since is not None
    assert row.final is None


NUL = "nul \x00 and \r bar \r 100%"


@pytest.mark.parametrize("chunk", [1021, 65536])
async def test_any_bytes_are_kept_as_they_came(world: World, chunk: int) -> None:
    long = "x" * 5_000_000
    events: list[Event] = [log(NUL), log("中文"), log(long), b"\xff\xfe", log(OOM), final("FAILED")]
    world.server.add(events).watches = [Watch(chunk=chunk)]
    await world.seen()
    row = await world.follow()
    kept = (await world.log_text()).decode().split("\n")
    assert kept[:3] == [NUL, "中文", long]
    assert row.digest == digest_of(await world.log_text())
    assert row.digest is not None
    assert row.digest.root_cause_line == 5


async def test_a_cut_inside_a_character_loses_nothing(world: World) -> None:
    events = [log("before"), log("half 中 whole"), final("SUCCEEDED")]
    job = world.server.add(events)
    job.watches = [Watch(events=1, end="cut", torn="中"), Watch(start="first", numbered=False)]
    await world.seen()
    await world.follow()
    assert (await world.log_text()).decode().split("\n")[:2] == ["before", "half 中 whole"]


async def test_half_a_line_that_never_comes_again_is_marked(world: World) -> None:
    job = world.server.add([log("one"), log("two")], state="FAILED", ended_at=ENDED)
    torn = Watch(events=1, end="cut", torn=len('{"type": "log", "line": "tw'), numbered=False)
    job.watches = [torn, Watch(events=0)]
    await world.seen()
    await world.follow()
    assert await world.log_text() == b"one\ntw [cut off: connection lost]\n"
