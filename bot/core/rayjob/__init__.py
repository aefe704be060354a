"""RayJobs as the bot sees them: words, records, the watch's events, and what a log proves."""

from bot.core.rayjob.events import Event, Final, LogLine, RawText, StatusChange, WatchProblem
from bot.core.rayjob.record import (
    Gone,
    NotOffered,
    RayJobRecord,
    parse_record,
    parse_records,
    parse_time,
)
from bot.core.rayjob.words import FinalStatus, RayJobId

__all__ = [
    "Event",
    "Final",
    "FinalStatus",
    "Gone",
    "LogLine",
    "NotOffered",
    "RawText",
    "RayJobId",
    "RayJobRecord",
    "StatusChange",
    "WatchProblem",
    "parse_record",
    "parse_records",
    "parse_time",
]
