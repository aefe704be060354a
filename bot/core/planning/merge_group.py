"""A merge group: the suites that its commit runs, and those whose results it reuses.

The gate of a group always gets a result: GitHub's queue would wait for it until a time limit.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.messages import Message
from bot.core.model.ids import Sha
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.selections import MergeGroup, SelectionDetails, StoredSelection, SuiteSelection
from bot.core.model.snapshot import Snapshot
from bot.core.model.views import GateDue
from bot.core.planning.attempts import AttemptMaker, latest
from bot.core.planning.commits import Commit, drop_source, runs_again, speaks_for, start
from bot.core.planning.plan import Plan, RunClaimants
from bot.core.planning.pull_request import suite_selection
from bot.core.policy.models import Mode, Start, Suite, Tier
from bot.core.policy.selection import Choice, Selection

_HEAD_REF = re.compile(r"(?:refs/heads/)?gh-readonly-queue/.+/pr-(\d{1,18})-[0-9a-f]+")
_ENDS = {
    "merged": Message("group_merged"),
    "invalidated": Message("group_invalidated"),
    "dequeued": Message("group_dequeued"),
}
_TRUST = Message("trust_group")


@dataclass(frozen=True, slots=True)
class Group:
    """The commit of a merge group, and the suites that the files of its pull request select."""

    commit: Commit
    number: int | None  # of the pull request in its name
    selection: Selection
    changed_files: int


@dataclass(frozen=True, slots=True)
class Reused:
    """Suites that passed on another commit with the very same files."""

    sha: Sha
    suites: frozenset[str]


NOTHING_REUSED = Reused(Sha(""), frozenset())


def group_source(sha: Sha) -> str:
    """Return the claimant of a merge group."""
    return f"group:{sha}"


def pull_of(head_ref: str) -> int | None:
    """Return the pull request that the branch of a group names; None if it names none."""
    found = _HEAD_REF.fullmatch(head_ref)
    return int(found[1]) if found else None


def group_origin(number: int | None) -> Message:
    """Return what started a group's runs, in words."""
    return Message("origin_group", number=number) if number else Message("origin_some_group")


def needed_suites(group: Group) -> tuple[Choice, ...]:
    """Return the selected suites that the group runs.

    A heavy suite runs if the gate requires it: no command reaches a group. Native suites are
    started and shown by GitHub itself.
    """
    suites = group.commit.at.policy.suites
    return tuple(
        choice
        for choice in group.selection.choices
        if choice.selected and _starts(suites[choice.suite])
    )


def _starts(suite: Suite) -> bool:
    return suite.start is Start.DISPATCH and (suite.tier is Tier.STANDARD or suite.is_required)


def suites_passed(group: Group, at_head: tuple[RunClaimants, ...]) -> frozenset[str]:
    """Return the needed suites that passed at the head of the pull request.

    Only the same work counts: the suite as the policy has it now, on one of its labels.
    """
    counted = [item for item in at_head if item.run.outcome is not Outcome.SUPERSEDED]
    needed = [group.commit.freeze(choice.suite, choice.reason) for choice in needed_suites(group)]
    return frozenset(frozen.name for frozen in needed if _passed(frozen, counted))


def _passed(frozen: Snapshot, runs: list[RunClaimants]) -> bool:
    """Return True if the latest attempt that speaks for a suite passed, and was the same work."""
    run = latest(item for item in runs if speaks_for(item.run, frozen)).get(frozen.name)
    return run is not None and _same(run, frozen)


def _same(run: Run, frozen: Snapshot) -> bool:
    if run.state is not State.DONE or run.outcome is not Outcome.SUCCESS:
        return False
    ran, now = (replace(item.work, labels=()) for item in (run.snapshot, frozen))
    return ran == now


def plan_group(
    group: Group, runs: tuple[RunClaimants, ...], reused: Reused, maker: AttemptMaker
) -> Plan:
    """Plan the runs for a merge group; ``runs`` are all attempts at its commit."""
    commit, policy = group.commit, group.commit.at.policy
    asked = needed_suites(group) if policy.mode is Mode.ON else ()
    reasons = {item.suite: item.reason for item in asked if item.suite not in reused.suites}
    return replace(
        start(commit, reasons, runs, lambda run, now: runs_again(run, now, fresh=False), maker),
        selection=_selection(group, reused),
        gates=(GateDue(commit.repo_id, commit.sha, 0, name=policy.gate.name),),
    )


def _selection(group: Group, reused: Reused) -> StoredSelection:
    commit, policy = group.commit, group.commit.at.policy
    data = SelectionDetails(
        policy_ref=commit.at.ref,
        unprotected=commit.at.unprotected,
        mode=policy.mode,
        trusted=True,
        trust_reason=_TRUST,
        gate=policy.gate.name,
        changed_files=group.changed_files,
        truncated=group.selection.truncated,
        suites=tuple(_selected(group, choice, reused) for choice in group.selection.choices),
        group=MergeGroup(group.number),
        language=commit.at.language,
    )
    return StoredSelection(commit.repo_id, commit.sha, 0, commit.at.sha, data)


def _selected(group: Group, choice: Choice, reused: Reused) -> SuiteSelection:
    at = group.commit.at
    suite, row = at.policy.suites[choice.suite], suite_selection(at, choice)
    return replace(
        row,
        required=row.required and suite.start is Start.DISPATCH,
        auto=_starts(suite),
        passed_at=reused.sha if choice.suite in reused.suites else None,
    )


def waiting_group(rows: Iterable[StoredSelection]) -> StoredSelection | None:
    """Return the selection of a group that still waits for its checks; None if there is none."""
    return next((row for row in rows if row.data.group and not row.is_over), None)


def end_group(
    row: StoredSelection, runs: tuple[RunClaimants, ...], reason: str, now: datetime
) -> Plan:
    """Plan the end of a group: its runs lose their claimant, and its gate is closed."""
    why, group = _ENDS.get(reason, Message("group_given_up")), row.data.group or MergeGroup()
    return Plan(
        selection=replace(row, data=replace(row.data, group=replace(group, over_at=now))),
        drop_claimants=drop_source(runs, group_source(row.sha), why),
        gates=(GateDue(row.repo_id, row.sha, 0, closed=why),),
    )
