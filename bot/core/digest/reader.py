"""Read the important lines of a log in order, and collect the failures."""

import re
from collections.abc import Callable
from typing import Any

from bot.core.digest.ending import STEP_LINES
from bot.core.digest.evidence import MAX_TEXT, Board, Failure, Kind, Status, cann_time, codes_in
from bot.core.digest.job_steps import JobSteps
from bot.core.digest.precommit import HookReport, Said
from bot.core.digest.prefixes import Prefixes
from bot.core.digest.progress import ProgressClock
from bot.core.digest.pytests import BEGINS, ENDED, PytestReport, verdict
from bot.core.digest.series import ProgressForm, pattern_of
from bot.core.digest.shapes import Line, parse
from bot.core.digest.signatures import LogSign, Role, Signatures
from bot.core.digest.traces import Traces
from bot.core.digest.watched import PREAMBLE, WatcherLines
from bot.core.digest.weak import exit_codes, is_weak

_FOLLOW = 12  # lines read after an important one: messages, codes, causes
_FOLLOW_TRACE = 120
_FOLLOW_REPORT = 400
_MAX_SERVERS = 64
_MAX_REPORTS = 16
_CONTEXT = 3  # lines before an important one
_CONTEXT_BYTES = 800
_MUCH, _REPEATS, _NOTHING = "much", "repeats", "nothing"  # the possible meanings of a line
_MINOR = frozenset({Role.STATUS, Role.WRAPPER, Role.SECONDARY})
_DIGITS = b"0123456789"
_MAX_DULL = 600  # bytes of a line up to which its shape is remembered
_MAX_SHAPES = 4_000
_MAX_SCRIPT = 200  # lines of a step's script
# What the runner prints below its header of a step: the script in colour, or the step's settings.
_SCRIPT = re.compile(rb"(?:\S+Z )?(?:\x1b\[36;1m|with:|env:|shell: |##\[endgroup\])")
_SHOWS = re.compile(r"\b(?:cat|tail|head|kubectl|docker|dmesg|journalctl|ray logs|zcat|less)\b")
_METRICS = re.compile(r"'loss'|iteration +\d")
_SUITE = re.compile(
    r"^\[\d+/\d+\] (START|PASSED|FAILED|SKIPPED|TIMEOUT)\b +(?:\(.{1,60}?\) +)?(\S+)"
)
_THROUGHPUT = re.compile(rb"generation throughput: (?!0\.0 )[\d.]+ tokens/s")
_KILL_ECHO = re.compile(
    r"^\^C|KeyboardInterrupt|received SIGINT|^Terminated\b|SIGTERM received"
    r"|(?:got signal:|Received signal) (?:2|15)\b"
)
_SERVED = re.compile(r'"(?:GET|POST) (?!/health|/metrics|/ping)\S+ HTTP/[\d.]+" 200\b')
_NOTHING_RAN = re.compile(r"^=+ (?:\d+ deselected|no tests ran)")
_STATUS = "Status message: "  # Ray's client logs the end of a job as information
_WELL = ("Cleaning up orphan processes", "[rayjob final] SUCCEEDED", "Complete job name")
_WATCHER = "rayjob"
_RUNNERS = re.compile(r"^\s*$|^\[command\]|^Post job|^Cleaning up|^##\[")
_EXITED = "Process completed with exit code"
_INFO = frozenset({"INFO", "DEBUG"})


