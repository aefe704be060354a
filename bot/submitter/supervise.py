"""The parent of one job's processes, a process of its own; standard library only.

The service may be killed at any moment. So this small program waits for the job, writes its events
and gets its exit code (`local` starts it for a JOB_DIR). It is safe to start it twice: the second
one finds the lock held and exits. If the first supervisor has died, the next one ends the rest of
the job and writes the missing end. Files in JOB_DIR: `job.json` (what to run), `events.ndjson`
(every event), `state.json` (the latest status), `lock` (held by the supervisor), `stop` (exists
once a stop was asked for). The job's environment comes by the descriptor `ENV_FD`: other jobs can
read the files.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.submitter.event_file import CHUNK_BYTES, JobFiles, Lines

ENV_FD = 3  # inherited: a file without a name
DRAIN_S = 1.0  # the time to read output after the job and its strays have ended
FULL_S = 1.0  # the pause before a write that a full disk refused is repeated
STOP_POLL_S = 0.2  # to look for `stop`: a file reaches the right process, a pid may not


def strays(job_id: str, uid: int | None) -> list[int]:
    """Return the processes with the job's id in their environment, or of its own user (Linux)."""
    mark = f"RAYJOB_ID={job_id}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        # Processes end meanwhile, and those of other users can't be read.
        with contextlib.suppress(OSError):
            is_own = uid is not None and entry.parent.stat().st_uid == uid
            if is_own or mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


def kill_strays(job_id: str, uid: int | None = None) -> int:
    """Kill the rest of a job, including new children; return the number of processes."""
    killed = 0
    for _ in range(20):
        if uid is not None:
            _kill_all_of(uid)
        pids = strays(job_id, uid)
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.02)
    return killed


def _kill_all_of(uid: int) -> None:
    """Kill all processes of a user at once; one that forks without end escapes a list of pids."""
    with contextlib.suppress(OSError):  # no process can be made now
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(uid, uid, uid)
                os.kill(-1, signal.SIGKILL)  # whatever this user may kill, and not this process
            finally:
                os._exit(0)
        os.waitpid(child, 0)


