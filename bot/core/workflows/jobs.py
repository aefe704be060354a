"""Read a workflow's jobs: the NPU labels that they ask for, and their time limits."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from bot.core.policy.values import MAX_JOB_MINUTES, check_label
from bot.core.workflows import labels as names
from bot.core.workflows.matrix import (
    EXPRESSION,
    MAX_COMBINATIONS,
    MAX_LABELS,
    Combination,
    combinations,
    filled,
)
from bot.core.workflows.notes import Notes, code, is_fit, listed
from bot.core.workflows.reading import Row, Scalar, Table, Tree, words

# GitHub's time limit for a job without one.
DEFAULT_MINUTES = 360

# No real workflow has more jobs. A chain of `needs` is followed recursively.
MAX_JOBS = 256

# A condition by which a job belongs to the times of a schedule, and not to pull requests.
_OF_SCHEDULE = re.compile(r"github\.event\.schedule\s*==|github\.event_name\s*==\s*'schedule'")
_OF_EVENT = re.compile(r"github\.event(?:_name|\.schedule)\b")


@dataclass(frozen=True, slots=True)
class Job:
    """A job that a policy can describe."""

    key: str
    line: int
    npu_labels: tuple[str, ...]  # one for each kind of runner that its combinations need
    other_labels: tuple[str, ...]
    minutes: int
    needs: tuple[str, ...]
    title: str = ""
    at_once: int = 1  # its combinations on NPUs that GitHub starts at once
    of_schedule: bool = False  # its condition is false on a pull request


def read_jobs(workflow: Table, notes: Notes) -> tuple[Job, ...]:
    """Return the jobs of a workflow; note every label that a policy cannot express."""
    jobs = workflow.table("jobs")
    if len(jobs.entries) > MAX_JOBS:
        notes.add(jobs.line, f"has {len(jobs.entries)} jobs; the first {MAX_JOBS} were looked at")
    first = list(jobs.entries.items())[:MAX_JOBS]
    return tuple(
        _job(key, job, jobs.lines[key], notes) for key, job in first if isinstance(job, Table)
    )


def chain_minutes(jobs: Iterable[Job], own: Iterable[Job]) -> int:
    """Return the time limit of the slowest chain of ``needs`` that ends in a job of ``own``."""
    known = {job.key: job for job in jobs}
    spent: dict[str, int] = {}
    return min(max(_until(job.key, known, spent) for job in own), MAX_JOB_MINUTES)


def most_at_once(jobs: Iterable[Job], own: Iterable[Job]) -> int:
    """Return how many jobs of ``own`` run at once if each takes as long as it may."""
    known = {job.key: job for job in jobs}
    spent: dict[str, int] = {}
    moves: list[tuple[int, int]] = []
    for job in own:
        end = _until(job.key, known, spent)
        moves += [(end - job.minutes, job.at_once), (end, -job.at_once)]
    return max(accumulate(count for _, count in sorted(moves)))


def _until(key: str, known: Mapping[str, Job], spent: dict[str, int]) -> int:
    """Return the minutes until the end of ``key``; a circle, which GitHub refuses, counts once."""
    if key not in known:
        return 0
    if key not in spent:
        spent[key] = 0
        before = max((_until(need, known, spent) for need in known[key].needs), default=0)
        spent[key] = known[key].minutes + before
    return spent[key]


def _job(key: str, job: Table, line: int, notes: Notes) -> Job:
    npus, others, count = _labels(key, job, notes)
    condition = _text(job, "if")
    if npus:
        _note_condition(key, job, condition, notes)
        note_concurrency(job, notes)
    needs = tuple(word.text for word in words(job.entries.get("needs"))[:MAX_JOBS])
    return Job(
        key,
        line,
        npus,
        others,
        minutes_of(key, job, npus, notes),
        needs,
        title=" ".join(_text(job, "name").split()),
        at_once=max(1, min(count, _most(job))),
        of_schedule=bool(_OF_SCHEDULE.search(condition)) and "pull_request" not in condition,
    )


def _text(table: Table, key: str) -> str:
    found = table.entries.get(key)
    return found.text if isinstance(found, Scalar) else ""


def _most(job: Table) -> int:
    """Return how many combinations of a matrix GitHub starts at once."""
    written = _text(job.table("strategy"), "max-parallel")
    return int(written) if re.fullmatch(r"[1-9]\d{0,2}", written) else MAX_COMBINATIONS


def _note_condition(key: str, job: Table, condition: str, notes: Notes) -> None:
    """Note the condition of a job, unless it chooses among the events that start it."""
    if condition and not _OF_EVENT.search(condition):
        text = f"{{job}} runs only if {code(condition)}; a policy has no such condition"
        notes.of_job(job.line_of("if"), key, text)


def note_concurrency(table: Table, notes: Notes) -> None:
    """Note what GitHub does with two runs of one `concurrency` group."""
    tree = table.entries.get("concurrency")
    if tree is None:
        return
    group = _text(table.table("concurrency"), "group") or _text(table, "concurrency")
    cancels = _text(table.table("concurrency"), "cancel-in-progress")
    if cancels in ("", "false"):
        what = "GitHub lets one run of a group run, and one wait"
    elif cancels == "true":
        what = "GitHub cancels a run when a newer one of its group comes"
    else:
        what = f"GitHub cancels a run when a newer one of its group comes, if {code(cancels)}"
    named = f" of group {code(group)}" if group else ""
    notes.add(table.line_of("concurrency"), f"`concurrency`{named}: {what}")


def minutes_of(key: str, job: Table, npus: tuple[str, ...], notes: Notes) -> int:
    """Return a job's time limit; note one of a job on NPUs that is no number."""
    value = job.entries.get("timeout-minutes")
    if value is None:
        return DEFAULT_MINUTES
    try:
        minutes = ceil(float(value.text)) if isinstance(value, Scalar) else 0
    except (ValueError, OverflowError):
        minutes = 0
    if minutes > 0:
        return minutes
    if npus:
        shown = code(value.text) if isinstance(value, Scalar) else "what stands there"
        text = f"`timeout-minutes` of {{job}}: {shown} is no number of minutes"
        whole = f"{text}; GitHub's default counts, 360"
        notes.of_job(job.line_of("timeout-minutes"), key, whole)
    return DEFAULT_MINUTES


