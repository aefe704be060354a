"""The progress of a run: training steps with metrics, tests, and whether it stood still."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.core.digest.points import StepPoints, point_of
from bot.core.digest.result import Progress, StepPoint
from bot.core.digest.series import ProgressForm, are_alike, walls_go_on
from bot.core.digest.shapes import clean

_STEP = re.compile(rb"\bstep:(\d{1,9}) - ")
_TRAINER = re.compile(r"\{'loss': .{0,2000}\}")
_MEGATRON = re.compile(r"\biteration +(\d{1,9})/ *(\d{1,9}) \|(.*)")
_BAR = re.compile(
    r"\| (\d{1,9})/(\d{1,9}) \[(?:[\d:]+|\?)<(?:[\d:, days]+|\?), +"
    r"(\d{1,9}(?:\.\d{1,6})?)(s/it|it/s)"
)
_NUMBER = re.compile(r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$")
_PAIR = re.compile(r"'([\w./-]{1,80})': '?([^,'}]{1,40})")
_STEP_SECONDS = ("timing_s/step", "perf/time_per_step", "elapsed time per iteration (s)")
_MAX_METRICS = 40
_BAR_BYTES = 600  # the last state of a bar is at its end
_MAX_STEP_BYTES = 32_000
_LIMIT = re.compile(r"[Aa]ctiveDeadlineSeconds: (\d{1,9})")
_BUSY_SHARE = 0.6  # steps that fill less of the time limit than this did not run out of time
_STALL = timedelta(minutes=10)  # a shorter silence is a slow step, not a stall


@dataclass(slots=True)
class ProgressClock:
    """Remembers the first and the last sign of progress."""

    step: int = 0
    line: int = 0
    total: int | None = None
    seconds: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    marks: int = 0
    mark: int = 0  # the line of the last sign of any kind
    raw: bytes = b""  # the last `step:` line; its metrics are parsed on demand
    first_wall: str = ""
    last_wall: str = ""
    form: ProgressForm | None = None  # of the last line of progress
    plotted: tuple[StepPoint, ...] = ()  # up to the last `step:` line whose metrics were parsed
    points: StepPoints = field(default_factory=StepPoints)

    def seen(self, no: int, wall: str) -> None:
        """Note a sign of progress: a step, a passed test, a served request."""
        self.marks += 1
        self.mark = no
        if wall:
            self.first_wall = self.first_wall or wall
            self.last_wall = wall

    def read_step(self, no: int, raw: bytes) -> bool:
        """Read a `step:N - key:value` line, often of many kilobytes; False for another line."""
        match = _STEP.search(raw)
        if match is None:
            return False
        self.step, self.line = int(match[1]), no
        self.raw = raw[match.end() : match.end() + _MAX_STEP_BYTES]
        self.points.take(self.step, self.raw)
        self.seen(no, wall_of(raw))
        self.form = ProgressForm.STEP
        return True

    def read(self, no: int, text: str, wall: str) -> bool:
        """Read a metric line of another trainer; return False for another line."""
        if match := _MEGATRON.search(text):
            self._step(no, int(match[1]), int(match[2]), _megatron_metrics(match[3]))
            self.form = ProgressForm.ITERATION
        elif match := _TRAINER.search(text):
            self._step(no, self.step + 1, self.total, _pairs(match[0]))
            self.form = ProgressForm.RECORD
        else:
            return False
        self.seen(no, wall)
        return True

    def skip(self, form: ProgressForm, *, skipped: bytes, last: bytes) -> bool:
        """Count lines of one series without reading them, before the last one is read.

        Return False if more than their number may count, or than the last line tells.
        """
        if not (
            are_alike(form, skipped + last)
            and walls_go_on(before=self.first_wall != "", skipped=skipped, last=last)
        ):
            return False
        if form is ProgressForm.BAR and b"rogress" in skipped and not _tells_speed(last):
            return False
        if form is ProgressForm.STEP:
            self._plot(skipped)
        lines = skipped.count(b"\n")
        self.marks += lines
        self.step += lines if form is ProgressForm.RECORD else 0
        return True

    def _plot(self, lines: bytes) -> None:
        """Take the points of steps that are not read otherwise."""
        steps = lines.split(b"\n")[:-1]
        at = 0
        while (ahead := self.points.ahead) < len(steps) - at:
            self.points.skip(ahead)
            line = steps[at + ahead]
            at += ahead + 1
            match = _STEP.search(line)
            assert match is not None  # the series holds nothing else
            self.points.take(int(match[1]), line[match.end() : match.end() + _MAX_STEP_BYTES])
        self.points.skip(len(steps) - at)

    def bar(self, no: int, raw: bytes) -> None:
        """Read a progress bar; a trainer's bar gives the number of steps and the speed."""
        match = _bar_in(raw)
        if match is None:
            return
        self.seen(no, wall_of(raw))
        self.form = ProgressForm.BAR
        if _tells_speed(raw):
            speed = float(match[3])
            self.total = int(match[2])
            self.seconds = speed if match[4] == "s/it" else 1 / max(speed, 1e-6)

    def _step(self, no: int, step: int, total: int | None, metrics: dict[str, float]) -> None:
        self.step, self.line, self.metrics, self.raw = step, no, metrics, b""
        self.plotted = ()
        self.total = total or self.total
        self._speed()

    def _speed(self) -> None:
        for key in _STEP_SECONDS:
            if key in self.metrics:
                self.seconds = self.metrics[key]
                return

    def progress(self) -> Progress | None:
        """Return the last step, None if no trainer printed one."""
        if not self.line:
            return None
        if self.raw:
            self.metrics = verl_metrics(clean(self.raw))
            self.plotted = self.points.up_to(point_of(self.step, self.raw))
            self.raw = b""
            self._speed()
        told = (self.step, self.total, self.seconds, dict(self.metrics), self.line)
        return Progress(*told, self.plotted)

    def steady(self, no: int, wall: str, text: str = "") -> bool:
        """Return True if the run still made progress when a line with that text stopped it."""
        end = moment(wall)
        first, last = moment(self.first_wall), moment(self.last_wall)
        if end is None or first is None or last is None:
            limit = _LIMIT.search(text)
            self.progress()  # parses the time of the last step
            if limit and self.seconds and self.step:
                return self.step * self.seconds > _BUSY_SHARE * float(limit[1])
            return self.marks >= 3 and no - self.mark <= 30
        usual = (last - first) / max(1, self.marks - 1)
        return self.marks >= 2 and end - last <= max(_STALL, 3 * usual)


