"""Today, without a bot: GitHub starts what the filters select, and runners take what waits first.

What is assumed: each workflow has `concurrency` by pull request with `cancel-in-progress`, so a
push ends what the pull request still has; GitHub starts strangers' runs unasked, as it does for
whoever had a change merged before; and a person presses *Re-run* as soon as a runner broke.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count

from tests.bench.day import Asked, Spell, again


@dataclass(slots=True)
class _Running:
    asked: Asked
    started_at: float
    over: bool = False


@dataclass(slots=True)
class Model:
    """Runners with their queues, one a label."""

    slots: Mapping[str, int]
    spells: list[Spell] = field(default_factory=list)
    _waiting: dict[str, deque[Asked]] = field(default_factory=dict)
    _running: list[_Running] = field(default_factory=list)
    _busy: Counter[str] = field(default_factory=Counter)
    _ends: list[tuple[float, int, _Running]] = field(default_factory=list)
    _order: "count[int]" = field(default_factory=count)

    def ask(self, item: Asked) -> None:
        """Let a job wait, after what a push of its pull request replaces has ended."""
        push = item.push
        if push is not None:
            self._stop(push.pull, push.number, item.at)
        self._waiting.setdefault(item.job.label, deque()).append(item)
        self._serve(item.job.label, item.at)

    def _stop(self, pull: int, number: int, at: float) -> None:
        """End the jobs of earlier pushes."""
        for queue in self._waiting.values():
            for item in [one for one in queue if _replaced(one, pull, number)]:
                queue.remove(item)
                self.spells.append(Spell(item, None, at, "cancelled"))
        for running in [one for one in self._running if _replaced(one.asked, pull, number)]:
            self._end(running, at, "cancelled")
        for label in list(self._waiting):
            self._serve(label, at)

    def _end(self, running: _Running, at: float, end: str) -> None:
        running.over = True
        self._running.remove(running)
        self._busy[running.asked.job.label] -= 1
        self.spells.append(Spell(running.asked, running.started_at, at, end))

    def _serve(self, label: str, at: float) -> None:
        queue = self._waiting[label]
        while queue and self._busy[label] < self.slots[label]:
            running = _Running(queue.popleft(), at)
            self._busy[label] += 1
            self._running.append(running)
            heappush(self._ends, (at + running.asked.job.minutes, next(self._order), running))

    def until(self, at: float) -> None:
        """Let end what ends by then."""
        while self._ends and self._ends[0][0] <= at:
            now, _, running = heappop(self._ends)
            if running.over:
                continue
            item = running.asked
            self._end(running, now, item.job.end)
            if item.job.end == "broken":
                self.ask(Asked(now, item.push, again(item.job), item.attempt + 1))
            self._serve(item.job.label, now)


def _replaced(item: Asked, pull: int, number: int) -> bool:
    return item.push is not None and item.push.pull == pull and item.push.number < number


def replay(items: Iterable[Asked], slots: Mapping[str, int]) -> list[Spell]:
    """Return what becomes of the jobs when a label takes so many at once; all come to an end."""
    model = Model(slots)
    todo = [(item.at, number, item) for number, item in enumerate(items)]
    heapify(todo)
    while todo:
        at, _, item = heappop(todo)
        model.until(at)
        model.ask(item)
    model.until(float("inf"))
    return model.spells
