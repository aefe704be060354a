"""A suite as it was when its run was made, with the policy around it."""

import json
from dataclasses import dataclass, replace
from hashlib import sha256

from bot.core.messages import NOTHING, Message
from bot.core.model.own_jobs import OwnJob, is_own
from bot.core.policy.models import Language, Limits, Log, Start, Suite
from bot.core.policy.quarantine import Quarantine


@dataclass(frozen=True, slots=True)
class Label:
    """A runner label, and the NPUs of one of its runners."""

    name: str
    npus: int
    slots: int
    chip: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotPool:
    """A pool, and the NPUs that RayJobs may hold of it at once."""

    name: str
    npus: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A suite as it was when its run was made: a policy change never alters a live run.

    While a run waits, its limits, slots and pool are today's policy's: ``core.queue.admission``.
    """

    name: str
    suite: Suite  # with the inputs of this run
    ref: str  # the branch of the workflow
    labels: tuple[Label, ...]
    policy_ref: str
    policy_sha: str
    limits: Limits
    log: Log
    pool: SnapshotPool | None = None  # None: the label itself
    retryable: bool = True  # False: a changed file matches env_paths
    altered: tuple[str, ...] = ()  # inputs that a person set: such a run says nothing for the gate
    reason: Message = NOTHING  # why it was selected, in words
    language: Language = Language.EN  # of its texts
    gate: str = "ascend-ci"  # the name of the check run that sums the suites up
    own_jobs: tuple[OwnJob, ...] = ()  # as the file of its Actions run has them, once that began
    quarantine: tuple[Quarantine, ...] = ()  # the policy's entries for it, for its check run
    apart: str = ""  # "schedule:99": it follows this Actions run, which is of no pull request

    @property
    def title(self) -> str:
        """Return the suite's name for people."""
        return self.suite.title or self.name

    @property
    def native(self) -> bool:
        """Return True if GitHub starts it by itself."""
        return self.suite.start is Start.NATIVE

    @property
    def work(self) -> "Snapshot":
        """Return what makes two runs of a suite the same work.

        What selected it, who may start it and what may run beside it make no difference.
        """
        return replace(
            self,
            suite=self.suite.work,
            policy_ref="",
            policy_sha="",
            limits=Limits(),
            retryable=True,
            reason=NOTHING,
            language=Language.EN,
            gate="",
            own_jobs=(),
            quarantine=(),
        )

    @property
    def essence(self) -> str:
        """Return a digest of what a result speaks of: it says nothing of a suite with another.

        It is the workflow and its branch, its jobs, the inputs, how the result is judged, and whose
        policy says so. What no pull request started says nothing of one.
        """
        suite = self.suite.essence.model_dump(mode="json")
        if not self.suite.jobs:
            del suite["jobs"]  # as it was before there were any: stored results still count
        parts = [suite, self.ref, self.policy_ref, *filter(None, [self.apart])]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    def owns(self, job: str) -> bool:
        """Return True if a job of the workflow, by its shown name, is one of the suite's."""
        return not self.suite.jobs or is_own(self.suite.jobs, self.own_jobs, job)

    def is_from(self, other: "Snapshot") -> bool:
        """Return True if both are of one branch's policy, and of one branch's workflow."""
        return (self.policy_ref, self.ref) == (other.policy_ref, other.ref)

    def npus_at(self, label: str | None) -> int:
        """Return NPUs a node: the suite's own, else the label's (the first one's by default)."""
        if self.suite.npus is not None:
            return self.suite.npus
        known = {item.name: item.npus for item in self.labels}
        return known[label] if label in known else self.labels[0].npus
