"""Read Python tracebacks of many streams: chains, Ray's nested causes, groups, faulthandler."""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from bot.core.digest import evidence
from bot.core.digest.shapes import Line
from bot.core.digest.weak import is_compiler

_MAX_STREAMS = 256
_MAX_STRAY = 6
_MAX_PLAIN = 3  # unindented lines that may continue an exception's message
START = re.compile(
    r"( {0,40})(?:  [+|] )?(?:Exception Group |Original )?Traceback \(most recent call last\):"
)
_GROUP = re.compile(r"^ {0,40}(?:\+-\+?-{2,} (?:\d+ )?-{2,}|\+-{8,}|[|+] ?)(?= |\w|$)")
_MEMBER = re.compile(r"^ {0,40}\+-\+?-{2,} (?:\d+|\.\.\.) -{2,}")
FRAME = re.compile(r'^\s{0,40}File "([^"]{1,400})", line (\d{1,9})(,)?')
_RAY = re.compile(
    r"^(?:ray\.exceptions\.)?RayTaskError\(.*?\)(?::|$)|^(?:\S+\.)?RayTaskError: ray::"
    r"|^Unhandled error \(suppress with .{1,60}\): ray::|^ray::\S.{0,200}\(pid=|^ray::\S+\(\)"
)
_RAY_DIED = re.compile(
    r"ActorDiedError: The actor died because of an error raised in its creation task"
)
EXCEPTION = re.compile(r"^((?:[A-Za-z_][\w]*\.)*[A-Za-z_]\w{1,80})(?:: (.*)|:\s*)?$", re.DOTALL)
_OUTER = re.compile(r":\s*$|^\S+: Caught \w+ in ")  # a traceback continues the message
_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"
_CURRENT = re.compile(r"^Current thread 0x|^Thread 0x\w+ .*\(most recent call first\)")
_EXITED = re.compile(r"(?i)exit(?:ed)?(?: with)? (?:code|status)\b")
_BELONGS = re.compile(
    r"^\[(?:ERROR|Error)\]|^E(?:[A-PZ]\d{4}|[1-4]\d{4})\b|^\[PID: ?\d+\]|^\s"
    r"|^\d+\s+[\d.]+\s+\S|^PID\s+MEM"
    r"|^-{52}$|^- [A-Z][\w+ ]{3,40}:"  # the parts of MindSpore's message
)


@dataclass(slots=True)
class TraceState:
    """The state of one stream: in a traceback, or in a message that may continue."""

    open: evidence.Link | None = None
    after: evidence.Link | None = None
    failure: evidence.Failure | None = None
    joined: str = ""
    mute: bool = False
    source: str = ""
    level: str | None = None
    plain: int = 0
    blank: bool = False
    stray: int = 0
    threads: int = 0
    indent: str = ""  # before each line of a traceback that a tool shows of its child


