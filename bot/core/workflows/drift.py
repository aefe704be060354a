"""Compare a policy with the workflows of its repository as they are now.

A policy repeats labels, limits and path filters of native workflows, and names their jobs. When a
workflow changes, what it says there is wrong.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bot.core.messages import Message
from bot.core.messages.words import joined, listing
from bot.core.policy.models import Policy, Start, Suite, Trigger
from bot.core.policy.tree import WORKFLOWS
from bot.core.workflows.jobs import Job, chain_minutes, most_at_once, read_jobs
from bot.core.workflows.notes import Missed, Notes, SourceFile, code
from bot.core.workflows.own_jobs import own_jobs
from bot.core.workflows.reading import read
from bot.core.workflows.suites import Draft, draft
from bot.core.workflows.triggers import Filters, read_filters

# Of jobs and labels in one sentence.
_SHOWN = 6


class DriftKind(StrEnum):
    """What a policy and a workflow differ in."""

    LACKS = "lacks"
    GONE = "gone"
    LABELS = "labels"
    LIMIT = "limit"
    NODES = "nodes"
    PATHS = "paths"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference, at a line of a workflow (from 1)."""

    kind: DriftKind
    file: str
    line: int
    message: Message
    suite: str = ""  # of the policy; "" if the policy lacks one
    draft: Draft | None = None  # the suite that is lacking
    job: str = ""  # the name that no job has; "": the whole workflow is gone
    labels: tuple[str, ...] = ()  # of its jobs now
    minutes: int = 0  # that its jobs may take now
    nodes: int = 0  # of its jobs that run at once now
    paths: tuple[str, ...] = ()  # its workflow's filters now


def drifts(
    policy: Policy, sources: Iterable[SourceFile], gone: Collection[str] = ()
) -> Iterator[Drift]:
    """Yield the differences in ``sources``; ``gone`` are paths of workflows that do not exist."""
    suites: dict[str, dict[str, Suite]] = {}
    for key, suite in policy.suites.items():
        suites.setdefault(f"{WORKFLOWS}{suite.workflow}", {})[key] = suite
    for path in (path for path in suites if path in gone):
        for key in suites[path]:
            text = Message("drift_gone", suite=code(key), path=code(path))
            yield Drift(DriftKind.GONE, path, 1, text, key)
    taken = set(policy.suites)
    for source in sources:
        for one in _of_file(source, suites.get(source.path, {}), taken):
            taken |= {one.draft.key} if one.draft else set()
            yield one


def _of_file(
    source: SourceFile, suites: Mapping[str, Suite], taken: Collection[str]
) -> Iterator[Drift]:
    tree = read(source)
    if isinstance(tree, Missed):
        if suites:
            text = Message("drift_unread", why=tree.reason)
            yield Drift(DriftKind.UNREAD, source.path, tree.line, text, next(iter(suites)))
        return
    native = {key: suite for key, suite in suites.items() if suite.start is Start.NATIVE}
    named = _named(source, native.values())
    jobs = read_jobs(tree, Notes(source.path))
    filters = read_filters(tree, Notes(source.path))
    covered: set[str] = set()
    for key, suite in native.items():
        own = [job for job in jobs if _is_own(job, suite, named)]
        covered.update(job.key for job in own)
        yield from _gone_jobs(source.path, key, suite, named)
        yield from _moved(source.path, (key, suite), jobs, own)
        if filters is not None and suite.started_by(Trigger.PULL_REQUEST):
            yield from _other_paths(source.path, key, suite, filters)
    if len(native) < len(suites):
        return  # the bot dispatches it
    made = draft(source, tree, taken, Notes(source.path), covered)
    for one in made if isinstance(made, list) else []:
        names = _codes(job.key for job in one.jobs)
        text = Message("drift_lacks", n=len(one.jobs), jobs=names, labels=_codes(one.labels))
        yield Drift(DriftKind.LACKS, source.path, one.jobs[0].line, text, draft=one)


