"""The failures of a log, with their messages and frames, within fixed bounds."""

import re
from collections import deque
from dataclasses import dataclass, field, replace
from enum import IntEnum

from bot.core.digest.signatures import LogSign

MAX_TEXT = 1_000  # characters kept of a line; fewer are shown, so that no cut divides a secret
MAX_TRACE_TEXT = 600
_MAX_MESSAGE = 40  # lines of a message
_MAX_FRAMES = 60
_MAX_TRACE = 120  # lines of a traceback kept for the folded part
_MAX_FAILURES = 160  # the first ones and the last few are kept
_MAX_LATE = 40
_CODES = re.compile(
    r"\b(?P<cann>E(?:[A-PZ]\d{4}|[1-4]\d{4}))\b|\b(?P<err>ERR(?!99999)\d{5})\b"
    r"|(?:error ?code(?: is|:)?|errcode:?|ErrCode|runtime result|ret(?:Code)?|errno)"
    r"[ =:(]{1,3}(?P<six>\d{6})\b",
    re.IGNORECASE,
)
_CANN = re.compile(
    r"^(?:(?P<old>E\w{5})(?::|\[)? ?(?:\[?PID: ?\d+\]? ?)?(?P<at>\d{4}-\d\d-\d\d-[\d:.]+)?"
    r"|\[PID: ?\d+\] (?P<at2>\d{4}[\d:.-]+) \w[\w/]*\((?P<new>E\w{5})\)"
    r"|\[ERROR\] (?P<at3>\d{4}[\d:-]+) \(PID:[^)]*\) ERR\d{5}"
    r"|(?:Warning: )?NPU warning, error code is \d{6}|CANN error: )"
)
_CODE = re.compile(r"^E(?:[A-PZ]\d{4}|[1-4]\d{4})\Z")
_USER_CODE = re.compile(r"E[A-Z0-9](?!8888)[0-8]\d{3}\Z|E[1-4]0\d{3}\Z")
_SAME = re.compile(r"0x[0-9a-f]+|\d+")


class Weight(IntEnum):
    """The rank of a failure as the cause; lower is better."""

    PRIMARY = 1
    SIGNAL = 2  # a process died of a signal that nobody sent
    COMM = 3
    KILLED = 4  # SIGKILL: the kernel, or somebody who cleans up
    FOLLOWER = 5
    WEAK = 6
    SECONDARY = 7
    WRAPPER = 8
    STATUS = 9
    NOISE = 10


class Kind(IntEnum):
    """The form in which the failure was printed."""

    PYTHON = 1
    PYTEST = 2
    CANN = 3
    LINE = 4
    STATUS = 5
    NATIVE = 6


@dataclass(frozen=True, slots=True)
class Frame:
    """One place of a traceback: the path as printed, and the code line when it was shown."""

    path: str
    line: int
    code: str = ""


@dataclass(slots=True)
class Link:
    """One exception of a chain: its frames, its line, and the rest of its message."""

    frames: list[Frame] = field(default_factory=list)
    no: int = 0
    text: str = ""
    message: list[tuple[int, str]] = field(default_factory=list)
    top: tuple[str, str] = ("", "")  # the path and the function of the first frame
    context: bool = False  # the next link was raised while this one was handled
    outer: bool = False  # its message is the next link, raised in another process

    def add(self, no: int, text: str) -> bool:
        """Append a line of the message; return False if it is full."""
        if len(self.message) >= _MAX_MESSAGE:
            return False
        self.message.append((no, text[:MAX_TEXT]))
        return True

    def code(self, text: str) -> None:
        """Take a line as the code of the last frame, if that has none yet."""
        if self.frames and not self.frames[-1].code:
            self.frames[-1] = replace(self.frames[-1], code=text[:200])

    def frame(self, frame: Frame) -> None:
        """Append a frame; of a deep recursion only the two ends are kept."""
        if len(self.frames) >= _MAX_FRAMES:
            del self.frames[_MAX_FRAMES // 2]
        self.frames.append(frame)


@dataclass(slots=True)
class Failure:
    """One failure of one process, as the log shows it."""

    kind: Kind
    stream: str
    segment: int
    links: list[Link] = field(default_factory=lambda: [Link()])
    trace: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_MAX_TRACE))
    before: list[tuple[int, bytes]] = field(default_factory=list)
    after: list[tuple[int, bytes]] = field(default_factory=list)
    signature: LogSign | None = None
    weak: bool = False
    test: str = ""
    time: str = ""
    wall: str = ""
    level: str | None = None
    repeated: bool = False
    unit: int = 0  # the test file that a suite runner was running
    noise: bool = False
    finding: bool = False  # what a hook found
    calm: int = 0  # the ordinary lines of the log before it

    @property
    def link(self) -> Link:
        """Return the current link."""
        return self.links[-1]

    def chain(self, link: Link) -> None:
        """Append a link; longer chains tell nothing new."""
        self.links.append(link)
        del self.links[12:]

    @property
    def no(self) -> int:
        """Return the number of the first line of the failure."""
        return next((link.no for link in self.links if link.no), 0)

    @property
    def shape(self) -> str:
        """Return the text without its numbers: two reports of one failure have the same shape."""
        return _SAME.sub("#", self.link.text)[:300]


