"""Why each suite of a policy is selected or not, who may start it, and at what cost.

One evaluation feeds `ascend-ci explain`, the answer to `/ascend-e2e explain` and the API.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from bot.core.messages import Messages
from bot.core.messages.words import listing, number
from bot.core.model.levels import Level
from bot.core.planning.permissions import level_for
from bot.core.policy import Policy, Start, Suite, Tier, Trigger
from bot.core.policy.selection import ChangedFile, Choice, Selection, select


class Starts(StrEnum):
    """What starts a suite on a pull request that selects it."""

    ITSELF = "itself"  # the bot, when the commit is trusted
    GITHUB = "github"
    COMMAND = "command"
    ELSEWHERE = "elsewhere"  # nights and pushes alone


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run takes on the label that it likes best, and can cost at most."""

    nodes: int
    npus: int  # on each node
    minutes: int  # its time limit
    npu_hours: float
    where: str  # the pool, or the label; of what GitHub starts, its jobs' labels


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that can be said of a suite from a policy and a change alone."""

    suite: str
    title: str
    selected: bool
    reason: str
    pattern: str | None  # the one that decided for the first of the files
    files: tuple[str, ...]  # all that select it
    tier: Tier
    required: bool
    starts: Starts
    author: Level | None  # what an author needs for it to start by itself; None: it never does
    level: Level | None  # what starting it by a command (native: re-running) needs; None: nobody
    listed: bool  # the policy's users and teams may, too
    cost: Cost


def explain(
    policy: Policy,
    files: Sequence[ChangedFile],
    *,
    names: Collection[str] = (),
    truncated: bool = False,
) -> tuple[Explanation, ...]:
    """Explain the suites ``names`` (none: all) for a pull request that changes ``files``.

    ``truncated`` says that the list of files is not whole.
    """
    return explain_selection(policy, select(policy, files, truncated=truncated), names)


def explain_selection(
    policy: Policy, selection: Selection, names: Collection[str] = ()
) -> tuple[Explanation, ...]:
    """Explain the suites ``names`` (none: all) of a selection made before."""
    return tuple(
        _explained(policy, choice)
        for choice in selection.choices
        if not names or choice.suite in names
    )


def cost_of(policy: Policy, suite: Suite) -> Cost:
    """Return what a run of ``suite`` takes and can cost at most."""
    label = suite.runners[0]
    labels = suite.runners if suite.start is Start.NATIVE else suite.runners[:1]
    return Cost(
        nodes=suite.nodes,
        npus=suite.npus_on(label, policy),
        minutes=suite.timeout_minutes,
        npu_hours=suite.npu_hours_on(label, policy),
        where=suite.pool or listing(labels, len(labels)),
    )


def starts(suite: Suite) -> Starts:
    """Return what starts ``suite`` on a pull request that selects it."""
    if suite.start is Start.NATIVE:
        return Starts.GITHUB
    by_files = suite.started_by(Trigger.PULL_REQUEST) and suite.paths
    if by_files and suite.tier is Tier.STANDARD:
        return Starts.ITSELF
    return Starts.COMMAND if suite.started_by(Trigger.COMMAND) else Starts.ELSEWHERE


def how(messages: Messages, item: Explanation) -> str:
    """Say what starts the suite, and for whose changes it starts by itself."""
    if item.author is None:
        return messages(f"starts_{item.starts}")
    return messages("starts_author", level=messages(f"level_{item.author}"))


def who(messages: Messages, item: Explanation) -> str:
    """Say who may start the suite by a command, or re-run what GitHub starts."""
    if item.level is None:
        return messages("who_nobody")
    anybody = item.level is Level.PULL
    text = (
        messages("who_anybody")
        if anybody
        else messages("who_level", level=messages(f"level_{item.level}"))
    )
    if item.listed and not anybody:
        text = messages("who_listed", who=text)
    return messages("who_rerun", who=text) if item.starts is Starts.GITHUB else text


def where(messages: Messages, cost: Cost) -> str:
    """Say where a run takes place, and on how much of it."""
    if cost.nodes == 1:
        return cost.where
    return messages("cost_nodes", nodes=cost.nodes, npus=cost.npus, where=cost.where)


def hours(messages: Messages, cost: Cost) -> str:
    """Say what a run can cost at most."""
    return messages("cost_hours", hours=number(cost.npu_hours))


def to_json(item: Explanation) -> dict[str, Any]:
    """Return ``item`` as plain values for JSON; the suite's key is ``name``, as in `match`."""
    data = asdict(item)
    return {"name": data.pop("suite"), **data, "files": list(item.files)}


def _explained(policy: Policy, choice: Choice) -> Explanation:
    suite = policy.suites[choice.suite]
    how, rule = starts(suite), policy.trust
    level = level_for(rule, suite)
    askable = how is Starts.GITHUB or suite.started_by(Trigger.COMMAND)
    return Explanation(
        suite=choice.suite,
        title=suite.title or choice.suite,
        selected=choice.selected,
        reason=choice.reason,
        pattern=choice.pattern,
        files=choice.files,
        tier=suite.tier,
        required=suite.is_required,
        starts=how,
        author=rule.auto if how is Starts.ITSELF else None,
        level=level if askable else None,
        listed=bool(rule.users or rule.teams) and Level.WRITE.at_least(level),
        cost=cost_of(policy, suite),
    )
