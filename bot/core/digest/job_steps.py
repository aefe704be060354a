"""The steps of a job as a log shows them: how far each came, and what ended badly in it."""

import re
from collections import deque
from typing import NamedTuple

from bot.core.digest.environment import Environment
from bot.core.digest.progress import ProgressClock

_MAX_STEPS = 256
_MAX_TOLD = 16
_HYDRA = re.compile(  # the words before and after what it could not do
    r"^Error executing job with overrides|^Set the environment variable HYDRA_FULL_ERROR=1"
)
_POST = "Post job cleanup"  # the runner's own work after the last step
_RAYJOB_FAILED = re.compile(r"^Job '[\w.-]{1,100}' failed\b")
_SUMS_UP = re.compile(  # a session of tests: `pytest -q`, unittest, TAP, ctest, GoogleTest
    r"^(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b.{0,160} in [\d.:]+"
    r"|^OK(?: \(.{1,80}\))?$|^FAILED \((?:failures|errors)=|^(?:not )?ok \d+\b"
    r"|^\d+% tests passed, \d+ tests? failed out of \d+|^\[ +(?:PASSED|FAILED) +\] \d+ tests?\b"
)
_FAILED = re.compile(r"(?i)\b(?:failed|errors?)\b|^not ok ")
_NONE_FAILED = re.compile(r"\b0 tests? failed out of")
_BY_DESIGN = re.compile(
    r"(?i)\bearly[- ]?stop|\bstopp?(?:ed|ing) early|提前(?:停止|结束|终止)|早停"
    r"|^\s*exiting program at iteration \d"  # Megatron's exit interval
    r"|^\+ (?:.{1,80} )?timeout (?:-\S+ (?:[A-Z]+ )?){0,6}[\d.]+[smhd]? "  # the script's own limit
)

_NOT_RUN = re.compile(  # an interpreter without its script, a program that refuses its arguments
    r"^(?:bash|sh): (?:line \d+: )?\S+\.\w{2,3}: (?:No such file or directory|没有那个文件或目录)"
    r"|^\S*python[\d.]*: can't open file |^\S+\.py: error: "
)
_TELLS = re.compile(  # a line without any of it tells nothing here
    r"overrides|HYDRA|^Post job|^Job '|^OK|passed|failed|FAILED|[Ee]rror|(?i:early)|timeout "
    r"|^(?:not )?ok \d|PASSED|exiting program|^(?:bash|sh): |can't open|Total training|提前|早停"
)
_ANNOUNCED = re.compile(r"\bTotal training steps: (\d{1,9})\b")


class StepEnd(NamedTuple):
    """What is known at the end of a step of the job; `total` is None if no steps were announced."""

    calm: int  # the ordinary lines of the log so far
    progress: int = 0  # the line of the last training step in it, 0 for none
    trained: int = 0  # its number
    total: int | None = None


class Session(NamedTuple):
    """The last session of tests in a step."""

    line: int
    passed: bool


class JobSteps:
    """Remembers what the steps of a job printed at their ends, each by its number."""

    def __init__(self, clock: ProgressClock) -> None:
        """Start before the first step."""
        self.number = 0
        self.evidence: set[int] = set()  # that print the logs of other processes
        self.failed: dict[int, tuple[int, str]] = {}  # what the runner says of those, and where
        self.sessions: dict[int, Session] = {}
        self.rayjobs: set[int] = set()  # in which Ray's client told of a failed job
        self.hydra: deque[tuple[int, int]] = deque(maxlen=_MAX_TOLD)  # step and line of its words
        self.by_design: set[int] = set()  # in which a training may stop early on purpose
        self.not_run: set[tuple[int, int]] = set()  # the same of a program that did not begin
        self.environment = Environment()
        self._clock = clock
        self._from = 0
        self._ends: dict[int, StepEnd] = {}

    def begin(self, no: int, calm: int) -> None:
        """Begin the next step at a line."""
        self._end(calm)
        self._from = no
        self.number += 1

    def note(self, no: int, text: str, calm: int) -> int:
        """Remember what a line tells of the steps; return how many of the next may tell more."""
        if _TELLS.search(text) is not None:
            self._tell(no, text, calm)
        return self.environment.take(text)

    def _tell(self, no: int, text: str, calm: int) -> None:
        """Remember words that tell how a process or the last step ended."""
        if _HYDRA.match(text):
            self.hydra.append((self.number, no))
        elif text.startswith(_POST):
            self._end(calm)
        elif _RAYJOB_FAILED.match(text):
            self.rayjobs.add(self.number)
        elif _SUMS_UP.match(text):
            self.tested(no, text)
        elif _BY_DESIGN.search(text):
            self.by_design.add(self.number)
        elif _NOT_RUN.match(text) and len(self.not_run) < _MAX_TOLD:
            self.not_run.add((self.number, no))
        elif found := _ANNOUNCED.search(text):
            self._clock.total = int(found[1])

    def tested(self, no: int, text: str) -> None:
        """Remember the line that sums up a session of tests."""
        failed = _FAILED.search(text) and not _NONE_FAILED.search(text)
        self.sessions[self.number] = Session(no, not failed)

    def ends(self, calm: int) -> dict[int, StepEnd]:
        """Return the end of each step; the last one has come to the end of the log."""
        return {self.number: self._now(calm), **self._ends}

    def _end(self, calm: int) -> None:
        if len(self._ends) < _MAX_STEPS:
            self._ends.setdefault(self.number, self._now(calm))

    def _now(self, calm: int) -> StepEnd:
        clock = self._clock
        if clock.line <= self._from:
            return StepEnd(calm)
        return StepEnd(calm, clock.line, clock.step, clock.total)
