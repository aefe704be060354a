"""Find the jobs of a suite in its workflow's file: their names on GitHub, and what they need."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bot.core.model.own_jobs import OwnJob, WorkflowJob, is_own, unknown_job
from bot.core.policy.values import MAX_JOB_CHARS
from bot.core.policy.wildcard import fits
from bot.core.workflows.jobs import MAX_JOBS
from bot.core.workflows.matrix import EXPRESSION, combinations, filled
from bot.core.workflows.notes import Missed, SourceFile
from bot.core.workflows.reading import Scalar, Table, Tree, read, words

_UNKNOWN = re.compile(rf"\*|{re.escape(EXPRESSION)}")  # the rest of a name that is not known
_MOST_NAMES = 20  # of one job; a larger matrix is told by a pattern
# Of a suite's jobs with all that they need: a run's row holds them, and each webhook of a job is
# compared with them. Anybody may write a file in which each job needs all others.
MOST_TOLD = 500
MOST_TOLD_CHARS = 32_000


def own_jobs(raw: bytes, suites: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[OwnJob, ...]]:
    """Return the jobs of each suite in a workflow; none if it cannot be read.

    ``suites`` has the patterns of each. One is a job's key, or the name that GitHub shows, and
    ``*`` in it is any text.
    """
    tree = read(SourceFile("", raw))
    if isinstance(tree, Missed):
        return {}
    jobs = dict(list(workflow_jobs(tree).items())[:MAX_JOBS])
    known = {key: WorkflowJob(key, job_names(key, job), _open(job)) for key, job in jobs.items()}
    needs = {key: _texts(job.entries.get("needs")) for key, job in jobs.items()}
    found = {
        key: OwnJob(job, tuple(known[need] for need in _all_needs(key, needs)))
        for key, job in known.items()
    }
    fickle = {key: begin for key, job in known.items() if (begin := _unknown_from(job)) is not None}
    return {
        suite: tuple(
            _told_late(found[key], fickle) for key, job in known.items() if names_job(patterns, job)
        )
        for suite, patterns in suites.items()
    }


def _unknown_from(job: WorkflowJob) -> str | None:
    """Return how a name begins that is known only when its job runs, None for a known one."""
    written, *shown = job.names
    if EXPRESSION not in written or (shown and shown != [*_with_gaps(written)]):
        return None
    return written.partition(EXPRESSION)[0]


def _told_late(own: OwnJob, fickle: Mapping[str, str]) -> OwnJob:
    """Return a job as open if another one may be shown under its name.

    A pull request's code may decide the values of a matrix. A job that is named by them may pose as
    this one before GitHub lists it.
    """
    begins = [begin for key, begin in fickle.items() if key != own.job.key]
    names = [re.split(_UNKNOWN, name)[0] for name in own.job.names]
    poses = any(one.startswith(begin) or begin.startswith(one) for begin in begins for one in names)
    return replace(own, job=replace(own.job, open=True)) if poses else own


def jobs_of_run(
    raws: Iterable[bytes], suites: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[OwnJob, ...]]:
    """Return the jobs of each suite where the workflow is one of several files, or a mix of them.

    A pattern without a job in them may still mean one, of a workflow that is called. Of a suite
    with too many jobs and needs nothing is told.
    """
    found = [own_jobs(raw, suites) for raw in raws]
    return {suite: _of_suite(suite, patterns, found) for suite, patterns in suites.items()}


def _of_suite(
    suite: str, patterns: tuple[str, ...], found: list[dict[str, tuple[OwnJob, ...]]]
) -> tuple[OwnJob, ...]:
    together = tuple(_together(item for one in found for item in one.get(suite, ())))
    if _is_too_much(together):
        return tuple(map(unknown_job, patterns))
    left = (name for name in patterns if not any(_has(one, suite, name) for one in found))
    return (*together, *map(unknown_job, left))


def _is_too_much(own: tuple[OwnJob, ...]) -> bool:
    told = [name for item in own for job in (item.job, *item.needs) for name in job.names]
    return len(told) > MOST_TOLD or sum(map(len, told)) > MOST_TOLD_CHARS


def _has(found: Mapping[str, tuple[OwnJob, ...]], suite: str, pattern: str) -> bool:
    return any(names_job((pattern,), item.job) for item in found.get(suite, ()))


def _together(jobs: Iterable[OwnJob]) -> Iterable[OwnJob]:
    """Return one job for each key, with all that is told of it."""
    found: dict[str, OwnJob] = {}
    for item in jobs:
        before = found.get(item.job.key, item)
        found[item.job.key] = OwnJob(
            _both(before.job, item.job),
            tuple(dict.fromkeys((*before.needs, *item.needs))),
        )
    return found.values()


def _both(one: WorkflowJob, other: WorkflowJob) -> WorkflowJob:
    names = tuple(dict.fromkeys((*one.names, *other.names)))
    return WorkflowJob(one.key, names, one.open or other.open)


def _open(job: Table) -> bool:
    """Return True if GitHub may list some of its jobs when others have ended."""
    return "uses" in job.entries or "max-parallel" in job.table("strategy").entries


def workflow_jobs(workflow: Table) -> Mapping[str, Table]:
    """Return the jobs of a workflow by their keys."""
    entries = workflow.table("jobs").entries
    return {key: job for key, job in entries.items() if isinstance(job, Table)}


def names_job(patterns: tuple[str, ...], job: WorkflowJob) -> bool:
    """Return True if one of ``patterns`` means the job: by its key, or by a name."""
    by_key = any(fits(pattern, job.key) for pattern in patterns)
    return by_key or any(is_own(patterns, (), name) for name in job.names)


def job_names(key: str, job: Table) -> tuple[str, ...]:
    """Return the names under which GitHub shows a job; one of a skipped job stays as written."""
    name = job.entries.get("name")
    if not isinstance(name, Scalar) or not name.text.strip():
        return (key,)
    text = name.text.strip()[:MAX_JOB_CHARS]
    if EXPRESSION not in text:
        return (text,)
    made = combinations(job) or []
    shown = [filled(Scalar(name.line, text), one) for one in made[:_MOST_NAMES]]
    exact = tuple(item.text[:MAX_JOB_CHARS] for item in shown if isinstance(item, Scalar))
    if len(exact) == len(made) and made:
        return (text, *dict.fromkeys(exact))
    return (text, *_with_gaps(text))


def _texts(tree: Tree | None) -> tuple[str, ...]:
    return tuple(word.text for word in words(tree)[:MAX_JOBS])


def _with_gaps(text: str) -> Iterable[str]:
    """Return a name in which the expressions are any text; nothing if there is no other text."""
    out, rest = "", text
    while EXPRESSION in rest:
        before, _, rest = rest.partition(EXPRESSION)
        out += f"{before}*"
        rest = rest.partition("}}")[2]
    out += rest
    return (out,) if out.strip("* ") else ()


def _all_needs(key: str, needs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the jobs that a job needs, also through others; the nearest come first."""
    found: dict[str, None] = {}
    waiting = list(needs[key])
    for need in waiting:
        if need in needs and need != key and need not in found:
            found[need] = None
            waiting += needs[need]
    return tuple(found)