class Traces:
    """Reads tracebacks and message blocks of many interleaved streams."""

    def __init__(self, board: evidence.Board, is_noise: Callable[[str], bool]) -> None:
        """Start empty. `is_noise` tells whether a message line belongs to nothing."""
        self._board = board
        self._noise = is_noise
        self._states: OrderedDict[str, TraceState] = OrderedDict()
        self._joining: tuple[str, int] = ("", 0)

    @property
    def busy(self) -> bool:
        """Return True if any stream is inside a traceback."""
        return any(state.open for state in self._states.values())

    def inside(self, stream: str) -> bool:
        """Return True if a stream is inside a traceback."""
        state = self._states.get(stream)
        return state is not None and state.open is not None

    def state(self, stream: str) -> TraceState:
        """Return the state of a stream; with too many streams forget the longest silent one."""
        state = self._states.get(stream)
        if state is None:
            state = self._states[stream] = TraceState()
            if len(self._states) > _MAX_STREAMS:
                self._states.popitem(last=False)
        else:
            self._states.move_to_end(stream)
        return state

    def mute(self, stream: str) -> None:
        """Ignore the next traceback of this stream."""
        self.state(stream).mute = True

    def watch(self, failure: evidence.Failure, line: Line) -> None:
        """Let the next lines of this stream continue the message of a failure."""
        state = self.state(line.stream)
        state.open, state.after, state.failure = None, failure.link, failure
        state.source, state.level = line.source, line.level
        state.plain, state.blank = 0, False

    def take(self, line: Line, segment: int) -> bool:
        """Read a line; return False if it is not part of a traceback or message."""
        self._borrow(line)
        state = self.state(line.stream)
        member = _MEMBER.match(line.text)
        if member or (
            _GROUP.match(line.text) and (state.open or state.after or "Traceback" in line.text)
        ):
            line.text = _GROUP.sub("", line.text)
        self._dedent(state, line)
        if START.match(line.text):
            self._start(state, line, segment)
        elif member:
            state.joined = state.joined or "group"
        elif state.open is not None:
            return self._inside(state, line)
        elif FRAME.match(line.text) or _RAY.match(line.text) or _RAY_DIED.search(line.text):
            return self._headless(state, line, segment)
        elif state.after is not None:
            return self._continue(state, line)
        else:
            return self._separator(state, line)
        return True

    @staticmethod
    def _dedent(state: TraceState, line: Line) -> None:
        """Take the margin of a child's traceback off its lines; a line without it ends it."""
        if head := START.match(line.text):
            state.indent = head[1]
        if line.text.startswith(state.indent):
            line.text = line.text[len(state.indent) :]
        elif line.text.strip():
            state.indent, state.open, state.after = "", None, None

    def _borrow(self, line: Line) -> None:
        """Join Ray's coloured `ray::` header, which looks like another stream, to its traceback."""
        stream, no = self._joining
        if line.text.startswith("ray::") and line.no - no <= 2 and no:
            line.stream = stream

    def _start(self, state: TraceState, line: Line, segment: int) -> evidence.Link:
        if state.after is not None and _OUTER.search(state.after.text):
            state.joined = state.joined or "inner"
            state.after.outer = True
        failure = state.failure
        if failure is None or not state.joined:
            failure = self._begin(state, line, segment)
        failure.kind = evidence.Kind.PYTHON
        link = evidence.Link()
        state.failure, state.open, state.after, state.joined = failure, link, None, ""
        state.source, state.level, state.stray, state.threads = line.source, line.level, 0, 0
        self._trace(state, line)
        return link

    @staticmethod
    def _begin(state: TraceState, line: Line, segment: int) -> evidence.Failure:
        failure = evidence.Failure(
            evidence.Kind.PYTHON, line.stream, segment, links=[], wall=line.wall
        )
        failure.level, failure.repeated = line.level, line.repeated
        failure.noise, state.mute = state.mute, False
        return failure

    def _headless(self, state: TraceState, line: Line, segment: int) -> bool:
        frame = FRAME.match(line.text)
        if frame and not frame[3] and state.failure is not None and state.after is not None:
            return self._fault(state, line, frame)
        if frame and state.after is not None and not state.joined:
            return self._continue(state, line)
        link = self._start(state, line, segment)
        if frame:
            link.frame(evidence.Frame(frame[1], int(frame[2])))
        return True

    def _fault(self, state: TraceState, line: Line, frame: re.Match[str]) -> bool:
        """Read a frame of a `most recent call first` list: the first one is the deepest."""
        link, failure = state.after, state.failure
        assert link is not None
        assert failure is not None
        if state.threads <= 1:
            failure.kind = evidence.Kind.NATIVE
            link.frames.insert(0, evidence.Frame(frame[1], int(frame[2])))
        self._trace(state, line)
        return True

    def _inside(self, state: TraceState, line: Line) -> bool:
        link, text = state.open, line.text
        assert link is not None
        if frame := FRAME.match(text):
            if not link.top[0]:
                link.top = (frame[1], text[frame.end() :].removeprefix(" in ").strip())
            link.frame(evidence.Frame(frame[1], int(frame[2])))
        elif _RAY.match(text) or (_RAY_DIED.search(text)):
            link.frames.clear()
        elif not text.strip() or text[0] in " \t^":
            if text.strip().strip("^~ "):
                link.code(text.strip())
        elif self._separator(state, line):
            state.open = None
            return True
        elif (exception := EXCEPTION.match(text)) and (link.frames or exception[2]):
            self._close(state, link, line)
        else:
            state.stray += 1
            if state.stray > _MAX_STRAY:
                state.open = None
            return False
        self._trace(state, line)
        return True

    def _close(self, state: TraceState, link: evidence.Link, line: Line) -> None:
        failure = state.failure
        assert failure is not None
        link.no, link.text = line.no, line.text[: evidence.MAX_TEXT]
        new = not failure.links
        failure.chain(link)
        state.open, state.after = None, link
        state.plain, state.blank = 0, False
        if new and not failure.noise:
            self._board.add(failure)

    def _separator(self, state: TraceState, line: Line) -> bool:
        kind = "cause" if _CAUSE in line.text else "context" if _CONTEXT in line.text else ""
        if not kind:
            return False
        if state.failure is not None and state.failure.links:
            state.failure.link.context = kind == "context"
        state.joined = kind
        self._joining = (line.stream, line.no)
        self._trace(state, line)
        return True

    def _continue(self, state: TraceState, line: Line) -> bool:
        if self._separator(state, line):
            state.after = None
            return True
        link, text = state.after, line.text
        assert link is not None
        # Another place or level begins another log record.
        other = line.source and (line.source, line.level) != (state.source, state.level)
        if line.tag == "error" or other:
            state.after = None
            return False
        if _CURRENT.match(text):
            current = text.startswith("Current")  # this thread counts, otherwise the first one
            if current:
                link.frames.clear()
            state.threads = 1 if current or not link.frames else 2
            return True
        if not text.strip():
            state.blank = True
            return True
        belongs = _BELONGS.match(text) is not None or bool(evidence.codes_in(text))
        state.plain += not belongs
        self._board.calm += not belongs
        if is_compiler(text) or (not belongs and self._is_new(state, text)):
            state.after = None
            return False
        return self._append(state, link, line)

    @staticmethod
    def _is_new(state: TraceState, text: str) -> bool:
        """Return True for an unindented line that does not belong to the message before it."""
        exception = state.failure is not None and state.failure.kind is evidence.Kind.PYTHON
        ended = text.startswith("+ ") or _EXITED.match(text) is not None
        return not exception or state.plain > _MAX_PLAIN or state.blank or ended

    def _append(self, state: TraceState, link: evidence.Link, line: Line) -> bool:
        failure = state.failure
        if self._noise(line.text):
            if (
                failure is not None
                and failure.kind is evidence.Kind.CANN
                and "npuSynchronize" in line.text
            ):
                failure.noise = True
            return True
        if not link.add(line.no, line.text):
            state.after = None
        self._trace(state, line)
        return True

    @staticmethod
    def _trace(state: TraceState, line: Line) -> None:
        if state.failure is not None:
            state.failure.trace.append((line.no, line.text[: evidence.MAX_TRACE_TEXT]))
