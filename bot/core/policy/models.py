"""The policy of a repository as typed values, each key with its default.

Editors show the field descriptions: they become the published JSON Schema.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    WithJsonSchema,
)

from bot.core.digest.signatures import ClassName, Role
from bot.core.messages import Message
from bot.core.policy import values as v
from bot.core.policy.levels import Level
from bot.core.policy.part import PolicyPart
from bot.core.policy.quarantine import Quarantine


class Mode(StrEnum):
    """Whether the bot starts suites or only shows what it would start."""

    ON = "on"
    DRY_RUN = "dry_run"


class Start(StrEnum):
    """The one who starts a suite's workflow: the bot or GitHub."""

    DISPATCH = "dispatch"
    NATIVE = "native"


class Trigger(StrEnum):
    """An event that may start a suite."""

    PULL_REQUEST = "pull_request"
    COMMAND = "command"
    NIGHTLY = "nightly"
    SCHEDULE = "schedule"  # native: GitHub starts it at its own times, never for a pull request
    PUSH = "push"


class Tier(StrEnum):
    """The cost class of a suite; a heavy suite never starts automatically on a pull request."""

    STANDARD = "standard"
    HEAVY = "heavy"


class Comment(StrEnum):
    """When the bot comments on a pull request."""

    NEVER = "never"
    ON_FAILURE = "on_failure"
    ALWAYS = "always"


class OnHiddenFailure(StrEnum):
    """What becomes of a green end whose log shows that a process ended badly."""

    FAIL = "fail"
    WARN = "warn"
    IGNORE = "ignore"


class Language(StrEnum):
    """The language of all texts that people read."""

    EN = "en"
    ZH = "zh"


def _grantable(level: Level) -> Level:
    """Refuse ``none``: with it anybody on the internet could start jobs."""
    if level is Level.NONE:
        raise ValueError(Message("wrong_grant"))
    return level


_GRANTS = [*(level.value for level in Level if level is not Level.NONE), "pull", "push"]

Grant = Annotated[
    Level, AfterValidator(_grantable), WithJsonSchema({"type": "string", "enum": _GRANTS})
]


class Runner(PolicyPart):
    """The capacity of the runners of one label."""

    npus: v.CountOrNone = Field(8, description="NPUs of one runner")
    chip: v.Text = Field("", description="Chip generation, shown to people")
    slots: v.Count = Field(1, description="Jobs that the label runs at once")


class Pool(PolicyPart):
    """NPUs of a cluster that RayJobs share."""

    npus: v.Count = Field(8, description="NPUs that RayJobs use at once")
    chip: v.Text = Field("", description="Chip generation, shown to people")


class Baseline(PolicyPart):
    """Reserved for stored measurements; it has no keys yet."""


