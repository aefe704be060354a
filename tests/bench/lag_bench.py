"""How long the event loop stands still while it reads what an outsider made dear.

Run `python -m tests.bench.lag_bench`. It prints the longest pause of a loop that wants to run every
5 ms, once with the work on the loop and once in the sandbox. Seen on two busy cores: the policy 232
and 13 ms, the log 9,979 and 16 ms. Before expressions had a budget of steps, a policy with 200 of
`(?i)[\\pL\\pN]{1,1000}|abc` took 18 to 23 s.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from bot.adapters.clock import SystemClock
from bot.adapters.sandbox.pool import open_sandbox
from bot.core.digest.digester import Digester
from bot.core.digest.signatures import load_signatures
from bot.core.policy.loading import check_policy
from bot.ports.sandbox import Sandbox
from bot.resources import text
from bot.services.policies import PolicyChecker
from bot.services.rayjobs.digesters import DigestSpec, LogBudget, LogDigest, LogShare

_TICK_S = 0.005
_CHUNK_BYTES = 64 * 1024
_SIGNATURE = r"{name: a%d, class: unknown, match: '(?i)\pL|\pN|%s', example: abc}"
_MANY = ", ".join(_SIGNATURE % (n, r"\pL|" * 60 + "x") for n in range(190))
POLICY = f"version: 1\nrunners: {{n: {{}}}}\nlog: {{signatures: [{_MANY}]}}\n".encode()
LOG = b"".join(b"[rank%d]: RuntimeError: boom %d\n" % (n, n) for n in range(60_000))
SHIPPED = text("signatures.yml")


async def main() -> None:
    """Print the pauses."""
    async with open_sandbox() as sandbox:
        await sandbox.run("warm", len, b"")
        for name, here, away in (
            ("policy", _policy_here, _policy_away),
            ("log", _log_here, _log_away),
        ):
            for where, work in (("on the loop", here), ("in the sandbox", away)):
                pause, took = await _longest_pause(sandbox, work)
                print(f"{name} {where}: {pause * 1000:6.0f} ms of {took:.1f} s")  # noqa: T201 - a bench prints


async def _longest_pause(
    sandbox: Sandbox, work: Callable[[Sandbox], Awaitable[None]]
) -> tuple[float, float]:
    began = time.perf_counter()
    task = asyncio.ensure_future(work(sandbox))
    longest, last = 0.0, began
    while not task.done():
        await asyncio.sleep(_TICK_S)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    await task
    return longest - _TICK_S, last - began


async def _policy_here(_sandbox: Sandbox) -> None:
    check_policy(POLICY)


async def _policy_away(sandbox: Sandbox) -> None:
    await PolicyChecker(sandbox).check(POLICY, "pull")


async def _log_here(_sandbox: Sandbox) -> None:
    digester = Digester(load_signatures(SHIPPED))
    for start in range(0, len(LOG), _CHUNK_BYTES):
        digester.feed(LOG[start : start + _CHUNK_BYTES])
        await asyncio.sleep(0)
    digester.end()


async def _log_away(sandbox: Sandbox) -> None:
    log = LogDigest(
        DigestSpec(SHIPPED, "[]", (), ()), sandbox, "log", LogShare(LogBudget(), SystemClock())
    )
    for start in range(0, len(LOG), _CHUNK_BYTES):
        log.feed(LOG[start : start + _CHUNK_BYTES])
        await log.read()
    await log.digest()


if __name__ == "__main__":
    asyncio.run(main())
