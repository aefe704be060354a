"""The digests of runs' logs, which are read in worker processes: whoever runs may print anything.

A log is read in pieces. Each call brings the state that the piece before has left, so that the
death of a process loses nothing, and logs take turns. A log so short that it can't be dear is read
here.
"""

import asyncio
import json
import pickle
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from io import BytesIO
from typing import Any

from bot.core.digest.digester import Digester, DigestState
from bot.core.digest.result import Digest, Progress, Unread
from bot.core.digest.signatures import LogSign, Signatures, load_signatures
from bot.core.model.runs import Run
from bot.core.secrets.redaction import Redactor
from bot.ports.clock import Clock
from bot.ports.sandbox import Done, Sandbox, Stopped

_KEPT = 16  # compiled sets of signatures, of some hundred kB each; a policy has at most one
# The worst log that we know is read at 0.8 MB/s: this much is read at once, in some 25 ms.
CHEAP_BYTES = 8 * 1024
# A piece takes a fraction of a second, or another log would wait for its turn.
PIECE_BYTES = 64 * 1024
_MOST_PIECE_BYTES = 2 * 1024 * 1024
_BLOCK_BYTES = 256 * 1024  # of a piece are read at once; larger blocks leave the processor's caches
_QUICK_S, _SLOW_S = 0.05, 0.3
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class LogBudget:
    """What one log may cost."""

    cpu_s: float = 20.0
    """A healthy log of 2 GB, or 16 MB of the worst one."""
    bytes: int = 1 << 30
    all_cpu_s: float = 60.0
    """Of all logs of this process together in a minute: half of what two workers have."""
    own_cpu_s: float = 0.5
    """Of one log in a minute that it may always use: 50 MB of a healthy one."""
    dear_cpu_s: float = 5.0
    """Of one log: when all have used up a minute, a log beyond it is read no further."""


class LogShare:
    """Shares the processor time among all logs: many dear ones take nothing from the others."""

    def __init__(self, budget: LogBudget, clock: Clock) -> None:
        self.budget = budget
        self.clock = clock
        self._ends_at = clock.now()
        self._spent: defaultdict[str, float] = defaultdict(float)  # seconds of this minute

    def spend(self, owner: str, seconds: float) -> None:
        """Count what a log took."""
        self._begin()
        self._spent[owner] += seconds

    def wait_s(self, owner: str) -> float:
        """Return how long a log has to wait: until the next minute, if all used up this one."""
        self._begin()
        budget = self.budget
        if sum(self._spent.values()) < budget.all_cpu_s or self._spent[owner] < budget.own_cpu_s:
            return 0.0
        return (self._ends_at - self.clock.now()).total_seconds()

    def _begin(self) -> None:
        if (now := self.clock.now()) >= self._ends_at:
            self._ends_at = now + _MINUTE
            self._spent.clear()


@dataclass(frozen=True, slots=True)
class DigestSpec:
    """What a digest depends on besides the log; it goes to the worker with each piece."""

    shipped: str  # the text of `config/signatures.yml`
    own: str  # the policy's signatures, as JSON
    repo_roots: tuple[str, ...]
    redact: tuple[str, ...] | None  # None: whoever feeds the log has redacted it

    def digester(self, state: bytes) -> Digester:
        """Return a digester that goes on from a state; b"" begins."""
        book = _compiled(self.shipped, self.own)
        redactor = None if self.redact is None else Redactor(self.redact)
        made = Digester(book, repo_roots=self.repo_roots, redactor=redactor)
        if state:
            made.go_on(_Unpickler(BytesIO(state), book).load())
        return made


class Digesters:
    """Makes the digests of runs' logs."""

    def __init__(
        self, shipped: str, sandbox: Sandbox, clock: Clock, budget: LogBudget | None = None
    ) -> None:
        """``shipped`` is the text of ``config/signatures.yml``."""
        _compiled(shipped, "[]")
        self._shipped = shipped
        self._sandbox = sandbox
        self._share = LogShare(budget or LogBudget(), clock)

    def of(self, run: Run, *, redacted: bool = False) -> "LogDigest":
        """Return the digest of a log of this run, before its first byte.

        A log that is fed with its secrets is redacted before it is read.
        """
        log = run.snapshot.log
        own = json.dumps([signature.as_json() for signature in log.signatures])
        redact = None if redacted else log.redact
        spec = DigestSpec(self._shipped, own, log.repo_roots, redact)
        return LogDigest(spec, self._sandbox, f"log {run.id}", self._share)


