"""Follow one job's lines over many watches: show nothing twice, and never lose the end.

If the submitter numbers its events, the number decides: an event is new if its number is greater
than the last one.

Without numbers a new watch may be a replay (everything again) or a continuation, and it does not
say which. So the hashes of the first 64 lines and of the last 64 lines are remembered. The lines
of a new watch are held back while they equal the remembered ones from the first line on:

- If a line differs, the watch is a continuation. All held lines are new.
- If all known lines came again, the watch is a replay. They are dropped, and later lines are new.
- Between the first 64 and the last 64 lines only the count is known. A replay's lines there are
  dropped unseen. The last 64 lines are compared again. If one differs, or if a `final` comes
  before the count is reached, the lines still held (the last 1 MiB) are new. A `WatchProblem`
  then says how many lines before them are not shown.

A replay must be proved by a line that is not repeated among the remembered lines. A job may print
the same line again and again; then a replay and a continuation look the same. In this case **the
lines count as new, so they may show twice**, and none is lost. The opposite error needs a
continuation that begins with exactly the job's first lines, all of them, one of them unique.
These lines would be lost.

Only `log` lines count. A replay may lack other text (unknown types, pages of proxies), so it must
not be counted. The hashes of the last few such texts are kept, to drop repetitions. A status that
equals the last one is dropped; of a replay's statuses the last counts. A `final` always passes,
once.
"""

from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from operator import lt
from typing import assert_never
from zlib import crc32

from bot.core.model.rayjobs import ResumeState
from bot.core.rayjob.events import (
    Event,
    Final,
    LogLine,
    RawText,
    StatusChange,
    WatchProblem,
    are_lines,
    line_in,
)

# Enough for a job's banner and first messages. 128 hashes make 1.4 kB of JSON.
_REMEMBERED = 64
_REMEMBERED_OTHER = 16
# Bytes of lines held back during a comparison. Beyond it the oldest lines count as known.
_MAX_HELD_BYTES = 1024 * 1024
_LINE_OVERHEAD_BYTES = 200  # a struct, a str and an entry of the deque
_MAX_HALF_CHARS = 1000
_CUT_MARK = " [cut off: connection lost]"


def _known(state: ResumeState, position: int) -> int | None:
    """Return the hash of the line at a position, `None` if it is not remembered."""
    if position < len(state.first):
        return state.first[position]
    place = position - (state.lines - len(state.last))
    return state.last[place] if place >= 0 else None


def _repeats(state: ResumeState, digest: int) -> bool:
    """Return True if a line occurs more than once in the remembered lines."""
    beyond_first = max(0, min(state.lines - len(state.first), len(state.last)))
    later = state.last[len(state.last) - beyond_first :]
    return state.first.count(digest) + later.count(digest) > 1


class _Comparison:
    """A new watch that may be a replay, and the events that are held back meanwhile."""

    def __init__(self) -> None:
        self.position = 0
        self.proved = False
        self.held: deque[Event] = deque()
        self.given_up = 0
        self.seq = 0
        self._held_bytes = 0

    def hold(self, event: Event) -> None:
        """Hold an event back; after a proved replay drop the oldest beyond the limit."""
        self.held.append(event)
        self.seq = max(self.seq, event.seq or 0)
        self._held_bytes += _size(event)
        while self.proved and self.full:
            self._held_bytes -= _size(self.held.popleft())
            self.given_up += 1

    @property
    def full(self) -> bool:
        """Return True if more is held back than allowed."""
        return self._held_bytes > _MAX_HELD_BYTES