class Suite(PolicyPart):
    """A test suite: a workflow, its inputs, and the runners that it fits."""

    workflow: v.Workflow = Field(description="File name in .github/workflows/")
    runners: tuple[v.Label, ...] = Field(
        min_length=1,
        max_length=v.MAX_ITEMS,
        description="Labels that it can use, best first; native: the labels of its jobs",
    )
    title: v.Text = Field("", description="Title for people; default: the suite's key")
    start: Start = Field(
        Start.DISPATCH, description="dispatch: the bot starts it; native: GitHub starts it"
    )
    inputs: dict[v.InputName, v.InputValue] = Field(
        default_factory=dict,
        max_length=v.MAX_ITEMS,
        description="Inputs of the workflow; values may contain {sha} {pr} {runner} {run}",
    )
    jobs: tuple[v.JobName, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="native: its jobs of the workflow, by key or shown name; `*` matches any text;"
        " default: all",
    )
    nodes: v.Count = Field(1, description="Nodes that it uses at once; native: jobs at once")
    npus: v.Count | None = Field(None, description="NPUs on each node; default: the label's")
    pool: v.Label | None = Field(
        None, description="Pool of the NPUs that it uses; default: the label"
    )
    rayjob: StrictBool = Field(
        False, description="The workflow submits a RayJob, and its result decides"
    )
    triggers: tuple[Trigger, ...] = Field(
        (Trigger.PULL_REQUEST, Trigger.COMMAND),
        max_length=v.MAX_ITEMS,
        description="Events that may start it",
    )
    paths: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="GitHub path filters; a changed file that matches selects the suite; native:"
        " default: those of its workflow",
    )
    bases: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="Base branches of pull requests that select it; default: all; native: its"
        " workflow names them",
    )
    tier: Tier = Field(
        Tier.STANDARD, description="heavy: only by command on a pull request, and by fewer people"
    )
    required: StrictBool | None = Field(
        None,
        description="The gate requires it; default: true for standard suites with paths, and"
        " native ones",
    )
    timeout_minutes: v.Minutes = Field(240, description="The bot stops a run after this time")
    stall_minutes: v.Minutes = Field(
        45, description="The bot stops a run after this time without output"
    )
    min_minutes: v.CountOrNone = Field(0, description="A success in less time counts as broken")
    infra_retries: Annotated[int, Field(strict=True, ge=0, le=5)] = Field(
        1, description="Retries after an infrastructure failure"
    )
    on_hidden_failure: OnHiddenFailure | None = Field(
        None, description="As at the top level, for this suite; default: what stands there"
    )
    env_paths: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="If these files changed, no failure counts as infrastructure",
    )
    settable: dict[v.InputName, v.PositivePattern] = Field(
        default_factory=dict,
        max_length=v.MAX_ITEMS,
        description="Inputs that --set may change, and the allowed values",
    )
    baseline: Baseline = Field(Baseline(), description="Reserved")

    def npus_on(self, label: str, policy: "Policy") -> int:
        """Return the number of NPUs that the suite uses on each node with ``label``."""
        return self.npus if self.npus is not None else policy.runners[label].npus

    def npu_hours_on(self, label: str, policy: "Policy") -> float:
        """Return the maximum NPU-hours of one run: nodes × NPUs × time limit."""
        return self.nodes * self.npus_on(label, policy) * self.timeout_minutes / 60

    def started_by(self, trigger: Trigger) -> bool:
        """Return True if ``trigger`` may start the suite."""
        return trigger in self.triggers

    @property
    def for_pulls(self) -> bool:
        """Return True if a pull request may have a run of the suite, and not only a schedule."""
        return self.started_by(Trigger.PULL_REQUEST) or not self.started_by(Trigger.SCHEDULE)

    @property
    def work(self) -> "Suite":
        """Return the suite without what only says when it runs: two such equals do the same."""
        plain = dict.fromkeys(("paths", "env_paths", "triggers", "bases"), ())
        return self.model_copy(update={**plain, "settable": {}, "required": self.is_required})

    @property
    def essence(self) -> "Suite":
        """Return the suite without what says nothing of a result; a new key counts as essential."""
        return self.work.model_copy(update=_DEFAULTS)

    @property
    def is_required(self) -> bool:
        """Return True if the gate needs the suite to pass."""
        if self.required is not None:
            return self.required
        by_files = bool(self.paths) or self.start is Start.NATIVE  # its workflow's filters
        return self.tier is Tier.STANDARD and by_files and self.started_by(Trigger.PULL_REQUEST)


# What changes neither what a suite tests nor how its result is judged. Runners count by the one
# that a run took.
_ACCIDENTAL = (
    "title",
    "runners",
    "tier",
    "required",
    "timeout_minutes",
    "stall_minutes",
    "infra_retries",
)
_DEFAULTS = {
    name: None if Suite.model_fields[name].is_required() else Suite.model_fields[name].default
    for name in _ACCIDENTAL
}


class Trust(PolicyPart):
    """The permission levels for starting suites."""

    auto: Grant = Field(
        Level.WRITE, description="Level whose commits start standard suites automatically"
    )
    standard: Grant = Field(
        Level.TRIAGE, description="Level that may start standard suites by command"
    )
    heavy: Grant = Field(Level.WRITE, description="Level that may start heavy suites by command")
    approve: Grant = Field(Level.WRITE, description="Level that may approve a stranger's commit")
    users: tuple[v.Login, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Logins that may start suites as if they had write"
    )
    teams: tuple[v.Team, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Teams that may start suites as if they had write"
    )


class Limits(PolicyPart):
    """The limits of what may be spent."""

    debounce_seconds: Annotated[int, Field(strict=True, ge=0, le=3600)] = Field(
        60, description="Seconds from a push to the first start"
    )
    runs_per_pr: v.Count = Field(4, description="Runs of one pull request at once")
    npu_hours_per_day: v.Hours = Field(2000, description="NPU-hours in any 24 hours")
    commands_per_minute: v.Count = Field(10, description="Commands of one person in a minute")


