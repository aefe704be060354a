"""A GitHub of a few lines, so that all CPU time of a measurement is the bot's."""

import hashlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from bot.core.model.ids import Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.views import CheckWrite
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile
from bot.ports.github import ActionsJob, ChangedFiles, FileText
from bot.sim import ManualClock
from tests.e2e.world import LABEL


@dataclass
class InstantGitHub:
    """A GitHub that knows pull requests and starts workflows; it has no other state."""

    clock: ManualClock
    policy: bytes
    pulls: dict[int, Pull] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    ids: Any = field(default_factory=lambda: count(10_000_000))
    calls: int = 0
    ended: dict[int, tuple[float, int]] = field(default_factory=dict)  # CPU time, calls till then

    async def pull(self, _repo: Repo, number: int) -> Pull:
        self.calls += 1
        return self.pulls[number]

    async def open_pulls(self, _repo: Repo) -> tuple[Pull, ...]:
        self.calls += 1
        return tuple(self.pulls.values())

    async def pull_files(self, _repo: Repo, number: int, _count: int) -> ChangedFiles:
        self.calls += 1
        file = ChangedFile("verl/a.py", "modified")
        return ChangedFiles((file,), heads=frozenset({self.pulls[number].head_sha}))

    async def repo_now(self, repo: Repo) -> Repo:
        self.calls += 1
        return repo

    async def permission(self, _repo: Repo, _account: Account) -> Level:
        return Level.MAINTAIN

    async def is_protected(self, _repo: Repo, _branch: str) -> bool:
        return True

    async def file(self, _repo: Repo, _path: str, _ref: str) -> FileText:
        return FileText(self.policy, hashlib.sha1(self.policy).hexdigest())

    async def create_check(self, _repo: Repo, _check: object) -> int:
        self.calls += 1
        return int(next(self.ids))

    async def update_check(self, _repo: Repo, github_id: int, check: CheckWrite) -> None:
        self.calls += 1
        if check.status == "completed" and check.name.startswith("Ascend / "):
            self.ended.setdefault(github_id, (time.process_time(), self.calls))

    async def dispatch(
        self, _repo: Repo, _workflow: str, _ref: str, inputs: dict[str, str]
    ) -> WorkflowRun:
        self.calls += 1
        number = next(self.ids)
        self.runs[number] = WorkflowRun(
            id=number,
            attempt=1,
            status="queued",
            event="workflow_dispatch",
            head_sha=Sha(inputs["sha"]),
            html_url=f"https://github.com/octo/project/actions/runs/{number}",
            created_at=self.clock.now(),
        )
        return self.runs[number]

    async def started_runs(
        self, _repo: Repo, event: str, _since: datetime, until: datetime | None = None
    ) -> AsyncGenerator[list[WorkflowRun], None]:
        if event != "workflow_dispatch":
            return
        latest = until or self.clock.now()
        found = [run for run in self.runs.values() if run.created_at and run.created_at <= latest]
        newest = sorted(found, key=lambda run: (run.created_at, run.id), reverse=True)[:1000]
        for first in range(0, len(newest), 100):
            self.calls += 1
            yield newest[first : first + 100]

    async def jobs(self, _repo: Repo, run_id: int, _attempt: int) -> tuple[ActionsJob, ...]:
        self.calls += 1
        ended = (run_id + 1, "run", "completed", "success", "r", (LABEL,), "", None, None)
        return (ActionsJob(*ended),)

    async def job_log(self, _repo: Repo, _job_id: int) -> AsyncGenerator[bytes, None]:
        self.calls += 1
        yield b"42 passed in 1.23s\n"

    async def deliveries(self, _since: datetime) -> tuple[()]:
        return ()

    def share(self, _part: float) -> bool:
        return False

    async def actions_run(self, _repo: Repo, run_id: int) -> WorkflowRun:
        self.calls += 1
        return self.runs[run_id]
