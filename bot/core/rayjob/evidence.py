"""Find the RayJob of a run in the log of its Actions job, if nothing better tells it.

The job's log also contains output of the pull request's code, so nothing here is proof. An id needs
the submitter's record to name our Actions run (`RayJobRecord.belongs_to`) before it can make a run
green. The first id counts, because the helper prints it before any code of the pull request runs.
The last end counts, because the helper prints it after that code.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from bot.core.rayjob.words import FinalStatus, RayJobId, rayjob_id

# A marker is short, so only the start of a longer line matters.
_MAX_LINE_BYTES = 8 * 1024
_NEEDLES = (b"ascend-ci: ", b'job_id"', b"[rayjob final]")
_ID = re.compile(rb'ascend-ci: rayjob |job_id"')
_END = re.compile(rb"ascend-ci: final |\[rayjob final\]")
# Lines of a chunk that are looked at. A job may print any number of them, and each takes some
# microseconds of the event loop.
_MOST_LINES = 50
_timestamp = re.compile(r"\ufeff?(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z )?")
_ansi = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# The runner prints the script of a step in this colour: it is source, not output.
_SCRIPT_SOURCE = "\x1b[36;1m"
# The helper's form, then the submitter's answer as a workflow prints it (plain or through jq).
_job_id = re.compile(
    r"ascend-ci: rayjob (?P<ours>[\w.:-]{1,253})\s*$"
    r'|\s*(?:\{(?:[^{}]*,)?\s*)?"job_id"\s*:\s*"(?P<json>[\w.:-]{1,253})"',
    re.ASCII,
)
_final = re.compile(
    r"(?:ascend-ci: final|\[rayjob final\]) (\w+)(?:\s+(.*))?$", re.ASCII | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class LogEvidence:
    """The values of the markers; `None` if no line had one."""

    job_id: RayJobId | None = None
    final: FinalStatus | None = None
    message: str = ""


class ActionsLog:
    """Reads the log in chunks of any size; a marker counts only at the start of a line's text.

    A line's text starts after the runner's time stamp and ANSI codes and ends at a newline. A
    carriage return starts no new text.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._evidence = LogEvidence()

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk."""
        head, newline, rest = chunk.rpartition(b"\n")
        if not newline:
            self._rest = (self._rest + chunk)[:_MAX_LINE_BYTES]
            return
        block, self._rest = self._rest + head, rest[:_MAX_LINE_BYTES]
        self._read(block)

    def end(self) -> LogEvidence:
        """Return the markers of the whole log."""
        self._read(self._rest)
        self._rest = b""
        return self._evidence

    def _read(self, block: bytes) -> None:
        """Take the first id, if there is none yet, and the last end."""
        if not any(needle in block for needle in _NEEDLES):
            return
        named = islice(_ID.finditer(block), _MOST_LINES) if self._evidence.job_id is None else ()
        for text in _texts(block, named):
            found = _job_id.match(text)
            if found and (job_id := rayjob_id(found["ours"] or found["json"])):
                self._evidence = replace(self._evidence, job_id=job_id)
                break
        ends = deque(_END.finditer(block), _MOST_LINES)
        for text in _texts(block, reversed(ends)):
            if found := _final.match(text):
                final, message = FinalStatus.of(found[1]), (found[2] or "").strip()
                self._evidence = replace(self._evidence, final=final, message=message)
                break


def _texts(block: bytes, places: Iterable[re.Match[bytes]]) -> Iterator[str]:
    """Yield the texts of the lines at these places, without what the runner and colours add."""
    start = end = -1
    for place in places:
        if start <= place.start() < end:
            continue  # of the same line
        start = block.rfind(b"\n", 0, place.start()) + 1
        end = block.find(b"\n", place.end())
        end = len(block) if end < 0 else end
        line = block[start : min(end, start + _MAX_LINE_BYTES)].decode("utf-8", "replace")
        stamped = _timestamp.match(line)
        text = line[stamped.end() :] if stamped else line
        if not text.startswith(_SCRIPT_SOURCE):
            yield _ansi.sub("", text)
