"""Explain for each suite: selected or not, who may start it, and its cost.

`ascend-ci explain`, the reply to `/ascend-e2e explain` and the API use the same explanation.
"""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from bot.core.messages import Messages
from bot.core.messages.words import joined, listing, number
from bot.core.model.selections import Cost
from bot.core.planning.permissions import level_for
from bot.core.policy.levels import Level
from bot.core.policy.models import Policy, Start, Suite, Tier, Trigger
from bot.core.policy.quarantine import Quarantine
from bot.core.policy.quarantined import QuarantineStage, quarantines_of, stand_at
from bot.core.policy.selection import Choice, Selection
from bot.core.workflows.holdings import Holding, ReadWorkflows

_STANDS = {
    QuarantineStage.HELD: "explain_held",
    QuarantineStage.ENDED: "explain_ended",
    QuarantineStage.EARLY: "explain_early",
}
NO_CHECKOUT = ReadWorkflows({})


class Starts(StrEnum):
    """What starts a suite on a pull request that selects it."""

    ITSELF = "itself"  # the bot, if the commit is trusted
    GITHUB = "github"
    COMMAND = "command"
    ELSEWHERE = "elsewhere"  # only schedules and pushes


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a suite for one policy and one change."""

    suite: str
    title: str
    selected: bool
    reason: str
    pattern: str | None  # the pattern that decided for the first file
    files: tuple[str, ...]  # all files that select the suite
    tier: Tier
    required: bool
    starts: Starts
    author: Level | None  # the level an author needs for an automatic start; None: never automatic
    level: Level | None  # the level for a command (native: for a re-run); None: nobody may
    listed: bool  # the policy's users and teams may start it, too
    cost: Cost
    quarantine: tuple[Quarantine, ...] = ()  # the policy's entries for it


def explain(
    policy: Policy,
    selection: Selection,
    names: Collection[str] = (),
    checkout: ReadWorkflows = NO_CHECKOUT,
) -> tuple[Explanation, ...]:
    """Explain the suites ``names`` (none: all) of a selection, fresh or stored."""
    return tuple(
        _explained(policy, choice, checkout)
        for choice in selection.choices
        if not names or choice.suite in names
    )


def cost_of(policy: Policy, suite: Suite, checkout: ReadWorkflows = NO_CHECKOUT) -> Cost:
    """Return the resources of a run of ``suite``, and its maximum cost.

    Jobs of a native suite run at once: with its workflow each counts as what it holds.
    """
    label = suite.runners[0]
    labels = suite.runners if suite.start is Start.NATIVE else suite.runners[:1]
    cost = Cost(
        nodes=suite.nodes,
        npus=suite.npus_on(label, policy),
        minutes=suite.timeout_minutes,
        npu_hours=suite.npu_hours_on(label, policy),
        where=suite.pool or listing(labels, len(labels)),
    )
    held = held_by(policy, suite, checkout)
    if not held:
        return cost
    each = {holding.npus for holding in held}
    nodes, npus = (len(held), each.pop()) if len(each) == 1 else (1, sum(h.npus for h in held))
    return replace(cost, nodes=nodes, npus=npus, npu_hours=npu_hours_of(held, cost.minutes))


def held_by(policy: Policy, suite: Suite, checkout: ReadWorkflows) -> tuple[Holding, ...]:
    """Return what the jobs of a suite hold, as far as the checkout tells."""
    return checkout.holdings(policy, suite) if suite.start is Start.NATIVE else ()


def npu_hours_of(held: Iterable[Holding], minutes: float) -> float:
    """Return the NPU-hours of jobs, none of which takes longer than ``minutes``."""
    return sum(holding.npus * min(holding.minutes, minutes) for holding in held) / 60


def starts(suite: Suite) -> Starts:
    """Return what starts ``suite`` on a pull request that selects it."""
    if suite.start is Start.NATIVE:
        return Starts.GITHUB if suite.for_pulls else Starts.ELSEWHERE
    by_files = suite.started_by(Trigger.PULL_REQUEST) and suite.paths
    if by_files and suite.tier is Tier.STANDARD:
        return Starts.ITSELF
    return Starts.COMMAND if suite.started_by(Trigger.COMMAND) else Starts.ELSEWHERE


def how(messages: Messages, item: Explanation) -> str:
    """Return what starts the suite, and whose changes start it automatically, in words."""
    if item.author is None:
        return messages(f"starts_{item.starts}")
    return messages("starts_author", level=messages(f"level_{item.author}"))


def who(messages: Messages, item: Explanation) -> str:
    """Return who may start the suite by a command, or re-run a native suite, in words."""
    if item.level is None:
        return messages("who_nobody")
    anybody = item.level is Level.READ
    text = (
        messages("who_anybody")
        if anybody
        else messages("who_level", level=messages(f"level_{item.level}"))
    )
    if item.listed and not anybody:
        text = messages("who_listed", who=text)
    return messages("who_rerun", who=text) if item.starts is Starts.GITHUB else text


def where(messages: Messages, cost: Cost) -> str:
    """Return the resources that a run uses, in words."""
    if cost.nodes == 1:
        return cost.where
    return messages("cost_nodes", nodes=cost.nodes, npus=cost.npus, where=cost.where)


def hours(messages: Messages, cost: Cost) -> str:
    """Return the maximum cost of a run, in words."""
    return messages("cost_hours", hours=number(cost.npu_hours))


def to_json(item: Explanation) -> dict[str, Any]:
    """Return ``item`` as plain values for JSON; the suite's key is ``name``, as in `match`."""
    data = asdict(item) | {"quarantine": quarantine_json(item.quarantine)}
    return {"name": data.pop("suite"), **data, "files": list(item.files)}


def quarantine_json(entries: Iterable[Quarantine]) -> list[dict[str, Any]]:
    """Return the quarantines of a suite as plain values."""
    return [entry.model_dump(mode="json", exclude={"suite"}) for entry in entries]


def in_quarantine(messages: Messages, entries: Collection[Quarantine], now: datetime) -> str:
    """Return how the quarantine of a suite stands now, in words; "" if it has none."""
    stand = stand_at(entries, now)
    if stand is None:
        return ""
    told = []
    for entry in stand.entries:
        said = messages(_STANDS[stand.stage], until=entry.until)
        if entry.test:
            said = messages("explain_tests", tests=entry.test, said=said)
        told.append(said)
    return messages.render(joined(told))


def _explained(policy: Policy, choice: Choice, checkout: ReadWorkflows) -> Explanation:
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
        cost=cost_of(policy, suite, checkout),
        quarantine=quarantines_of(policy.quarantine, choice.suite),
    )
