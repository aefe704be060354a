"""What is kept of a log: the values that leave the digester, and the row they are stored as."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

MAX_JSON_BYTES = 64_000  # one row; GitHub takes 65,535 bytes of text for a check run
_Encoded = str | bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """One place of a traceback: the path as printed, and the code line when it was shown."""

    path: str
    line: int
    function: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A line of the repository that a reader of the pull request should look at."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The last sign of progress; `total` and `seconds_per_step` are None when unknown."""

    step: int
    total: int | None
    seconds_per_step: float | None
    metrics: dict[str, float]
    line: int


@dataclass(frozen=True, slots=True)
class Digest:
    """The one cause of a log, its class, and the few lines that a person needs.

    `root_cause_line` and the numbers in `excerpt_lines` count lines of the raw log from 1.
    `infra` means that a retry is worth its cost.
    """

    class_: str
    infra: bool
    codes: tuple[str, ...]
    root_cause_line: int | None
    cause: str
    title: str
    excerpt: str
    excerpt_lines: tuple[tuple[int, str], ...]
    traceback: str
    annotations: tuple[Annotation, ...]
    hint: str
    lines: int
    bytes: int
    progress: Progress | None
    tail: tuple[str, ...]

    def to_json(self) -> str:
        """Encode as a JSON text of at most 64,000 bytes; the folded parts give way first."""
        data = msgspec.json.encode(self)
        smaller = self._smaller()
        while len(data) > MAX_JSON_BYTES:
            data = msgspec.json.encode(next(smaller))
        return data.decode()

    def _smaller(self) -> "Iterator[Digest]":
        yield (one := replace(self, traceback=self.traceback[:8_000]))
        yield (two := replace(one, traceback="", tail=()))
        yield replace(
            two,
            excerpt=two.excerpt[:2_000],
            excerpt_lines=two.excerpt_lines[:5],
            annotations=two.annotations[:3],
            cause=two.cause[:500],
            progress=None,
        )

    @classmethod
    def from_json(cls, text: _Encoded) -> "Digest":
        """Read back what `to_json` wrote; raises `msgspec.ValidationError` on anything else."""
        return msgspec.json.decode(text, type=cls)


def no_failure(
    lines: int, size: int, *, progress: Progress | None, tail: tuple[str, ...]
) -> Digest:
    """Return the digest of a log in which nothing failed."""
    return Digest(
        class_="unknown",
        infra=False,
        codes=(),
        root_cause_line=None,
        cause="",
        title="Nothing in this log failed",
        excerpt="",
        excerpt_lines=(),
        traceback="",
        annotations=(),
        hint="",
        lines=lines,
        bytes=size,
        progress=progress,
        tail=tail,
    )


def worse(first: Digest, second: Digest) -> Digest:
    """Return the digest that says more about why a run failed; the first one on a tie."""
    return second if _weight(second) > _weight(first) else first


def choose(digests: Iterable[Digest]) -> Digest | None:
    """Return the digest with a real cause among the logs of one run, None when there are none."""
    best: Digest | None = None
    for digest in digests:
        best = digest if best is None else worse(best, digest)
    return best


def _weight(digest: Digest) -> int:
    """Rank: nothing known, a kill, then a cause; one with a place in the code says most."""
    match digest.class_:
        case "unknown":
            return 1 if digest.root_cause_line is not None else 0
        case "cancelled":
            return 2
        case "timeout_hang" | "runner_lost":
            return 3
        case _:
            return 5 if digest.annotations else 4
