"""The day played by the real bot against the simulated GitHub, under one clock."""

import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count

from bot.core.policy.models import Policy
from bot.sim.model import Job as SimJob
from bot.sim.model import Pull, Run
from bot.sim.people import NewPull
from tests.bench.day import Asked, Job, Push, Spell, again, job_of, natives, seed_of
from tests.bench.day_mix import selected
from tests.bench.day_policy import workflows
from tests.e2e.world import GATE, World

LOOKS_EVERY = 10.0  # minutes between two looks of the bot at what is due, if nothing happens
SWEEPS_EVERY = 15.0  # no webhook is lost here, so the safety nets find nothing
TELLS_EVERY = 60.0
GIVE_UP_AFTER = 10 * 24 * 60.0
_LATER = datetime.max.replace(tzinfo=UTC)
_TICK_S = 0.001  # the clock counts microseconds: less would stand still
_BROKEN = "##[error]The self-hosted runner: a3-8-x lost communication with the server."
_FAILED = "E       AssertionError: reward 0.31 is below 0.40"
_RAYJOB = "ascend-ci: rayjob job-{id}\nascend-ci: final {status}"


@dataclass(slots=True)
class _Busy:
    """A job on a runner."""

    sim: SimJob
    asked: Asked
    started_at: float


@dataclass(slots=True)
class Play:
    """A day in a world: pushes go in, runners take jobs, and all comes to an end."""

    world: World
    policy: Policy
    pushes: Sequence[Push]
    hours: int
    spells: list[Spell] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    started: datetime = _LATER
    _todo: list[tuple[float, int, Push | _Busy | None]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=count)
    _pulls: dict[int, Pull] = field(default_factory=dict)
    _at: dict[str, Push] = field(default_factory=dict)  # by commit
    _seen: set[tuple[int, int]] = field(default_factory=set)  # run, attempt
    _tried: Counter[tuple[str, str]] = field(default_factory=Counter)  # commit, job
    _waiting: defaultdict[str, deque[SimJob]] = field(default_factory=lambda: defaultdict(deque))
    _busy: dict[int, _Busy] = field(default_factory=dict)  # by id of the job
    _files: dict[str, str] = field(default_factory=dict)  # workflows by path
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Return the minutes since the day began."""
        return (self.world.clock.now() - self.started).total_seconds() / 60

    async def open(self, source: str) -> None:
        """Put the policy and its workflows in place, and wait for midnight."""
        github = self.world.github
        self._files = workflows(self.policy)
        files = {".github/ascend-ci.yml": source, **self._files}
        github.people.push_branch("maintainer", files)
        for push in self.pushes:
            github.grant(push.author.login, "none" if push.author.stranger else "write")
        for name, suite in self.policy.suites.items():
            self._names[(suite.workflow, suite.inputs.get("script", ""))] = name
        now = self.world.clock.now()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0)
        await self.world.settle()
        await self.world.clock.advance((midnight - now).total_seconds())
        self.started = midnight

    async def run(self) -> None:
        """Play until nothing is left to do."""
        for push in self.pushes:
            self._plan(push.at, push)
        swept = told = 0.0
        while self._todo or not self._over():
            due = self._todo[0][0] if self._todo else GIVE_UP_AFTER
            at = min(due, self.now + LOOKS_EVERY)
            await self.world.clock.advance(max(_TICK_S, (at - self.now) * 60))
            while self._todo and self._todo[0][0] <= self.now:
                await self._do(heappop(self._todo)[2])
            await self.world.bot.step("schedules")()
            await self._settle()
            if self.now - swept >= SWEEPS_EVERY:
                swept = self.now
                await self.world.bot.step("sweeper")()
            if self.now - told >= TELLS_EVERY:
                told = self.now
                runs = len(self.world.github.runs())
                sys.stderr.write(f"{told / 60:.0f} h played, {runs} workflow runs so far\n")
            if self.now > GIVE_UP_AFTER:
                self.problems.append("the day does not end")
                return

    def _plan(self, at: float, what: "Push | _Busy | None") -> None:
        heappush(self._todo, (at, next(self._order), what))

    def _over(self) -> bool:
        """Return True if the day is past, nothing runs, and every head has its verdict."""
        if self._busy or any(self._waiting.values()) or self.now < self.hours * 60 + 5:
            return False
        return not self.open_gates() and not self._open_checks()

    def open_gates(self) -> list[int]:
        """Return the pull requests whose gate is not final."""
        github = self.world.github
        gates = {pull.number: github.check(GATE, pull.head_sha) for pull in self._pulls.values()}
        return [number for number, gate in gates.items() if not gate or gate.status != "completed"]

    def _open_checks(self) -> bool:
        return any(check.status != "completed" for check in self.world.github.check_runs())

    async def _settle(self) -> None:
        """Let the bot do what is due, but not beyond what comes next: its writes take time."""
        busy = True
        while busy:
            await self.world.github.deliveries.idle()
            busy = False
            busy |= await self.world.bot.round()
            self._look()
            if self._todo and self._todo[0][0] <= self.now:
                return

    # -- people -----------------------------------------------------------------------------

    async def _do(self, what: "Push | _Busy | None") -> None:
        if isinstance(what, _Busy):
            self._end(what)
        elif what is None:  # the bot's own time has come
            return
        elif what.number in self._known(what.pull):
            self._approve(what)
        else:
            self._push(what)

    def _known(self, pull: int) -> set[int]:
        return {push.number for push in self._at.values() if push.pull == pull}

    def _push(self, push: Push) -> None:
        people, known = self.world.github.people, self._files
        files = {path: f"{known.get(path, '')}# {push.number}\n" for path in push.files}
        if push.pull in self._pulls:
            sha = people.push(self._pulls[push.pull], files)
        else:
            new = NewPull(title=f"Change {push.pull}", fork=push.author.stranger)
            self._pulls[push.pull] = people.open_pull(push.author.login, files, new)
            sha = self._pulls[push.pull].head_sha
        self._at[sha] = push
        self._plan(self.now + self.policy.limits.debounce_seconds / 60 + 0.1, None)
        if push.author.looks_after is not None:
            self._plan(push.at + push.author.looks_after, push)
        self._start_natives(self._pulls[push.pull], push)

    def _approve(self, push: Push) -> None:
        """Press the gate's button, if this is the head still and somebody has to."""
        pull = self._pulls[push.pull]
        gate = self.world.github.check(GATE, pull.head_sha)
        asks = gate and any(button["identifier"] == "approve" for button in gate.actions)
        if gate and asks and self._at[pull.head_sha] is push:
            self.world.github.people.press(gate, "approve", "maintainer")

    # -- GitHub -----------------------------------------------------------------------------

    def _start_natives(self, pull: Pull, push: Push) -> None:
        """Start what GitHub's own filters select, in place of what the pull request still has."""
        actions, policy = self.world.github.actions, natives(self.policy)
        if not policy.suites:
            return
        for run in self.world.github.runs():
            if run.pull is pull and run.status != "completed":
                actions.cancel(run)
        for suite in selected(policy, push.files):
            actions.native(pull, policy.suites[suite].workflow)

    def _look(self) -> None:
        """End what was cancelled, take up new jobs, and give them runners."""
        for run in self.world.github.runs():
            if run.cancelled and run.status != "completed":
                for job in run.of_attempt(run.attempt):
                    if job.id in self._busy:
                        self._finish(self._busy[job.id], "cancelled")
            if (run.id, run.attempt) not in self._seen:
                self._seen.add((run.id, run.attempt))
                for job in run.of_attempt(run.attempt):
                    self._waiting[job.labels[0]].append(job)
        for label, queue in self._waiting.items():
            while queue and self._taken(label) < self.policy.runners[label].slots:
                self._start(queue.popleft())

    def _taken(self, label: str) -> int:
        return sum(busy.sim.labels[0] == label for busy in self._busy.values())

    def _start(self, sim: SimJob) -> None:
        if sim.status != "queued":
            return
        push = self._at.get(sim.run.head_sha if sim.run.pull else sim.run.inputs["sha"])
        job, attempt = self._job(sim, push)
        asked = Asked(push.at if push else self.now, push, job, attempt)
        self.world.github.progress.started(sim, 1, f"{sim.labels[0]}-1")
        busy = _Busy(sim, asked, self.now)
        self._busy[sim.id] = busy
        self._plan(self.now + job.minutes, busy)

    def _job(self, sim: SimJob, push: Push | None) -> tuple[Job, int]:
        """Return what a job does: the same as on the other side, where it runs there."""
        run = sim.run
        file = run.workflow.path.rsplit("/", 1)[-1]
        suite = self._names[(file, run.inputs.get("script", ""))]
        name = sim.key if run.pull else suite
        sha = run.head_sha if run.pull else run.inputs["sha"]
        seed = seed_of(push) if push else self._night(suite)
        job = job_of(self.policy, suite, name, sim.labels[0], seed)
        self._tried[(sha, name)] += 1
        attempt = self._tried[(sha, name)]
        return (again(job) if attempt > 1 and job.end == "broken" else job), attempt

    def _night(self, suite: str) -> str:
        return next(
            night.name
            for night in self.policy.nightly
            if suite in night.suites or any(suite.startswith(one[:-1]) for one in night.suites)
        )

    def _end(self, busy: _Busy) -> None:
        if busy.sim.id in self._busy:
            self._finish(busy, busy.asked.job.end)

    def _finish(self, busy: _Busy, end: str) -> None:
        progress, sim = self.world.github.progress, busy.sim
        del self._busy[sim.id]
        sim.log += self._log(busy, end).splitlines()
        progress.finished(sim, "failure" if end == "broken" else end)
        self.spells.append(Spell(busy.asked, busy.started_at, self.now, end))
        if all(job.status == "completed" for job in sim.run.of_attempt(sim.run.attempt)):
            progress.ended(sim.run)

    def _log(self, busy: _Busy, end: str) -> str:
        said = {"broken": _BROKEN, "failure": _FAILED}.get(end, "")
        if not self.policy.suites[busy.asked.job.suite].rayjob:
            return said
        status = "SUCCEEDED" if end == "success" else "FAILED"
        return f"{said}\n{_RAYJOB.format(id=busy.sim.id, status=status)}"


def most_at_once(runs: Sequence[Run], *, dispatched: bool) -> dict[str, int]:
    """Return how many jobs a label had at once, as the simulated GitHub kept them.

    ``dispatched``: of the bot's own, each from its dispatch on; else of all, from its start on.
    """
    moves: defaultdict[str, list[tuple[datetime, int]]] = defaultdict(list)
    for job in (job for run in runs for job in run.jobs):
        own = job.run.event == "workflow_dispatch"
        begin = job.created_at if dispatched else job.started_at
        if begin and job.completed_at and (own or not dispatched):
            moves[job.labels[0]] += [(begin, 1), (job.completed_at, -1)]
    return {label: _peak(sorted(found)) for label, found in moves.items()}


def _peak(moves: Sequence[tuple[datetime, int]]) -> int:
    level = most = 0
    for _, move in moves:
        level += move
        most = max(most, level)
    return most
