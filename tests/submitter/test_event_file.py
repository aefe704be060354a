"""A job's files on a disk that fills up: nothing is torn, and the job goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.submitter.event_file import EventFile, JobFiles
from bot.submitter.watches import whole_end
from tests.submitter.conftest import full_above

LIMIT = 4096


def events_in(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_what_a_full_disk_tears_off_is_taken_back_and_no_number_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    file = EventFile(path, 10**6)
    file.log(["x" * 3000])
    with full_above(LIMIT), pytest.raises(OSError, match="too large"):
        file.log(["y" * 3000])
    with path.open("rb") as made:
        assert whole_end(made.fileno())[0] == path.stat().st_size
    file.log(["z"])
    assert [(e["seq"], str(e["line"])[0]) for e in events_in(path)] == [(1, "x"), (2, "z")]


def test_an_end_that_could_be_written_in_part_is_written_once(tmp_path: Path) -> None:
    files = JobFiles(tmp_path, 10**6)
    files.events.log(["x" * 3800])
    with full_above(LIMIT), pytest.raises(OSError, match="too large"):
        files.finish("FAILED", "exit code 1")
    for _ in range(2):
        assert files.finish("FAILED", "exit code 1")["status"] == "FAILED"
    kinds = [event["type"] for event in events_in(tmp_path / "events.ndjson")]
    assert kinds.count("final") == 1
    assert kinds[-1] == "final"


def test_log_lines_are_counted_whatever_they_hold(tmp_path: Path) -> None:
    file = EventFile(tmp_path / "e", 10**9)
    trap = json.dumps({"type": "log", "line": "x"}, separators=(",", ":"))
    texts = [trap, "a" * 300_000, "", trap * 9000]
    file.emit("status", message=trap)
    file.log(texts)
    assert file.count_logs() == len(texts)
