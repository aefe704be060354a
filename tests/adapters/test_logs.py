"""Log files: appended, cut, read from a line, pruned; never outside their folder."""

import asyncio
import gzip
import os
import threading
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.adapters.logs import LogLimits, StoredLogs, _opened
from bot.core.model.ids import RunId
from bot.ports.errors import Transient

RUN = RunId("01ARZ3NDEKTSV4RRFFQ69G5FAV")
JOB = "verl-9f8e7d6-1-multinode"


@pytest.fixture
def logs(tmp_path: Path) -> StoredLogs:
    return StoredLogs(tmp_path)


async def text_of(pieces: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def write(logs: StoredLogs, *texts: bytes, keep: int = 0, job_id: str = JOB) -> int:
    file = await logs.open(RUN, job_id, keep=keep)
    for text in texts:
        await file.append(text)
    await file.close()
    return file.length


async def test_what_is_appended_is_read_back_and_zcat_reads_it_too(
    logs: StoredLogs, tmp_path: Path
) -> None:
    length = await write(logs, b"one\n", b"two\x00\r\n")
    path = tmp_path / "logs" / RUN / f"{JOB}.log.gz"
    assert path.stat().st_size == length
    assert gzip.decompress(path.read_bytes()) == b"one\ntwo\x00\r\n"
    assert await text_of(logs.read(RUN, JOB, upto=length)) == b"one\ntwo\x00\r\n"


async def test_what_lies_behind_the_kept_bytes_is_dropped(logs: StoredLogs) -> None:
    kept = await write(logs, b"one\n")
    await write(logs, b"lost\n", keep=kept)
    file = await logs.open(RUN, JOB, keep=kept)
    assert file.length == kept
    assert await text_of(file.read()) == b"one\n"
    await file.append(b"two\n")
    assert await text_of(file.read()) == b"one\ntwo\n"
    await file.close()


@pytest.mark.parametrize("keep", [1, 10_000])
async def test_a_file_that_is_not_there_or_too_short_begins_anew(
    logs: StoredLogs, keep: int
) -> None:
    if keep == 10_000:
        await write(logs, b"one\n")
    file = await logs.open(RUN, JOB, keep=keep)
    assert file.length == 0
    assert await text_of(file.read()) == b""
    await file.close()


async def test_a_former_writer_can_not_reach_the_new_ones_file(logs: StoredLogs) -> None:
    former = await logs.open(RUN, JOB, keep=0)
    await former.append(b"one\n")
    file = await logs.open(RUN, JOB, keep=former.length)
    await former.append(b"of the former\n")
    await file.append(b"two\n")
    assert await text_of(logs.read(RUN, JOB, upto=file.length)) == b"one\ntwo\n"
    await former.close()
    await file.close()


@pytest.mark.parametrize("at", [0, 12, 20, 40, -1])
async def test_damage_is_found(logs: StoredLogs, tmp_path: Path, at: int) -> None:
    length = await write(logs, b"some text to be damaged\n" * 10)
    [path] = tmp_path.rglob("*.gz")
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)
    file = await logs.open(RUN, JOB, keep=length)
    with pytest.raises(Transient, match="damaged at byte 0"):
        await text_of(file.read())
    await file.close()