def _bar_in(raw: bytes) -> re.Match[str] | None:
    """Return the last state of a bar."""
    match = None
    for found in _BAR.finditer(raw[-_BAR_BYTES:].decode("utf-8", "replace")):
        match = found
    return match


def _tells_speed(raw: bytes) -> bool:
    """Return True for a bar of a training."""
    match = _bar_in(raw)
    return match is not None and b"rogress" in raw[-_BAR_BYTES:] and int(match[1]) <= int(match[2])


def wall_of(raw: bytes) -> str:
    """Return the Actions runner's time stamp of a line, "" without one."""
    return raw[:28].decode("ascii", "replace") if raw[10:11] == b"T" else ""


def moment(wall: str) -> datetime | None:
    """Parse the time stamp of an Actions line; None without one."""
    try:
        return datetime.fromisoformat(wall[:26].rstrip("Z")) if wall else None
    except ValueError:
        return None


def verl_metrics(text: str) -> dict[str, float]:
    """Read `key:number - key:number`; skip values that are not numbers."""
    found: dict[str, float] = {}
    for pair in text.split(" - ")[: 4 * _MAX_METRICS]:
        key, _, value = pair.rpartition(":")
        _note(found, key.strip(), value.strip())
    return _chosen(found)


def _megatron_metrics(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for pair in text.split("|")[:_MAX_METRICS]:
        key, _, value = pair.partition(":")
        _note(found, key.strip(), value.strip())
    if (ms := found.get("elapsed time per iteration (ms)")) is not None:
        found["elapsed time per iteration (s)"] = ms / 1000
    return found


def _pairs(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for match in list(_PAIR.finditer(text))[:_MAX_METRICS]:
        _note(found, match[1], match[2])
    return found


def _note(found: dict[str, float], key: str, value: str) -> None:
    if (
        key
        and len(key) <= 80
        and len(value) <= 40
        and _NUMBER.match(value)
        and abs(number := float(value)) < 1e300
    ):
        found[key] = number


def _chosen(found: dict[str, float]) -> dict[str, float]:
    """Keep the most important metrics if there are too many for a row."""
    if len(found) <= _MAX_METRICS:
        return found
    liked = [k for k in found if k.startswith(("critic/", "perf/", "timing_s/", "actor/", "val"))]
    keep = dict.fromkeys([*_STEP_SECONDS, *liked, *found])
    return {k: found[k] for k in list(keep)[: _MAX_METRICS + len(_STEP_SECONDS)] if k in found}
