"""The points of a training's plot: few, at equal distances, however many steps there are."""

import re
from dataclasses import dataclass, field

from bot.core.digest.result import StepPoint

MOST_POINTS = 200
_VALUE = rb":([+-]?\d{1,20}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?)(?![\w.+(-])"
_REWARD = re.compile(rb"(?<![^ ])critic/rewards/mean" + _VALUE)
_SECONDS = re.compile(rb"(?<![^ ])timing_s/step" + _VALUE)
_MOST = 1e12  # nothing that trains says more


@dataclass(slots=True)
class StepPoints:
    """Takes each step's line in turn, and parses those that it keeps."""

    kept: list[StepPoint] = field(default_factory=list)
    every: int = 1
    seen: int = 0

    def take(self, step: int, metrics: bytes) -> None:
        """Note a step with its metrics. When there are too many, every second one is dropped."""
        self.seen += 1
        if (self.seen - 1) % self.every:
            return
        self._add(point_of(step, metrics))
        if len(self.kept) > MOST_POINTS:
            del self.kept[1::2]
            self.every *= 2

    @property
    def ahead(self) -> int:
        """Return how many steps come before the next one that is kept."""
        return -self.seen % self.every

    def skip(self, steps: int) -> None:
        """Note steps that are not kept."""
        self.seen += steps

    def up_to(self, last: StepPoint) -> tuple[StepPoint, ...]:
        """Return the points, of which the newest is the last step's."""
        before = tuple(point for point in self.kept if point.step < last.step)
        return (*before, last) if _tells(last) else before

    def _add(self, point: StepPoint) -> None:
        """Add a point; a step that is told again replaces what came after it."""
        while self.kept and self.kept[-1].step >= point.step:
            self.kept.pop()
        if _tells(point):
            self.kept.append(point)


def point_of(step: int, metrics: bytes) -> StepPoint:
    """Return what a line of metrics says of a step."""
    return StepPoint(step, _number(_REWARD, metrics), _number(_SECONDS, metrics))


def _tells(point: StepPoint) -> bool:
    return point.reward is not None or point.seconds is not None


def _number(pattern: re.Pattern[bytes], metrics: bytes) -> float | None:
    match = pattern.search(metrics)
    value = float(match[1]) if match else _MOST
    return value if abs(value) < _MOST else None
