import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.rayjob.evidence import ActionsLog, LogEvidence
from bot.core.rayjob.words import FinalStatus, RayJobId

TS = b"2026-07-15T17:04:05.0743529Z "
ID = RayJobId("verl-16400120077-1-e2e")
NOTHING = LogEvidence()


def read(log: bytes, size: int | None = None) -> LogEvidence:
    reader = ActionsLog()
    size = size or max(1, len(log))
    for at in range(0, len(log), size):
        reader.feed(log[at : at + size])
    return reader.end()


@pytest.mark.parametrize(
    "line",
    [
        b"ascend-ci: rayjob verl-16400120077-1-e2e",
        TS + b"ascend-ci: rayjob verl-16400120077-1-e2e\r",
        b"\xef\xbb\xbf" + TS + b"ascend-ci: rayjob verl-16400120077-1-e2e",
        TS + b"\x1b[32mascend-ci: rayjob verl-16400120077-1-e2e\x1b[0m",
        TS + b'{"job_id":"verl-16400120077-1-e2e","status":"PENDING"}',
        TS + b'{"status":"PENDING", "job_id": "verl-16400120077-1-e2e"}',
        TS + b'  "job_id": "verl-16400120077-1-e2e",',
    ],
)
def test_an_id_is_read_through_timestamps_and_colours(line: bytes) -> None:
    assert read(b"before\n" + line + b"\nafter\n") == LogEvidence(job_id=ID)


@pytest.mark.parametrize(
    ("line", "final", "message"),
    [
        (b"ascend-ci: final SUCCEEDED", FinalStatus.SUCCEEDED, ""),
        (TS + b"ascend-ci: final TIMEOUT after 4 h", FinalStatus.TIMEOUT, "after 4 h"),
        (TS + b"[rayjob final] FAILED exit code 1", FinalStatus.FAILED, "exit code 1"),
        (b"\x1b[31m[rayjob final]\x1b[0m NOT_FOUND ", FinalStatus.NOT_FOUND, ""),
        (b"ascend-ci: final DELETED", FinalStatus.OTHER, ""),
    ],
)
def test_an_end_is_read_with_its_message(line: bytes, final: FinalStatus, message: str) -> None:
    assert read(line) == LogEvidence(final=final, message=message)


@pytest.mark.parametrize(
    "line",
    [
        b'echo "ascend-ci: final SUCCEEDED"',
        b" ascend-ci: final SUCCEEDED",
        b"50%\rascend-ci: final SUCCEEDED",
        b"ascend-ci: finally SUCCEEDED",
        b"ascend-ci: final",
        b"ascend-ci: final SUCCEEDED!",
        b"[rayjob status] status=SUCCEEDED",
        b"ascend-ci: rayjob",
        b"ascend-ci: rayjob two words",
        b'ascend-ci: rayjob job_id" "job_id"',
        b"ascend-ci: rayjob " + b"x" * 300,
        b'"job_id": "$JOB_ID"',
        b'"job_id": null',
        b'print({"job_id": "x"})',
        TS + b'\x1b[36;1m  "job_id": "from-the-script-source",\x1b[0m',
    ],
)
def test_a_marker_elsewhere_or_incomplete_counts_for_nothing(line: bytes) -> None:
    assert read(TS + b"x\n" + line + b"\n") == NOTHING


def test_the_first_id_and_the_last_end_win() -> None:
    log = (
        b"ascend-ci: rayjob ours\n[rayjob final] SUCCEEDED printed by the PR\n"
        b"ascend-ci: rayjob theirs\nascend-ci: final FAILED\n"
    )
    assert read(log) == LogEvidence(RayJobId("ours"), FinalStatus.FAILED, "")


def test_a_log_without_markers_says_nothing() -> None:
    assert read(b"") == NOTHING
    assert read(b"line\n" * 10_000, 4096) == NOTHING


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200))
def test_where_chunks_are_cut_changes_nothing(size: int) -> None:
    log = TS + b"ascend-ci: rayjob ours\n" + b"noise\n" * 20 + TS + b"ascend-ci: final FAILED why"
    assert read(log, size) == LogEvidence(RayJobId("ours"), FinalStatus.FAILED, "why")


def test_a_line_without_end_is_not_kept_whole() -> None:
    reader = ActionsLog()
    for _ in range(100):
        reader.feed(b"x" * 65536)
    assert len(reader._rest) <= 65536
    reader.feed(b"\nascend-ci: rayjob ours\n")
    assert reader.end().job_id == "ours"


@pytest.mark.parametrize(("broken", "found"), [(49, True), (50, False)])
def test_a_job_that_prints_markers_without_end_has_only_some_of_them_looked_at(
    broken: int, found: bool
) -> None:
    reader = ActionsLog()
    named = b"ascend-ci: rayjob !\n" * broken + b"ascend-ci: rayjob a\n"
    ended = b"ascend-ci: final FAILED\n" + b"ascend-ci: final !\n" * broken
    reader.feed(named)
    reader.feed(ended)
    said = reader.end()
    assert (said.job_id is not None, said.final is not None) == (found, found)
