"""The policy of a repository as values, key by key, each with its default.

The field descriptions are what an editor shows: they become the published JSON Schema.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    WithJsonSchema,
)

from bot.core.digest.signatures import ClassName, Role
from bot.core.model.levels import Level
from bot.core.policy import values as v


class Mode(StrEnum):
    """Whether the bot acts or only says what it would do."""

    ON = "on"
    DRY_RUN = "dry_run"


class Start(StrEnum):
    """Who starts a suite's workflow."""

    DISPATCH = "dispatch"
    NATIVE = "native"


class Trigger(StrEnum):
    """What may start a suite."""

    PULL_REQUEST = "pull_request"
    COMMAND = "command"
    NIGHTLY = "nightly"
    PUSH = "push"


class Tier(StrEnum):
    """How dear a suite is: heavy ones never start by themselves on a pull request."""

    STANDARD = "standard"
    HEAVY = "heavy"


class Comment(StrEnum):
    """When the bot comments on a pull request beside its check runs."""

    NEVER = "never"
    ON_FAILURE = "on_failure"
    ALWAYS = "always"


class Language(StrEnum):
    """The language of the texts people read."""

    EN = "en"


def _grantable(level: Level) -> Level:
    """Refuse ``none``: it would let anybody on the internet start jobs."""
    if level is Level.NONE:
        msg = "`none` would let anybody; the lowest is `pull`"
        raise ValueError(msg)
    return level


def _read_mode(value: object) -> object:
    """Take YAML 1.1's reading of ``mode: on`` for the word that was written."""
    return Mode.ON if value is True else value


_GRANTS = [level.value for level in Level if level is not Level.NONE]

Grant = Annotated[
    Level, AfterValidator(_grantable), WithJsonSchema({"type": "string", "enum": _GRANTS})
]


class Part(BaseModel):
    """A mapping of the policy: strict about its keys, never changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Runner(Part):
    """What runners of one label can hold."""

    npus: v.CountOrNone = Field(8, description="NPUs of one runner")
    chip: v.Text = Field("", description="Chip generation, shown to people")
    slots: v.Count = Field(1, description="How many jobs the label takes at once")


class Pool(Part):
    """NPUs of a cluster that RayJobs share."""

    npus: v.Count = Field(8, description="NPUs that RayJobs may hold at once")
    chip: v.Text = Field("", description="Chip generation, shown to people")


class Baseline(Part):
    """Reserved for stored measurements; holds nothing yet."""


class Suite(Part):
    """Something that can be run: a workflow, its inputs and the runners it fits."""

    workflow: v.Workflow = Field(description="File name in .github/workflows/")
    runners: tuple[v.Label, ...] = Field(
        min_length=1,
        max_length=v.MAX_ITEMS,
        description="Labels it fits, any of them, in order of preference; native: of its jobs",
    )
    title: v.Text = Field("", description="What people read; default: the suite's key")
    start: Start = Field(
        Start.DISPATCH,
        description="dispatch: the bot starts it; native: GitHub does, the bot adopts it",
    )
    inputs: dict[v.InputName, v.InputValue] = Field(
        default_factory=dict,
        max_length=v.MAX_ITEMS,
        description="Inputs of the workflow; values may hold {sha} {pr} {runner} {run}",
    )
    nodes: v.Count = Field(1, description="How many nodes it uses at once; native: how many jobs")
    npus: v.Count | None = Field(None, description="NPUs on each node; default: the label's")
    pool: v.Label | None = Field(None, description="Whose NPUs it holds; default: the label itself")
    rayjob: StrictBool = Field(False, description="The workflow submits a RayJob to follow")
    triggers: tuple[Trigger, ...] = Field(
        (Trigger.PULL_REQUEST, Trigger.COMMAND),
        max_length=v.MAX_ITEMS,
        description="What may start it",
    )
    paths: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="GitHub path filters: files of a pull request that select it",
    )
    tier: Tier = Field(
        Tier.STANDARD, description="heavy: on a pull request by command only, and by fewer people"
    )
    required: StrictBool | None = Field(
        None, description="Counts for the gate; default: standard suites selected by paths"
    )
    timeout_minutes: v.Minutes = Field(240, description="It is stopped after so long")
    stall_minutes: v.Minutes = Field(45, description="It is stopped after so long without output")
    min_minutes: v.CountOrNone = Field(
        0, description="A green end sooner than this is not believed"
    )
    infra_retries: Annotated[int, Field(strict=True, ge=0, le=5)] = Field(
        1, description="How often it is started again when the infrastructure failed"
    )
    env_paths: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="A change here makes no infrastructure failure retried",
    )
    settable: dict[v.InputName, v.PositivePattern] = Field(
        default_factory=dict,
        max_length=v.MAX_ITEMS,
        description="Inputs that --set may set, and the values allowed",
    )
    baseline: Baseline = Field(Baseline(), description="Reserved")

    def npus_on(self, label: str, policy: "Policy") -> int:
        """Return the NPUs it takes on each node when it runs on ``label``."""
        return self.npus if self.npus is not None else policy.runners[label].npus

    def npu_hours_on(self, label: str, policy: "Policy") -> float:
        """Return the NPU-hours it can cost at most: nodes × NPUs × time limit."""
        return self.nodes * self.npus_on(label, policy) * self.timeout_minutes / 60

    def started_by(self, trigger: Trigger) -> bool:
        """Return True if ``trigger`` is one of the suite's."""
        return trigger in self.triggers

    @property
    def is_required(self) -> bool:
        """Return True if the gate counts it."""
        if self.required is not None:
            return self.required
        by_paths = bool(self.paths) and self.started_by(Trigger.PULL_REQUEST)
        return self.tier is Tier.STANDARD and by_paths