@dataclass(slots=True)
class LogDigest:
    """The digest of one log while it grows. After an error its state is that of the last piece."""

    spec: DigestSpec
    sandbox: Sandbox
    owner: str
    share: LogShare
    unread: Unread | None = None  # why the rest of the log is not read
    _progress: Progress | None = None
    _bytes: int = 0  # of the log so far
    _seconds: float = 0.0
    _waiting: deque[bytes] = field(default_factory=deque)
    _waiting_bytes: int = 0
    _state: bytes = b""
    _piece: int = PIECE_BYTES
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def feed(self, text: bytes) -> None:
        """Take the next bytes; never waits."""
        self._bytes += len(text)
        if self._bytes > self.share.budget.bytes:
            self.unread = self.unread or Unread.SIZE
        if self.unread is None and text:
            self._waiting.append(text)
            self._waiting_bytes += len(text)

    async def read(self) -> None:
        """Read what waits, if it is a whole piece."""
        while self._waiting_bytes >= self._piece:
            await self._read_piece()

    async def catch_up(self) -> None:
        """Read what waits."""
        while self._waiting and not self._is_cheap:
            await self._read_piece()

    async def digest(self, *, passed: bool = False) -> Digest:
        """Return the digest so far; of a log that is only partly read, what was found."""
        if self._is_cheap:
            return self._here().end(passed=passed).bounded()
        await self.catch_up()
        answer = await self.sandbox.run(self.owner, _conclude, self.spec, self._state, passed)
        if isinstance(answer, Stopped):
            return Digest(unread=self.unread or Unread(answer.why), bytes=self._bytes)
        return answer.value.of_part(self.unread, self._bytes)

    @property
    def progress(self) -> Progress | None:
        """Return the last training step of what was read, None before the first."""
        return self._here().progress if self._is_cheap else self._progress

    @property
    def _is_cheap(self) -> bool:
        """Return True while the log is short, and no signature of a policy is tried on it."""
        return self._bytes <= CHEAP_BYTES and self.spec.own == "[]" and self.unread is None

    def _here(self) -> Digester:
        digester = self.spec.digester(b"")
        digester.feed(b"".join(self._waiting))
        return digester

    async def _read_piece(self) -> None:
        async with self._turn:
            await self._wait_for_share()
            texts = self._next()
            if not texts:
                return
            answer = await self.sandbox.run(self.owner, _read, self.spec, self._state, texts)
            if isinstance(answer, Done):
                self._state, self._progress = answer.value
                self._count(answer.seconds)
            else:
                self.unread = Unread(answer.why)
            if self.unread is not None:
                self._drop()
                return
            for text in texts:
                self._waiting.popleft()
                self._waiting_bytes -= len(text)

    def _next(self) -> tuple[bytes, ...]:
        """Return the next piece in parts; until it was read they stay the first that wait."""
        parts, room = [], self._piece
        while self._waiting and room:
            part = self._waiting.popleft()
            if len(part) > room:
                self._waiting.appendleft(part[room:])
            parts.append(part[:room])
            room -= len(parts[-1])
        self._waiting.extendleft(reversed(parts))
        return tuple(parts)

    def _drop(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0

    async def _wait_for_share(self) -> None:
        """Wait if all logs took too much time, and this one more than its share."""
        while wait_s := self.share.wait_s(self.owner):
            if self._seconds >= self.share.budget.dear_cpu_s:
                self.unread = Unread.BUSY
                self._drop()
                return
            await self.share.clock.sleep(wait_s)

    def _count(self, seconds: float) -> None:
        """Count what a piece took; the next one is larger if it was quick."""
        self._seconds += seconds
        self.share.spend(self.owner, seconds)
        if self._seconds > self.share.budget.cpu_s:
            self.unread = Unread.TIME
        if seconds < _QUICK_S:
            self._piece = min(2 * self._piece, _MOST_PIECE_BYTES)
        elif seconds > _SLOW_S:
            self._piece = PIECE_BYTES


def _read(
    spec: DigestSpec, state: bytes, texts: tuple[bytes, ...]
) -> tuple[bytes, Progress | None]:
    """Read a piece; return the new state, and the last training step."""
    digester = spec.digester(state)
    for block in _blocks(texts):
        digester.feed(block)
    file = BytesIO()
    _Pickler(file, _compiled(spec.shipped, spec.own)).dump(digester.state)
    return file.getvalue(), digester.progress


def _blocks(texts: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield texts in blocks of about the same size."""
    parts, size = [], 0
    for text in texts:
        for start in range(0, len(text), _BLOCK_BYTES):
            parts.append(text[start : start + _BLOCK_BYTES])
            size += len(parts[-1])
            if size >= _BLOCK_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
    yield b"".join(parts)


def _conclude(spec: DigestSpec, state: bytes, passed: bool) -> Digest:
    return spec.digester(state).end(passed=passed).bounded()


@lru_cache(maxsize=_KEPT)
def _compiled(shipped: str, own: str) -> Signatures:
    """Compile a set of signatures once: the shipped ones alone take a quarter of a second."""
    parsed = [LogSign.model_validate(item) for item in json.loads(own)]
    return load_signatures(shipped, own=parsed)


class _Pickler(pickle.Pickler):
    """Leaves out the compiled signatures, which the next worker has or makes."""

    def __init__(self, file: BytesIO, book: Signatures) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = {id(book): "book", id(book.prefilter): "prefilter"}

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(id(value))


class _Unpickler(pickle.Unpickler):
    """Puts the compiled signatures in again; a state comes only from a worker, to a worker."""

    def __init__(self, file: BytesIO, book: Signatures) -> None:
        super().__init__(file)
        self._book = book

    def persistent_load(self, name: str) -> Any:
        return self._book if name == "book" else self._book.prefilter

    def load(self) -> DigestState:
        found = super().load()
        assert isinstance(found, DigestState)
        return found
