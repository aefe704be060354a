"""GitHub as the services need it: calls that raise ``Transient`` or ``Permanent``.

Every call takes the repository, whose installation gives the token. Retries, pacing, caches and
limits are the adapter's.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.github.events import InstallationState
from bot.core.github.grants import Grants
from bot.core.model.ids import Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.views import CheckWrite
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The files of a pull request; ``truncated``: more than GitHub lists (3,000).

    ``often``: not read, because who wants it had too many long lists read.
    """

    files: tuple[ChangedFile, ...]
    truncated: bool = False
    often: bool = False
    heads: frozenset[str] = frozenset()  # the heads that the list names; empty: it names none

    def is_of(self, head: str, count: int) -> bool:
        """Return True if the list says that it is this head's, and has all of its files."""
        return self.heads == {head} and len(self.files) == count


@dataclass(frozen=True, slots=True)
class FileText:
    """A file at a branch."""

    text: bytes
    blob_sha: str


@dataclass(frozen=True, slots=True)
class GitCommit:
    """A commit: its message, and the commits before it."""

    message: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ActionsJob:
    """A job of a workflow run."""

    id: int
    name: str
    status: str
    conclusion: str | None
    runner: str
    labels: tuple[str, ...]
    html_url: str
    started_at: datetime | None
    completed_at: datetime | None
    failed_step: str = ""
    check_id: int = 0  # of its check run
    attempt: int = 1  # of the run, in which it ran


@dataclass(frozen=True, slots=True)
class HookDelivery:
    """A delivery as GitHub remembers it."""

    id: int  # of the newest attempt
    guid: str
    delivered_at: datetime  # the first attempt
    ok: bool
    event: str
    tries: int
    tried_at: datetime  # the newest attempt


