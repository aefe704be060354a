"""How fast a log is read, on one core: raw, as NDJSON from a socket, and `grep -E` beside it.

Run `python -m tests.bench.digest_bench [MEGABYTES]`; each rate is the median of three runs, in
processor time of this process. The socket's other end is another process. Budgets:
raw 200 MB/s (100 without its secrets), NDJSON 60 MB/s, 32 MiB of memory.
"""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.adapters.rayjobs import open_rayjobs
from bot.core.digest.digester import Digester
from bot.core.digest.signatures import Signatures, load_signatures
from bot.core.rayjob.events import LogLine
from bot.core.rayjob.resume import Resume
from bot.core.rayjob.stream import StreamDecoder
from bot.core.secrets.redaction import RedactingStream, Redactor
from bot.resources import text
from tests.bench.training_log import lines

CHUNK_BYTES = 64 * 1024  # what a socket hands over at once
_POSIX = (
    (r"\(\?i:", "("), (r"\(\?i\)", ""), (r"\(\?:", "("), (r"\(\?m\)", ""), (r"\\d", "[0-9]"),
    (r"(?<=[*+}?])\?", ""),
)  # fmt: skip


def main(megabytes: int = 64) -> None:
    """Print the rates."""
    signatures = load_signatures(text("signatures.yml"))
    printed = list(lines(megabytes * 1_000_000))
    raw = ("\n".join(printed) + "\n").encode()
    events = b"".join(
        json.dumps({"type": "log", "line": line, "seq": i}, ensure_ascii=False).encode() + b"\n"
        for i, line in enumerate(printed, 1)
    )
    rate = _median(lambda: _raw(signatures, raw), len(raw))
    print(f"raw     {len(raw) / 1e6:6.0f} MB, {len(printed)} lines: {rate:6.0f} MB/s")  # noqa: T201 - a bench prints
    rate_shown = _median(lambda: _raw(signatures, raw, Redactor()), len(raw))
    print(f"raw, without its secrets: {rate_shown:6.0f} MB/s")  # noqa: T201 - a bench prints
    rate_redacted = _median(lambda: _redacted(raw), len(raw))
    print(f"secrets taken out, no digest: {rate_redacted:6.0f} MB/s")  # noqa: T201 - a bench prints
    leaky = b"export HF_TOKEN=abcdef123 x=y\n" * 20_000
    rate_leaky = _median(lambda: _redacted(leaky), len(leaky))
    print(f"the same with a secret in each line: {rate_leaky:6.1f} MB/s")  # noqa: T201 - a bench prints
    rate_memory = _median(lambda: _ndjson(signatures, events), len(events))
    print(f"NDJSON in memory {len(events) / 1e6:6.0f} MB: {rate_memory:6.0f} MB/s")  # noqa: T201 - a bench prints
    with _served(events) as url:
        rate_socket = _median(lambda: asyncio.run(_watched(signatures, url)), len(events))
    print(f"NDJSON from the socket, through the client: {rate_socket:6.0f} MB/s")  # noqa: T201 - a bench prints
    rate_grep = _grep(signatures, raw)
    print(f"grep -E of the same signatures: {rate_grep:6.0f} MB/s, ratio {rate / rate_grep:.2f}")  # noqa: T201 - a bench prints
    print(f"memory besides the input: {_memory(signatures, raw) / 2**20:.1f} MiB")  # noqa: T201 - a bench prints


def _chunks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]


def _redacted(raw: bytes) -> None:
    stream = RedactingStream(Redactor())
    for chunk in _chunks(raw):
        stream.feed(chunk)
    stream.end()


def _raw(signatures: Signatures, raw: bytes, redactor: Redactor | None = None) -> None:
    digester = Digester(signatures, repo_roots=["/verl"], redactor=redactor)
    for chunk in _chunks(raw):
        digester.feed(chunk)
    assert digester.end().failure_class == "oom_device"


def _ndjson(signatures: Signatures, events: bytes) -> None:
    digester, decoder = Digester(signatures, repo_roots=["/verl"]), StreamDecoder()
    for chunk in _chunks(events):
        found = decoder.feed(chunk)
        said = [event.line for event in found if isinstance(event, LogLine)]
        digester.feed(("\n".join(said) + "\n").encode() if said else b"")
    assert digester.end().failure_class == "oom_device"


async def _watched(signatures: Signatures, url: str) -> None:
    """Read the stream as the follower does: client, decoder, resume, digest."""
    digester, decoder, resume = (
        Digester(signatures, repo_roots=["/verl"]),
        StreamDecoder(),
        Resume(),
    )
    resume.connected()
    async with open_rayjobs(url) as client:
        async for chunk in client.watch("job"):
            found = resume.take(decoder.feed(chunk))
            said = [event.line for event in found if isinstance(event, LogLine)]
            digester.feed(("\n".join(said) + "\n").encode() if said else b"")
    assert digester.end().failure_class == "oom_device"


_SERVER = """
import http.server, sys
body = open(sys.argv[1], "rb").read()
class Watch(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Watch)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def _served(events: bytes) -> Iterator[str]:
    """Serve the stream from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events")
        path.write_bytes(events)
        command = [sys.executable, "-c", _SERVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
            server.kill()


def _median(work: Callable[[], None], size: int) -> float:
    """Return the median of three runs in MB/s of processor time."""
    took = []
    for _ in range(3):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return size / statistics.median(took) / 1e6


def _grep(signatures: Signatures, raw: bytes) -> float:
    patterns = [_posix(s.match) for s in signatures.all if s.match]
    with tempfile.TemporaryDirectory() as folder:
        log, list_ = Path(folder, "log"), Path(folder, "patterns")
        log.write_bytes(raw)
        list_.write_text("\n".join(patterns) + "\n")
        command = ["grep", "-c", "-E", "-f", str(list_), str(log)]
        start = time.perf_counter()
        subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, stdout=-3, check=False)
        return len(raw) / (time.perf_counter() - start) / 1e6


def _posix(pattern: str) -> str:
    """Translate an RE2 pattern as far as `grep -E` understands it."""
    for old, new in _POSIX:
        pattern = re.sub(old, new, pattern)
    return pattern


def _memory(signatures: Signatures, raw: bytes) -> int:
    tracemalloc.start()
    _raw(signatures, raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
