"""A suite as it was when its run was made."""

from dataclasses import dataclass, field

from bot.core.model.ids import Json


@dataclass(frozen=True, slots=True)
class Label:
    """A runner label and what one of its runners holds."""

    name: str
    npus: int
    slots: int
    chip: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """What RayJobs may hold at once, in NPUs."""

    name: str
    npus: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A suite as it was when its run was made: a policy change never alters a live run.

    What is scarce is asked anew while it waits: ``core.admission``.
    """

    suite: str
    title: str
    workflow: str
    ref: str
    labels: tuple[Label, ...]
    policy_ref: str
    policy_sha: str
    inputs: dict[str, str] = field(default_factory=dict)
    nodes: int = 1
    npus: int | None = None  # a node; None: the label's
    pool: Pool | None = None  # None: the label itself
    rayjob: bool = False
    native: bool = False  # GitHub starts it itself
    tier: str = "standard"
    required: bool = True
    timeout_minutes: int = 240
    stall_minutes: int = 45
    min_minutes: int = 0
    infra_retries: int = 1
    per_pull: int | None = None  # runs of one pull request at once; None: no limit
    hours_per_day: float | None = None  # NPU-hours a day in the repository; None: no limit
    retryable: bool = True  # False: a changed file matches env_paths
    altered: tuple[str, ...] = ()  # inputs that a person set: such a run says nothing for the gate
    reason: str = ""  # why it was selected, in words
    repo_roots: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    signatures: tuple[Json, ...] = ()  # `log.signatures` of the policy

    def npus_at(self, label: str | None) -> int:
        """Return NPUs a node: the suite's own, else the label's (the first one's by default)."""
        if self.npus is not None:
            return self.npus
        known = {item.name: item.npus for item in self.labels}
        return known[label] if label in known else self.labels[0].npus