@given(
    texts=st.lists(
        st.lists(st.binary(max_size=5).map(lambda b: b.replace(b"\n", b"")), max_size=4).map(
            lambda lines: b"".join(line + b"\n" for line in lines)
        ),
        max_size=5,
    ),
    from_line=st.integers(1, 25),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_reading_begins_with_any_line(
    logs: StoredLogs, texts: list[bytes], from_line: int
) -> None:
    length = await write(logs, *texts)
    lines = b"".join(texts).split(b"\n")
    expected = b"\n".join(lines[from_line - 1 :])
    assert await text_of(logs.read(RUN, JOB, upto=length, from_line=from_line)) == expected


async def test_large_texts_are_stored_in_members_that_a_reader_can_skip(
    logs: StoredLogs, tmp_path: Path
) -> None:
    text = b"".join(b"line %d of many\n" % number for number in range(200_000))
    file = await logs.open(RUN, JOB, keep=0)
    await file.append(text[:1_000_001], b"", text[1_000_001:])
    await file.close()
    length = file.length
    assert await text_of(logs.read(RUN, JOB, upto=length)) == text
    tail = await text_of(logs.read(RUN, JOB, upto=length, from_line=200_000))
    assert tail == b"line 199999 of many\n"
    [path] = tmp_path.rglob("*.gz")
    assert path.stat().st_size < len(text) / 4


@pytest.mark.parametrize(
    "job_id",
    [
        "../../etc/passwd",
        "..",
        ".",
        "",
        "/abs",
        "a/b",
        "nul\0",
        "x" * 300,
        "\u4e2d\u6587",
        "\ud800",
    ],
)
async def test_no_id_leads_out_of_the_folder(logs: StoredLogs, tmp_path: Path, job_id: str) -> None:
    length = await write(logs, b"x\n", job_id=job_id)
    [path] = tmp_path.rglob("*.gz")
    assert path.parent == tmp_path / "logs" / RUN
    assert await text_of(logs.read(RUN, job_id, upto=length)) == b"x\n"


async def test_ids_that_look_alike_have_files_of_their_own(
    logs: StoredLogs, tmp_path: Path
) -> None:
    for job_id in ("a/b", "a_b", "a\\b", "a:b"):
        await write(logs, b"x\n", job_id=job_id)
    assert len(list(tmp_path.rglob("*.gz"))) == 4


async def test_old_runs_are_pruned_and_others_stay(logs: StoredLogs, tmp_path: Path) -> None:
    before = datetime(2026, 1, 1, tzinfo=UTC)
    assert await logs.prune(before) == 0
    await write(logs, b"x\n")
    assert await logs.prune(before) == 0
    for path in tmp_path.rglob(f"*{RUN}*"):
        for one in (*path.iterdir(), path):
            os.utime(one, (before.timestamp() - 1,) * 2)
    assert await logs.prune(before) == 1
    assert list(tmp_path.rglob("*.gz")) == []


async def test_a_runs_logs_are_removed_and_once_more_is_no_error(
    logs: StoredLogs, tmp_path: Path
) -> None:
    await write(logs, b"x\n")
    await logs.remove(RUN)
    await logs.remove(RUN)
    assert list(tmp_path.rglob("*.gz")) == []


async def test_a_folder_that_can_not_be_written_is_a_transient(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file is in the way")
    with pytest.raises(Transient, match="the log file can't be used"):
        await StoredLogs(tmp_path).open(RUN, JOB, keep=0)
    assert await StoredLogs(tmp_path).problem() == "the log file can't be used: File exists"


async def test_without_room_a_write_fails_what_was_written_stays_and_the_problem_has_a_name(
    logs: StoredLogs, tmp_path: Path
) -> None:
    file = await logs.open(RUN, JOB, keep=0)
    await file.append(b"one\n")
    before, most = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (4096, most))  # as a disk with so much room for each file
    try:
        with pytest.raises(Transient, match="File too large"):
            await file.append(os.urandom(9000))
        assert await logs.problem() == "the log file can't be used: File too large"
    finally:
        setrlimit(RLIMIT_FSIZE, (before, most))
    assert await text_of(logs.read(RUN, JOB, upto=file.length)) == b"one\n"
    await file.append(b"two\n")
    await file.close()
    assert await text_of(logs.read(RUN, JOB, upto=file.length)) == b"one\ntwo\n"
    assert await logs.problem() == ""
    assert [path.name for path in (tmp_path / "logs").iterdir()] == [RUN]


async def test_an_endless_log_fills_no_more_than_its_share(tmp_path: Path) -> None:
    logs = StoredLogs(tmp_path, LogLimits(file_bytes=10_000))
    file = await logs.open(RUN, JOB, keep=0)
    await file.append(b"begin\n")
    await file.append(os.urandom(20_000))
    with pytest.raises(Transient, match="File too large"):
        await file.append(b"more\n")
    await file.close()
    text = await text_of(logs.read(RUN, JOB, upto=file.length))
    assert (text[:6], len(text)) == (b"begin\n", 20_006)


async def test_a_disk_that_is_nearly_full_is_left_for_others(tmp_path: Path) -> None:
    logs = StoredLogs(tmp_path, LogLimits(free_bytes=1 << 60))
    file = await logs.open(RUN, JOB, keep=0)
    with pytest.raises(Transient, match="of the disk are left for others"):
        await file.append(b"one\n")
    await file.close()
    assert "of the disk are left for others" in await logs.problem()


async def test_a_missing_log_is_a_transient(logs: StoredLogs) -> None:
    with pytest.raises(Transient, match="No such file"):
        await text_of(logs.read(RUN, JOB, upto=1))


async def test_a_file_that_opens_after_its_caller_was_cancelled_is_closed(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow() -> FileIO:
        begun.set()
        go.wait()
        return FileIO(tmp_path / "late", "w")

    closed = asyncio.Event()

    def close(file: FileIO) -> None:
        file.close()
        closed.set()

    opening = asyncio.create_task(_opened(slow, close))
    await asyncio.to_thread(begun.wait)
    for _ in range(2):  # the second one while the first is carried out
        opening.cancel()
        await asyncio.sleep(0)
    go.set()
    await asyncio.wait([opening])
    assert opening.cancelled()
    async with asyncio.timeout(10):
        await closed.wait()
