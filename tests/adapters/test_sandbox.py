"""Work in other processes: limits that hold, deaths that lose nothing, and turns that are fair."""

import asyncio
import operator
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest

from bot.adapters.sandbox.pool import CallLimits, WorkerProcesses, open_sandbox
from bot.adapters.sandbox.worker import SHARED_BYTES
from bot.core.model.ids import short
from bot.core.policy.loading import Checked, check_policy
from bot.core.policy.models import Policy
from bot.ports.sandbox import Done, Stopped, StoppedBy
from tests.adapters.dying import die_once, shrink_shared_memory, stand_still

POLICY = b"version: 1\nrunners: {npu: {npus: 8}}\n"


@asynccontextmanager
async def one_process() -> AsyncIterator[WorkerProcesses]:
    async with open_sandbox(CallLimits(processes=1, cpu_s=0.5)) as sandbox:
        yield sandbox


async def value(sandbox: WorkerProcesses, *call: object) -> object:
    answer: object = await sandbox.run("owner", *call)  # type: ignore[arg-type]
    assert isinstance(answer, Done), answer
    return answer.value


async def test_limits_hold_and_the_next_call_is_served(tmp_path: Path) -> None:
    async with one_process() as sandbox:
        checked = await value(sandbox, check_policy, POLICY)
        assert isinstance(checked, Checked)
        assert isinstance(checked.result, Policy)
        first = await value(sandbox, os.getpid)
        assert first != os.getpid()
        hostile = await sandbox.run("log", re.match, "(a*)*b", "a" * 40)  # for hours
        assert hostile == Stopped(StoppedBy.TIME)
        assert await sandbox.run("log", bytes, 1 << 34) == Stopped(StoppedBy.MEMORY)
        with pytest.raises(RuntimeError, match="invalid literal"):
            await sandbox.run("log", int, "x")
        assert await value(sandbox, os.getpid) == first  # none of this cost a process
        assert await value(sandbox, die_once, str(tmp_path / "died")) == "done"
        assert await value(sandbox, os.getpid) != first
        assert await sandbox.run("log", os.kill, 0, 9) == Stopped(StoppedBy.DIED)
        assert await value(sandbox, len, "abc") == 3


async def test_bytes_beyond_the_shared_memory_come_whole() -> None:
    text = os.urandom(SHARED_BYTES * 3 // 4)
    async with one_process() as sandbox:
        assert await value(sandbox, operator.eq, text, bytes(bytearray(text))) is True
        assert await value(sandbox, operator.eq, text, text[:-1] + b"xx") is False


async def test_a_worker_can_not_take_the_shared_memory_away() -> None:
    async with one_process() as sandbox:
        with pytest.raises(RuntimeError, match="not permitted"):
            await sandbox.run("log", shrink_shared_memory)
        assert await value(sandbox, len, bytes(10_000)) == 10_000


async def test_c_code_that_never_ends_is_ended_with_its_process() -> None:
    async with one_process() as sandbox:
        assert await sandbox.run("log", pow, 7, 10**9) == Stopped(StoppedBy.TIME)
        assert await value(sandbox, len, "abc") == 3


async def test_a_worker_knows_no_secret_and_its_results_can_call_nothing_here() -> None:
    async with one_process() as sandbox:
        names = await value(sandbox, eval, "sorted(__import__('os').environ)")
        assert set(names) <= {"PYTHONPATH", "LC_CTYPE"}  # type: ignore[call-overload]
        for foreign in (UUID, Path):
            with pytest.raises(Exception, match="a result holds"):
                await sandbox.run("log", foreign, "0" * 32)
        assert await value(sandbox, short, "a" * 40) == "a" * 7


async def test_who_used_least_is_served_first() -> None:
    served: list[str] = []

    async def ask(owner: str, work: object, *args: object) -> None:
        await sandbox.run(owner, work, *args)  # type: ignore[arg-type]
        served.append(owner)

    async with one_process() as sandbox:
        await ask("hostile", pow, 3, 2_000_000)
        held = asyncio.create_task(ask("hostile", pow, 3, 2_000_000))
        await asyncio.sleep(0)
        crowd = [asyncio.create_task(ask("hostile", len, "x")) for _ in range(50)]
        good = asyncio.create_task(ask("good", len, "x"))
        left = asyncio.create_task(ask("gone", len, "x"))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.gather(held, good, *crowd)
    assert served[:3] == ["hostile", "hostile", "good"]
    assert len(served) == 53


async def test_who_asks_for_much_at_once_is_not_served_before_who_asks_for_little() -> None:
    served: list[str] = []

    async def ask(owner: str, work: object, *args: object) -> None:
        await sandbox.run(owner, work, *args)  # type: ignore[arg-type]
        served.append(owner)

    async with one_process() as sandbox:
        await ask("good", len, "x")
        crowd = [asyncio.create_task(ask("hostile", pow, 3, 2_000_000)) for _ in range(4)]
        await asyncio.sleep(0)
        good = asyncio.create_task(ask("good", len, "x"))
        await asyncio.gather(good, *crowd)
    assert served[:3] == ["good", "hostile", "good"]


async def test_a_call_that_nobody_waits_for_ends_and_gives_its_place_back(tmp_path: Path) -> None:
    async with one_process() as sandbox:
        for name in ("first", "second"):
            file = tmp_path / name
            held = asyncio.create_task(sandbox.run("log", stand_still, str(file)))
            waits = asyncio.create_task(sandbox.run("log", len, "abc"))
            while not file.exists():  # noqa: ASYNC110  another process says it
                await asyncio.sleep(0.002)
            held.cancel()
            if name == "second":  # its turn has come, and it does not know it yet
                await asyncio.wait({held})
                waits.cancel()
            await asyncio.gather(held, waits, return_exceptions=True)
        assert await value(sandbox, len, "abc") == 3


async def test_a_process_that_stands_still_is_replaced() -> None:
    limits = CallLimits(processes=1, answer_s=0.3)
    async with open_sandbox(limits) as sandbox:
        assert await sandbox.run("log", os.kill, 0, 19) == Stopped(StoppedBy.DIED)  # SIGSTOP
