"""Turn the raw bytes of a line into text: without colours and prefixes, with its stream."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.core.digest.prefixes import Prefixes

MAX_PIECE = 4_000  # characters of a piece that patterns see; a metric line may have 5 MB
_ANSI = re.compile(
    r"\^\[\[[0-9;]{0,16}m"  # the form of some log collectors
    r"|\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?|[@-Z\\-_])?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029\ufeff]")
_REPEATED = re.compile(r" ?\[repeated \d+x across cluster\].*$")

_WALL = re.compile(r"\[?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)Z\]? ?")
_STREAM = re.compile(
    r"\((?P<ray>(?:raylet|autoscaler|gcs_server|dashboard|scheduler)\b[^()]{0,80}"
    r"|[^()]{0,160}\bpid=\d+[^()]{0,80})\) ?"
    r"|\[(?P<pod>pod/[^\]\s]{1,200})\] "
    r"|(?P<compose>[\w.]{1,60}[-_]\d{1,4})\s+\| "
    r"|\[(?P<rank>(?:rank|default)\d{1,5})\]: ?"
)
_RECORDS = (
    # vLLM; torch launcher; glog of torch; Ray C++; deepspeed; logging; `LEVEL:time:`; trainer;
    # lm-eval; CANN's plog; the watcher of a RayJob
    r"(?P<a>[A-Z]{4,8}) \d\d-\d\d (?P<at>\d\d:\d\d:\d\d) \[?(?P<asrc>[^\]\s]{1,80})\] ?",
    r"(?P<b>[EWIF])\d{4} (?P<bt>\d\d:\d\d:\d\d\.\d+) +\d+ (?P<bsrc>\S+:\d+)\] ",
    r"\[(?P<c>[EWIF])\d{3,4} (?P<ct>\d\d:\d\d:\d\d\.\d+) (?P<csrc>[^\]\s]{1,120})\] ?",
    (
        r"\[\d{4}-\d\d-\d\d (?P<dt>\d\d:\d\d:\d\d),\d+ (?P<d>[EWIFCD]) \d+ \d+\]"
        r" \([\w-]+\) (?P<dsrc>[\w./]+:\d+): "
    ),
    (
        r"\[\d{4}-\d\d-\d\d (?P<et>\d\d:\d\d:\d\d),\d+\]"
        r" \[(?P<e>[A-Z]+)\] \[(?P<esrc>[^\]]{1,120})\] ?"
    ),
    (
        r"\d{4}-\d\d-\d\d (?P<ft>\d\d:\d\d:\d\d)[,.]\d+\s+(?:- [\w.]+ - )?"
        r"\[?(?P<f>[A-Z]{3,8})\]? ?(?:(?P<fsrc>[\w.]+:\d+) --|-|:)? "
    ),
    (
        r"\d{4}-\d\d-\d\d (?P<nt>\d\d:\d\d:\d\d)[.,]\d+ \| "
        r"(?P<n>[A-Z]{4,8}) +\| (?P<nsrc>\S{1,120}) - "
    ),
    (
        r"\[?\d{4}-\d\d-\d\d[ T](?P<mt>\d\d:\d\d:\d\d)(?:[.,]\d+)?\]? +"
        r"(?:- )?\[?(?P<m>[A-Z]{4,8})\]?:? "
    ),
    r"(?P<l>[A-Z]{4,8}):(?P<lsrc>[a-z_][\w.]{1,120}):",
    r"(?P<g>[A-Z]{4,8}):\d{4}-\d\d-\d\d (?P<gt>\d\d:\d\d:\d\d),\d+:",
    (
        r"\[(?P<h>[A-Z]{4,8})\|(?:[\w.]+:\d+\] )?\d{4}-\d\d-\d\d (?P<ht>\d\d:\d\d:\d\d)(?:,\d+)?\]"
        r" ?(?P<hsrc>[\w.]+:\d+)? ?>> "
    ),
    r"\d{4}-\d\d-\d\d:(?P<it>\d\d:\d\d:\d\d) (?P<i>[A-Z]{4,8}) +\[(?P<isrc>[^\]]{1,80})\] ",
    (
        r"\[(?P<j>ERROR|WARNING|INFO|EVENT|DEBUG)\] (?P<jsrc>\w+)\(\d+,[^)]{0,80}\):"
        r"(?P<jt>[\d:.-]+) \[[\w.]+:\d+\] ?(?:\[\d+\] ?)?"
    ),
    (
        r"\[rayjob status\] status=\S* rayjob_status=\S* "
        r"deployment_status=(?!Validation)(?P<ksrc>\S*) ?"
    ),
)
_RECORD = tuple((re.compile(p), p.split("(?P<")[1][0]) for p in _RECORDS)
_FIRST = {
    c: tuple(r for r in _RECORD if r[1] in keys)
    for c, keys in {"d": "finm", "[": "cdehjkm", "A": "abgl"}.items()
}
_LEVELS = {"E": "ERROR", "W": "WARNING", "I": "INFO", "F": "ERROR", "C": "ERROR", "D": "DEBUG"}
_LEVEL_WORDS = {
    "ERROR": "ERROR", "ERR": "ERROR", "CRITICAL": "ERROR", "FATAL": "ERROR",
    "WARNING": "WARNING", "WARN": "WARNING",
    "INFO": "INFO", "SUCC": "INFO", "DEBUG": "DEBUG", "EVENT": "INFO", "TRACE": "DEBUG",
}  # fmt: skip
_NUMBERS = re.compile(r"ip=[^,)]*|[, ]+$")


@dataclass(slots=True)
class Line:
    """A piece of a line; `source` is the record's `file:line`, `level` None without a logger."""

    no: int
    text: str
    stream: str = ""
    level: str | None = None
    source: str = ""
    time: str = ""
    wall: str = ""
    repeated: bool = False
    tag: str = ""


