"""Simulate a policy over past commits: what it would have started, and the cost.

Every commit counts as a trusted pull request that is not a draft. Limits are ignored, so the result
is the demand, not what the hardware could have run.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bot.core.explain.explaining import (
    NO_CHECKOUT,
    Starts,
    cost_of,
    held_by,
    npu_hours_of,
    starts,
)
from bot.core.policy.models import Policy
from bot.core.policy.selection import MAX_LISTED_FILES, ChangedFile, select
from bot.core.workflows.holdings import ReadWorkflows

_BY_ITSELF = frozenset({Starts.ITSELF, Starts.GITHUB})


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A past commit and its changed files; both names of a renamed file."""

    name: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BadLine:
    """An invalid line of a file of commits, counted from 1."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Simulated:
    """The suites that a commit would have started, and those it would have offered."""

    commit: str
    selected: tuple[str, ...]
    offered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """A suite's runs over all commits; each takes ``minutes``, by default its time limit."""

    suite: str
    runs: int
    minutes: float
    npu_hours: float  # of all runs


@dataclass(frozen=True, slots=True)
class Simulation:
    """A policy's result: the commits and suites in their order."""

    commits: tuple[Simulated, ...]
    suites: tuple[Tally, ...]

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return sum(tally.runs for tally in self.suites)

    @property
    def npu_hours(self) -> float:
        """Return the cost of all runs: nodes × NPUs × hours."""
        return sum(tally.npu_hours for tally in self.suites)

    @property
    def starting(self) -> int:
        """Return the number of commits that would have started something."""
        return sum(bool(item.selected) for item in self.commits)


@dataclass(frozen=True, slots=True)
class SuiteDifference:
    """A suite's tally under two policies; None if a policy does not have the suite."""

    suite: str
    old: Tally | None
    new: Tally | None


@dataclass(frozen=True, slots=True)
class CommitDifference:
    """The suites that a commit starts only under the new or only under the old policy."""

    commit: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between two simulations of the same commits."""

    old: Simulation
    new: Simulation
    suites: tuple[SuiteDifference, ...]
    commits: tuple[CommitDifference, ...]


def read_commits(lines: Iterable[str]) -> tuple[PastCommit, ...] | BadLine:
    """Read commits from JSON lines with ``commit`` and ``files``; ignore other keys."""
    commits = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            read = _commit(line)
            if isinstance(read, str):
                return BadLine(number, read)
            commits.append(read)
    return tuple(commits)


def simulate(
    policy: Policy,
    commits: Sequence[PastCommit],
    minutes: Mapping[str, float] | None = None,
    checkout: ReadWorkflows = NO_CHECKOUT,
) -> Simulation:
    """Return the suites that ``policy`` would have started for each commit.

    ``minutes`` are typical times of suites. Without one a suite takes its time limit, which also
    limits typical times. The workflows of ``checkout`` tell what the jobs of a native suite hold,
    and which of them GitHub starts for its base branch.
    """
    simulated = tuple(_simulated(policy, commit, checkout) for commit in commits)
    counts = Counter(name for item in simulated for name in item.selected)
    suites = []
    for name, suite in policy.suites.items():
        cost = cost_of(policy, suite)
        each = min((minutes or {}).get(name, cost.minutes), cost.minutes)
        held = held_by(policy, suite, checkout)
        one = npu_hours_of(held, each) if held else cost.nodes * cost.npus * each / 60
        npu_hours = counts[name] * one
        suites.append(Tally(name, counts[name], each, npu_hours))
    return Simulation(simulated, tuple(suites))


def compare(old: Simulation, new: Simulation) -> Difference:
    """Return the differences between two simulations of the same commits."""
    before = {tally.suite: tally for tally in old.suites}
    after = {tally.suite: tally for tally in new.suites}
    suites = tuple(
        SuiteDifference(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*after, *before))
        if before.get(name) != after.get(name)
    )
    pairs = zip(old.commits, new.commits, strict=True)
    commits = (_commit_difference(was, now) for was, now in pairs)
    return Difference(old, new, suites, tuple(c for c in commits if c.added or c.removed))


def to_json(simulation: Simulation, difference: Difference | None = None) -> dict[str, Any]:
    """Return the result as plain values for JSON."""
    data: dict[str, Any] = {
        "runs": simulation.runs,
        "npu_hours": _hours(simulation.npu_hours),
        "commits": [asdict(commit) for commit in simulation.commits],
        "suites": [{"name": tally.suite, **_counts(tally)} for tally in simulation.suites],
    }
    return data if difference is None else {**data, "against": _against(difference)}


def _against(difference: Difference) -> dict[str, Any]:
    old, new = difference.old, difference.new
    return {
        "runs": old.runs,
        "npu_hours": _hours(old.npu_hours),
        "more_runs": new.runs - old.runs,
        "more_npu_hours": _hours(new.npu_hours - old.npu_hours),
        "suites": [
            {
                "name": item.suite,
                "old": _counts(item.old) if item.old else None,
                "new": _counts(item.new) if item.new else None,
            }
            for item in difference.suites
        ],
        "commits": [asdict(commit) for commit in difference.commits],
    }


def _counts(tally: Tally) -> dict[str, Any]:
    return {"runs": tally.runs, "minutes": tally.minutes, "npu_hours": _hours(tally.npu_hours)}


def _hours(npu_hours: float) -> float:
    return round(npu_hours, 2)


def _commit(line: str) -> PastCommit | str:
    """Return the commit of a line, or the error in it."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {str(error).partition(': line')[0]}"  # the line is the file's
    name, files = (data.get("commit"), data.get("files")) if isinstance(data, dict) else (0, 0)
    if not isinstance(name, str) or not isinstance(files, list):
        return 'is not like {"commit": "1a2b3c4", "files": ["src/a.py"]}'
    if not all(isinstance(path, str) for path in files):
        return "has a file that is no text"
    return PastCommit(name, tuple(files))


def _simulated(policy: Policy, commit: PastCommit, checkout: ReadWorkflows) -> Simulated:
    files = [ChangedFile(path) for path in commit.files]
    truncated = len(files) > MAX_LISTED_FILES
    chosen = select(policy, files, truncated=truncated, workflows=checkout.triggers).selected
    started = tuple(name for name in chosen if starts(policy.suites[name]) in _BY_ITSELF)
    return Simulated(commit.name, started, tuple(name for name in chosen if name not in started))


def _commit_difference(old: Simulated, new: Simulated) -> CommitDifference:
    return CommitDifference(
        new.commit,
        added=tuple(name for name in new.selected if name not in old.selected),
        removed=tuple(name for name in old.selected if name not in new.selected),
    )
