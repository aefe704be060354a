"""A log is read in pieces elsewhere, and comes out as if it were read at once."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar, TypeVarTuple

import pytest

from bot import resources
from bot.adapters.clock import SystemClock
from bot.adapters.sandbox.pool import CallLimits, open_sandbox
from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest, Unread
from bot.core.digest.signatures import load_signatures
from bot.core.policy.models import Log, Signature
from bot.core.secrets.redaction import Redactor
from bot.ports.clock import Clock
from bot.ports.sandbox import Done, Sandbox, Stopped, StoppedBy
from bot.services.rayjobs.digesters import CHEAP_BYTES, PIECE_BYTES, Digesters, LogBudget, LogDigest
from tests.bench.training_log import lines
from tests.services.scripted_sandbox import ScriptedSandbox
from tests.store.building import NOW, run

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SHIPPED = resources.text("signatures.yml")
FAILED = b"RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB\n"
HEALTHY = "\n".join(lines(3 * PIECE_BYTES)).encode() + b"\n"


def digest_of(
    sandbox: Sandbox,
    budget: LogBudget | None = None,
    log: Log | None = None,
    clock: Clock | None = None,
) -> LogDigest:
    item = run("unit")
    item = replace(item, snapshot=replace(item.snapshot, log=log or item.snapshot.log))
    return Digesters(SHIPPED, sandbox, clock or SystemClock(), budget).of(item)


async def fed(log: LogDigest, text: bytes, chunk: int = 10_000) -> Digest:
    for start in range(0, len(text), chunk):
        log.feed(text[start : start + chunk])
        await log.read()
    return await log.digest()


async def test_a_log_in_pieces_gives_the_digest_of_the_whole_even_if_a_worker_is_killed() -> None:
    at_once = Digester(load_signatures(SHIPPED), redactor=Redactor())
    at_once.feed(HEALTHY)
    async with open_sandbox(CallLimits(processes=1)) as sandbox:
        log = digest_of(sandbox)
        await fed(log, HEALTHY[: 2 * PIECE_BYTES])
        assert await sandbox.run("another log", os.kill, 0, 9) == Stopped(StoppedBy.DIED)
        found = await fed(log, HEALTHY[2 * PIECE_BYTES :])
    assert found == at_once.end().bounded()
    assert found.failure_class == "oom_device"
    assert log.progress == at_once.progress


async def test_a_short_log_is_read_at_once_and_one_with_signatures_of_a_policy_is_not() -> None:
    sandbox = ScriptedSandbox()
    log = digest_of(sandbox)
    log.feed(b"step:3 - actor/loss:0.5\n")
    assert log.progress is not None
    assert log.progress.step == 3
    assert (await fed(log, FAILED)).failure_class == "oom_device"
    assert sandbox.calls == []
    own = Signature.model_validate(
        {"name": "own", "class": "disk", "match": "quota", "example": "quota"}
    )
    found = await fed(digest_of(sandbox, log=Log(signatures=(own,))), b"over quota\n")
    assert found.failure_class == "disk"
    assert [name for _, name in sandbox.calls] == ["_read", "_conclude"]


@pytest.mark.parametrize(
    ("end", "unread"),
    [(9.0, Unread.TIME), (StoppedBy.TIME, Unread.TIME), (StoppedBy.DIED, Unread.DIED)],
)
async def test_a_log_that_costs_too_much_keeps_what_was_found(
    end: StoppedBy | float, unread: Unread
) -> None:
    first = FAILED + b"x\n" * (PIECE_BYTES // 2)
    sandbox = ScriptedSandbox(0.1, end)
    log = digest_of(sandbox, LogBudget(cpu_s=5.0))
    found = await fed(log, first + b"ValueError: later\n" * PIECE_BYTES)
    assert (found.unread, found.failure_class) == (unread, "oom_device")
    assert found.bytes == len(first) + 18 * PIECE_BYTES
    assert found.lines < PIECE_BYTES
    assert [name for _, name in sandbox.calls] == ["_read", "_read", "_conclude"]


async def test_a_log_is_read_up_to_its_largest_size() -> None:
    log = digest_of(ScriptedSandbox(), LogBudget(bytes=2 * CHEAP_BYTES))
    found = await fed(log, FAILED + b"x\n" * 2 * CHEAP_BYTES, chunk=CHEAP_BYTES)
    assert (found.unread, found.failure_class) == (Unread.SIZE, "oom_device")


async def test_a_digest_that_can_not_be_made_says_why() -> None:
    found = await fed(digest_of(ScriptedSandbox(StoppedBy.DIED, StoppedBy.DIED)), HEALTHY)
    assert found == Digest(unread=Unread.DIED, bytes=len(HEALTHY))


async def test_a_slow_log_is_read_in_small_pieces_and_a_quick_one_in_large_ones() -> None:
    sandbox = ScriptedSandbox(0.01, 0.4)
    await fed(digest_of(sandbox), b"x" * PIECE_BYTES * 4)
    assert [name for _, name in sandbox.calls] == ["_read"] * 3 + ["_conclude"]


class NamingClock:
    """A clock that passes while somebody sleeps, and knows who did."""

    def __init__(self) -> None:
        self.time = NOW
        self.slept: Counter[str] = Counter()

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.slept[task.get_name()] += 1
        self.time += timedelta(seconds=seconds)
        await asyncio.sleep(0)


class PricedSandbox(ScriptedSandbox):
    """A dear piece takes 0.4 s, the most that we know of, and another 0.01 s."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.minutes: Counter[datetime] = Counter()  # hundredths of a second of each

    async def run(self, owner: str, work: Callable[[*Ts], T], *args: *Ts) -> Done[T] | Stopped:
        await asyncio.sleep(0)
        dear = any(isinstance(arg, tuple) and b"dear" in b"".join(arg) for arg in args)
        price = 40 if dear else 1
        self.minutes[self._clock.now()] += price
        self._ends = [price / 100]
        return await super().run(owner, work, *args)


async def test_many_dear_logs_at_once_take_no_time_from_an_honest_one() -> None:
    clock = NamingClock()
    sandbox = PricedSandbox(clock)
    digesters = Digesters(SHIPPED, sandbox, clock)
    flooding = []
    for _ in range(40):
        log = digesters.of(run("dear"))
        log.feed(FAILED + b"dear\n" * (15 * PIECE_BYTES // 5))
        flooding.append(asyncio.create_task(log.digest(), name="dear"))
    reading = fed(digesters.of(run("honest")), HEALTHY)
    honest = await asyncio.create_task(reading, name="honest")
    assert (honest.unread, honest.failure_class) == (None, "oom_device")
    cut = await asyncio.gather(*flooding)
    assert set(clock.slept) == {"dear"}
    assert Unread.BUSY in {one.unread for one in cut}
    assert {one.failure_class for one in cut} == {"oom_device"}
    budget = LogBudget()
    most = budget.all_cpu_s + 41 * (budget.own_cpu_s + 0.4)
    assert max(sandbox.minutes.values()) / 100 <= most
