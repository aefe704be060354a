"""The entry of the digester: feed it bytes, and ask it for a digest."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from bot.core.digest.choose import Chosen, choose_cause
from bot.core.digest.evidence import Kind, Weight
from bot.core.digest.excerpt import bounded, excerpt_of, folded, numbered, redacted
from bot.core.digest.judge import Verdict, exception_name
from bot.core.digest.places import Places, place_of, related
from bot.core.digest.reader import Reader
from bot.core.digest.result import Digest, Location, Progress
from bot.core.digest.scan import Scanner
from bot.core.digest.shapes import parse
from bot.core.digest.signatures import Signatures

_Raw = bytes
_MAX_ANNOTATIONS = 20
_MAX_CODES = 12
_MAX_TITLE = 120
_MAX_CAUSE = 500


def identity(text: str) -> str:
    """Return the text unchanged: the redactor of a caller that needs none."""
    return text


class Digester:
    """Reads one log while it grows; it can return a digest at any time."""

    def __init__(
        self,
        signatures: Signatures,
        *,
        repo_roots: Sequence[str] = (),
        redact: Callable[[str], str] = identity,
    ) -> None:
        """Set it up; `repo_roots` are folder patterns."""
        self._reader = Reader(signatures)
        self._scanner = Scanner(signatures.prefilter, self._reader)
        self._places = Places(repo_roots)
        self._redact = redact

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the log; a chunk may end anywhere."""
        self._scanner.feed(chunk)

    @property
    def state(self) -> Scanner:
        """Return all that was read so far."""
        self._scanner.flush()
        return self._scanner

    def go_on(self, state: Scanner) -> None:
        """Go on from the state of another digester with the same signatures."""
        assert isinstance(state.sink, Reader)
        self._scanner, self._reader = state, state.sink

    @property
    def lines(self) -> int:
        """Return the number of lines that have ended so far."""
        self._scanner.flush()
        return self._scanner.lines

    @property
    def bytes(self) -> int:
        """Return the number of bytes so far."""
        return self._scanner.bytes

    @property
    def progress(self) -> Progress | None:
        """Return the last training step, None before the first."""
        self._scanner.flush()
        return self._reader.clock.progress()

    def end(self) -> Digest:
        """Return the digest of the log so far; the stream may continue afterwards."""
        self._scanner.flush()
        scanner = self._scanner
        if scanner.unfinished:
            scanner = copy.deepcopy(scanner, {id(self._reader.book): self._reader.book})
            scanner.finish()
        reader: Any = scanner.sink
        tail = tuple(self._line(raw) for raw in scanner.tail)
        reader.last_text = next((text for text in reversed(tail) if text.strip()), "")
        return self._digest(
            reader, choose_cause(reader, self._places, scanner.lines), tail, scanner.lines
        )

    def _line(self, raw: _Raw) -> str:
        text = [line.text for line in parse(0, raw)][-1]
        return self._redact(text)[:300]

    def _digest(self, reader: Reader, choice: Chosen, tail: tuple[str, ...], lines: int) -> Digest:
        best, progress = choice.best, reader.clock.progress()
        whole: Any = {"lines": lines, "bytes": self.bytes, "progress": progress, "tail": tail}
        if best is None:
            return Digest(title="Nothing in this log failed", **whole)
        annotations = self._annotations(choice, best)
        chosen = excerpt_of(best, annotations[0].path if annotations else None, reader.noise)
        excerpt = tuple(bounded(redacted(chosen, self._redact), best.no))
        told = next((v for v in related(best, choice.all) if v.failure.trace), best)
        return Digest(
            failure_class=best.failure_class,
            infra=choice.infra,
            codes=tuple(best.codes[:_MAX_CODES]),
            root_cause_line=best.no,
            cause=self._redact(best.text)[:_MAX_CAUSE],
            title=self._redact(_title(choice, best, annotations))[:_MAX_TITLE],
            excerpt=numbered(excerpt),
            excerpt_lines=excerpt,
            traceback=folded(best if best.failure.trace else told, self._redact),
            annotations=annotations,
            hint=choice.hint,
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
                return Location(*place, self._redact(verdict.text)[:_MAX_CAUSE])
        return None


def _title(choice: Chosen, best: Verdict, annotations: Sequence[Location]) -> str:
    """Return the title: the failure, and its place if the change is at fault."""
    short = best.signature.title if best.signature is not None else ""
    what = short or (annotations[0].message if annotations else best.text)
    name = exception_name(best.failure.links[best.link].text)
    if choice.infra or not annotations or not name:
        return what or "No cause found"
    detail = short or best.text.partition(": ")[2] or best.text
    return f"{name} in {annotations[0].path}:{annotations[0].line}: {detail}"
