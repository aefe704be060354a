"""RayJobs: their words, records and log events, and what a log proves about them."""

from bot.core.rayjob.events import Event, Final, LogLine, RawText, StatusChange, WatchProblem
from bot.core.rayjob.evidence import ActionsLog, LogEvidence
from bot.core.rayjob.record import (
    Gone,
    NotOffered,
    RayJobRecord,
    parse_record,
    parse_records,
    parse_time,
)
from bot.core.rayjob.resume import Resume
from bot.core.rayjob.stream import MAX_LINE_BYTES, StreamDecoder
from bot.core.rayjob.words import FinalStatus, RayJobId

__all__ = [
    "MAX_LINE_BYTES",
    "ActionsLog",
    "Event",
    "Final",
    "FinalStatus",
    "Gone",
    "LogEvidence",
    "LogLine",
    "NotOffered",
    "RawText",
    "RayJobId",
    "RayJobRecord",
    "Resume",
    "StatusChange",
    "StreamDecoder",
    "WatchProblem",
    "parse_record",
    "parse_records",
    "parse_time",
]
