"""Deleting a run attempt's RayJobs at the submitter, and believing only its answer."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.templates.job import SubmitJob


@dataclass
class Submitter:
    """Answers each call with the next of `codes`, then with the last; keeps what it was asked."""

    codes: list[int]
    url: str = ""
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)


@pytest.fixture
def submitter() -> Iterator[Submitter]:
    state = Submitter([200])

    class Handler(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:
            state.asked.append((self.command, self.path, self.headers["Authorization"]))
            code = state.codes.pop(0) if len(state.codes) > 1 else state.codes[0]
            self.send_response(code)
            self.end_headers()
            if code != 204:
                self.wfile.write(b'{"said": "so"}')

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def job(tmp_path: Path) -> SubmitJob:
    return SubmitJob(tmp_path, attempt="3").check_out()


def test_the_jobs_of_this_attempt_alone_are_deleted(job: SubmitJob, submitter: Submitter) -> None:
    done = job.command("stop", SUBMITTER_URL=f"{submitter.url}/", SUBMITTER_TOKEN="t0ken")
    assert done.returncode == 0
    assert submitter.asked == [("DELETE", "/api/v1/workflows/77?attempt=3", "Bearer t0ken")]
    assert "t0ken" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("codes", "ends"),
    [([202], 0), ([204], 0), ([404], 0), ([503, 500, 200], 0), ([400], 1), ([403], 1), ([500], 1)],
)
def test_only_a_confirmed_deletion_passes(
    job: SubmitJob, submitter: Submitter, codes: list[int], ends: int
) -> None:
    submitter.codes[:] = codes
    more = {"SUBMITTER_URL": submitter.url, "ASCEND_CI_RETRY_SECONDS": "1"}
    done = job.command("stop", **more)
    assert done.returncode == ends
    assert ("may run on" in done.stderr) == bool(ends)


def test_a_submitter_out_of_reach_is_no_deletion(job: SubmitJob) -> None:
    more = {"SUBMITTER_URL": "http://127.0.0.1:9", "ASCEND_CI_RETRY_SECONDS": "0"}
    assert "may run on" in job.command("stop", **more).stderr


def test_a_missing_address_is_named(job: SubmitJob) -> None:
    done = job.command("stop")
    assert (done.returncode, done.stderr) == (1, "ascend-ci: SUBMITTER_URL is missing\n")