def _named(source: SourceFile, suites: Iterable[Suite]) -> dict[str, frozenset[str]]:
    """Return the keys of the jobs that each name of the suites means."""
    patterns = {name: (name,) for suite in suites for name in suite.jobs}
    found = own_jobs(source.raw, patterns)
    return {name: frozenset(one.job.key for one in found[name]) for name in patterns}


def _is_own(job: Job, suite: Suite, named: Mapping[str, frozenset[str]]) -> bool:
    return not suite.jobs or any(job.key in named[name] for name in suite.jobs)


def _gone_jobs(
    path: str, key: str, suite: Suite, named: Mapping[str, frozenset[str]]
) -> Iterator[Drift]:
    for name in suite.jobs:
        if not named[name]:
            text = Message("drift_gone_job", suite=code(key), job=code(name))
            yield Drift(DriftKind.GONE, path, 1, text, key, job=name)


def _moved(
    path: str, named: tuple[str, Suite], jobs: tuple[Job, ...], own: list[Job]
) -> Iterator[Drift]:
    """Yield the labels and the limit of a suite that its jobs do not have any more."""
    key, suite = named
    on_npus = [job for job in own if job.npu_labels]
    labels = _labels_now(suite, own, on_npus)
    if labels is not None:
        where = (on_npus or own)[0].line
        now, held = _codes(labels), _codes(suite.runners)
        text = Message("drift_labels", suite=code(key), now=now, held=held)
        yield Drift(DriftKind.LABELS, path, where, text, key, labels=labels if on_npus else ())
    minutes = chain_minutes(jobs, on_npus) if on_npus else suite.timeout_minutes
    if minutes != suite.timeout_minutes:
        text = Message("drift_limit", suite=code(key), now=minutes, held=suite.timeout_minutes)
        yield Drift(DriftKind.LIMIT, path, on_npus[0].line, text, key, minutes=minutes)
    nodes = most_at_once(jobs, on_npus) if on_npus else suite.nodes
    if nodes != suite.nodes:
        text = Message("drift_nodes", suite=code(key), now=nodes, held=suite.nodes)
        yield Drift(DriftKind.NODES, path, on_npus[0].line, text, key, nodes=nodes)


def _other_paths(path: str, key: str, suite: Suite, filters: Filters) -> Iterator[Drift]:
    """Yield path filters that are not the workflow's: GitHub starts it by its own."""
    if not suite.paths or suite.paths == filters.paths:
        return
    new = [one for one in filters.paths if one not in suite.paths]
    lost = [one for one in suite.paths if one not in filters.paths]
    parts = [Message("change_added", items=_codes(new))] if new else []
    parts += [Message("change_removed", items=_codes(lost))] if lost else []
    what = joined(parts or [Message("what_order")])
    text = Message("drift_paths", suite=code(key), what=what)
    yield Drift(DriftKind.PATHS, path, filters.line, text, key, paths=filters.paths)


def _labels_now(suite: Suite, own: list[Job], on_npus: list[Job]) -> tuple[str, ...] | None:
    """Return the labels that a suite's jobs ask for; None if they are its own.

    If the labels of a job are known only when it runs, its suite may have more than are seen.
    """
    found = [job.npu_labels if on_npus else job.other_labels for job in own]
    now = dict.fromkeys(label for labels in found for label in labels)
    lower = {label.lower() for label in now}
    lost = [label for label in suite.runners if label.lower() not in lower]
    unseen = any(not job.npu_labels and not job.other_labels for job in own)
    if unseen and not on_npus:
        return None
    kept = lost if unseen else []
    if lower <= {label.lower() for label in suite.runners} and lost == kept:
        return None
    return (*now, *kept) if own else None


def _codes(texts: Iterable[str]) -> Message:
    return listing([code(text) for text in texts], limit=_SHOWN)
