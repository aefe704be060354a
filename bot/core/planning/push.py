"""Plans a push to the default branch or a listed branch."""

from collections.abc import Iterable

from bot.core.messages import Message
from bot.core.model.ids import Sha, short
from bot.core.planning.attempts import AttemptMaker
from bot.core.planning.commits import Commit, drop_source, runs_again, start
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.policy.levels import Level
from bot.core.policy.models import Mode, Policy, Tier
from bot.core.policy.selection import Selection


def push_source(branch: str) -> str:
    """Return the claimant of the pushes to a branch."""
    return f"push:{branch}"


def left_behind(
    wanted: Iterable[RunClaimants], branch: str, sha: Sha | None
) -> tuple[DropClaimant, ...]:
    """Give up the runs of earlier pushes; ``sha`` None: the branch is gone."""
    why = Message("superseded_by", sha=short(sha)) if sha else Message("drop_branch", branch=branch)
    older = [item for item in wanted if item.run.sha != sha]
    return drop_source(older, push_source(branch), why)


def selected_by_push(commit: Commit, selection: Selection) -> dict[str, Message]:
    """Return the suites that a push starts, each with its reason."""
    if commit.at.policy.mode is not Mode.ON:
        return {}
    return {choice.suite: choice.reason for choice in selection.choices if choice.selected}


def may_start_by_push(policy: Policy, suite: str, level: Level) -> bool:
    """Return True if a push by a person of this level starts a suite, on an unprotected branch.

    The push is judged like a pull request of that person, and a heavy suite like their command.
    """
    rule = policy.trust
    is_heavy = policy.suites[suite].tier is Tier.HEAVY
    return level.at_least(rule.auto) and (not is_heavy or level.at_least(rule.heavy))


def plan_push(
    commit: Commit, reasons: dict[str, Message], runs: tuple[RunClaimants, ...], maker: AttemptMaker
) -> Plan:
    """Plan the runs for a push; a result that counts on this very commit is not run again."""
    return start(commit, reasons, runs, lambda run, now: runs_again(run, now, fresh=True), maker)