class GitHub(Protocol):
    """The calls that the services make."""

    async def pull(self, repo: Repo, number: int) -> Pull:
        """Read a pull request."""

    async def open_pulls(self, repo: Repo) -> tuple[Pull, ...]:
        """List the open pull requests."""

    async def pull_files(self, repo: Repo, number: int, changed_files: int) -> ChangedFiles:
        """List its files; more than 3,000 are not listed at all."""

    async def compare_files(self, repo: Repo, base: str, head: str) -> ChangedFiles:
        """List the files between two commits (300 at most, else truncated)."""

    async def file(self, repo: Repo, path: str, ref: str) -> FileText | None:
        """Read a file at a branch or commit; None when there is none."""

    async def folder(self, repo: Repo, path: str, ref: str) -> dict[str, str] | None:
        """List a folder at a branch or commit: git's name of each file; None: no folder."""

    async def commit(self, repo: Repo, sha: str) -> GitCommit:
        """Read a commit."""

    async def mergeable(self, repo: Repo, number: int, head: Sha) -> bool | None:
        """Return False if a head conflicts with its base; None: GitHub does not know (yet)."""

    async def merge_of(self, repo: Repo, number: int) -> Sha | None:
        """Return GitHub's own merge of a pull request into its base; None: there is none.

        It may be that of an older head.
        """

    async def tip(self, repo: Repo, branch: str) -> Sha | None:
        """Return the head of a branch; None when there is none."""

    async def is_protected(self, repo: Repo, branch: str) -> bool:
        """Return True if a branch is protected (cached 5 min at most); False without the branch."""

    async def tree(self, repo: Repo, sha: str) -> str | None:
        """Return git's name for a commit's files: the same for the same files; None: no commit."""

    async def permission(self, repo: Repo, account: Account) -> Level:
        """Return somebody's level (cached 60 s at most); NONE for unknown people.

        Who has the login of the account now gains nothing by it.
        """

    async def account_id(self, repo: Repo, login: str) -> int:
        """Return the number of the account that has a login now; 0 if nobody has it."""

    async def pusher(self, repo: Repo, pull: Pull, sha: Sha) -> Account:
        """Return who pushed a commit to a pull request's branch; nobody: GitHub does not say."""

    async def in_team(self, repo: Repo, team: str, account: Account) -> bool:
        """Return True if a person is an active member of the owner's team."""

    async def app_account(self, repo: Repo) -> Account:
        """Return the account under which the app acts, such as ``ascend-ci[bot]``."""

    async def create_check(self, repo: Repo, check: CheckWrite) -> int:
        """Create a check run; return its id. Not repeated by the adapter when unanswered."""

    async def update_check(self, repo: Repo, github_id: int, check: CheckWrite) -> None:
        """Rewrite a check run."""

    async def find_check(self, repo: Repo, sha: Sha, name: str, external_id: str) -> int | None:
        """Find a check run of ours by the id we gave it."""

    async def dispatch(
        self, repo: Repo, workflow: str, ref: str, inputs: dict[str, str]
    ) -> WorkflowRun | None:
        """Start a workflow; None when GitHub does not say which run (204). Never repeated."""

    async def runs_of_workflow(
        self, repo: Repo, workflow: str, since: datetime
    ) -> tuple[WorkflowRun, ...]:
        """List dispatched runs of a workflow created since, newest first."""

    def started_runs(
        self, repo: Repo, event: str, since: datetime, until: datetime | None = None
    ) -> AsyncGenerator[list[WorkflowRun], None]:
        """List the newest 1,000 of the repository's runs of an event created in this time.

        A page at a time, newest first; the caller may stop early.
        """

    async def workflow_states(self, repo: Repo) -> dict[str, str]:
        """Return the state of each workflow by its path, such as `active`."""

    async def actions_run(self, repo: Repo, run_id: int) -> WorkflowRun:
        """Read one run: the source of truth at its end."""

    async def actions_attempt(self, repo: Repo, run_id: int, attempt: int) -> WorkflowRun:
        """Read one attempt of a run, also when a newer one has begun."""

    async def jobs(self, repo: Repo, run_id: int, attempt: int) -> tuple[ActionsJob, ...]:
        """List the jobs of a run's attempt."""

    async def all_jobs(self, repo: Repo, run_id: int) -> tuple[ActionsJob, ...]:
        """List the jobs of all attempts of a run."""

    def job_log(self, repo: Repo, job_id: int) -> AsyncGenerator[bytes, None]:
        """Stream the log of a completed job."""

    async def annotations(self, repo: Repo, check_id: int) -> tuple[str, ...]:
        """Read what the annotations of a job's check run say."""

    async def cancel(self, repo: Repo, run_id: int) -> bool:
        """Ask to cancel; False when it can't be cancelled (409)."""

    async def force_cancel(self, repo: Repo, run_id: int) -> bool:
        """Cancel without waiting for always() steps."""

    async def rerun(self, repo: Repo, run_id: int, *, failed_only: bool) -> None:
        """Re-run a finished run, or its failed jobs."""

    async def rerun_job(self, repo: Repo, job_id: int) -> None:
        """Re-run a job of a finished run, and the jobs that need it.

        GitHub refuses (403) a job that another workflow was called for.
        """

    async def comment(self, repo: Repo, number: int, body: str) -> int:
        """Post a comment; return its id."""

    async def edit_comment(self, repo: Repo, comment_id: int, body: str) -> bool:
        """Rewrite a comment of ours; False when it is gone."""

    async def find_comment(
        self, repo: Repo, number: int, marker: str, since: datetime
    ) -> int | None:
        """Find a comment of ours that ends with the marker."""

    async def react(self, repo: Repo, comment_id: int, content: str) -> bool:
        """Add a reaction; False if GitHub does not take it now."""

    def share(self, part: float) -> bool:
        """Pace writes by this part of the whole; return True if some waited since the last call."""

    async def app_grants(self) -> Grants:
        """Return the permissions and events that the app asks for."""

    async def installation_grants(self, repo: Repo) -> Grants:
        """Return the permissions and events that the repository's owner granted the app."""

    async def installation_state(self, installation_id: int) -> InstallationState:
        """Return what an installation is now."""

    async def repo_now(self, repo: Repo) -> Repo | None:
        """Return a repository under the name that it has now; None: another one has its name.

        Then the app does not see it any more.
        """

    async def installation_of(self, repo: Repo) -> int | None:
        """Return the installation that has a repository now; None: the app may not call it."""

    async def deliveries(self, since: datetime) -> tuple[HookDelivery, ...]:
        """List the app's deliveries since (GitHub keeps three days)."""

    async def redeliver(self, delivery_id: int) -> None:
        """Ask GitHub to send a delivery again."""
