"""How much faster `ascend-ci submit` follows a job than the shell helper that it replaces.

Run `python -m tests.bench.submit_bench [LINES [HEREDOC_LINES]]`. One local server streams the log
of a job as NDJSON over HTTP, chunked. The helper follows LINES (100,000) of it; the shell helper
(`heredoc_helper.sh`, two `jq` a line) the first HEREDOC_LINES (200) of the same, as it is slow.
Each figure is the median of three whole runs by the clock, process start and submission included,
and counts only if every line was printed. Exit code 1 when the ratio is below the 200 that are
wanted, 2 when `bash`, `curl` or `jq` is missing.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from tests.bench.training_log import lines

LINES = 100_000
HEREDOC_LINES = 200  # some seconds at two processes a line
RUNS = 3
WANTED_RATIO = 200
NEEDED = ("bash", "curl", "jq")
HELPER = (sys.executable, "-I", str(Path(__file__).parents[2] / "bot" / "submit.py"))
HEREDOC = ("bash", str(Path(__file__).with_name("heredoc_helper.sh")))

# A job streams as many lines as its first argument says; the chunks are those of a socket.
_SERVER = """
import http.server, json, sys
EVENTS = open(sys.argv[1], "rb").readlines()
FINAL = b'{"type": "final", "status": "SUCCEEDED", "message": ""}\\n'
class Submitter(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, said):
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer({"job_id": f"job-{body['args'][0]}"})
    def do_GET(self):
        if "/watch" not in self.path:
            return self.answer({"jobs": []})
        count = int(self.path.split("/watch")[0].rpartition("-")[2])
        body = b"".join(EVENTS[:count]) + FINAL
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 65536):
            part = body[start : start + 65536]
            self.wfile.write(b"%x\\r\\n%b\\r\\n" % (len(part), part))
        self.wfile.write(b"0\\r\\n\\r\\n")
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Submitter)
print(server.server_port, flush=True)
server.serve_forever()
"""


def main(count: int = LINES, heredoc_count: int = HEREDOC_LINES) -> int:
    """Print both rates and their ratio; answer the exit code."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        _say(f"not measured: {', '.join(missing)} not found")
        return 2
    log = list(islice(lines(sys.maxsize), count))
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder), log) as url:
        helper = _rate("ascend-ci submit", url, Path(folder), log)
        heredoc = _rate("heredoc, curl and jq", url, Path(folder), log[:heredoc_count])
    ratio = helper / heredoc
    _say(f"ratio: {ratio:,.0f} (wanted: {WANTED_RATIO})")
    return 0 if ratio >= WANTED_RATIO else 1


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def _served(folder: Path, log: list[str]) -> Iterator[str]:
    """Serve the log from a process of its own."""
    events = (json.dumps({"type": "log", "line": line, "seq": i}) for i, line in enumerate(log, 1))
    path = folder / "events.ndjson"
    path.write_text("".join(f"{event}\n" for event in events))
    command = [sys.executable, "-c", _SERVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.kill()


def _rate(name: str, url: str, folder: Path, log: list[str]) -> float:
    """Return the lines a second of one helper: the median of three runs."""
    command, environ = _command(name, url, folder, len(log))
    times = []
    for _ in range(RUNS):
        printed = folder / "printed"
        with printed.open("wb") as out:
            start = time.perf_counter()
            subprocess.run(command, env=environ, stdout=out, check=True)
            times.append(time.perf_counter() - start)
        told = set(printed.read_text().splitlines())
        assert told.issuperset(log), f"{name} left lines out"
    took = statistics.median(times)
    rate = len(log) / took
    _say(f"{name}: {len(log):,} lines in {took:.2f} s, {rate:,.0f} lines/s")
    return rate


def _command(name: str, url: str, folder: Path, count: int) -> tuple[list[str], dict[str, str]]:
    """Return a helper's command and its environment: the same job for both."""
    body = folder / "body.json"
    body.write_text(json.dumps({"repository": "octo/verl", "args": [str(count)]}))
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "SUBMITTER_URL": url}
    if name.startswith("heredoc"):
        return [*HEREDOC, str(body)], environ
    inputs = {
        "GITHUB_REPOSITORY": "octo/verl",
        "GITHUB_SHA": "a" * 40,
        "GITHUB_RUN_ID": "77",
        "GITHUB_RUN_ATTEMPT": "1",
        "ASCEND_CI_SCRIPT": "run.sh",
        "ASCEND_CI_ARGS": json.dumps([str(count)]),
    }
    return [*HELPER], {**environ, **inputs}


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