def clean(raw: bytes) -> str:
    """Decode with replacement; remove colours and control characters, keep carriage returns."""
    return _CONTROL.sub("", _ANSI.sub("", raw.decode("utf-8", "replace")))


def pieces(raw: bytes) -> list[str]:
    """Split at carriage returns; a line without text gives one empty piece."""
    parts = [p for p in clean(raw).split("\r") if p]
    return [_cut(p) for p in _last(parts)] or [""]


def _last(parts: list[str]) -> list[str]:
    """Keep the first and the last 20 pieces: a bar may rewrite a line 100,000 times."""
    return parts if len(parts) <= 21 else [parts[0], *parts[-20:]]


def _cut(piece: str) -> str:
    return piece if len(piece) <= MAX_PIECE else f"{piece[: MAX_PIECE - 1_000]} … {piece[-990:]}"


def parse(no: int, raw: bytes, learned: Prefixes | None = None) -> Iterator[Line]:
    """Yield the pieces of a raw line, each without its prefixes, known or `learned`."""
    wall = stream = ""
    for piece in pieces(raw):
        line = Line(no, piece, stream, wall=wall)
        _strip(line, learned)
        wall, stream = line.wall, line.stream
        yield line


def _strip(line: Line, learned: Prefixes | None) -> None:
    text, pos = line.text, 0
    if match := _WALL.match(text):
        line.wall, pos = match[1], match.end()
    for _ in range(6):  # the deepest nesting of prefixes
        after = _stream(line, text, pos)
        if after == pos:
            after = _record(line, text, pos)
        if after == pos and learned is not None:
            after = _learned(line, text, pos, learned)
        if after == pos:
            break
        pos = after
    line.text = text[pos:]
    if line.text.startswith(("##[", "::", "Error: ")) or line.tag:
        _tag(line)
    if "[repeated " in line.text:
        line.text, count = _REPEATED.subn("", line.text)
        line.repeated = count > 0


def _stream(line: Line, text: str, pos: int) -> int:
    if pos >= len(text) or (text[pos] not in "([" and "| " not in text[pos : pos + 80]):
        return pos
    match = _STREAM.match(text, pos)
    if match is None or (match["rank"] and line.source):
        return pos
    if match["rank"]:
        line.stream = line.stream or match["rank"]
    else:
        name = match["ray"] or match["pod"] or match["compose"]
        line.stream = _NUMBERS.sub("", name).strip(", ")
    return match.end()


def _learned(line: Line, text: str, pos: int, learned: Prefixes) -> int:
    after, writer = learned.cut(text, pos)
    if after == pos and learned.learn(text[pos:]):
        after, writer = learned.cut(text, pos)
    line.stream = f"{line.stream} {writer}".strip() if writer else line.stream
    return after


def _record(line: Line, text: str, pos: int) -> int:
    first = text[pos : pos + 1]
    key = "d" if first.isdigit() else "[" if first == "[" else "A" if first.isupper() else ""
    for pattern, name in _FIRST.get(key, ()):
        if match := pattern.match(text, pos):
            groups = match.groupdict()
            level = groups.get(name) or ""
            if len(level) > 1 and level not in _LEVEL_WORDS:
                continue
            line.level = _LEVELS.get(level) or _LEVEL_WORDS.get(level)
            line.source = groups.get(f"{name}src") or line.source or name
            line.time = groups.get(f"{name}t") or line.time
            if name == "k":
                line.stream, line.tag = "rayjob", "rayjob"
            return match.end()
    return pos


def _tag(line: Line) -> None:
    """Remove the runner's own marks: `##[error]`, `::error file=…::`."""
    for mark, tag in (("##[error]", "error"), ("##[warning]", "warning"), ("##[group]", "group")):
        if line.text.startswith(mark):
            line.text, line.tag = line.text[len(mark) :], tag
            return
    if line.text.startswith("::error") and (end := line.text.find("::", 7)) >= 0:
        line.text, line.tag = line.text[end + 2 :], "error"
