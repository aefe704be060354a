"""Log files `DATA_DIR/logs/<run>/<job>.log.gz`: readable by zcat, appendable, with a line index.

A file is a sequence of gzip members, one for each append. The header of each member has its length
and its number of lines (an extra field, RFC 1952, 2.3.1.1). So a reader finds a line without
unpacking everything before it, and no separate index can differ from the file.
"""

import asyncio
import hashlib
import os
import re
import shutil
import struct
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from errno import EFBIG, ENOSPC
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import ParamSpec, TypeVar

from isal import isal_zlib

from bot.core.model.ids import RunId
from bot.ports.errors import Transient

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Text in one member: a page must unpack this much to show one line.
_MEMBER_BYTES = 1024 * 1024
_PIECE_BYTES = 64 * 1024  # packed at once
# Training logs shrink to an eighth, for a third of zlib's time. The next level saves nothing more.
_LEVEL = 1
_MAGIC = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff"  # deflate, extra field, no time, unknown system
# The extra field: its length, our subfield's name and length, then member bytes, text bytes, lines.
_EXTRA = struct.Struct("<HccHIII")
_EXTRA_BYTES = 16
_TRAILER = struct.Struct("<II")
_HEADER_BYTES = len(_MAGIC) + _EXTRA.size
_safe = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch
_unsafe = re.compile(r"[^A-Za-z0-9_-]+")
_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class _Member:
    """The header of a member."""

    bytes: int
    text_bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class LogLimits:
    """What whoever prints an endless log may fill."""

    file_bytes: int = 512 * 1024 * 1024  # stored, which are some gigabytes of text
    free_bytes: int = 256 * 1024 * 1024  # of the disk, left for others: the database may be on it


class StoredLogs:
    """The port's `LogFiles` in a folder, which the first opened log creates."""

    def __init__(self, data_dir: Path, limits: LogLimits | None = None) -> None:
        self._folder = data_dir / "logs"
        self._limits = limits or LogLimits()

    async def open(self, run_id: RunId, job_id: str, *, keep: int) -> "StoredLog":
        """Open for appending after the first `keep` bytes; see the port."""
        path = self._path(run_id, job_id)
        begun = await _opened(lambda: _begin(path, keep), lambda begun: _close(begun[0]))
        return StoredLog(*begun, self._limits)

    async def read(
        self, run_id: RunId, job_id: str, *, upto: int, from_line: int = 1
    ) -> AsyncGenerator[bytes, None]:
        """Yield the text of the first `upto` stored bytes, from a line (from 1) on."""
        path = self._path(run_id, job_id)
        file = await _opened(lambda: FileIO(path), FileIO.close)
        try:
            async for text in _texts(file, upto, skip_lines=from_line - 1):
                yield text
        finally:
            file.close()

    async def prune(self, before: datetime) -> int:
        """Delete the logs of runs without a write since then; return the number of runs."""
        return await _in_thread(self._prune, before.timestamp())

    async def remove(self, run_id: RunId) -> None:
        """Delete the logs of one run."""
        await _in_thread(shutil.rmtree, self._folder / _name(run_id), ignore_errors=True)

    async def problem(self) -> str:
        """Return why no log can be written now, "" if one can."""
        try:
            await _in_thread(self._probe)
        except Transient as error:
            return str(error)
        return ""

    def _probe(self) -> None:
        """Reserve room for one append, in a file that goes again."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=self._folder) as file:
            _leave_room(file.fileno(), self._limits)
            os.posix_fallocate(file.fileno(), 0, _MEMBER_BYTES)

    def _path(self, run_id: RunId, job_id: str) -> Path:
        return self._folder / _name(run_id) / f"{_name(job_id)}.log.gz"

    def _prune(self, before: float) -> int:
        folders = list(self._folder.iterdir()) if self._folder.exists() else []
        old = [folder for folder in folders if _written_at(folder) < before]
        for folder in old:
            shutil.rmtree(folder, ignore_errors=True)
        return len(old)


class StoredLog:
    """The port's `LogFile`; `StoredLogs.open` makes it."""

    def __init__(self, file: FileIO, length: int, limits: LogLimits | None = None) -> None:
        self._file = file
        self._length = length
        self._limits = limits or LogLimits()

    @property
    def length(self) -> int:
        """Return the number of stored bytes."""
        return self._length

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield all stored text; raise `Transient` if the file is damaged."""
        async for text in _texts(self._file, self._length, skip_lines=0):
            yield text

    async def append(self, *texts: bytes) -> None:
        """Store texts; see the port."""
        writing = asyncio.ensure_future(_in_thread(self._write, texts))
        try:
            self._length = await asyncio.shield(writing)
        except asyncio.CancelledError:
            # No other write at the same place may begin meanwhile.
            await asyncio.wait({writing})
            raise

    async def close(self) -> None:
        """Release the file."""
        _close(self._file)

    def _write(self, texts: Sequence[bytes]) -> int:
        """Write after the valid bytes, over the remains of a failed append."""
        if self._length >= self._limits.file_bytes:
            raise OSError(EFBIG, os.strerror(EFBIG))
        _leave_room(self._file.fileno(), self._limits)
        self._file.seek(self._length)
        packer = _Packer()
        for piece in _pieces(texts):
            packer.add(piece)
            if packer.text_bytes >= _MEMBER_BYTES:
                _write_all(self._file, packer.end())
                packer = _Packer()
        if packer.text_bytes:
            _write_all(self._file, packer.end())
        return self._file.tell()


def _leave_room(file: int, limits: LogLimits) -> None:
    disk = os.fstatvfs(file)
    if disk.f_bavail * disk.f_frsize < limits.free_bytes:
        raise OSError(ENOSPC, f"{limits.free_bytes >> 20} MiB of the disk are left for others")


def _begin(path: Path, keep: int) -> tuple[FileIO, int]:
    """Replace the file by a copy of the kept part; return the copy and its length.

    A writer that lost its lease may not know it yet and go on writing. With a copy it writes into a
    file without a name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    file = FileIO(fresh, "w+")
    try:
        kept = _copy(path, keep, file)
        fresh.replace(path)
    except OSError:
        _close(file)
        fresh.unlink(missing_ok=True)
        raise
    return file, kept


