"""Correct classes that depend on several lines: the owner of the memory, a failed build."""

import re

from bot.core.digest.evidence import Kind
from bot.core.digest.judge import Verdict
from bot.core.digest.places import Places
from bot.core.digest.reader import Reader
from bot.core.digest.weak import is_compiler

_NPU = re.compile(
    r"(?P<total>[\d.]+) GiB total capacity; .{0,120}?(?P<free>[\d.]+ [GMK]iB) free; "
    r"(?P<reserved>[\d.]+) (?P<unit>[GMK])iB reserved"
)
_OWN_SHARE = 0.2  # a process with less than this share of a full card did not fill it
_JOB_SHARE = 0.3  # a job with less than this share of a node's used memory did not fill it
_WHEEL = re.compile(
    r"(?:[Ww]heels?|editable|to build) for ([\w.-]+)|Failed to build [`']?([\w.-]+)"
)
_CHILD = re.compile(
    r"subprocess-exited-with-error|metadata-generation-failed|build backend returned an error"
)
_CHILD_LINES = 60  # of a build's output that pip shows
_COMPARED = re.compile(r"\| A=(-?\d+(?:\.\d+)?) B=(-?\d+(?:\.\d+)?) \|")
_TOLERATED = 0.01  # metrics that differ by less are the same
_SIGKILL = frozenset({137, -9})
_NODE = re.compile(r"was running was ([\d.]+)GB / ([\d.]+)GB")
_USER = re.compile(r"^\d+\s+([\d.]+)\s+(ray::|python|VLLM)?")


def refine(best: Verdict, everything: list[Verdict], reader: Reader, places: Places) -> None:
    """Correct the class of a cause by the lines around it."""
    if best.failure_class == "oom_device" and not reader.clock.line:
        _occupied(best)
    elif best.signature is not None and best.signature.name == "shell-killed":
        _killed(best, reader)
    elif best.failure_class == "oom_host":
        _other_tenant(best, everything)
    elif best.failure_class == "code_failure" and _is_built(best):
        _dependency(best, everything, places)
    if best.signature is not None and best.signature.name == "metric-check":
        _metric(best, everything)


def _occupied(best: Verdict) -> None:
    """Blame the environment if the card was full before the job had reserved much of it."""
    if match := _NPU.search(best.text):
        unit = {"G": 1.0, "M": 1 / 1024, "K": 1 / 1024**2}[match["unit"]]
        if float(match["reserved"]) * unit < _OWN_SHARE * float(match["total"]):
            best.failure_class, best.blameless = "environment", True


def _killed(best: Verdict, reader: Reader) -> None:
    """Blame the memory for a kill of which the shell tells only if the status says SIGKILL."""
    if not any(status.code in _SIGKILL for status in reader.board.statuses):
        best.failure_class, best.signature, best.blameless = "unknown", None, False


def _other_tenant(best: Verdict, everything: list[Verdict]) -> None:
    """Acquit the job if Ray's list of the biggest users shows another tenant."""
    for verdict in (best, *everything):
        links = verdict.failure.links
        lines = [text for x in links for text in (x.text, *(said for _, said in x.message))]
        node = next((m for text in lines if (m := _NODE.search(text))), None)
        users = [m for text in lines if (m := _USER.match(text))]
        if node and users:
            own = sum(float(m[1]) for m in users if m[2])
            best.blameless = own < _JOB_SHARE * float(node[1])
            return


def _dependency(best: Verdict, everything: list[Verdict], places: Places) -> None:
    """Blame the installation if what failed is the build of another project's wheel."""
    if places.deepest(best.failure.links[best.link].frames) is not None:
        return
    near = [v.text for v in everything if abs(v.no - best.no) <= _CHILD_LINES]
    later = [v.text for v in everything if v.no > best.no]
    built = [m for text in (*later, *near) if (m := _WHEEL.search(text))]
    names = {(m[1] or m[2]).lower().replace("_", "-") for m in built[:1]}
    if (names or any(map(_CHILD.search, near))) and names.isdisjoint(places.names):
        best.failure_class = "dependency_install"


def _is_built(best: Verdict) -> bool:
    """Return True for a failure that the build of a package may have printed."""
    child = _CHILD.search(best.failure.link.text) is not None
    compiled = best.failure.kind is Kind.LINE and (child or is_compiler(best.text))
    return compiled or best.failure.kind is Kind.PYTHON


def _metric(best: Verdict, everything: list[Verdict]) -> None:
    """Name the metric that a failed check printed before it."""
    compared = [v for v in everything if v.no < best.no and _deviation(v.text) >= _TOLERATED]
    if compared:
        best.no, best.text, best.failure = compared[0].no, compared[0].text, compared[0].failure


def _deviation(text: str) -> float:
    """Return by which share two values of a metric differ, 0 for another line."""
    match = _COMPARED.search(text)
    if match is None:
        return 0.0
    recorded, measured = float(match[1]), float(match[2])
    return abs(measured - recorded) / max(abs(recorded), abs(measured), 1e-9)