class Supervisor:
    """Starts a job's process group and stays until its end is written."""

    def __init__(self, folder: Path, wake_fd: int, env: dict[str, str] | None) -> None:
        self._folder = folder
        self._wake_fd = wake_fd
        self._env = env
        self._job: dict[str, Any] = json.loads((folder / "job.json").read_bytes())
        self._files = JobFiles(folder, self._job["max_log_bytes"])
        self._events = self._files.events
        self._lost = 0  # lines that a full disk refused
        self._lines = Lines(self._job["max_line_bytes"])
        # An end that we caused ourselves: status, message.
        self._verdict: tuple[str, str] | None = None
        self._kill_at: float | None = None
        self._drained_at: float | None = None

    def run(self) -> None:
        """Run the job from its start, or write the end that an earlier supervisor did not write."""
        if self._events.final is not None:
            self._finish("", "")
        elif self._events.seq:
            self._kill_strays()
            stopped = (self._folder / "stop").exists()
            status = "STOPPED" if stopped else "FAILED"
            self._finish(status, "the supervisor of the job died; what was left is killed")
        else:
            self._run_anew()

    def _run_anew(self) -> None:
        self._status("PENDING", self._job["note"], "", "New")
        if (self._folder / "stop").exists():
            self._finish("STOPPED", "stopped before it started")
            return
        if self._env is None:
            self._finish("FAILED", "its environment was lost before it started")
            return
        self._status("PENDING", "starting", "PENDING", "Initializing")
        try:
            process = subprocess.Popen(  # noqa: S603 - running the given script is the purpose
                self._job["argv"],
                env=self._env,
                cwd=self._job["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self._user(),
                umask=0o022,  # the service's own files are private, those of a job as usual
            )
        except (OSError, ValueError) as error:
            self._finish("FAILED", f"could not start: {error}")
            return
        self._status("RUNNING", f"process group {process.pid}", "RUNNING", "Running")
        self._pump(process)
        process.wait()
        self._conclude(process.returncode)

    def _user(self) -> dict[str, Any]:
        """Return the user to start the job as, if it has one of its own."""
        uid = self._job["uid"]
        return {} if uid is None else {"user": uid, "group": uid, "extra_groups": ()}

    def _kill_strays(self) -> None:
        kill_strays(self._job["job_id"], self._job["uid"])

    def _pump(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        out = process.stdout.fileno()
        fds = [out, self._wake_fd]
        started = time.monotonic()
        while not self._is_over(process, eof=out not in fds):
            ready, _, _ = select.select(fds, [], [], self._wait_s(started))
            if out in ready:
                chunk = os.read(out, CHUNK_BYTES)
                self._log(self._lines.feed(chunk))
                if not chunk:
                    fds.remove(out)  # closed does not mean ended
            if self._wake_fd in ready:
                self._on_signals(process)
            self._on_time(process, started)
        self._log(self._lines.rest())

    def _is_over(self, process: subprocess.Popen[bytes], *, eof: bool) -> bool:
        drained = self._drained_at is not None and time.monotonic() > self._drained_at
        return (eof or drained) and process.poll() is not None

    def _wait_s(self, started: float) -> float:
        now = time.monotonic()
        times = [t for t in (self._kill_at, self._drained_at) if t is not None]
        if self._verdict is None:
            times.append(now + STOP_POLL_S)
            if self._job["deadline_s"] is not None:
                times.append(started + self._job["deadline_s"])
        return max(0.0, min(times, default=now + 1) - now) + 0.001

    def _on_signals(self, process: subprocess.Popen[bytes]) -> None:
        signals = os.read(self._wake_fd, 4096)
        if signal.SIGTERM in signals or signal.SIGINT in signals:
            self._begin_stop(process, "STOPPED", "stopped by a signal to its supervisor")
        if process.poll() is not None and self._drained_at is None:
            # The job is its first process. Processes that it left behind hold the pipe open.
            self._kill_strays()
            self._drained_at = time.monotonic() + DRAIN_S

    def _on_time(self, process: subprocess.Popen[bytes], started: float) -> None:
        now = time.monotonic()
        if self._verdict is None and (self._folder / "stop").exists():
            self._begin_stop(process, "STOPPED", "stopped on request")
        limit = self._job["deadline_s"]
        if limit is not None and now >= started + limit:
            self._begin_stop(process, "TIMEOUT", f"DeadlineExceeded: longer than {limit} s")
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            self._kill_strays()

    def _begin_stop(self, process: subprocess.Popen[bytes], status: str, message: str) -> None:
        if self._verdict is not None or process.poll() is not None:
            return
        self._verdict = (status, message)
        self._kill_at = time.monotonic() + self._job["grace_s"]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)

    def _conclude(self, code: int) -> None:
        self._kill_strays()
        if self._verdict is not None:
            self._finish(*self._verdict)
        elif code == 0:
            self._finish("SUCCEEDED", "exit code 0")
        elif code < 0:
            self._finish("FAILED", f"AppFailed: killed by signal {-code}")
        else:
            self._finish("FAILED", f"AppFailed: exit code {code}")

    def _log(self, lines: list[str]) -> None:
        """Keep log lines; count those that a full disk refuses, so that the job can continue."""
        try:
            if self._lost:
                self._events.log([f"[{self._lost} lines lost: the disk was full]"])
                self._lost = 0
            self._events.log(lines)
        except OSError:
            self._lost += len(lines)

    def _finish(self, status: str, message: str) -> None:
        self._log([])
        if self._job["uid"] is not None:  # the next job of this user must not enter it
            with contextlib.suppress(PermissionError):  # the service is not root any more
                os.chown(self._folder / "work", 0, 0)
        _until_written(lambda: self._files.finish(status, message))

    def _status(self, *words: str) -> None:
        _until_written(lambda: self._files.status(*words))


def _until_written(write: Callable[[], object]) -> None:
    """Repeat a write that a full disk refuses: the end must not get lost."""
    while True:
        try:
            write()
        except OSError as error:
            sys.stderr.write(f"cannot write, trying again: {error}\n")
            time.sleep(FULL_S)
        else:
            return


def _catch_signals() -> int:
    """Turn signals into bytes on a pipe, so that one `select` waits for everything."""
    wake, poke = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(poke, False)
    signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    return wake


def main(path: str) -> int:
    """Supervise the job in a folder; return 0 if another process already does."""
    folder = Path(path)
    with os.fdopen(ENV_FD, "rb") as handed:
        handed.seek(0)
        env = json.load(handed)
    wake_fd = _catch_signals()
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    Supervisor(folder, wake_fd, env).run()
    return 0