class Trust(Part):
    """Who may spend NPUs."""

    auto: Grant = Field(Level.WRITE, description="Whose pull requests start by themselves")
    standard: Grant = Field(Level.TRIAGE, description="Who may start standard suites")
    heavy: Grant = Field(Level.WRITE, description="Who may start heavy suites")
    approve: Grant = Field(Level.WRITE, description="Who may approve a stranger's commit")
    users: tuple[v.Login, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Logins that may start as if with write"
    )
    teams: tuple[v.Team, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Teams that may start as if with write"
    )


class Limits(Part):
    """How much may be spent."""

    debounce_seconds: Annotated[int, Field(strict=True, ge=0, le=3600)] = Field(
        60, description="Wait after a push before anything starts"
    )
    runs_per_pr: v.Count = Field(4, description="Runs of one pull request at once")
    npu_hours_per_day: v.Hours = Field(2000, description="NPU-hours in any 24 hours")
    commands_per_minute: v.Count = Field(10, description="Commands a person")


class Gate(Part):
    """The one check run to require."""

    name: Annotated[str, Field(strict=True, min_length=1, max_length=100)] = Field(
        "ascend-ci", description="Its name, to be required in the branch protection"
    )


class Report(Part):
    """What people are told outside the check runs."""

    comment: Comment = Field(Comment.ON_FAILURE, description="When to comment on a pull request")
    language: Language = Field(Language.EN, description="Language of all texts")


class Signature(Part):
    """What a line of a log means: ``bot.core.digest``'s signature, described for editors."""

    name: v.SignatureName = Field(description="Its name")
    kind: ClassName = Field(alias="class", description="Class of the failure, like hccl_comm")
    match: v.Regex | None = Field(None, description="RE2 expression, looked for in each line")
    unless: v.Regex | None = Field(None, description="RE2 expression that takes the match back")
    codes: tuple[v.Text, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="CANN codes that count as a match"
    )
    given: v.SignatureName | None = Field(
        None, description="A note that must have been seen before"
    )
    clears: v.SignatureName | None = Field(None, description="A note that this line makes void")
    role: Role = Field(Role.PRIMARY, description="What the line says of the cause")
    infra: v.Infra = Field(False, description="Not the change's fault, so that a retry is worth it")
    title: v.Title = Field("", description="What happened, in a few words")
    hint: v.Hint = Field("", description="What to do next, for the reader")
    source: v.Text = Field("", description="Where the knowledge comes from")
    example: v.Example = Field(description="A line that matches")

    def as_json(self) -> dict[str, Any]:
        """Return what is set, keyed as in the file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Log(Part):
    """How logs are read."""

    repo_roots: tuple[v.Root, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Where the checkout lies in the containers"
    )
    redact: tuple[v.Redact, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Values never to be shown"
    )
    signatures: tuple[Signature, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Further causes, looked at first"
    )


class Nightly(Part):
    """Suites started at a time of the day."""

    name: v.Key = Field("nightly", description="Its name, one of a kind")
    cron: v.Cron = Field("0 17 * * *", description="When, in UTC")
    ref: v.Branch | None = Field(None, description="Branch; default: the default branch")
    suites: tuple[v.Pattern, ...] = Field(
        ("*",),
        max_length=v.MAX_ITEMS,
        description="Keys or globs; a glob takes those with the trigger nightly",
    )


class Policy(Part):
    """The whole file `.github/ascend-ci.yml`."""

    version: Literal[1] = Field(description="Version of this format")
    mode: Annotated[Mode, BeforeValidator(_read_mode)] = Field(
        Mode.ON, description="dry_run: selects and shows, starts nothing"
    )
    branches: tuple[v.Pattern, ...] = Field(
        (),
        max_length=v.MAX_ITEMS,
        description="Bases whose own policy counts; others use the default branch's",
    )
    dispatch_ref: v.Branch | None = Field(
        None, description="Branch of the workflows; default: the one this policy came from"
    )
    drafts: StrictBool = Field(False, description="Start on drafts too")
    runners: dict[v.Label, Runner] = Field(
        min_length=1, max_length=v.MAX_ITEMS, description="Runner labels"
    )
    pools: dict[v.Key, Pool] = Field(
        default_factory=dict, max_length=v.MAX_ITEMS, description="NPUs of clusters"
    )
    suites: dict[v.SuiteKey, Suite] = Field(
        default_factory=dict, max_length=v.MAX_ITEMS, description="What can be run"
    )
    trust: Trust = Field(Trust(), description="Who may spend NPUs")
    limits: Limits = Field(Limits(), description="How much may be spent")
    gate: Gate = Field(Gate(), description="The check to require")
    report: Report = Field(Report(), description="What people are told")
    log: Log = Field(Log(), description="How logs are read")
    nightly: tuple[Nightly, ...] = Field(
        (), max_length=v.MAX_ITEMS, description="Suites started by the clock"
    )


def pool_of(suite: Suite, label: str) -> str:
    """Return the name of what ``suite`` holds on ``label``: its pool, or the label itself."""
    return suite.pool if suite.pool is not None else label


def is_required(suite: Suite) -> bool:
    """Return True if the gate counts ``suite``."""
    return suite.is_required


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file (draft 2020-12)."""
    schema = Policy.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