class Resume:
    """Finds the new events of a watch. Call `connected`, `take` …, `disconnected`, again."""

    def __init__(self, saved: ResumeState | None = None) -> None:
        """Go on from what `state` gave; None begins anew."""
        self._state = deepcopy(saved) if saved else ResumeState()
        self._comparison: _Comparison | None = None
        self._recent: list[str] = []  # the last lines, as far as the state lacks their hashes

    def state(self) -> ResumeState:
        """Return a copy of the state; it covers exactly the events handed out."""
        self._hash_recent()
        return deepcopy(self._state)

    @property
    def after(self) -> int:
        """Return the last sequence number, for the next watch; 0 without numbers."""
        return self._state.seq

    @property
    def lines(self) -> int:
        """Return the number of log lines handed out so far, without unfinished lines."""
        return self._state.lines

    def connected(self) -> None:
        """Begin a new watch."""
        self._hash_recent()
        self._comparison = _Comparison() if self._state.lines else None

    def take(self, events: Sequence[Event]) -> list[Event]:
        """Return the new events in order; some may only come with a later call."""
        new: list[Event] = []
        for place, event in enumerate(events):
            if self._comparison is None:
                return new + self._new(events[place:])
            new += self._compared(self._comparison, event)
        return new

    def disconnected(self, half: str = "") -> list[Event]:
        """End the watch with the unfinished line of `StreamDecoder.end`; return the held events.

        The held events are old if one of their lines proved a replay, otherwise new.
        """
        comparison = self._comparison
        new = self._go_on(comparison) if comparison and not comparison.proved else []
        self._comparison = None
        if half:
            self._state.half = half[:_MAX_HALF_CHARS]
        return new

    def finish(self) -> list[Event]:
        """Return the unfinished line, marked, if no other watch will follow."""
        half, self._state.half = self._state.half, ""
        return [LogLine(half + _CUT_MARK)] if half else []

    def _compared(self, comparison: _Comparison, event: Event) -> list[Event]:
        """Take one event while it is undecided whether this watch is a replay."""
        if event.seq is not None and self._state.seq:
            return self._numbered(comparison, event)
        match event:
            case Final():
                return self._go_on(comparison) + self._new([event])
            case WatchProblem():
                return [event]
            case LogLine():
                return self._line(comparison, event)
            case _:
                comparison.hold(event)
                return self._go_on(comparison) if comparison.full else []

    def _numbered(self, comparison: _Comparison, event: Event) -> list[Event]:
        """Decide by the sequence number; the first new number ends the comparison."""
        is_above = event.seq is not None and event.seq > self._state.seq
        held = self._go_on(comparison) if is_above else []
        return held + self._new([event])

    def _line(self, comparison: _Comparison, event: LogLine) -> list[Event]:
        """Compare a line with the remembered line at its position."""
        digest = _hash(event.line)
        expected = _known(self._state, comparison.position)
        if expected not in {None, digest}:
            return self._go_on(comparison) + self._new([event])
        if expected is not None and not _repeats(self._state, digest):
            comparison.proved = True
        comparison.position += 1
        comparison.hold(event)
        if comparison.position == self._state.lines:
            return self._caught_up(comparison)
        undecidable = comparison.full or comparison.position >= _REMEMBERED
        return self._go_on(comparison) if undecidable and not comparison.proved else []

    def _go_on(self, comparison: _Comparison) -> list[Event]:
        """Hand out the held events: the watch is not a replay."""
        self._comparison = None
        new = self._new(comparison.held)
        if comparison.given_up:
            new.insert(0, WatchProblem(_differs(comparison.given_up)))
        return new

    def _caught_up(self, comparison: _Comparison) -> list[Event]:
        """Drop the held events: the replay has reached the known end."""
        if not comparison.proved:
            return self._go_on(comparison)
        self._comparison = None
        statuses = [event for event in comparison.held if isinstance(event, StatusChange)]
        texts = [event for event in comparison.held if isinstance(event, RawText)]
        unknown = [text for text in texts if _hash(text.line) not in self._state.other]
        new = self._new([*unknown, *statuses[-1:]])
        self._state.seq = max(self._state.seq, comparison.seq)
        return new

    def _new(self, events: Sequence[Event]) -> list[Event]:
        """Pass an event on if its number and its words are new, and remember it."""
        if self._are_new_lines(events):
            new = list(events)
        else:
            new = [event for event in events if self._is_new(event)]
        lines = new if are_lines(new) else [event for event in new if type(event) is LogLine]
        self._remember(lines)
        return self._with_half(new) if self._state.half else new

    def _remember(self, lines: Sequence[Event]) -> None:
        """Count new lines, and keep the first and the last ones.

        Most of the last ones are soon followed by others: their hashes are made when they count.
        """
        state = self._state
        state.lines += len(lines)
        room = _REMEMBERED - len(state.first)
        if room:
            state.first += map(_hash, map(line_in, lines[:room]))
        self._recent = [*self._recent, *map(line_in, lines[-_REMEMBERED:])][-_REMEMBERED:]
        if sum(map(len, self._recent)) > _MAX_HELD_BYTES:
            self._hash_recent()

    def _hash_recent(self) -> None:
        recent = map(_hash, self._recent)
        self._state.last = [*self._state.last, *recent][-_REMEMBERED:]
        self._recent.clear()

    def _are_new_lines(self, events: Sequence[Event]) -> bool:
        """Return True if all are lines whose numbers go up from the last one, as most are."""
        if not are_lines(events):
            return False
        numbers = [event.seq or 0 for event in events]
        if not all(map(lt, (self._state.seq, *numbers), numbers)):
            return False
        self._state.seq = numbers[-1]
        return True

    def _is_new(self, event: Event) -> bool:
        state = self._state
        if event.seq is not None:
            if event.seq <= state.seq and type(event) is not Final:
                return False
            state.seq = max(event.seq, state.seq)
        match event:
            case LogLine() | WatchProblem():
                return True
            case RawText():
                state.other = [*state.other, _hash(event.line)][-_REMEMBERED_OTHER:]
                return True
            case StatusChange():
                before, state.status = state.status, _hash("\n".join(_words(event)))
                return before != state.status
            case Final():
                ended, state.final = state.final, _hash(f"{event.status}\n{event.message}")
                return ended != state.final
            case _:
                assert_never(event)

    def _with_half(self, new: list[Event]) -> list[Event]:
        """Show the unfinished line before the first new line, if it did not come again."""
        for place, event in enumerate(new):
            if isinstance(event, LogLine) and event.line.startswith(self._state.half):
                self._state.half = ""
                return new
            if isinstance(event, LogLine | Final):
                return new[:place] + self.finish() + new[place:]
        return new


def _words(event: StatusChange) -> list[str]:
    return [event.status, event.message, event.rayjob_status, event.job_deployment_status]


def _differs(count: int) -> str:
    return (
        "the new watch is not the replay it seemed to be:"
        f" {count} of its lines were taken for known and are not shown, the next may show twice"
    )


def _size(event: Event) -> int:
    text = event.line if isinstance(event, LogLine | RawText) else event.message
    return _LINE_OVERHEAD_BYTES + len(text)


def _hash(line: str) -> int:
    return crc32(line.encode("utf-8", "surrogatepass"))
