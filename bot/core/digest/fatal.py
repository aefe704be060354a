"""Tell the failure that ended a job from those that it survived.

A job goes on after what it survives: ordinary lines, steps and requests come between that error
and the one that ended it. What was tried again counts once, at its last attempt. Who only lost
somebody does not know why; who keeps the processes tells it, often later.
"""

import re
from collections.abc import Iterable, Sequence

from bot.core.digest.evidence import Kind, Status, Weight
from bot.core.digest.judge import Verdict
from bot.core.digest.signatures import Role

_ATTEMPT = re.compile(r"(?i)\b(?:attempt|try|retry|trial)\b\W{0,4}(\d{1,3}) ?(?:/|of) ?(\d{1,3})\b")
_RETRIED = frozenset({"network_download", "cluster_scheduling", "timeout_hang"})
_CALM = 2  # ordinary lines after an error that is commonly tried again
_CALM_RAISED = 4  # the same if they may belong to an exception's message
_CALM_PRINTED = 5  # after any other exception of the same process
_PROBE = re.compile(r"(?:ModuleNotFound|Import)Error\b")  # of a module that may be missing
_NEAR = 40  # lines within which a report of a failure tells of the error before it
_REASONS = frozenset({"oom_host", "disk", "device_fault", "cluster_scheduling", "runner_lost"})


def last_attempts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Drop the attempts that another attempt followed."""
    tried = {v.no: (int(m[2]), int(m[1])) for v in verdicts if (m := _ATTEMPT.search(v.text))}
    return [v for v in verdicts if v.no not in tried or _is_last(v.no, tried)]


def _is_last(no: int, tried: dict[int, tuple[int, int]]) -> bool:
    of, number = tried[no]
    return not any(at > no and (o, n > number) == (of, True) for at, (o, n) in tried.items())


def fatal(
    verdicts: Sequence[Verdict], kill: Verdict | None, statuses: Iterable[Status]
) -> list[Verdict]:
    """Drop what the job survived: it went on until another failure ended it."""
    ends = [v for v in verdicts if v.tier <= Weight.FOLLOWER]
    told = [v.no for v in verdicts if v.tier >= Weight.WEAK or v.failure.kind is Kind.PYTEST]
    exits = [*(status.no for status in statuses), *told]
    return [v for v in verdicts if not _survived(v, [*ends, *([kill] if kill else [])], exits)]


def _survived(verdict: Verdict, ends: Iterable[Verdict], exits: Iterable[int]) -> bool:
    if verdict.tier is not Weight.PRIMARY or _is_loss(verdict):
        return False
    later = [end for end in ends if end.no > verdict.no and not _tells_same(verdict, end)]
    if verdict.failure_class in _RETRIED:
        raised = verdict.failure.kind is Kind.PYTHON
        enough = _CALM_RAISED if raised else _CALM
        return any(_calm(verdict, end) >= enough for end in later if not _follows(verdict, end))
    if verdict.failure.kind is not Kind.PYTHON or verdict.infra:
        return False
    own = [
        end
        for end in later
        if end.failure.kind is not Kind.PYTEST and end.failure.stream == verdict.failure.stream
        if end.tier is Weight.PRIMARY
        if not any(verdict.no < no < min(end.no, verdict.no + _NEAR) for no in exits)
    ]
    enough = _CALM if _PROBE.match(verdict.text) else _CALM_PRINTED
    return any(_calm(verdict, end) >= enough for end in own)


def _calm(verdict: Verdict, end: Verdict) -> int:
    """Return the number of ordinary lines between two failures."""
    return end.failure.calm - verdict.failure.calm


def _tells_same(verdict: Verdict, end: Verdict) -> bool:
    same = verdict.signature is not None and verdict.signature is end.signature
    return same or verdict.failure.shape == end.failure.shape


def _follows(verdict: Verdict, end: Verdict) -> bool:
    """Return True for what is missing because it could not be fetched."""
    missing = {"data_missing", "network_download"}
    return verdict.failure_class == "network_download" and end.failure_class in missing


def _is_loss(verdict: Verdict) -> bool:
    return verdict.signature is not None and verdict.signature.role is Role.LOSS


def explanation(best: Verdict | None, verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the later line that tells why something was lost, else the cause as it is."""
    if best is None or not _is_loss(best):
        return best
    reasons = [
        v
        for v in verdicts
        if v.no > best.no and v.tier <= Weight.KILLED
        if v.failure_class in _REASONS and not _is_loss(v)
    ]
    return min(reasons, key=lambda v: (v.tier, v.no), default=best)
