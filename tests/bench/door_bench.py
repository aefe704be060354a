"""What memory strangers get: 20 unsigned bodies of 25 MB at once, against a service's webhook.

    python -m tests.bench.door_bench

It prints the growth of the service's resident memory, at its peak and when the bodies are gone,
after each of three rounds. The budget of the peak is 80 MB: the door's 64 MB for all bodies, and
what reading takes.
"""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.adapters.clock import SystemClock
from bot.door import DOOR, Door, DoorLimits, GuardedRunner
from bot.telemetry import Metrics
from bot.web.hooks import Hooks

BODIES, BODY_BYTES, ROUNDS = 20, 25 * 1024 * 1024, 3
BUDGET_MB = 80
PIECE = b"x" * 256 * 1024
HEAD = (
    "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    f"X-Hub-Signature-256: sha256={'0' * 64}\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
).encode()


async def serve() -> None:
    """Serve the webhook, print the port, and end with standard input."""
    unused: Any = None  # nothing unsigned is stored
    door = Door(DoorLimits(500, of_a_peer=500), lambda *_args, **_more: None)
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


async def growth() -> float:
    """Return the growth at the peak of three rounds."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __spec__.name, "serve"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    port = int(await child.stdout.readline())
    before = rss_mb(child.pid)
    for _ in range(ROUNDS):
        ends = await asyncio.gather(*(post(port) for _ in range(BODIES)))
        after, peak = rss_mb(child.pid), rss_mb(child.pid, "VmHWM")
        told = ", ".join(f"{ends.count(end)} {end}" for end in sorted(set(ends)))
        text = f"peak +{peak - before:.0f} MB, then +{after - before:.0f} MB: {told}"
        sys.stdout.write(f"{text}\n")
    await child.communicate()
    return peak - before


def main() -> int:
    """Measure; return 1 beyond the budget."""
    return int(asyncio.run(growth()) > BUDGET_MB)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        sys.exit(main())
