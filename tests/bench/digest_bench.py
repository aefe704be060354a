"""How fast a log is read, on one core: raw, as NDJSON from a socket, and `grep -E` beside it.

Run `python -m tests.bench.digest_bench [MEGABYTES]`. Budgets (DESIGN 15): raw 200 MB/s, NDJSON
60 MB/s, 32 MiB of memory.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from bot.core.digest import Digester, Signatures, load_signatures
from bot.core.rayjob import LogLine, StreamDecoder
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
    rate = _best(lambda: _raw(signatures, raw), len(raw))
    print(f"raw     {len(raw) / 1e6:6.0f} MB, {len(printed)} lines: {rate:6.0f} MB/s")  # noqa: T201 - a bench prints
    rate_events = _best(lambda: _ndjson(signatures, events), len(events))
    print(f"NDJSON  {len(events) / 1e6:6.0f} MB: {rate_events:6.0f} MB/s")  # noqa: T201 - a bench prints
    rate_grep = _grep(signatures, raw)
    print(f"grep -E of the same signatures: {rate_grep:6.0f} MB/s, ratio {rate / rate_grep:.2f}")  # noqa: T201 - a bench prints
    print(f"memory besides the input: {_memory(signatures, raw) / 2**20:.1f} MiB")  # noqa: T201 - a bench prints


def _chunks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]


def _raw(signatures: Signatures, raw: bytes) -> None:
    digester = Digester(signatures, repo_roots=["/verl"])
    for chunk in _chunks(raw):
        digester.feed(chunk)
    assert digester.end().class_ == "oom_device"


def _ndjson(signatures: Signatures, events: bytes) -> None:
    digester, decoder = Digester(signatures, repo_roots=["/verl"]), StreamDecoder()
    for chunk in _chunks(events):
        found = decoder.feed(chunk)
        said = [event.line for event in found if isinstance(event, LogLine)]
        digester.feed(("\n".join(said) + "\n").encode() if said else b"")
    assert digester.end().class_ == "oom_device"


def _best(work: Callable[[], None], size: int) -> float:
    """Return the best of three runs in MB/s of processor time."""
    took = []
    for _ in range(3):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return size / min(took) / 1e6


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