class Gate(PolicyPart):
    """The check run to make required."""

    name: Annotated[str, Field(strict=True, min_length=1, max_length=100)] = Field(
        "ascend-ci",
        description="Name of the check to require; the default branch's holds for all branches",
    )


class Report(PolicyPart):
    """Comments and their language."""

    comment: Comment = Field(Comment.ON_FAILURE, description="When to comment on a pull request")
    language: Language = Field(Language.EN, description="Language of all texts on GitHub")


class Signature(PolicyPart):
    """A log signature: the fields of ``bot.core.digest``'s signature, described for editors."""

    name: v.SignatureName = Field(description="Its name")
    kind: ClassName = Field(alias="class", description="Class of the failure, like hccl_comm")
    match: v.Regex | None = Field(None, description="RE2 expression, searched in each line")
    unless: v.Regex | None = Field(
        None, description="RE2 expression; a line that matches it does not count"
    )
    codes: tuple[v.Text, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="CANN codes that count as a match"
    )
    given: v.SignatureName | None = Field(None, description="A note that must come earlier")
    clears: v.SignatureName | None = Field(None, description="A note that this line cancels")
    role: Role = Field(Role.PRIMARY, description="Meaning of the line for the cause")
    infra: v.Infra = Field(False, description="True: not the fault of the change, so a retry helps")
    title: v.Title = Field("", description="The failure in a few words")
    hint: v.Hint = Field("", description="Advice for the reader")
    source: v.Text = Field("", description="Source of this knowledge")
    example: v.Example = Field(description="A line that matches")

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are set, with the keys of the file."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class Log(PolicyPart):
    """How logs are read."""

    repo_roots: tuple[v.Root, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Folders of the checkout in the containers"
    )
    redact: tuple[v.Redact, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Values that are never shown"
    )
    signatures: tuple[Signature, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Signatures of this repository, tried first"
    )


class Nightly(PolicyPart):
    """A schedule: suites that start at a time of the day."""

    name: v.Key = Field("nightly", description="Its name; each name is used once")
    cron: v.Cron = Field("0 17 * * *", description="Times in cron format, in UTC")
    ref: v.Branch | None = Field(None, description="Branch; default: the default branch")
    suites: tuple[v.Pattern, ...] = Field(
        ("*",),
        max_length=v.MAX_ITEMS,
        description="Names or globs; a glob takes suites with the trigger nightly",
    )


class Policy(PolicyPart):
    """The whole file `.github/ascend-ci.yml`."""

    version: Literal[1] = Field(description="Version of this format")
    # YAML 1.1 reads ``mode: on`` as true.
    mode: Annotated[Mode, BeforeValidator(lambda value: "on" if value is True else value)] = Field(
        Mode.ON, description="dry_run: shows what would start, and starts nothing"
    )
    branches: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="Protected branches with their own policy; others use the default branch's",
    )
    dispatch_ref: v.Branch | None = Field(
        None, description="Branch to dispatch workflows on; default: the policy's branch"
    )
    drafts: StrictBool = Field(False, description="Start suites on draft pull requests, too")
    runners: dict[v.Label, Runner] = Field(
        min_length=1, max_length=v.MAX_ITEMS, description="Runner labels"
    )
    pools: dict[v.Key, Pool] = Field(
        default_factory=dict, max_length=v.MAX_ITEMS, description="NPUs of clusters"
    )
    suites: dict[v.SuiteKey, Suite] = Field(
        default_factory=dict, max_length=v.MAX_ITEMS, description="Test suites"
    )
    on_hidden_failure: OnHiddenFailure = Field(
        OnHiddenFailure.WARN,
        description="A green end whose log shows that a process died: fail, warn or ignore",
    )
    quarantine: tuple[Quarantine, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="Suites or tests whose failures do not count, each for at most 30 days",
    )
    trust: Trust = Field(Trust(), description="Permission levels")
    limits: Limits = Field(Limits(), description="Limits of what may be spent")
    gate: Gate = Field(Gate(), description="The check run to require")
    report: Report = Field(Report(), description="Comments and their language")
    log: Log = Field(Log(), description="How logs are read")
    nightly: tuple[Nightly, ...] = Field((), max_length=v.MAX_ITEMS, description="Schedules")


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file (draft 2020-12)."""
    schema = Policy.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
