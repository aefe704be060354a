"""The entry of the digester: feed it bytes, and ask it for a digest."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bot.core.digest.choose import Chosen, choose_cause, choose_hidden
from bot.core.digest.ending import last_told, told_lines
from bot.core.digest.evidence import Kind, Weight
from bot.core.digest.excerpt import bounded, excerpt_of, folded, numbered, shortened
from bot.core.digest.hints import hint_of
from bot.core.digest.judge import Verdict, exception_name
from bot.core.digest.places import Places, place_of, related
from bot.core.digest.reader import Reader
from bot.core.digest.result import UNKNOWN, Digest, Found, Location, Progress
from bot.core.digest.scan import Scanner
from bot.core.digest.signatures import Signatures
from bot.core.secrets.redaction import RedactingStream, Redactor, StreamState

_MAX_ANNOTATIONS = 20
_MAX_CODES = 12
_MAX_TITLE = 100
_MAX_CAUSE = 500


@dataclass(slots=True)
class DigestState:
    """All that a digester knows of the part that it has read."""

    scanner: Scanner
    stream: StreamState
    bytes: int = 0


class Digester:
    """Reads one log while it grows; it can return a digest at any time."""

    def __init__(
        self,
        signatures: Signatures,
        *,
        repo_roots: Sequence[str] = (),
        redactor: Redactor | None = None,
    ) -> None:
        """Set it up; `repo_roots` are folder patterns.

        Secrets are taken out before anything is read: what is kept of a log holds none.
        """
        self._reader = Reader(signatures)
        self._redactor = redactor
        self._places = Places(repo_roots)
        self.go_on(DigestState(Scanner(signatures.prefilter, self._reader), StreamState()))

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the log; a chunk may end anywhere."""
        self._state.bytes += len(chunk)
        self._scanner.feed(chunk if self._stream is None else self._stream.feed(chunk))

    @property
    def state(self) -> DigestState:
        """Return all that was read so far."""
        self._scanner.flush()
        return self._state

    def go_on(self, state: DigestState) -> None:
        """Go on from the state of another digester with the same signatures."""
        assert isinstance(state.scanner.sink, Reader)
        self._state, self._scanner, self._reader = state, state.scanner, state.scanner.sink
        self._stream = RedactingStream(self._redactor, state.stream) if self._redactor else None

    @property
    def lines(self) -> int:
        """Return the number of lines that have ended so far."""
        self._scanner.flush()
        return self._scanner.lines

    @property
    def bytes(self) -> int:
        """Return the number of bytes so far."""
        return self._state.bytes

    @property
    def progress(self) -> Progress | None:
        """Return the last training step, None before the first."""
        self._scanner.flush()
        return self._reader.clock.progress()

    def end(self, *, passed: bool = False) -> Digest:
        """Return the digest of the log so far; the stream may continue afterwards.

        Of a job that passed it tells only what its green end hides.
        """
        self._scanner.flush()
        scanner = self._scanner
        rest = self._stream.rest if self._stream else b""
        if rest or scanner.unfinished:
            scanner = copy.deepcopy(scanner, {id(self._reader.book): self._reader.book})
            scanner.feed(rest)
            scanner.flush()
            scanner.finish()
        reader: Any = scanner.sink
        tail = told_lines(reader.step_end) or told_lines(scanner.tail)
        reader.last_text = last_told(tail)
        if not passed:
            choice = choose_cause(reader, self._places, scanner.lines)
            failed = self._digest(reader, choice, tail, scanner.lines)
            tests = reader.pytest.failed.alone(reader)
            return msgspec.structs.replace(failed, failed_tests=tests)
        hidden = choose_hidden(reader, self._places, scanner.lines)
        found = self._digest(reader, hidden or Chosen(None, False, []), tail, scanner.lines)
        return msgspec.structs.replace(found, hidden=hidden is not None)

    def _digest(self, reader: Reader, choice: Chosen, tail: tuple[str, ...], lines: int) -> Digest:
        best, progress = choice.best, reader.clock.progress()
        whole: Any = {"lines": lines, "bytes": self.bytes, "progress": progress, "tail": tail}
        whole |= {"last": reader.last_text, "found": _found(best)}
        whole["environment"] = dict(reader.steps.environment.known)
        if best is None:
            return Digest(title="Nothing in this log failed", **whole)
        annotations = self._annotations(choice, best)
        chosen = excerpt_of(best, annotations[0].path if annotations else None, reader.noise)
        excerpt = tuple(bounded(shortened(chosen), best.no))
        told = next((v for v in related(best, choice.all) if v.failure.trace), best)
        return Digest(
            failure_class=best.failure_class,
            infra=choice.infra,
            codes=tuple(best.codes[:_MAX_CODES]),
            root_cause_line=best.no,
            cause=best.text[:_MAX_CAUSE],
            title=(_title(choice, best, annotations) or reader.last_text or best.text)[:_MAX_TITLE],
            excerpt=numbered(excerpt),
            excerpt_lines=excerpt,
            traceback=folded(best if best.failure.trace else told),
            annotations=annotations,
            hint=hint_of(best, has_place=bool(annotations)),
            **whole,
        )

    def _annotations(self, choice: Chosen, best: Verdict) -> tuple[Location, ...]:
        found = [self._annotation(best, choice.all)]
        if best.failure.kind is Kind.PYTEST:
            others = [
                v
                for v in choice.all
                if v.failure.kind is Kind.PYTEST and v is not best and v.tier <= Weight.FOLLOWER
            ]
            found += [self._annotation(v, ()) for v in others[:_MAX_ANNOTATIONS]]
        unique = {(a.path, a.line): a for a in reversed(found) if a is not None}
        return tuple(reversed(unique.values()))

    def _annotation(self, verdict: Verdict, others: Sequence[Verdict]) -> Location | None:
        for told in (verdict, *related(verdict, others)):
            if place := place_of(told, self._places):
                return Location(*place, verdict.text[:_MAX_CAUSE])
        return None


def _found(best: Verdict | None) -> Found:
    if best is None or best.silent:
        return Found.NOTHING
    if best.failure.kind is Kind.STATUS and best.failure_class == UNKNOWN:
        return Found.EXIT_CODE
    return Found.CAUSE


def _title(choice: Chosen, best: Verdict, annotations: Sequence[Location]) -> str:
    """Return the failure, and its place if the change is at fault; "" for a bare exit code."""
    if _found(best) is Found.EXIT_CODE:
        return ""  # the last line of the job tells more
    short = best.signature.title if best.signature is not None else ""
    what = short or (annotations[0].message if annotations else best.text)
    name = exception_name(best.failure.links[best.link].text)
    if choice.infra or not annotations or not name:
        return what or "No cause found"
    detail = short or best.text.partition(": ")[2] or best.text
    return f"{name} in {annotations[0].path}:{annotations[0].line}: {detail}"
