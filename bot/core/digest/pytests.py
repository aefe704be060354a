"""Read pytest's report: failing tests with their `E` lines and places, and the short summary."""

import re

from bot.core.digest.evidence import MAX_TEXT, MAX_TRACE_TEXT, Board, Failure, Frame, Kind, Link
from bot.core.digest.failed_tests import FailedTests
from bot.core.digest.shapes import Line

BEGINS = re.compile(r"^={3,} (?:test session starts|FAILURES|ERRORS|short test summary info) =")
_SECTION = re.compile(r"^={3,} ?(.{1,200}?) ?={3,}$")
ENDED = re.compile(
    r"\b(?:passed|failed|errors?|skipped|deselected|no tests ran)\b.{0,160} in [\d.:]+"
)
_HEADER = re.compile(r"^_{3,} ?(\S.{0,400}?) ?_{3,}$")
_RULE = re.compile(r"^(?:_ ){3,}_?$|^-{3,}$")
_CAPTURED = re.compile(r"^-{3,} ?Captured .{1,60} -{3,}$|^-+ generated xml file")
_E = re.compile(r"^E(?: +(.*)|$)", re.DOTALL)
_PLACE = re.compile(
    r"^([^\s:][^:]{0,400}\.\w{1,4}):(\d{1,7}): ?"
    r"(?:in \S.{0,200}|([A-Za-z_][\w.]{0,100})(?:: .*)?)?$"
)
_SUMMARY = re.compile(r"^(FAILED|ERROR|SUBFAIL) (?:\[[\d.]+s\] )?(\S.*?)(?: - (.*))?$", re.DOTALL)
_QUIET_END = re.compile(r"^\d+ (?:failed|passed|errors?)\b.{0,160} in [\d.:]+s")
_OUTSIDE = ("E   ", "ImportError while loading conftest")
_CHAIN = ("The above exception was the direct cause", "During handling of the above exception")
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Timeout|Interrupt|Exit|Failed|Warning|Group)?\b(?::|$)"
)


class PytestReport:
    """Reads the sections that pytest prints, and ignores lines between them."""

    def __init__(self, board: Board, stream: str = "") -> None:
        """Start outside of any section; other streams than its own only pass through it."""
        self._stream = stream
        self._board = board
        self.section = ""
        self.seen = False
        self._failure: Failure | None = None
        self._chained = False
        self._captured = False
        self._tests: set[str] = set()
        self.failed = FailedTests()

    def leave(self) -> None:
        """Forget the section: the step that ran pytest has ended."""
        self.section, self._failure = "", None

    def take(self, line: Line, segment: int, *, inside: bool = False) -> bool:
        """Read a line; return False for output of a test or a line `inside` a traceback."""
        text = line.text
        if text.startswith("===") and (match := _SECTION.match(text)):
            self._enter(line.no, match[1])
            return ENDED.search(text) is None
        if self.section == "" and text.startswith(_OUTSIDE) and line.stream == self._stream:
            self.section = "report"
            self._begin("collection", line, segment)
        if self.section:
            self.failed.note(text)
        if self.section == "report":
            return self._report(line, segment, inside=inside)
        if self.section == "summary":
            return self._summary(line, segment)
        return self.section == "other"

    def _enter(self, no: int, name: str) -> None:
        if ENDED.search(name):
            self.failed.ended(no, name)
        else:
            self.failed.section(no, name)
        self._failure, self._captured = None, False
        if name in {"FAILURES", "ERRORS"}:
            self.section = "report"
        elif name.startswith("short test summary"):
            self.section = "summary"
        elif name in {"warnings summary", "RERUNS", "PASSES"} or "durations" in name:
            self.section = "other"
        else:
            self.section = ""
        if name == "test session starts":
            self.seen = True
            self._tests.clear()

    def _report(self, line: Line, segment: int, *, inside: bool) -> bool:
        text = line.text
        if (header := _HEADER.match(text)) and not _RULE.match(text):
            self._begin(header[1], line, segment)
            return True
        if _CAPTURED.match(text):
            self._captured = True
            return True
        other = line.stream != self._stream or bool(line.source)
        if self._failure is None or self._captured or other or inside:
            return False
        return self._body(self._failure, line)

    def _begin(self, name: str, line: Line, segment: int) -> None:
        self._failure = Failure(Kind.PYTEST, f"test {name}", segment, test=name, wall=line.wall)
        self._captured = self._chained = False

    def _body(self, failure: Failure, line: Line) -> bool:
        text = line.text
        if match := _E.match(text):
            self._said(failure, line, match[1] or "")
        elif place := _PLACE.match(text):
            self._place(failure, place, line)
        elif text.startswith(_CHAIN):
            failure.link.context = text.startswith("During")
            self._chained = True
        elif text.startswith(">"):
            failure.link.message.append((-line.no, text[:MAX_TEXT]))
        elif text[:1] not in {" ", "", "\t"} and not _RULE.match(text):
            return False
        elif text.startswith("    ") and text.strip():
            failure.link.code(text.strip())
        failure.trace.append((line.no, text[:MAX_TRACE_TEXT]))
        return True

    def _said(self, failure: Failure, line: Line, said: str) -> None:
        if self._chained:
            failure.chain(Link())
            self._chained = False
        link = failure.link
        if link.no:
            link.add(line.no, said)
            if _EXCEPTION.match(said) and link.text.startswith(
                ("ray.exceptions.RayTaskError", "RayTaskError")
            ):
                link.no, link.text = line.no, said[:MAX_TEXT]
            return
        link.no, link.text = line.no, said[:MAX_TEXT]
        if failure.no == line.no:
            self._board.add(failure)
            self._tests.add(failure.test.split("[")[0].split(".")[-1])

    def _place(self, failure: Failure, place: re.Match[str], line: Line) -> None:
        code = next((text[1:].strip() for no, text in failure.link.message if no < 0), "")
        failure.link.message = [m for m in failure.link.message if m[0] > 0]
        if self._chained:
            failure.chain(Link())
            self._chained = False
        failure.link.frame(Frame(place[1], int(place[2]), code[:200]))
        if place[3] and not failure.link.no and ":" in line.text[place.start(3) :]:
            self._said(failure, line, line.text[place.start(3) :])

    def _summary(self, line: Line, segment: int) -> bool:
        match = _SUMMARY.match(line.text)
        if match is None:
            if _QUIET_END.match(line.text):
                self.failed.ended(line.no, line.text)
            return False
        self.failed.told(match[1], match[2])
        name = match[2].split("::")[-1].split("[")[0]
        if name in self._tests or match[2] in self._tests or not match[3]:
            known = bool(self._tests)
            if known or match[3]:
                return True
        path = match[2].split("::")[0]
        failure = Failure(Kind.PYTEST, f"test {name}", segment, test=match[2], wall=line.wall)
        failure.link.no, failure.link.text = line.no, (match[3] or line.text)[:MAX_TEXT]
        failure.link.frame(Frame(path, 0))
        self._board.add(failure)
        self._tests.add(name)
        return True


_VERDICT = re.compile(
    r"(?:^|\s)(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)"
    r"(?:\s+\[[\d.]+s\])?(?:\s+\[ *\d+%\])?\s*$"
)


def verdict(text: str) -> str:
    """Return PASSED, FAILED and so on if a line tells how a test ended, otherwise ""."""
    match = _VERDICT.search(text)
    return match[1] if match and (match.start(1) == 0 or "::" in text) else ""
