"""A push on the default or a listed branch: what it runs, and what it leaves behind."""

from collections.abc import Iterable
from datetime import datetime

from bot.core.model.ids import Sha
from bot.core.planning.commits import Commit, NewId, Suites, drops, start
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.planning.pull_request import runs_again, short
from bot.core.policy import Mode
from bot.core.policy.selection import Selection


def push_source(branch: str) -> str:
    """Return the want of the pushes to a branch."""
    return f"push:{branch}"


def left_behind(
    wanted: Iterable[RunClaimants], branch: str, sha: Sha | None
) -> tuple[DropClaimant, ...]:
    """Return the wants of earlier pushes; ``sha`` None: the branch is gone."""
    why = f"superseded by {short(sha)}" if sha else f"the branch {branch} is gone"
    older = [item for item in wanted if item.run.sha != sha]
    return drops(older, push_source(branch), why)


def selected_by_push(commit: Commit, selection: Selection) -> dict[str, str]:
    """Return the suites that a push starts, with the reasons."""
    if commit.at.policy.mode is not Mode.ON:
        return {}
    return {choice.suite: choice.reason for choice in selection.choices if choice.selected}


def plan_push(
    commit: Commit,
    reasons: dict[str, str],
    runs: tuple[RunClaimants, ...],
    now: datetime,
    new_id: NewId,
) -> Plan:
    """Return what a push starts: what counted on this very commit before is not run again."""
    suites = Suites(reasons, lambda run, frozen: runs_again(run, frozen, fresh=True))
    return start(commit, suites, runs, now, new_id)
