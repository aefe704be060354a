"""The bot's own decisions as audit entries, read off the plan that is committed."""

from dataclasses import replace
from datetime import datetime

from bot.core.model.ids import RepoId
from bot.core.model.runs import Claimant
from bot.core.model.selections import SelectionDetails, StoredSelection
from bot.core.planning.attempts import audit_of
from bot.core.planning.plan import BY_ITSELF, AuditEntry, DropClaimant, Plan
from bot.core.policy.models import Mode


def audited(changes: Plan, now: datetime, delivery: str | None) -> Plan:
    """Return the plan with the bot's own decisions; each entry names the delivery."""
    entries = (*changes.audit, *_decisions(changes, now))
    return replace(changes, audit=tuple(replace(item, delivery=delivery) for item in entries))


def _decisions(changes: Plan, now: datetime) -> list[AuditEntry]:
    chosen = changes.selection
    # The selection of a merge group that ends was decided on when the group began.
    found = [_chosen(chosen, now)] if chosen and not chosen.is_over else []
    if chosen is None:
        found += _started(changes, now)
    repo_id = changes.repo.id if changes.repo else None
    found += [_dropped(drop, repo_id, now) for drop in changes.drop_claimants if not drop.stop]
    return [entry for entry in found if entry]


def _chosen(chosen: StoredSelection, now: datetime) -> AuditEntry | None:
    """Return whether the suites of a commit start by themselves; None if it has none."""
    data = chosen.data
    where = (chosen.repo_id, chosen.number or None, chosen.sha)
    if data.policy_errors:
        rule = f"policy: {data.policy_errors[0]}"
        return AuditEntry(now, BY_ITSELF, "start nothing", False, rule, *where)
    names = [suite.choice.suite for suite in data.suites if suite.choice.selected and suite.auto]
    if not names:
        return None
    allowed, rule = _by_rule(data)
    what = f"start {', '.join(names)}"
    return AuditEntry(now, BY_ITSELF, what, allowed, rule, *where)


def _by_rule(data: SelectionDetails) -> tuple[bool, str]:
    if data.mode is Mode.DRY_RUN:
        return False, "mode: dry_run"
    if data.draft:
        return False, "drafts: false"
    return bool(data.trusted), f"trust: {data.trust_reason}"


def _started(changes: Plan, now: datetime) -> list[AuditEntry]:
    """Return the starts for a push, a merge group or a schedule."""
    return [
        audit_of(run, f"start {run.suite}", claimant.source, now)
        for run, claimants in changes.new_runs
        for claimant in claimants[:1]
        if claimant.auto
    ]


def _dropped(drop: DropClaimant, repo_id: RepoId | None, now: datetime) -> AuditEntry:
    """Return the entry for a claimant that gives a run up; without any, the run is stopped."""
    number = Claimant(drop.run_id, drop.source).number
    what = f"drop {drop.source} of {drop.run_id}"
    return AuditEntry(now, BY_ITSELF, what, True, drop.reason, repo_id, number)
