"""The events of a watch, one for each line.

These are msgspec structs and not dataclasses: the decoder builds hundreds of thousands a second
from the socket's bytes. `seq` counts 1, 2, 3 … for each job if the submitter sends it. `ts` is the
RFC 3339 time as sent; `parse_time` reads it.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, TypeGuard

import msgspec

Seq = Annotated[int, msgspec.Meta(ge=1)] | None


class LogLine(msgspec.Struct, frozen=True, tag_field="type", tag="log", gc=False):
    """A line of the job's output without its newline; it may contain CR, LF and NUL."""

    line: str = ""
    seq: Seq = None
    ts: str | None = None


class StatusChange(msgspec.Struct, frozen=True, tag_field="type", tag="status", gc=False):
    """A new status of the job; each word may be empty."""

    status: str = ""
    message: str = ""
    rayjob_status: str = ""
    job_deployment_status: str = ""
    seq: Seq = None
    ts: str | None = None


class Final(msgspec.Struct, frozen=True, tag_field="type", tag="final", gc=False):
    """The end of the job; `FinalStatus.of(status)` gives its meaning."""

    status: str = ""
    message: str = ""
    seq: Seq = None
    ts: str | None = None


class WatchProblem(msgspec.Struct, frozen=True, tag_field="type", tag="error", gc=False):
    """A problem of the watch, not of the job."""

    message: str = ""
    seq: Seq = None
    ts: str | None = None


class RawText(msgspec.Struct, frozen=True, gc=False):
    """Any other line (unknown type, not JSON), kept as log text."""

    line: str
    seq: Seq = None


line_in = attrgetter("line")


def are_lines(events: Sequence["Event"]) -> TypeGuard[Sequence[LogLine]]:
    """Return True if all are lines of the output, as most are."""
    return {*map(type, events)} == {LogLine}


Event = LogLine | StatusChange | Final | WatchProblem | RawText