class Reader:
    """Receives the lines of a scanner, one method call for each line."""

    def __init__(self, signatures: Signatures) -> None:
        """Start before the first line."""
        self.until = 0
        self.board = Board()
        self.clock = ProgressClock()
        self.book = signatures
        self.prefixes = Prefixes()
        self.traces = Traces(self.board, self.noise)
        self.pytest = PytestReport(self.board)
        self._reports = {"": self.pytest}  # of pytest, from the stream of the lines
        self._hooks = HookReport()
        self.steps = JobSteps(self.clock)
        self.failed_segment: int | None = None
        self.served: dict[str, int] = {}  # by a server's stream, the line of its last answer
        self.ended = False
        self.last_text = ""
        self._last = 0  # the line that was read last
        self._header: Line | None = None  # a group that may be the runner's header of a step
        self._script = 0  # up to this line a step prints its own script
        self.watcher = WatcherLines()
        self.echo = 0  # the first line that shows a kill: ^C, KeyboardInterrupt
        self.test = ""
        self.tested = False
        self.tests_done = 0  # the line at which pytest ended
        self._test_from = 0
        self._suite_from = 0
        self._dull: set[bytes] = set()  # shapes of meaningless short lines
        self._told: set[bytes] = set()  # shapes of lines that only repeat a failure
        self._means = _MUCH  # the meaning of the current line
        self._fresh: list[Failure] = []  # failures whose next two lines are kept
        self.step_end: list[bytes] = []  # the last lines of the failing step
        self._before: Callable[[int], list[tuple[int, bytes]]] = lambda _: []

    def follow(self, before: Callable[[int], list[tuple[int, bytes]]]) -> None:
        """Remember the function that returns the lines before the current one."""
        self._before = before

    def read(self, no: int, raw: bytes) -> None:
        """Read a line that passed the prefilter, or follows one that did."""
        self.board.calm += no - self._last - 1
        self._last = no
        self.clock.form = None
        if self._header is not None:
            self._begin_step(self._header, no, raw)
        if b"step:" in raw and self.clock.read_step(no, raw):
            self._told.clear()
            self.board.calm += 1
            return
        if b"it/s" in raw or b"s/it" in raw:
            self.clock.bar(no, raw)
            self.board.calm += 1
            if not self.book.words.search(raw):
                return
            self.clock.form = None
        shape = raw.translate(None, _DIGITS) if len(raw) <= _MAX_DULL else b""
        if shape and (shape in self._dull or shape in self._told) and self._is_idle(no):
            self.board.calm += shape in self._dull
            return
        for failure in self._fresh:
            failure.after.append((no, raw[:_CONTEXT_BYTES]))
        self._fresh = [f for f in self._fresh if no < f.no + 2]
        self._means = _MUCH
        for line in parse(no, raw, self.prefixes):
            self._line(line)
        if self._means is not _MUCH and shape:
            kept = self._dull if self._means is _NOTHING else self._told
            if len(kept) < _MAX_SHAPES:
                kept.add(shape)

    @property
    def series(self) -> Any:
        """Return an expression of lines like the last one, if it told nothing but progress."""
        return None if self.clock.form is None else pattern_of(self.clock.form)

    def read_series(self, no: int, block: bytes) -> bool:
        """Read lines of one series by the last of them; return False if each has to be read."""
        at = block.rfind(b"\n", 0, -1) + 1
        form, last = self.clock.form, block[at:-1]
        if form is None or (form is ProgressForm.BAR and self.book.words.search(block)):
            return False
        if not self.clock.skip(form, skipped=block[:at], last=last):
            return False
        self.read(no, last)
        return True

    def _is_idle(self, no: int) -> bool:
        """Return True if a line can be judged alone: not in a traceback, report or script."""
        return not self.traces.busy and not self._in_report and no > self._script

    def _line(self, line: Line) -> None:
        self._claimant(line.no, self.steps.note(line.no, line.text, self.board.calm))
        if _METRICS.search(line.text) and self.clock.read(line.no, line.text, line.wall):
            return
        if '" 200' in line.text and _SERVED.search(line.text):
            if len(self.served) < _MAX_SERVERS or line.stream in self.served:
                self.served[line.stream] = line.no
            return
        if self._marker(line):
            return
        inside = self.traces.inside(line.stream)
        report = self._report(line)
        if report.take(line, self.steps.number, inside=inside):
            self._claimant(line.no, _FOLLOW_REPORT if report.section == "report" else _FOLLOW)
            return
        if self._verdict(line):
            return
        if self.traces.take(line, self.steps.number):
            self._claimant(line.no, _FOLLOW_TRACE if self.traces.busy else _FOLLOW * 2)
            self._echo(line)
            return
        self._judge(line)

    @property
    def _in_report(self) -> bool:
        return any(report.section for report in self._reports.values())

    def _report(self, line: Line) -> PytestReport:
        """Return the report that a line belongs to: a writer with a prefix may print its own."""
        report = self._reports.get(line.stream)
        if report is None and BEGINS.match(line.text) and len(self._reports) < _MAX_REPORTS:
            report = self._reports[line.stream] = PytestReport(self.board, line.stream)
        return report or self.pytest

    def _leave(self) -> None:
        for report in self._reports.values():
            report.leave()

    def _claimant(self, no: int, lines: int) -> None:
        self.until = max(self.until, no + lines)

    def calm_at(self, last_line: int) -> int:
        """Return the ordinary lines of a log that ends there; what was not read is ordinary."""
        return self.board.calm + max(0, last_line - self._last)

    def noise(self, text: str) -> bool:
        """Return True for a line that is never a cause and belongs in no excerpt."""
        signature = self.book.find(text)
        return signature is not None and signature.role in {Role.NOISE, Role.NOISE_BLOCK}

    def _marker(self, line: Line) -> bool:
        """Read a line that divides a log into steps and files."""
        text = line.text
        if line.tag == "group":
            self._group(line)
            return True
        if line.no <= self._script:
            if not self._ends_script(line):
                return True
            self._script = 0
        if text.startswith("[") and (match := _SUITE.match(text)):
            self._suite(match[1], line)
            return True
        if line.tag == "rayjob" or text.startswith("[rayjob final]"):
            self._watcher(line)
        self.ended = self.ended or text.startswith(_WELL)
        return False

    def _group(self, line: Line) -> None:
        """Remember a group that may be the header of a step: the next line tells."""
        if line.text.startswith("Run "):
            self._header = line
            self._claimant(line.no, 1)

    def _begin_step(self, header: Line, no: int, raw: bytes) -> None:
        """Begin a step, if the line below the header shows that the runner printed both.

        A script may print a group of that name, too. The script of a step is not output.
        """
        self._header = None
        echo = header.text.removeprefix("Run ").strip()
        if not _SCRIPT.match(raw) and next(parse(no, raw)).text.strip() != echo:
            return
        self.steps.begin(header.no, self.board.calm)
        self._told.clear()
        self._leave()
        self.board.notes.clear()
        self._script = header.no + _MAX_SCRIPT
        self._claimant(header.no, _MAX_SCRIPT)
        if _SHOWS.search(header.text):
            self.steps.evidence.add(self.steps.number)

    def _ends_script(self, line: Line) -> bool:
        """Return True for a line that no script of a step contains: its end, or a failure."""
        if _SHOWS.search(line.text):
            self.steps.evidence.add(self.steps.number)
        ends = ("##[endgroup]", "Traceback (most recent call last)")
        return line.tag == "error" or line.text.startswith(ends)

    def _watcher(self, line: Line) -> None:
        if line.source == "Running":
            self._started()
        self.watcher.take(line.no, self._before(PREAMBLE))

    def _started(self) -> None:
        """Forget what the watcher told before the job's start, and what kept it: it runs."""
        for failure in self.board.all():
            found = failure.signature
            placed = found is not None and found.failure_class == "cluster_scheduling"
            if placed or failure.stream == _WATCHER:
                failure.noise = True

    def _suite(self, word: str, line: Line) -> None:
        self._leave()
        if word == "PASSED":
            self.board.forgive(self._suite_from)
            self.clock.seen(line.no, line.wall)
        self._suite_from = self._test_from = line.no
        self.board.unit += 1
        self._told.clear()

    def _verdict(self, line: Line) -> bool:
        """Read how a test ended; output of a passed test does not count."""
        text = line.text
        word = verdict(text) if text.endswith(("]", "D", "R", "L", "S", "N")) else ""
        if ".py::" in text:
            name = text.split(" ", 1)[0]
            if name != self.test and not word:
                self._test_from = line.no
            self.test, self.tested = name, True
        if word in {"PASSED", "SKIPPED", "XFAIL", "XPASS"}:
            self.board.forgive(
                max(self._test_from, self._suite_from, 1) if self.tested else line.no
            )
            self.clock.seen(line.no, line.wall)
            self._told.clear()
        if word and word != "RERUN":
            self._test_from = line.no
        done = text.startswith("=") and ENDED.search(text) is not None
        if done:
            self.tests_done = line.no
            self.steps.tested(line.no, text)
        self.ended = self.ended or (
            done and "passed" in text and "failed" not in text and "error" not in text
        )
        return bool(word) or (done and _NOTHING_RAN.search(text) is None)

    def _echo(self, line: Line) -> None:
        if not self.echo and _KILL_ECHO.search(line.text):
            self.echo = line.no

    def _judge(self, line: Line) -> None:
        if line.text.startswith(_STATUS):
            line.text, line.level = line.text.removeprefix(_STATUS), None
        self._echo(line)
        self._means = _MUCH
        said = self._hooks.take(line.text)
        codes = codes_in(line.text)
        for code, text in exit_codes(line.text):
            codes.append(text)
            told = text[:MAX_TEXT]
            self.board.status(
                Status(line.no, code, told, self.steps.number, line.wall, self.board.calm)
            )
        if line.tag == "error":
            self._fail_step(line)
        if (at := cann_time(line.text)) is not None:
            failure = self._failure(line, Kind.CANN, None)
            failure.time = at
            self._keep(failure, line)
            return
        signature = self.book.find(line.text, self.board.notes) or self.book.by_codes(codes)
        if said in {Said.FINDING, Said.NOTE}:
            failure = self._failure(line, Kind.LINE, signature)
            failure.finding = said is Said.FINDING
            self._keep(failure, line)
            return
        if signature is not None:
            self._signed(line, signature)
        elif is_weak(line):
            self._keep(self._failure(line, Kind.LINE, None), line)
        elif not codes and not line.tag:
            self._means = _NOTHING
            self.board.calm += _RUNNERS.match(line.text) is None

    def _fail_step(self, line: Line) -> None:
        """Remember the failing step, and its end: up to its first error, or to its exit."""
        if line.text.startswith(_EXITED):
            self.steps.failed[self.steps.number] = (line.no, line.text)
        if self.failed_segment is None:
            self.failed_segment = self.steps.number
        elif self.failed_segment != self.steps.number or not line.text.startswith(_EXITED):
            return
        before = [raw for _, raw in self._before(STEP_LINES)]
        self.step_end = [*before, line.text.encode("utf-8", "replace")]

    def _signed(self, line: Line, signature: LogSign) -> None:
        if signature.clears is not None:
            self.board.notes.discard(signature.clears)
        match signature.role:
            case Role.NOISE:
                self._means = _NOTHING
            case Role.NOISE_BLOCK:
                self.traces.mute(line.stream)
                self._claimant(line.no, 2)
            case Role.NOTE:
                self.board.notes.add(signature.name)
            case Role.KILL:
                self._kill(line, signature)
            case _ if line.level in _INFO and not line.tag:
                return
            case _:
                self._keep(self._failure(line, Kind.LINE, signature), line)

    def _kill(self, line: Line, signature: LogSign) -> None:
        if any(_THROUGHPUT.search(raw) for _, raw in self._before(_CONTEXT)):
            self.clock.seen(line.no, line.wall)
        self.board.kill(self._failure(line, Kind.LINE, signature))
        self._claimant(line.no, 2)

    @staticmethod
    def _is_minor(failure: Failure, line: Line) -> bool:
        """Return True for a repetition with meaningless numbers: no exit code, no device code."""
        minor = failure.signature is None or failure.signature.role in _MINOR
        return minor and not codes_in(line.text) and next(exit_codes(line.text), None) is None

    def _failure(self, line: Line, kind: Kind, signature: LogSign | None) -> Failure:
        failure = Failure(
            kind,
            line.stream,
            self.steps.number,
            signature=signature,
            wall=line.wall,
            level=line.level,
        )
        failure.link.no, failure.link.text = line.no, line.text[:MAX_TEXT]
        failure.before = [(no, raw[:_CONTEXT_BYTES]) for no, raw in self._before(_CONTEXT)[-2:]]
        failure.repeated, failure.weak = (
            line.repeated,
            line.level == "WARNING" or line.tag == "warning",
        )
        failure.time = line.time
        return failure

    def _keep(self, failure: Failure, line: Line) -> None:
        if self.board.add(failure, self.clock.line):
            self._fresh.append(failure)
        elif self._is_minor(failure, line):
            self._means = _REPEATS
        self.traces.watch(failure, line)
        self._claimant(line.no, _FOLLOW)