def _copy(path: Path, keep: int, target: FileIO) -> int:
    if not keep or not path.exists() or path.stat().st_size < keep:
        return 0
    with path.open("rb") as source:
        while piece := source.read(min(_MEMBER_BYTES, keep - target.tell())):
            _write_all(target, piece)
    return target.tell()


def _close(file: FileIO) -> None:
    """Close a file; a network file system tells only now that it has no room for the last write.

    The reader of such a log finds it damaged.
    """
    with suppress(OSError):
        file.close()


def _write_all(file: FileIO, data: bytes) -> None:
    """Write without a buffer: a buffer would try again at the close."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


async def _texts(file: FileIO, upto: int, *, skip_lines: int) -> AsyncGenerator[bytes, None]:
    """Yield the text of the members before an offset, without its first lines."""
    offset = 0
    while offset < upto:
        member, text = await _in_thread(_member_at, file, offset, skip_lines)
        offset += member.bytes
        if text is None:
            skip_lines -= member.lines
            continue
        while skip_lines:
            text = text[text.index(b"\n") + 1 :]
            skip_lines -= 1
        if text:
            yield text


def _member_at(file: FileIO, offset: int, skip_lines: int) -> tuple[_Member, bytes | None]:
    """Read the member at an offset; its text is `None` if all its lines are skipped."""
    file.seek(offset)
    header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise _damaged(offset)
    _, first, second, _, *numbers = _EXTRA.unpack_from(header, len(_MAGIC))
    member = _Member(*numbers)
    if (first, second) != (b"A", b"C") or member.bytes <= _HEADER_BYTES:
        raise _damaged(offset)
    if skip_lines and member.lines <= skip_lines:
        return member, None
    return member, _unpacked(header + file.read(member.bytes - _HEADER_BYTES), member, offset)


def _pieces(texts: Sequence[bytes]) -> Iterator[bytes]:
    for text in texts:
        for start in range(0, len(text), _PIECE_BYTES):
            yield text[start : start + _PIECE_BYTES]


class _Packer:
    """Packs one member, piece by piece: small ones stay in the processor's caches."""

    def __init__(self) -> None:
        self.text_bytes = 0
        self._lines = 0
        self._checksum = 0
        self._body: list[bytes] = []
        self._packer = isal_zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)

    def add(self, text: bytes) -> None:
        """Pack text."""
        self.text_bytes += len(text)
        self._lines += text.count(b"\n")
        self._checksum = isal_zlib.crc32(text, self._checksum)
        self._body.append(self._packer.compress(text))

    def end(self) -> bytes:
        """Return the member."""
        body = b"".join((*self._body, self._packer.flush()))
        size = _HEADER_BYTES + len(body) + _TRAILER.size
        numbers = size, self.text_bytes, self._lines
        extra = _EXTRA.pack(_EXTRA_BYTES, b"A", b"C", _EXTRA_BYTES - 4, *numbers)
        return _MAGIC + extra + body + _TRAILER.pack(self._checksum, self.text_bytes)


def _unpacked(data: bytes, member: _Member, offset: int) -> bytes:
    """Unpack one member; zlib checks the checksum and the length."""
    try:
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        text = unpacker.decompress(data, member.text_bytes + 1)
    except zlib.error as error:
        raise _damaged(offset) from error
    if not unpacker.eof or len(text) != member.text_bytes:
        raise _damaged(offset)
    return text


def _damaged(offset: int) -> Transient:
    return Transient(f"the log file is damaged at byte {offset}")


def _name(text: str) -> str:
    """Return a file name for an id from outside: the id itself if it is safe, else with a hash."""
    if _safe(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_unsafe.sub('_', text)[:_NAME_CHARS]}~{digest}"


def _written_at(folder: Path) -> float:
    """Return the time of the last write in a folder."""
    return max(path.stat().st_mtime for path in (folder, *folder.iterdir()))


async def _opened(work: Callable[[], _T], close: Callable[[_T], None]) -> _T:
    """Open in a thread; if the caller is cancelled meanwhile, the file is closed once it is open.

    The caller does not wait for that: a second cancel would end the wait, and lose the file.
    """
    opening = asyncio.get_running_loop().run_in_executor(None, _translating()(work))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:

        def close_again(done: asyncio.Future[_T]) -> None:
            if done.exception() is None:
                close(done.result())

        opening.add_done_callback(close_again)
        raise


async def _in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    return await asyncio.to_thread(_translating()(work), *args, **kwargs)


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Transient(f"the log file can't be used: {error.strerror or error}") from error
