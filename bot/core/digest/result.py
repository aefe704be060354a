"""What is kept of a log: the one cause of a failure, and the few lines that a person needs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self

import msgspec

MAX_JSON_BYTES = 64_000  # of one row; GitHub takes 65,535 bytes of text for a check run
UNKNOWN = "unknown"  # the class of a failure that no signature explains


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the repository that a reader of the pull request should look at."""

    path: str
    line: int
    message: str


class StepPoint(NamedTuple):
    """What one step measured, for a plot; None for what it did not print."""

    step: int
    reward: float | None  # `critic/rewards/mean`
    seconds: float | None  # `timing_s/step`


@dataclass(frozen=True, slots=True)
class Progress:
    """The last sign of progress; `total` and `seconds_per_step` are None when unknown.

    `points` are of steps at equal distances from the first one on, and of the last one.
    """

    step: int
    total: int | None = None
    seconds_per_step: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    line: int = 0
    points: tuple[StepPoint, ...] = ()


class Unread(StrEnum):
    """The reason why only the beginning of a log was read."""

    TIME = "time"  # it took more processor time than a log may
    MEMORY = "memory"
    BUSY = "busy"  # all logs took too much processor time, and it most
    DIED = "died"  # the process that read it was ended from outside
    SIZE = "size"


class Found(StrEnum):
    """What a digest knows of a failure."""

    CAUSE = "cause"
    EXIT_CODE = "exit_code"  # only that a command failed
    NOTHING = "nothing"  # the log stops without an error, or ends well


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The one cause of a log, its class, and the few lines that a person needs.

    `root_cause_line` and the numbers in `excerpt_lines` count lines of the raw log from 1.
    `infra` means that a retry is worth its cost. `bytes` counts the whole log, `lines` the part
    that was read: all of it if `unread` is None. `tail` holds the last lines that say something,
    of the failed step if the log shows one; `last` is the last one that the job itself printed.
    `failed_tests` are those that made the job fail, if nothing else did.
    `environment` is what it ran with: the name of a package or of another part, and its version.
    `hidden` is only of a job that passed: a process of it ended badly, and this is the cause.
    """

    failure_class: str = msgspec.field(default=UNKNOWN, name="class")
    infra: bool = False
    codes: tuple[str, ...] = ()
    root_cause_line: int | None = None
    cause: str = ""
    title: str = ""
    excerpt: str = ""
    excerpt_lines: tuple[tuple[int, str], ...] = ()
    traceback: str = ""
    annotations: tuple[Location, ...] = ()
    hint: str = ""
    lines: int = 0
    bytes: int = 0
    progress: Progress | None = None
    tail: tuple[str, ...] = ()
    last: str = ""
    found: Found = Found.CAUSE
    unread: Unread | None = None
    hidden: bool = False
    failed_tests: tuple[str, ...] = ()
    environment: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def what(self) -> str:
        """Return the title without the place in the repository."""
        for place in self.annotations[:1]:
            _, found, detail = self.title.partition(f" in {place.path}:{place.line}: ")
            return detail if found else self.title
        return self.title

    def of_part(self, unread: Unread | None, all_bytes: int) -> Self:
        """Return it as the digest of a larger log, of which the rest was not read."""
        return msgspec.structs.replace(self, unread=unread, bytes=all_bytes)

    def bounded(self) -> Self:
        """Return it with a JSON of at most 64,000 bytes; the folded parts give way first."""
        fitting, smaller = self, self._smaller()
        while len(msgspec.json.encode(fitting)) > MAX_JSON_BYTES:
            fitting = next(smaller)
        return fitting

    def _smaller(self) -> Iterator[Self]:
        replace = msgspec.structs.replace
        yield (one := replace(self, traceback=self.traceback[:8_000]))
        yield (two := replace(one, traceback="", tail=()))
        yield replace(
            two,
            excerpt=two.excerpt[:2_000],
            excerpt_lines=two.excerpt_lines[:5],
            annotations=two.annotations[:3],
            cause=two.cause[:500],
            progress=None,
            failed_tests=(),
        )
