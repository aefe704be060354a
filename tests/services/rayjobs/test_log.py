"""The log of a RayJob, as it is handed over to be read."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.logs import StoredLogs
from bot.core.model.rayjobs import RayJob
from bot.core.rayjob.events import LogLine
from bot.ports.errors import Transient
from bot.ports.sandbox import Done, Stopped
from bot.services.rayjobs.digesters import CHEAP_BYTES, Digesters
from bot.services.rayjobs.log import RayJobLog
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
        self.given += b"".join(arg for arg in args if isinstance(arg, bytes))
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
