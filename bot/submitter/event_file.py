"""The files of a job: its numbered events and its latest state.

It uses the standard library only, so that the supervisor of a local job starts without anything
else.
"""

import json
import os
from datetime import datetime, timezone
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

CHUNK_BYTES = 256 * 1024  # a pipe holds 64 KiB by default, 1 MiB at most
# The words of Ray and KubeRay for each end: rayjob_status, job_deployment_status.
END_WORDS = {
    "SUCCEEDED": ("SUCCEEDED", "Complete"),
    "FAILED": ("FAILED", "Failed"),
    "TIMEOUT": ("STOPPED", "Failed"),
    "STOPPED": ("STOPPED", "Suspended"),
    "NOT_FOUND": ("", "Failed"),
}


def utc_now() -> str:
    """Return the time as RFC 3339 UTC with milliseconds."""
    now = datetime.now(timezone.utc)  # noqa: UP017 - runs under whatever python3 started it
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_atomically(path: Path, text: str) -> None:
    """Replace a file; a reader sees the old or the new text, also after a crash."""
    fresh = path.with_name(path.name + ".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # else a crash can bring the old file back, or none
    finally:
        os.close(folder)


class Lines:
    """Splits bytes into lines; a line above `max_bytes` is shortened, with a mark."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._carry = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Take a chunk and return the lines that it completes."""
        first, *rest = chunk.split(b"\n")
        self._extend(first)
        lines = []
        for part in rest:
            lines.append(self._take())
            self._extend(part)
        return lines

    def rest(self) -> list[str]:
        """Return the last line if the stream ended without a newline."""
        return [self._take()] if self._length else []

    def _extend(self, part: bytes) -> None:
        self._length += len(part)
        # One more byte is kept: it tells whether the cut divides a character.
        room = self._max_bytes + 1 - len(self._carry)
        self._carry += part[:room]

    def _take(self) -> str:
        raw, length = self._carry, self._length
        self._carry, self._length = bytearray(), 0
        if length <= self._max_bytes:
            return raw.decode("utf-8", "replace")
        end = self._max_bytes
        while end > max(0, self._max_bytes - 3) and raw[end] & 0xC0 == 0x80:
            end -= 1
        return f"{raw[:end].decode('utf-8', 'replace')} … [{length - end} bytes cut]"


def last_line(fd: int) -> tuple[int, bytes]:
    """Return the offset after the last whole line of a file, and that line."""
    data, start = b"", os.fstat(fd).st_size
    while start > 0 and data.count(b"\n") < 2:
        step = min(start, CHUNK_BYTES)
        start -= step
        data = os.pread(fd, step, start) + data
    whole = data[: data.rfind(b"\n") + 1]
    return start + len(whole), whole.rstrip(b"\n").rpartition(b"\n")[2]


class EventFile:
    """Appends events with `seq` and `ts`; continues after a crash."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._max_bytes = max_bytes
        self._bytes = 0
        self.is_full = False  # every further log line is dropped
        last = self._recover()
        self.seq = int(last.get("seq", 0))
        self.final: dict[str, Any] | None = last if last.get("type") == "final" else None

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def count_logs(self) -> int:
        """Return the number of log lines in the file."""
        count, offset, carry = 0, 0, b""
        # Inside a string every quote is escaped, so no line can contain this.
        mark = b'"type":"log","line":"'
        while piece := os.pread(self._fd, CHUNK_BYTES, offset):
            count += (carry + piece).count(mark)
            offset += len(piece)
            carry = (carry + piece)[-len(mark) + 1 :]
        return count

    def _recover(self) -> dict[str, Any]:
        """Remove a line that a crash left incomplete; return the last complete one."""
        self._bytes, line = last_line(self._fd)
        os.ftruncate(self._fd, self._bytes)
        return dict(json.loads(line)) if line else {}

    def emit(self, kind: str, **fields: str) -> None:
        """Append one event that is not a log line, and make it durable."""
        event = {"seq": self.seq + 1, "ts": utc_now(), "type": kind, **fields}
        self._write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
        self.seq += 1
        os.fsync(self._fd)
        if kind == "final":
            self.final = event

    def log(self, lines: list[str]) -> None:
        """Append log lines; beyond the size limit drop them, after one line that says so."""
        if self.is_full or not lines:
            return
        if self._bytes > self._max_bytes:
            self.is_full = True
            lines = [f"[the log is longer than {self._max_bytes} bytes: the rest is dropped]"]
        first = self.seq + 1
        middle = f',"ts":"{utc_now()}","type":"log","line":'
        self._write(
            "".join(
                f'{{"seq":{seq}{middle}{encode_basestring(line)}}}\n'
                for seq, line in enumerate(lines, first)
            )
        )
        self.seq += len(lines)

    def _write(self, text: str) -> None:
        """Append everything or nothing: remove a part that a full disk left."""
        data = text.encode()
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            os.ftruncate(self._fd, self._bytes)
            raise
        self._bytes += len(data)


class JobFiles:
    """The event file of a job, and the file of its latest state."""

    def __init__(self, folder: Path, max_log_bytes: int) -> None:
        self.events = EventFile(folder / "events.ndjson", max_log_bytes)
        self._state_file = folder / "state.json"

    def status(self, status: str, message: str, ray: str, deployment: str) -> None:
        """Write the state of the job."""
        state = _state(status, message, ray, deployment)
        self.events.emit("status", **state)
        self._save({**state, "ended_at": None})

    def finish(self, status: str, message: str) -> dict[str, str | None]:
        """Write the end once and return the state; the caller may repeat it after an error."""
        if self.events.final is None:
            self.events.emit("status", **_state(status, message, *END_WORDS[status]))
            self.events.emit("final", status=status, message=message)
        final = self.events.final or {}
        words = END_WORDS[final["status"]]
        state = {**_state(final["status"], final["message"], *words), "ended_at": final["ts"]}
        self._save(state)
        return state

    def _save(self, state: dict[str, str | None]) -> None:
        write_atomically(self._state_file, json.dumps(state))


def _state(status: str, message: str, ray: str, deployment: str) -> dict[str, str]:
    return {
        "status": status,
        "message": message,
        "rayjob_status": ray,
        "job_deployment_status": deployment,
    }
