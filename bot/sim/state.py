"""The state of one simulated GitHub, with its clock and its counters."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.sim.clock import Clock
from bot.sim.errors import CannotError, not_found
from bot.sim.model import (
    App,
    CheckRun,
    CheckSuite,
    Comment,
    Installation,
    Job,
    Pull,
    Repo,
    Run,
    Token,
    User,
    Workflow,
)

NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


@dataclass
class State:
    """All objects by id. The parts of a simulation share it."""

    clock: Clock
    folder: Path
    lag_s: float = 1.5  # within the 1-3 s that GitHub's lists were seen to trail
    url: str = "http://127.0.0.1"
    users: dict[str, User] = field(default_factory=dict)
    repos: dict[int, Repo] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    pulls: dict[tuple[int, int], Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    suites: dict[int, CheckSuite] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    workflows: dict[tuple[int, str], Workflow] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    teams: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    app: App | None = None
    actions_app: App | None = None
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1001))
    _guids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def new_id(self) -> int:
        """Return the next id. The same steps give the same ids."""
        return next(self._ids)

    def new_guid(self) -> str:
        """Return the next delivery id, a UUID. The same steps give the same ids."""
        return str(uuid.uuid5(NAMESPACE, f"delivery-{next(self._guids)}"))

    def the_app(self) -> App:
        """Return the app under test."""
        if self.app is None:
            message = "no app has been created yet"
            raise CannotError(message)
        return self.app

    def user(self, login: str | User) -> User:
        """Return a user by login, in any case. Raises `CannotError` if there is none."""
        if isinstance(login, User):
            return login
        found = self.users.get(login.lower())
        if found is None:
            raise CannotError(f"no user {login!r}")
        return found

    def repo(self, name: str | Repo | None = None) -> Repo:
        """Return a repository by `owner/name`, the first one created for `None`."""
        if isinstance(name, Repo):
            return name
        for repo in self.repos.values():
            if name is None or repo.full_name.lower() == name.lower():
                return repo
        raise CannotError(f"no repository {name!r}")

    def pull(self, number: int | Pull, repo: str | Repo | None = None) -> Pull:
        """Return a pull request by number."""
        if isinstance(number, Pull):
            return number
        found = self.pulls.get((self.repo(repo).id, number))
        if found is None:
            raise not_found()
        return found

    def pulls_of(self, repo: Repo) -> list[Pull]:
        """Return the repository's pull requests, newest first."""
        return sorted(
            (pull for pull in self.pulls.values() if pull.repo is repo),
            key=lambda pull: -pull.number,
        )

    def comments_of(self, pull: Pull) -> list[Comment]:
        """Return the comments of a pull request, oldest first."""
        return [comment for comment in self.comments.values() if comment.pull is pull]

    def job(self, number: int) -> Job | None:
        """Return a job by its id."""
        jobs = (job for run in self.runs.values() for job in run.jobs)
        return next((job for job in jobs if job.id == number), None)

    def level(self, repo: Repo, login: str) -> str:
        """Return a user's effective level. Everybody can read a public repository."""
        if repo.owner.login.lower() == login.lower():
            return "admin"
        return repo.levels.get(login.lower(), "none" if repo.private else "read")

    def node_id(self, kind: str, number: int) -> str:
        """Return an opaque global id."""
        return f"{kind}_{number:012d}"

    def installation_for(self, repo: Repo) -> Installation | None:
        """Return the app's installation on a repository's owner."""
        for installation in self.installations.values():
            if installation.account.login == repo.owner.login:
                return installation
        return None


def seen(past: list[tuple[Any, dict[str, Any]]], until: Any) -> dict[str, Any] | None:
    """Return the object as it was at a time, `None` if it was not there yet."""
    look = None
    for when, data in past:
        if when > until:
            break
        look = data
    return look
