"""What a delivery costs until GitHub has its 202: `python -m tests.bench.ingest_bench`.

It posts signed deliveries of a push over 1, 8, 32 and 200 kept connections. It prints the rate,
and the CPU of the server's process for each delivery: of the bot, which commits the delivery to its
database on disk; of a bare handler of gidgethub, which stores nothing; and of Probot, which stores
nothing either, with `--probot FOLDER` (a folder where `npm install probot` ran). The loops of the
bot do not run: what comes after the 202 is not measured.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from gidgethub.sansio import Event

from bot.app import make_runner, open_loops, open_parts
from bot.settings import Settings
from bot.sim.auth import key_pair
from bot.telemetry import configure_logs

CONNECTIONS = (1, 8, 32, 200)
_DELIVERIES = 4000  # for each number of connections
_SECRET = "bench-secret"
_PATH = "/webhook"
_READY = "listening on "
_TICKS = os.sysconf("SC_CLK_TCK")
# A delivery of a pull request is of this size, mostly by its repositories and people.
_FILLER = "x" * 18_000
_PAYLOAD = {
    "action": "synchronize",
    "number": 7,
    "before": "a" * 40,
    "after": "b" * 40,
    "installation": {"id": 5},
    "sender": {"id": 9, "login": "ann", "type": "User"},
    "repository": {
        "id": 3,
        "name": "project",
        "owner": {"login": "octo"},
        "default_branch": "main",
    },
    "pull_request": {
        "number": 7,
        "title": "A change",
        "body": _FILLER,
        "state": "open",
        "draft": False,
        "merged": False,
        "user": {"id": 9, "login": "ann", "type": "User"},
        "head": {"ref": "topic", "sha": "b" * 40, "repo": {"id": 3}},
        "base": {"ref": "main", "sha": "c" * 40, "repo": {"id": 3}},
        "updated_at": "2026-01-01T00:00:00Z",
        "changed_files": 1,
        "labels": [],
    },
}
_PROBOT = """
const { createNodeMiddleware, createProbot } = require("probot");
const probot = createProbot({ overrides: {
  appId: 1, privateKey: process.env.KEY, secret: process.env.SECRET, logLevel: "fatal" } });
createNodeMiddleware((app) => app.onAny(() => {}), { probot, webhooksPath: "/webhook" }).then?.(
  (handler) => serve(handler));
const serve = (handler) => require("http").createServer(handler).listen(0, "127.0.0.1",
  function () { console.log("listening on " + this.address().port); });
"""


async def main(probot: Path | None, deliveries: int) -> None:
    """Print a table."""
    servers = {
        "bot": [sys.executable, "-m", __spec__.name, "--serve", "bot"],
        "gidgethub": [sys.executable, "-m", __spec__.name, "--serve", "gidgethub"],
    }
    if probot:
        servers["probot"] = ["node", "-e", _PROBOT]
    _write(f"{'':10}" + "".join(f"{count:>20}" for count in CONNECTIONS))
    for name, command in servers.items():
        cells = []
        async with _server(command, probot) as (pid, port):
            await _load(port, 8, deliveries // 4)  # warm
            for connections in CONNECTIONS:
                before, began = _cpu_s(pid), time.perf_counter()
                await _load(port, connections, deliveries)
                took, cpu = time.perf_counter() - began, _cpu_s(pid) - before
                cells.append(f"{cpu / deliveries * 1000:.2f} ms, {deliveries / took:,.0f}/s")
        _write(f"{name:10}" + "".join(f"{cell:>20}" for cell in cells))


@asynccontextmanager
async def _server(command: list[str], folder: Path | None) -> AsyncIterator[tuple[int, int]]:
    """Start a server; yield its process and its port."""
    private, _ = key_pair()
    more = {"SECRET": _SECRET, "KEY": private}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **more},
        cwd=folder if command[0] == "node" else None,
    )
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        if not line.startswith(_READY):
            raise RuntimeError(f"the server does not start: {line}")
        yield process.pid, int(line.removeprefix(_READY))
    finally:
        process.terminate()
        await process.wait()


def _cpu_s(pid: int) -> float:
    """Return the CPU that a process has used, in it and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def _load(port: int, connections: int, deliveries: int) -> None:
    """Deliver over so many connections, each one delivery after the other."""
    share, rest = divmod(deliveries, connections)
    await asyncio.gather(*(_deliver(port, share + (n < rest)) for n in range(connections)))


async def _deliver(port: int, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(_request(port))
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        length = next(
            int(line.partition(b":")[2])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        body = await reader.readexactly(length)
        if status not in {b"200", b"202"}:
            raise RuntimeError(f"{head!r} {body!r}")
    writer.close()
    await writer.wait_closed()


_body = json.dumps(_PAYLOAD).encode()
_signature = hmac.new(_SECRET.encode(), _body, hashlib.sha256).hexdigest()


def _request(port: int) -> bytes:
    head = (
        f"POST {_PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"X-GitHub-Event: pull_request\r\nX-GitHub-Delivery: {os.urandom(16).hex()}\r\n"
        f"X-Hub-Signature-256: sha256={_signature}\r\nContent-Length: {len(_body)}\r\n\r\n"
    )
    return head.encode() + _body


async def _serve_bot() -> None:
    configure_logs("WARNING", "json")
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            github_app_id=1,
            github_private_key=os.environ["KEY"],
            github_webhook_secret=_SECRET,
            database_url=f"sqlite:///{folder}/bench.db",
            data_dir=Path(folder),
        )
        async with open_parts(settings) as parts, open_loops(parts) as loops:
            await _listen(make_runner(parts, loops))


async def _serve_gidgethub() -> None:
    async def hook(request: web.Request) -> web.Response:
        event = Event.from_http(request.headers, await request.read(), secret=_SECRET)
        return web.json_response({"event": event.event}, status=202)

    app = web.Application(client_max_size=1 << 25)
    app.router.add_post(_PATH, hook)
    await _listen(web.AppRunner(app))


async def _listen(runner: web.AppRunner) -> None:
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    _write(f"{_READY}{runner.addresses[0][1]}")
    await asyncio.Event().wait()


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probot", type=Path, help="a folder where `npm install probot` ran")
    parser.add_argument("--deliveries", type=int, default=_DELIVERIES)
    parser.add_argument("--serve", choices=("bot", "gidgethub"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(_serve_bot() if given.serve == "bot" else _serve_gidgethub())
    else:
        asyncio.run(main(given.probot, given.deliveries))
