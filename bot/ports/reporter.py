"""What the reporter needs: what should be shown, and where it was shown."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import Sha
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.core.report.views import GateView as GateView  # noqa: PLC0414  re-export
from bot.core.report.views import Proposal, Reply
from bot.core.report.views import SuiteView as SuiteView  # noqa: PLC0414  re-export
from bot.ports.lease import Lease


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A check run that should show more than it does."""

    lease: Lease
    external_id: str
    repo: Repo
    sha: Sha
    name: str
    github_id: int | None  # None: not created yet
    create_tried: bool  # a create was sent and its answer is not stored: look for it first
    ended: bool  # shown as completed: can't be reopened
    want_version: int
    view: SuiteView | GateView | Proposal
    remark: str = ""  # why a click started nothing; first in the summary


@dataclass(frozen=True, slots=True)
class DueReply:
    """A reply that should be posted or edited."""

    lease: Lease
    repo: Repo
    reply: Reply
    github_id: int | None
    create_tried: bool
    want_version: int
    runs: tuple[Run, ...]
    check_ids: dict[str, int]


class ReporterStore(Protocol):
    """Check and reply rows, each under a lease."""

    async def claim_checks(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[DueCheck, ...]:
        """Claim due checks whose want is newer than what is shown: gates and ends first."""
        ...

    async def trying(self, lease: Lease, *, sent: bool = True) -> bool:
        """Note that a create is about to be sent, or was not; False: the lease was lost."""
        ...

    async def shown(
        self, lease: Lease, *, github_id: int, version: int, ended: bool, now: datetime
    ) -> None:
        """Note what GitHub shows now."""
        ...

    async def replace(self, lease: Lease, now: datetime) -> None:
        """Retire a completed gate: a new row with a new external id takes its place, due now."""
        ...

    async def give_up(self, lease: Lease, *, due: datetime | None, note: str) -> None:
        """Try again at ``due``; None: never (GitHub said no for good), kept in health."""
        ...

    async def claim_replies(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[DueReply, ...]:
        """Claim due replies."""
        ...
