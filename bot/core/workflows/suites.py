"""Make a native suite from one workflow, or give the reason why that is impossible."""

import re
from collections.abc import Container
from dataclasses import dataclass

from bot.core.policy.errors import shown
from bot.core.policy.values import COMMAND_WORDS, check_suite_key, check_workflow
from bot.core.workflows.jobs import Job, chain_minutes, read_jobs
from bot.core.workflows.notes import Notes, SourceFile, is_fit, listed
from bot.core.workflows.reading import Scalar, Table
from bot.core.workflows.triggers import Filters, events, is_for_bot, read_filters

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
    filters: Filters
    timeout_minutes: int

    @property
    def workflow(self) -> str:
        """Return the file name of the workflow."""
        return _bare(self.file)


def draft(source: SourceFile, workflow: Table, taken: Container[str], notes: Notes) -> Draft | str:
    """Return the suite for a workflow, or the reason why there is none."""
    if is_for_bot(workflow):
        return "takes the input `ascend_ci`: it is the bot that starts it"
    jobs = read_jobs(workflow, notes)
    on_npus = tuple(job for job in jobs if job.npu_labels)
    if not on_npus:
        return _without_npus(jobs, notes)
    key = _key(_bare(source.path), taken)
    if not is_fit(check_workflow, _bare(source.path)):
        return "a policy cannot name a file that is called so"
    filters = read_filters(workflow, key, notes)
    if filters is None:
        return _without_filters(list(events(workflow)))
    labels = tuple(dict.fromkeys(label for job in on_npus for label in job.npu_labels))
    _note_several(on_npus, labels, notes)
    title = _title(workflow)
    return Draft(key, source.path, title, on_npus, labels, filters, chain_minutes(jobs))


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


def _note_several(jobs: tuple[Job, ...], labels: tuple[str, ...], notes: Notes) -> None:
    """Note that the suite counts as one job, on the first free label."""
    if len(jobs) > 1 or len(labels) > 1:
        what = f"{len(jobs)} jobs" if len(jobs) > 1 else "a job with a matrix"
        text = f"runs {what} on {listed(labels)}: a suite counts as one job, on one of its labels"
        notes.add(jobs[0].line, text)


def _bare(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _key(name: str, taken: Container[str]) -> str:
    """Return an unused suite key made from the file's name."""
    stem = _UNFIT.sub("-", name.rsplit(".", 1)[0])
    base = _UNFIT_START.sub("", stem)[:_KEY_CHARS] or "workflow"
    if base.lower() in COMMAND_WORDS:
        base = f"{base}-npu"  # a command uses this word
    key, number = base, 2
    while key in taken:
        key, number = f"{base}-{number}", number + 1
    return check_suite_key(key)


def _title(workflow: Table) -> str:
    name = workflow.entries.get("name")
    text = " ".join(name.text.split()) if isinstance(name, Scalar) else ""
    return shown(text)
