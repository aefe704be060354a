"""Read a workflow's jobs: the NPU labels that they ask for, and their time limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from bot.core.policy.values import MAX_JOB_MINUTES, check_label
from bot.core.workflows import labels as names
from bot.core.workflows.matrix import EXPRESSION, MAX_LABELS, Combination, combinations, filled
from bot.core.workflows.notes import Notes, code, is_fit, listed
from bot.core.workflows.reading import Row, Scalar, Table, Tree, words

# GitHub's time limit for a job without one.
DEFAULT_MINUTES = 360

# No real workflow has more jobs. A chain of `needs` is followed recursively.
MAX_JOBS = 256


@dataclass(frozen=True, slots=True)
class Job:
    """A job that a policy can describe."""

    key: str
    line: int
    npu_labels: tuple[str, ...]  # one for each kind of runner that its combinations need
    other_labels: tuple[str, ...]
    minutes: int
    needs: tuple[str, ...]


def read_jobs(workflow: Table, notes: Notes) -> tuple[Job, ...]:
    """Return the jobs of a workflow; note every label that a policy cannot express."""
    jobs = workflow.table("jobs")
    if len(jobs.entries) > MAX_JOBS:
        notes.add(jobs.line, f"has {len(jobs.entries)} jobs; the first {MAX_JOBS} were looked at")
    first = list(jobs.entries.items())[:MAX_JOBS]
    return tuple(
        _job(key, job, jobs.lines[key], notes) for key, job in first if isinstance(job, Table)
    )


def chain_minutes(jobs: tuple[Job, ...]) -> int:
    """Return the time limit of the slowest chain of ``needs`` that ends in an NPU job."""
    known = {job.key: job for job in jobs}
    spent: dict[str, int] = {}
    longest = max(_until(job.key, known, spent) for job in jobs if job.npu_labels)
    return min(longest, MAX_JOB_MINUTES)


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
    npus, others = _labels(key, job, notes)
    if npus:
        _note_conditions(key, job, notes)
    needs = tuple(word.text for word in words(job.entries.get("needs"))[:MAX_JOBS])
    return Job(key, line, npus, others, _minutes(key, job, npus, notes), needs)


def _note_conditions(key: str, job: Table, notes: Notes) -> None:
    condition = job.entries.get("if")
    if isinstance(condition, Scalar):
        text = (
            f"job {code(key)} runs only if {code(condition.text)}; a policy has no such condition"
        )
        notes.add(job.line_of("if"), text)


def _minutes(key: str, job: Table, npus: tuple[str, ...], notes: Notes) -> int:
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
        text = f"`timeout-minutes` of job {code(key)}: {shown} is no number of minutes"
        notes.add(job.line_of("timeout-minutes"), f"{text}; GitHub's default counts, 360")
    return DEFAULT_MINUTES


def _labels(key: str, job: Table, notes: Notes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the NPU labels that a job asks for, and its other labels."""
    if "uses" in job.entries:
        called = job.entries["uses"]
        what = code(called.text) if isinstance(called, Scalar) else "a workflow"
        text = f"job {code(key)} calls {what}, a reusable workflow: its runners are not seen"
        notes.add(job.line_of("uses"), text)
        return (), ()
    line = job.line_of("runs-on")
    found: dict[str, None] = {}
    others: dict[str, None] = {}
    for asked in _asked(key, job, notes):
        chosen = _chosen(key, asked, line, notes)
        if chosen is None:
            others.update(dict.fromkeys(asked))
        else:
            found[chosen] = None
    return tuple(found), tuple(others)


def _asked(key: str, job: Table, notes: Notes) -> Iterator[tuple[str, ...]]:
    """Yield the labels that each combination of a job needs at once."""
    tree = job.entries.get("runs-on")
    line = job.line_of("runs-on")
    if isinstance(tree, Table):
        if "group" in tree.entries:
            text = f"job {code(key)} names a runner `group`, which a policy does not know"
            notes.add(tree.line_of("group"), text)
        tree = tree.entries.get("labels")
    if tree is None:
        return
    templates = tree.items if isinstance(tree, Row) else (tree,)
    for asked in dict.fromkeys(_each(templates, job)):
        if asked is None:
            wanted = listed([word.text for word in words(tree)])
            text = f"`runs-on` of job {code(key)} is known only when it runs: {wanted or 'unclear'}"
            notes.add(line, text)
        else:
            yield asked


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
        notes.add(line, f"job {code(key)}: {code(chosen)} cannot be a label of a policy")
        return None
    if len(names.own_labels(asked)) > 1:
        text = f"job {code(key)} needs one runner with all of {listed(asked)}; a policy's"
        rest = f"`runners` means any of them, so {code(chosen)} alone was taken"
        notes.add(line, f"{text} {rest}")
    return chosen
