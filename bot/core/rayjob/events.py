"""What one line of a watch can be.

These are msgspec structs instead of dataclasses because the decoder builds hundreds of thousands
a second straight from the socket's bytes; they are as frozen and as typed. `seq` is 1, 2, 3 … per
job where the submitter sends it, `ts` its RFC 3339 time as sent (`parse_time` reads it).
"""

from typing import Annotated

import msgspec

Seq = Annotated[int, msgspec.Meta(ge=1)] | None


class LogLine(msgspec.Struct, frozen=True, tag_field="type", tag="log", gc=False):
    """A line of the job's output, without its newline; it may hold CR, LF and NUL."""

    line: str = ""
    seq: Seq = None
    ts: str | None = None


class StatusChange(msgspec.Struct, frozen=True, tag_field="type", tag="status", gc=False):
    """Where the job stands; any of the words may be empty."""

    status: str = ""
    message: str = ""
    rayjob_status: str = ""
    job_deployment_status: str = ""
    seq: Seq = None
    ts: str | None = None


class Final(msgspec.Struct, frozen=True, tag_field="type", tag="final", gc=False):
    """The job's end; `FinalStatus.of(status)` says what it is worth."""

    status: str = ""
    message: str = ""
    seq: Seq = None
    ts: str | None = None


class WatchProblem(msgspec.Struct, frozen=True, tag_field="type", tag="error", gc=False):
    """A problem of the watch itself, never of the job."""

    message: str = ""
    seq: Seq = None
    ts: str | None = None


class RawText(msgspec.Struct, frozen=True, gc=False):
    """A line that is none of the above (unknown type, no JSON): kept as log text."""

    line: str
    seq: Seq = None


Event = LogLine | StatusChange | Final | WatchProblem | RawText
