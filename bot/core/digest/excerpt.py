"""Choose the few lines that a person needs, with their numbers, and the whole traceback."""

import re
from collections.abc import Callable, Sequence

from bot.core.digest.evidence import Failure, Kind, Link
from bot.core.digest.judge import Verdict
from bot.core.digest.shapes import parse
from bot.core.digest.traces import FRAME, START

MAX_LINES = 60
_MAX_MESSAGE = 16
_MAX_CHARS = 400
_MAX_BYTES = 12_000
GAP = "…"
_CARETS = re.compile(r"^[\s^~]*$")
_ROUTINE = re.compile(
    r"\bstep:\d+ - |\d+/\d+ \[\d|^##\[|^\[command\]|exit code 1\.?$|^Post job|orphan process"
)
_STATES = re.compile(r"^E(?: |$)|^>|^\S+:\d+: ")
_Numbered = list[tuple[int, str]]


def excerpt_of(verdict: Verdict, path: str | None, is_noise: Callable[[str], bool]) -> _Numbered:
    """Choose the lines around a cause: its message, the deepest frames, the code line."""
    failure = verdict.failure
    link = failure.links[verdict.link]
    if failure.kind is Kind.PYTEST:
        chosen = _report(failure, link, verdict.no)
    elif failure.trace and failure.kind is not Kind.STATUS and link.frames:
        chosen = _frames(failure, verdict, path) + _message(link, verdict.no)
    else:
        chosen = _message(link, verdict.no)
    if verdict.no == failure.no:
        chosen = _context(failure) + chosen
    chosen.append((verdict.no, verdict.text))
    kept = {
        no: text
        for no, text in chosen
        if no == verdict.no or not (_CARETS.match(text) or is_noise(text))
    }
    return sorted(kept.items())


def _message(link: Link, root: int) -> _Numbered:
    """Return the lines of the message near the root line, or continuing it."""
    lines = [(link.no, link.text), *((no, text) for no, text in link.message if no > 0)]
    near = [
        (no, text)
        for no, text in lines
        if abs(no - root) <= 2 or text[:1] in {" ", "\t", "[", "E"} or no == link.no
    ]
    after = [(no, text) for no, text in near if no >= root][:_MAX_MESSAGE]
    return [(no, text) for no, text in near if no < root][-4:] + after


def _frames(failure: Failure, verdict: Verdict, path: str | None) -> _Numbered:
    """Return the deepest frames before the exception, and the deepest inside the repository."""
    trace = [
        (no, text) for no, text in failure.trace if no < verdict.failure.links[verdict.link].no
    ]
    begun = max((i for i, (_, text) in enumerate(trace) if START.match(text)), default=0)
    trace = [(no, text) for no, text in trace[begun:] if not _CARETS.match(text)]
    frames = [i for i, (_, text) in enumerate(trace) if FRAME.match(text)]
    chosen: _Numbered = []
    mine = [i for i in frames if path is not None and path in trace[i][1]]
    for i in dict.fromkeys([*mine[-1:], *frames[-1:]]):
        chosen += [t for t in trace[i : i + 2] if t is trace[i] or not FRAME.match(t[1])]
    return chosen


def _report(failure: Failure, link: Link, root: int) -> _Numbered:
    """Return the important lines of a pytest report: code, `E` lines, places."""
    after = min((other.no for other in failure.links if other.no > link.no), default=1 << 62)
    said = [(no, text) for no, text in failure.trace if _STATES.match(text) and no < after]
    before = [(no, text) for no, text in said if no < root][-4:]
    return before + [(no, text) for no, text in said if no >= root][:_MAX_MESSAGE]


def _context(failure: Failure) -> _Numbered:
    """Return up to two lines on each side, of the same stream and not routine."""
    near = [*failure.before[-2:], *failure.after[:2]]
    found = [line for no, raw in near for line in list(parse(no, raw))[-1:]]
    same = [line for line in found if line.stream == failure.stream]
    # Routine lines are information, metrics, progress bars.
    told = [line for line in same if line.level not in {"INFO", "DEBUG"}]
    return [(line.no, line.text) for line in told if not _ROUTINE.search(line.text)]


def bounded(lines: _Numbered, root: int) -> _Numbered:
    """Shorten to the limits of lines and bytes; lines far from the root go first."""
    lines = list(lines)
    while len(lines) > MAX_LINES or sum(len(text.encode()) + 8 for _, text in lines) > _MAX_BYTES:
        lines.pop(0 if root - lines[0][0] > lines[-1][0] - root else -1)
    return lines


def shortened(lines: _Numbered) -> _Numbered:
    """Shorten long lines."""
    return [(no, text[:_MAX_CHARS]) for no, text in lines]


def numbered(lines: Sequence[tuple[int, str]]) -> str:
    """Print lines with their numbers, and a mark for each gap."""
    width = max((len(str(no)) for no, _ in lines), default=1)
    printed: list[str] = []
    last = None
    for no, text in lines:
        if last is not None and no > last + 1:
            printed.append(f"{'':>{width}}  {GAP}")
        printed.append(f"{no:>{width}}  {text}")
        last = no
    return "\n".join(printed)


def folded(verdict: Verdict) -> str:
    """Print the whole traceback as far as it was kept, at most 16 kB."""
    lines = shortened([t for t in verdict.failure.trace if not _CARETS.match(t[1])])
    while lines and sum(len(text.encode()) + 10 for _, text in lines) > 16_000:
        del lines[: max(1, len(lines) // 8)]
    return numbered(lines)
