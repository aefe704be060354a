"""Collects what the commands of one comment, or one click, change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from bot.core.model.ids import RunId
from bot.core.model.pulls import Approval
from bot.core.model.runs import Claimant
from bot.core.model.views import GateDue
from bot.core.planning.attempts import NewRun
from bot.core.planning.permissions import Refusal
from bot.core.planning.plan import AuditEntry, DropClaimant, Plan, Restated


@dataclass(slots=True)
class PlanBuilder:
    """A plan in the making, and the paragraphs of the reply to it."""

    new_runs: list[NewRun] = field(default_factory=list)
    add_claimants: list[Claimant] = field(default_factory=list)
    run_ids: list[RunId] = field(default_factory=list)  # whose progress the reply shows
    said: list[str] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    refusals: int = 0
    receipt_missing: bool = False  # GitHub has not taken the reaction to the comment
    drop_claimants: list[DropClaimant] = field(default_factory=list)
    forced: list[tuple[RunId, str]] = field(default_factory=list)
    approval: Approval | None = None
    base: Plan | None = None  # the plan of a head that was approved
    restated: Restated | None = None  # with suites as the policy has them now

    def refuse(self, refusal: Refusal) -> None:
        """Add the reason why something was not started."""
        self.refusals += 1
        if refusal.text not in self.said:
            self.said.append(refusal.text)

    @contextmanager
    def auditing(self, place: int) -> Iterator[None]:
        """Mark a command's audit entry as refused if nothing but refusals comes of it."""
        refusals, done = self.refusals, self._done()
        yield
        if self.refusals > refusals and self._done() == done:
            self.audit[place] = replace(self.audit[place], allowed=False)

    def all_refused(self, rule: str) -> tuple[AuditEntry, ...]:
        """Return the audit entries of commands that one rule refuses, all of them."""
        entries = (item if not item.allowed else replace(item, rule=rule) for item in self.audit)
        return tuple(replace(item, allowed=False) for item in entries)

    def _done(self) -> tuple[int, bool]:
        made = len(self.new_runs) + len(self.add_claimants) + len(self.drop_claimants)
        return made, self.approval is not None

    def build(self, gate: GateDue) -> Plan:
        """Return the plan; it looks at ``gate`` again."""
        base = self.base or Plan()
        known = any(item.sha == gate.sha for item in base.gates)
        return replace(
            base,
            approval=self.approval,
            restated=() if base.selection or not self.restated else (self.restated,),
            new_runs=(*base.new_runs, *self.new_runs),
            add_claimants=(*base.add_claimants, *self.add_claimants),
            drop_claimants=(*base.drop_claimants, *self.drop_claimants),
            forced=(*base.forced, *self.forced),
            gates=base.gates if known else (*base.gates, gate),
            audit=(*base.audit, *self.audit),
        )
