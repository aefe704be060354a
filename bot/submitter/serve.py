"""Run the service as a process: listen, print the address, and stop cleanly on SIGTERM."""

import asyncio
import ipaddress
import signal
from collections.abc import Callable

from aiohttp import web

from bot.door import GuardedRunner

CLOSE_S = 10.0  # the time for open answers at the end


async def serve(app: web.Application, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `port` 0 means a free port; `say` gets the address."""
    runner = GuardedRunner(app, shutdown_timeout=CLOSE_S)
    await runner.setup()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        await web.TCPSite(runner, host, port).start()
        shown = f"[{host}]" if ":" in host else host
        say(f"listening on http://{shown}:{runner.addresses[0][1]}")
        await stopping.wait()
    finally:
        await runner.cleanup()


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach a host name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
