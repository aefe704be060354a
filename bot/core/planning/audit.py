"""The bot's own decisions as audit entries, read off the plan that is committed."""

from dataclasses import replace
from datetime import datetime

from bot.core.model.ids import RepoId
from bot.core.model.selections import SelectionDetails, StoredSelection
from bot.core.model.views import Gate
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
    found += [_broken(gate, now) for gate in changes.gates if gate.policy_errors]
    repo_id = changes.repo.id if changes.repo else None
    found += [_dropped(drop, repo_id, now) for drop in changes.drop_claimants]
    return [entry for entry in found if entry]


def _chosen(chosen: StoredSelection, now: datetime) -> AuditEntry | None:
    """Return whether the suites of a commit start by themselves; None if it has none."""
    data = chosen.data
    names = [suite.choice.suite for suite in data.suites if suite.choice.selected and suite.auto]
    if not names:
        return None
    allowed, rule = _by_rule(data)
    what = f"start {', '.join(names)}"
    number = chosen.number or None
    return AuditEntry(now, BY_ITSELF, what, allowed, rule, chosen.repo_id, number, chosen.sha)


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


def _broken(gate: Gate, now: datetime) -> AuditEntry:
    """Return the entry for a policy with errors, which starts nothing."""
    rule, where = f"policy: {gate.policy_errors[0]}", (gate.repo_id, gate.number or None, gate.sha)
    return AuditEntry(now, BY_ITSELF, "start nothing", False, rule, *where)


def _dropped(drop: DropClaimant, repo_id: RepoId | None, now: datetime) -> AuditEntry:
    """Return the entry for a claimant that gives a run up; without any, the run is stopped."""
    kind, _, name = drop.source.partition(":")
    number = int(name) if kind == "pr" else None
    what = f"drop {drop.source} of {drop.run_id}"
    return AuditEntry(now, BY_ITSELF, what, True, drop.reason, repo_id, number)
