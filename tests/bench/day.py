"""A day of pushes, and what each of them starts under a policy: the same for every side.

What is assumed, all of it seeded: 4 pushes an hour on 20 pull requests, one in four of them a
fix-up within ten minutes of the push before it; a pull request's files are those of one commit of
the mix, so a later push selects what the first one did, as GitHub's filters go by the whole
pull request; one author in five is a stranger with a fork, and a maintainer looks at a stranger's
head 90 minutes after its push, but at every second stranger's never. A job takes 35 to 65 % of its
limit; one in ten fails for the change, one in thirty for the runner, half-way.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.core.policy.models import Policy, Start, Suite
from bot.core.policy.selection import nightly_suites
from tests.bench.day_mix import selected

PUSHES_AN_HOUR = 4
PULLS = 20
_SEED = 5
_FIX_UPS = 0.25
_FIX_UP_WITHIN = 10.0  # minutes
_STRANGERS = 5  # one in so many
_WRITERS = 8
_LOOKS_AFTER = 90.0  # minutes
_SHORTEST, _LONGEST = 0.35, 0.65  # of the time limit
_FAILS, _BREAKS = 0.1, 1 / 30


@dataclass(frozen=True, slots=True)
class Author:
    """Whose pull request it is; ``looks_after``: minutes until a stranger's head is approved."""

    login: str
    stranger: bool = False
    looks_after: float | None = _LOOKS_AFTER


@dataclass(frozen=True, slots=True)
class Push:
    """A push to a pull request, the ``number``-th of it; minutes since the day began."""

    at: float
    pull: int
    number: int
    author: Author
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a suite: what it runs on, how long it takes, how it ends."""

    name: str
    suite: str
    label: str
    npus: int
    minutes: float
    end: str  # success | failure | broken: the runner's fault, worth another run


@dataclass(frozen=True, slots=True)
class Asked:
    """A job that a push asks for, at a time."""

    at: float
    push: Push | None  # None: a night
    job: Job
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Spell:
    """What became of a job: when it had a runner, and how it ended."""

    asked: Asked
    started_at: float | None
    ended_at: float
    end: str  # success | failure | broken | cancelled

    @property
    def npu_hours(self) -> float:
        """Return what it used."""
        if self.started_at is None:
            return 0.0
        return (self.ended_at - self.started_at) / 60 * self.asked.job.npus


def pushes(hours: int, mix: Sequence[tuple[str, ...]]) -> list[Push]:
    """Return a day's pushes, in order; ``mix`` has the files of each pull request."""
    choose = random.Random(_SEED)
    authors = _authors(len(mix), choose)
    counts = [0] * len(mix)
    made = []
    for at, pull in sorted(_times(hours, len(mix), choose)):
        counts[pull] += 1
        made.append(Push(at, pull, counts[pull], authors[pull], mix[pull]))
    return made


def _times(hours: int, pulls: int, choose: random.Random) -> list[tuple[float, int]]:
    """Return when who is pushed to: first everybody's own, then the fix-ups."""
    total = PUSHES_AN_HOUR * hours
    fix_ups = round(_FIX_UPS * total)
    times = [(choose.uniform(0, hours * 60), choose.randrange(pulls)) for _ in range(total)]
    for i in range(fix_ups):
        before, pull = times[fix_ups + i]
        times[i] = (before + choose.uniform(0.3, _FIX_UP_WITHIN), pull)
    return times


def _authors(count: int, choose: random.Random) -> list[Author]:
    authors = []
    for i in range(count):
        if i % _STRANGERS:
            authors.append(Author(f"writer-{i % _WRITERS}"))
        else:
            seen = i % (2 * _STRANGERS) == 0
            authors.append(Author(f"stranger-{i}", True, _LOOKS_AFTER if seen else None))
    choose.shuffle(authors)
    return authors


def natives(policy: Policy) -> Policy:
    """Return today's filters alone: the suites that GitHub starts."""
    return _only(policy, Start.NATIVE)


def ours(policy: Policy) -> Policy:
    """Return the suites that the bot dispatches."""
    return _only(policy, Start.DISPATCH)


def _only(policy: Policy, start: Start) -> Policy:
    found = {name: suite for name, suite in policy.suites.items() if suite.start is start}
    return policy.model_copy(update={"suites": found})


def places(name: str, suite: Suite) -> list[tuple[str, tuple[str, ...]]]:
    """Return a suite's jobs by name, each with the labels it may run on.

    Of a native suite `nodes` is the number of its jobs: on one label each, when there are so many.
    """
    labels = tuple(suite.runners)
    if suite.rayjob or suite.nodes == 1:
        return [(name, labels)]
    names = [name, *(f"{name}-{number}" for number in range(2, suite.nodes + 1))]
    each = len(labels) == suite.nodes
    return [(one, (labels[i],) if each else labels) for i, one in enumerate(names)]


def job_of(policy: Policy, suite_name: str, name: str, label: str, seed: str) -> Job:
    """Return a job; how long it takes and how it ends hang on ``seed`` and its name alone."""
    suite = policy.suites[suite_name]
    choose = random.Random(f"{_SEED} {seed} {name}")
    minutes = choose.uniform(_SHORTEST, _LONGEST) * suite.timeout_minutes
    luck = choose.random()
    npus = suite.npus or policy.runners[label].npus
    whole = npus * suite.nodes if suite.rayjob else npus
    job = Job(name, suite_name, label, whole, minutes, "success")
    if luck < _BREAKS:
        return replace(job, end="broken", minutes=minutes / 2)
    return replace(job, end="failure") if luck < _BREAKS + _FAILS else job


def again(job: Job) -> Job:
    """Return what the next attempt is, after the runner's fault."""
    return replace(job, end="success", minutes=job.minutes * 2)


def seed_of(push: Push) -> str:
    """Return what a push's jobs are drawn from."""
    return f"{push.pull}:{push.number}"


def asked(policy: Policy, pushed: Iterable[Push]) -> list[Asked]:
    """Return the jobs that each push starts at once under a policy's filters."""
    return [
        Asked(push.at, push, job_of(policy, suite, name, labels[0], seed_of(push)))
        for push in pushed
        for suite in selected(policy, push.files)
        for name, labels in places(suite, policy.suites[suite])
    ]


def nights(policy: Policy, hours: int) -> list[Asked]:
    """Return the jobs of the nights that fall into the day, each on its first label."""
    found = []
    for night in policy.nightly:
        minute, hour, *_ = night.cron.split()
        at = int(hour) * 60.0 + int(minute)
        for name in nightly_suites(policy, night) if at < hours * 60 else ():
            label = policy.suites[name].runners[0]
            found.append(Asked(at, None, job_of(policy, name, name, label, night.name)))
    return found
