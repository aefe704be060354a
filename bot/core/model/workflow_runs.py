"""Workflow runs of GitHub Actions."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.ids import Sha
from bot.core.model.people import NOBODY, Account


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A workflow run, as a webhook, a list or the answer to a dispatch tells of it."""

    id: int
    attempt: int
    status: str  # in a webhook its action, which `status` can lag behind
    event: str
    head_sha: Sha
    html_url: str
    created_at: datetime | None  # its first attempt
    conclusion: str | None = None
    display_title: str = ""
    path: str = ""
    actor: Account = NOBODY
    triggered_by: Account = NOBODY  # of this attempt
    head_repo_id: int | None = None  # of its commit's branch; None: deleted, or not told
    head_branch: str = ""  # this branch; "": not told
    pulls: tuple[int, ...] = ()  # those that GitHub names: never for a fork

    def is_of(self, app: Account) -> bool:
        """Return True if the app has started it.

        A later attempt may have been asked for by a person: it is the same run.
        """
        return self.actor == app and (self.attempt > 1 or self.triggered_by == app)