@dataclass(frozen=True, slots=True)
class Status:
    """An exit code that a line reports."""

    no: int
    code: int
    text: str
    segment: int
    wall: str = ""
    calm: int = 0


def codes_in(text: str) -> list[str]:
    """Return the CANN, ERR and six-digit codes of a line, in order."""
    return [m["cann"] or m["err"] or m["six"] for m in _CODES.finditer(text) if _proper(m)]


def _proper(match: re.Match[str]) -> bool:
    """Return True for a CANN code, which is upper case; words before numbers are not."""
    word = match["cann"] or match["err"]
    return word is None or word.isupper()


def is_user_code(code: str) -> bool:
    """Return True for a code that a user can act on (0000-8999 except 8888)."""
    return not code.startswith("ERR") and _USER_CODE.match(code) is not None


def cann_time(text: str) -> str | None:
    """Return the time stamp of a line that begins a block of CANN, "" without one, else None.

    It needs a code, not a word of five letters, nor the exit hook's ERR99999.
    """
    match = _CANN.match(text)
    if match is None or "ERR99999" in text:
        return None
    if match["old"] is not None and _CODE.match(match["old"]) is None:
        return None
    return match["at"] or match["at2"] or match["at3"] or ""


class Board:
    """All failures of a log in the order of their lines, within bounds."""

    def __init__(self) -> None:
        """Start empty."""
        self._first: list[Failure] = []
        self._late: deque[Failure] = deque(maxlen=_MAX_LATE)
        self._shapes: dict[tuple[str, str, str], Failure] = {}
        self.statuses: list[Status] = []
        self.kills: list[Failure] = []
        self._codes: set[tuple[int, int]] = set()
        self.notes: set[str] = set()
        self.unit = 0
        self.calm = 0  # the ordinary lines so far: the job went on
        self._dropped_at = -1  # the progress at which handled failures were dropped last

    def add(self, failure: Failure, progress: int = 0) -> bool:
        """Keep a failure; return False for a line that the same process already printed.

        `progress` is the line of the last sign of progress: earlier failures were handled.
        """
        if failure.kind is Kind.LINE and not self._is_new(failure, progress):
            return False
        failure.unit, failure.calm = self.unit, self.calm
        if len(self._first) >= _MAX_FAILURES and progress != self._dropped_at:
            self._dropped_at = progress
            self._first = [f for f in self._first if f.no >= progress or f.kind is Kind.PYTEST]
        if len(self._first) < _MAX_FAILURES:
            self._first.append(failure)
        else:
            self._late.append(failure)
        return True

    def _is_new(self, failure: Failure, progress: int) -> bool:
        name = failure.signature.name if failure.signature is not None else ""
        codes = ",".join(codes_in(failure.link.text))
        key = (failure.stream, failure.shape, f"{failure.segment} {failure.unit} {name} {codes}")
        known = self._shapes.get(key)
        if known is not None and not known.noise and known.no >= progress:
            return False
        if known is not None or len(self._shapes) < _MAX_FAILURES:
            self._shapes[key] = failure
        return True

    def kill(self, failure: Failure) -> None:
        """Keep a line with the reason why the job was stopped."""
        failure.calm = self.calm
        if len(self.kills) < _MAX_LATE:
            self.kills.append(failure)

    def status(self, status: Status) -> None:
        """Keep an exit code, the first line of a step that reports it."""
        key = (status.segment, status.code)
        if len(self._codes) < _MAX_FAILURES and key not in self._codes:
            self._codes.add(key)
            self.statuses.append(status)

    def forgive(self, since: int) -> None:
        """Drop everything that a passed test, step or file printed after that line."""
        for failure in self.all():
            if failure.no >= since:
                failure.noise = True
        self._first = [f for f in self._first if not f.noise]
        self._shapes = {k: f for k, f in self._shapes.items() if not f.noise}

    def all(self) -> list[Failure]:
        """Return the failures that are not noise, by line."""
        return [f for f in (*self._first, *self._late) if not f.noise]