def _labels(key: str, job: Table, notes: Notes) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Return the NPU labels of a job, its other labels, and how many combinations ask for NPUs."""
    if "uses" in job.entries:
        called = job.entries["uses"]
        what = code(called.text) if isinstance(called, Scalar) else "a workflow"
        text = f"{{job}} calls {what}, a reusable workflow: its runners are not seen"
        notes.of_job(job.line_of("uses"), key, text)
        return (), (), 0
    line = job.line_of("runs-on")
    found: dict[str, None] = {}
    others: dict[str, None] = {}
    total = 0
    for asked, count in _asked(key, job, notes):
        chosen = _chosen(key, asked, line, notes)
        if chosen is None:
            others.update(dict.fromkeys(asked))
        else:
            found[chosen] = None
            total += count
    return tuple(found), tuple(others), total


def _asked(key: str, job: Table, notes: Notes) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the labels that a combination of a job needs at once, and how many need them."""
    tree = job.entries.get("runs-on")
    line = job.line_of("runs-on")
    if isinstance(tree, Table):
        if "group" in tree.entries:
            text = "{job} names a runner `group`, which a policy does not know"
            notes.of_job(tree.line_of("group"), key, text)
        tree = tree.entries.get("labels")
    for asked, count in Counter(asked_by_each(job)).items():
        if asked is None:
            wanted = listed([word.text for word in words(tree)])
            text = f"`runs-on` of {{job}} is known only when it runs: {wanted or 'unclear'}"
            notes.of_job(line, key, text)
        else:
            yield asked, count


def asked_by_each(job: Table) -> Iterator[tuple[str, ...] | None]:
    """Yield the labels of each combination of a job; None if they are unknown."""
    tree = job.entries.get("runs-on")
    tree = tree.entries.get("labels") if isinstance(tree, Table) else tree
    if tree is not None:
        yield from _each(tree.items if isinstance(tree, Row) else (tree,), job)


def _each(templates: tuple[Tree, ...], job: Table) -> Iterator[tuple[str, ...] | None]:
    """Yield the labels of each combination; None if they are unknown."""
    fixed = not any(isinstance(tree, Scalar) and EXPRESSION in tree.text for tree in templates)
    made: list[Combination] | None = [{}] if fixed else combinations(job)
    if made is None or len(templates) > MAX_LABELS:
        yield None
        return
    for combination in made:
        yield _filled(templates, combination)


def _filled(templates: tuple[Tree, ...], combination: Combination) -> tuple[str, ...] | None:
    texts: list[str] = []
    for template in templates:
        value = filled(template, combination)
        if value is None or isinstance(value, Table):
            return None
        if isinstance(value, Row) and len(value.items) > MAX_LABELS:
            return None
        texts.extend(word.text for word in words(value))
    return tuple(texts)


def _chosen(key: str, asked: tuple[str, ...], line: int, notes: Notes) -> str | None:
    """Return the label that represents a runner with all labels of ``asked``, if it has NPUs."""
    npus = [label for label in asked if names.is_npu(label)]
    counted = [label for label in npus if names.npus_of(label) is not None]
    if not npus:
        return None
    chosen = (counted or npus)[0]
    if not is_fit(check_label, chosen):
        notes.of_job(line, key, f"{{job}}: {code(chosen)} cannot be a label of a policy")
        return None
    if len(names.own_labels(asked)) > 1:
        text = f"{{job}} needs one runner with all of {listed(asked)}; a policy's"
        rest = f"`runners` means any of them, so {code(chosen)} alone was taken"
        notes.of_job(line, key, f"{text} {rest}")
    return chosen
