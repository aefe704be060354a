"""The log of a RayJob, as it is handed over to be read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.logs import StoredLogs
from bot.core.digest.digester import Digester
from bot.core.digest.signatures import load_signatures
from bot.core.model.rayjobs import RayJob
from bot.core.rayjob.events import LogLine
from bot.ports.errors import Transient
from bot.ports.sandbox import Done, Stopped
from bot.services.rayjobs.digesters import CHEAP_BYTES, Digesters
from bot.services.rayjobs.log import BLOCK_BYTES, RayJobLog
from tests.bench.training_log import steps
from tests.services.rayjobs.following import JOB, SHIPPED
from tests.services.scripted_sandbox import ScriptedSandbox
from tests.store.building import run

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SECRET = "ghp_" + "a1B2" * 9
KEY = ["-----BEGIN RSA PRIVATE KEY-----", "bG9uZyBsaW5lIG9mIGEga2V5" * 2]


class Listening(ScriptedSandbox):
    """Remembers the bytes that it was given."""

    given = b""

    async def run(self, owner: str, work: Callable[[*Ts], T], *args: *Ts) -> Done[T] | Stopped:
        self.given += b"".join(part for arg in args if isinstance(arg, tuple) for part in arg)
        return await super().run(owner, work, *args)


class NoRoom(StoredLogs):
    """Opens no file."""

    async def open(self, *_: object, **__: object) -> object:  # type: ignore[override]
        raise Transient("no room")


@pytest.mark.parametrize("kind", [StoredLogs, NoRoom])
async def test_a_worker_is_given_no_secret_of_a_rayjobs_log(
    tmp_path: Path, kind: type[StoredLogs]
) -> None:
    sandbox, item = Listening(), run("unit")
    job = RayJob(JOB, item.id, "log", confirmed=True)
    digesters = Digesters(SHIPPED, sandbox, SystemClock())
    log = await RayJobLog.restore(kind(tmp_path), digesters, item, job)
    lines = [*["x" * 79] * (CHEAP_BYTES // 50), f"token {SECRET}", *KEY]
    log.add([LogLine(line) for line in lines])
    await log.flush()  # within the key
    log.add([LogLine(KEY[1])])
    digest = await log.digest()
    await log.close()
    assert b"token ***" in sandbox.given
    assert not [part for part in (SECRET, KEY[1]) if part.encode() in sandbox.given]
    assert digest.lines == len(lines) + 1


def _of_steps() -> list[str]:
    return list(steps(2 * BLOCK_BYTES + 100_000, metrics=30))


def _of_bars() -> list[str]:
    """Return lines of which each has all states of a bar, as one that a terminal would show."""
    state = "Training Progress: {0}%|9   | {0}/100 [38:11<5:57:21, 163.68s/it]"
    bars = "\r".join(state.format(percent) for percent in range(100))
    return [bars] * (2 * BLOCK_BYTES // len(bars)) + list(steps(1, metrics=5))


def _of_long_lines() -> list[str]:
    return [*(f"{n} " + "tensor([0.1, 0.2]) " * 25_000 for n in range(7)), *steps(1)]


@pytest.mark.parametrize("lines", [_of_steps, _of_bars, _of_long_lines])
async def test_a_log_taken_up_after_a_kill_is_stored_and_read_as_if_nothing_had_been(
    tmp_path: Path, lines: Callable[[], list[str]]
) -> None:
    said, item = lines(), run("unit")
    files, digesters = StoredLogs(tmp_path), Digesters(SHIPPED, ScriptedSandbox(), SystemClock())
    job = RayJob(JOB, item.id, "log", confirmed=True)
    half = len(said) // 2
    for part in (said[:half], said[half:]):
        log = await RayJobLog.restore(files, digesters, item, job)
        for start in range(0, len(part), 100):
            log.add([LogLine(line) for line in part[start : start + 100]])
            if log.is_full:
                mark = await log.flush()
        mark = await log.flush()
        job = replace(job, resume=mark.resume, log_bytes=mark.log_bytes, lines=mark.lines)
        log.add([LogLine("lost with the process")])
        await log.close()
    text = "".join(f"{line}\n" for line in said).encode()
    stored = files.read(item.id, JOB, upto=job.log_bytes)
    assert b"".join([piece async for piece in stored]) == text
    log = await RayJobLog.restore(files, digesters, item, job)
    digest = await log.digest()
    await log.close()
    at_once = Digester(load_signatures(SHIPPED), redactor=None)
    at_once.feed(text)
    assert digest == at_once.end().bounded()
