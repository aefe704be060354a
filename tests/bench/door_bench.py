"""What strangers get of a service's webhook: memory, connections, and its log.

    python -m tests.bench.door_bench [POSTS]

It prints the growth of the service's resident memory, at its peak and when the bodies are gone,
after each of three rounds of 20 unsigned bodies of 25 MB at once. The budget of the peak is 80 MB:
the door's 64 MB for all bodies, and what reading takes. Then: how long half a request is kept
(budget 11 s), whether a newcomer is answered while strangers hold more connections than the service
has descriptors, and how much it logs for 100,000 unsigned posts (1 MB).
"""

import asyncio
import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.adapters.clock import SystemClock
from bot.door import DOOR, Door, DoorLimits, GuardedRunner
from bot.telemetry import Metrics, configure_logs, get_log
from bot.web.hooks import Hooks

BODIES, BODY_BYTES, ROUNDS = 20, 25 * 1024 * 1024, 3
BUDGET_MB = 80
HALF_OPEN, HALF_OPEN_S = 50, 11.0
DESCRIPTORS = 128
POSTS, POSTERS, LOG_BYTES = 100_000, 20, 1_000_000
UNSIGNED = b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
PIECE = b"x" * 256 * 1024
HEAD = (
    "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    f"X-Hub-Signature-256: sha256={'0' * 64}\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
).encode()


async def serve() -> None:
    """Serve the webhook, print the port, and end with standard input."""
    configure_logs("INFO", "json")
    if few := int(os.environ.get("DESCRIPTORS", "0")):
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))
    unused: Any = None  # nothing unsigned is stored
    door = Door(DoorLimits(500, of_a_peer=500), get_log("door").warning)
    app = web.Application(middlewares=[door.middleware])
    app[DOOR] = door
    hooks = Hooks(unused, (b"secret",), 1, SystemClock(), Metrics())
    app.add_routes([web.post("/webhook", hooks.post)])
    runner = GuardedRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


async def post(port: int) -> str:
    """Post a body; return the status, or how it ended without one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(HEAD)
        for _ in range(BODY_BYTES // len(PIECE)):
            writer.write(PIECE)
            await writer.drain()
        return (await reader.readline()).decode()[9:12] or "closed"
    except ConnectionError:
        return "closed"
    finally:
        writer.close()


def rss_mb(pid: int, name: str = "VmRSS") -> float:
    """Return the resident memory of a process, or its peak (`VmHWM`)."""
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


@asynccontextmanager
async def service(folder: Path, **env: str) -> AsyncIterator[tuple[int, int]]:
    """Start the service; yield its process and its port. Its log is `folder/log`."""
    with (folder / "log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __spec__.name, "serve"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env={**os.environ, **env},
        )
        assert child.stdout is not None
        port = ""
        while not port.strip().isdigit():
            port = (await child.stdout.readline()).decode()
        copied = asyncio.ensure_future(_copy(child.stdout, folder / "more"))
        yield child.pid, int(port)
        assert child.stdin is not None
        child.stdin.close()
        await copied
        await child.wait()


async def _copy(output: asyncio.StreamReader, path: Path) -> None:
    with path.open("wb") as file:
        while piece := await output.read(1 << 16):
            file.write(piece)


async def growth(folder: Path) -> float:
    """Return the growth at the peak of three rounds."""
    async with service(folder) as (pid, port):
        before = rss_mb(pid)
        for _ in range(ROUNDS):
            ends = await asyncio.gather(*(post(port) for _ in range(BODIES)))
            after, peak = rss_mb(pid), rss_mb(pid, "VmHWM")
            told = ", ".join(f"{ends.count(end)} {end}" for end in sorted(set(ends)))
            _write(f"peak +{peak - before:.0f} MB, then +{after - before:.0f} MB: {told}")
    return peak - before


async def half_open(folder: Path) -> float:
    """Return how long the last of half requests is kept, in seconds."""
    async with service(folder) as (_, port):
        began = time.monotonic()
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(HALF_OPEN)]
        for _, writer in opened:
            writer.write(HEAD[:40])
        await asyncio.gather(*(reader.read() for reader, _ in opened))
        took = time.monotonic() - began
        for _, writer in opened:
            writer.close()
    _write(f"{HALF_OPEN} half requests are gone after {took:.1f} s")
    return took


async def crowded(folder: Path) -> bool:
    """Return True if a newcomer is answered while connections take all descriptors."""
    async with service(folder, DESCRIPTORS=str(DESCRIPTORS)) as (_, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2 * DESCRIPTORS)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(UNSIGNED)
        async with asyncio.timeout(HALF_OPEN_S):
            status = (await reader.readline()).decode()[9:12]
        for _, each in (*held, (reader, writer)):
            each.close()
    lines = sum((folder / name).read_bytes().count(b"\n") for name in ("log", "more"))
    _write(f"{len(held)} connections, {DESCRIPTORS} descriptors: {status}, {lines} lines of log")
    return status == "401"


async def logged(folder: Path, posts: int) -> int:
    """Return how many bytes are logged for so many unsigned posts."""
    async with service(folder) as (_, port):
        await asyncio.gather(*(_posts(port, posts // POSTERS) for _ in range(POSTERS)))
    size = sum((folder / name).stat().st_size for name in ("log", "more"))
    _write(f"{posts} unsigned posts: {size} bytes of log")
    return size


async def _posts(port: int, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(UNSIGNED)
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"(?i)content-length: (\d+)", head)
        assert head[9:12] == b"401", head
        assert found is not None
        await reader.readexactly(int(found[1]))
    writer.close()


async def measure(posts: int) -> bool:
    """Print all figures; return True if none is beyond its budget."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return all(
            [
                await growth(folder) <= BUDGET_MB,
                await half_open(folder) <= HALF_OPEN_S,
                await crowded(folder),
                await logged(folder, posts) <= LOG_BYTES,
            ]
        )


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Measure; return 1 beyond a budget."""
    posts = int(sys.argv[1]) if len(sys.argv) > 1 else POSTS
    return int(not asyncio.run(measure(posts)))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        sys.exit(main())
