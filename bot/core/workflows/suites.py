"""Make native suites from one workflow, or give the reason why that is impossible."""

import re
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass

from bot.core.policy.errors import shown
from bot.core.policy.values import COMMAND_WORDS, check_job_name, check_suite_key, check_workflow
from bot.core.workflows.jobs import Job, chain_minutes, most_at_once, note_concurrency, read_jobs
from bot.core.workflows.notes import Notes, SourceFile, code, is_fit, listed
from bot.core.workflows.reading import Scalar, Table
from bot.core.workflows.triggers import APART, Filters, events, is_for_bot, read_filters

_KEY_CHARS = 60  # a name may have 64; this leaves room for a number
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_UNFIT_START = re.compile(r"^[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A suite that is not written yet."""

    key: str
    file: str
    title: str
    jobs: tuple[Job, ...]  # the jobs on NPUs
    labels: tuple[str, ...]
    filters: Filters | None  # None: only what is of no pull request starts it
    timeout_minutes: int
    at_once: int  # of its jobs
    named: bool = False  # the workflow has other jobs on NPUs, so the suite names its own

    @property
    def workflow(self) -> str:
        """Return the file name of the workflow."""
        return _bare(self.file)

    @property
    def reason(self) -> str:
        """Return what became of the workflow, and what its jobs have to do with each other."""
        parts = [f"{self.at_once} jobs at once"] if self.at_once > 1 else []
        parts += [f"{code(job.key)} after {listed(job.needs)}" for job in self.jobs if job.needs]
        return ", ".join(["carried over", *parts])


def draft(
    source: SourceFile,
    workflow: Table,
    taken: Container[str],
    notes: Notes,
    covered: Collection[str] = (),
) -> list[Draft] | str:
    """Return the suites for a workflow, or the reason why there is none.

    Jobs whose keys are ``covered`` have one already.
    """
    if is_for_bot(workflow):
        return "takes the input `ascend_ci`: it is the bot that starts it"
    jobs = read_jobs(workflow, notes)
    on_npus = tuple(job for job in jobs if job.npu_labels)
    if not on_npus:
        return _without_npus(jobs, notes)
    if not is_fit(check_workflow, _bare(source.path)):
        return "a policy cannot name a file that is called so"
    filters = read_filters(workflow, notes)
    found = events(workflow)
    if filters is None and ("pull_request" in found or not any(event in found for event in APART)):
        return _without_filters(list(found))
    note_concurrency(workflow, notes)
    rest = tuple(job for job in on_npus if job.key not in covered)
    maker = _Drafts(source, workflow, jobs, filters, notes)
    return list(maker.made(rest, taken, whole=len(rest) == len(on_npus))) if rest else []


@dataclass(slots=True)
class _Drafts:
    """Divides the jobs of one workflow among suites."""

    source: SourceFile
    workflow: Table
    jobs: tuple[Job, ...]
    filters: Filters | None
    notes: Notes

    def made(
        self, on_npus: tuple[Job, ...], taken: Container[str], *, whole: bool
    ) -> Iterator[Draft]:
        """Yield one suite for the jobs of pull requests, and one for each other job.

        ``whole`` is true if these are all jobs of the workflow that are on NPUs.
        """
        of_pulls = tuple(job for job in on_npus if self.filters and not job.of_schedule)
        alone = tuple(job for job in on_npus if job not in of_pulls)
        one = len(on_npus) == 1 or not alone
        if (whole and one) or not all(is_fit(check_job_name, job.key) for job in on_npus):
            yield self._draft(_key(_stem(self.source.path), taken), on_npus, self.filters)
            return
        keys: set[str] = set()
        if of_pulls:
            key = _key(_stem(self.source.path), taken)
            keys.add(key)
            yield self._draft(key, of_pulls, self.filters, named=True)
        for job in alone:
            key = _key(job.key, taken, keys)
            keys.add(key)
            yield self._draft(key, (job,), None, named=True)

    def _draft(
        self, key: str, own: tuple[Job, ...], filters: Filters | None, *, named: bool = False
    ) -> Draft:
        labels = tuple(dict.fromkeys(label for job in own for label in job.npu_labels))
        _note_labels(own, labels, self.notes)
        title = own[0].title if named and filters is None else _title(self.workflow)
        minutes = chain_minutes(self.jobs, own)
        at_once = most_at_once(self.jobs, own)
        path = self.source.path
        return Draft(key, path, shown(title), own, labels, filters, minutes, at_once, named=named)


def _without_filters(found: list[str]) -> str:
    if "pull_request" in found:
        return "its filters on pull requests fit no suite"
    return f"no pull request starts it, only {listed(found)}" if found else "nothing starts it"


def _without_npus(jobs: tuple[Job, ...], notes: Notes) -> str:
    others = list(dict.fromkeys(label for job in jobs for label in job.other_labels))
    if others:
        text = f"no label of its jobs names Ascend NPUs: {listed(others)}"
        return f"{text}; others are not known" if notes.missed else text
    return "the runners of its jobs are not known" if notes.missed else "has no jobs"


def _note_labels(jobs: tuple[Job, ...], labels: tuple[str, ...], notes: Notes) -> None:
    """Note that the suite counts on the first free label, whatever its jobs ask for."""
    if len(labels) > 1:
        what = f"{len(jobs)} jobs" if len(jobs) > 1 else "a job with a matrix"
        text = f"runs {what} on {listed(labels)}: a suite counts on one of its labels"
        notes.add(jobs[0].line, text)


def _bare(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _stem(path: str) -> str:
    return _bare(path).rsplit(".", 1)[0]


def _key(name: str, *taken: Container[str]) -> str:
    """Return an unused suite key made from a name."""
    base = _UNFIT_START.sub("", _UNFIT.sub("-", name))[:_KEY_CHARS] or "workflow"
    if base.lower() in COMMAND_WORDS:
        base = f"{base}-npu"  # a command uses this word
    key, number = base, 2
    while any(key in keys for keys in taken):
        key, number = f"{base}-{number}", number + 1
    return check_suite_key(key)


def _title(workflow: Table) -> str:
    name = workflow.entries.get("name")
    return " ".join(name.text.split()) if isinstance(name, Scalar) else ""
