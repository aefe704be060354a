"""What the jobs of a checkout's workflows hold, and for which base branches GitHub starts them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.core.model.own_jobs import WorkflowJob
from bot.core.policy.models import Policy, Suite
from bot.core.policy.triggers import PullTriggers
from bot.core.workflows.jobs import MAX_JOBS, asked_by_each, minutes_of
from bot.core.workflows.matrix import combinations
from bot.core.workflows.notes import Notes, SourceFile
from bot.core.workflows.own_jobs import job_names, names_job, workflow_jobs
from bot.core.workflows.reading import Table, read
from bot.core.workflows.triggers import read_triggers


@dataclass(frozen=True, slots=True)
class Holding:
    """The NPUs of one job, each member of a matrix for itself, and its time limit."""

    npus: int
    minutes: int


@dataclass(frozen=True, slots=True)
class ReadWorkflows:
    """The workflows of a checkout that can be read, by file name, and a base branch; "": any."""

    workflows: Mapping[str, Table]
    base: str = ""

    def holdings(self, policy: Policy, suite: Suite) -> tuple[Holding, ...]:
        """Return what the jobs of a native suite hold; none if the file does not tell."""
        workflow = self.workflows.get(suite.workflow)
        jobs = dict(list(workflow_jobs(workflow).items())[:MAX_JOBS]) if workflow else {}
        return tuple(
            holding
            for key, job in jobs.items()
            if not suite.jobs or names_job(suite.jobs, WorkflowJob(key, job_names(key, job)))
            for holding in _of_job(policy, suite, job)
        )

    @property
    def triggers(self) -> PullTriggers:
        """Return what starts the workflows for pull requests into the base."""
        known = {name: read_triggers(workflow) for name, workflow in self.workflows.items()}
        return PullTriggers(known, self.base)


def read_checkout(files: Iterable[SourceFile], base: str = "") -> ReadWorkflows:
    """Return the workflows of a checkout; what is no workflow is left out."""
    trees = {file.path.rsplit("/", 1)[-1]: read(file) for file in files}
    return ReadWorkflows(
        {name: tree for name, tree in trees.items() if isinstance(tree, Table)}, base
    )


def _of_job(policy: Policy, suite: Suite, job: Table) -> Iterator[Holding]:
    minutes = minutes_of("", job, (), Notes(""))
    own = {label.casefold(): label for label in suite.runners}
    for asked in _by_member(job):
        label = next((own[one.casefold()] for one in asked or () if one.casefold() in own), None)
        if label:
            yield Holding(suite.npus_on(label, policy), minutes)


def _by_member(job: Table) -> list[tuple[str, ...] | None]:
    """Return the labels of each member of a job's matrix; a fixed `runs-on` is that of all."""
    asked, made = list(asked_by_each(job)), combinations(job) or []
    return asked * len(made) if len(asked) == 1 and made else asked
