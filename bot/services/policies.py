"""The policy in force, read from the tip of a branch that the author can't choose."""

import asyncio
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from bot.core.messages import Message
from bot.core.model.ids import RepoId, Sha
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.views import Gate
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.plan import Plan
from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Policy
from bot.core.policy.selection import POLICY_PATH, lists_branch
from bot.ports.clock import Clock
from bot.ports.github import GitHub
from bot.store import Store

# A push drops the row at once. This bounds how long an old policy counts if its webhook is lost.
REREAD_AFTER_S = 600
MAX_PARSED = 64  # policies kept parsed; one is some 100 kB


@dataclass(frozen=True, slots=True)
class Broken:
    """A policy with errors: each in words, with its line."""

    errors: tuple[Message, ...]
    ref: str
    sha: str

    def gate(self, repo_id: RepoId, sha: Sha, number: int) -> Gate:
        """Return the gate that shows the errors; nothing starts."""
        errors = tuple(Message("policy_error_at", ref=self.ref, error=item) for item in self.errors)
        return Gate(repo_id, sha, number, policy_errors=errors)


class PolicyReader:
    """Reads policies through the store: an unchanged one costs no call."""

    def __init__(self, store: Store, github: GitHub, clock: Clock, default: bytes | None) -> None:
        """``default`` is the server's own policy for repositories without one."""
        self._store = store
        self._github = github
        self._clock = clock
        self._default = default
        self._parsed: dict[bytes, Policy | PolicyErrors] = {}
        self._reading: WeakValueDictionary[tuple[RepoId, str], asyncio.Lock] = WeakValueDictionary()

    async def of(self, repo: Repo, base_ref: str) -> PolicyAt | Broken | None:
        """Return the policy for a base branch; None if the repository has none.

        It is the default branch's. A base that this policy lists has its own.
        """
        found = await self._for_base(repo, base_ref)
        return replace(found, base=base_ref) if isinstance(found, PolicyAt) else found

    async def _for_base(self, repo: Repo, base_ref: str) -> PolicyAt | Broken | None:
        found = await self._tip_of(repo, repo.default_branch)
        if not isinstance(found, PolicyAt) or base_ref == repo.default_branch:
            return found
        if not lists_branch(found.policy, base_ref):
            return found
        own = await self._tip_of(repo, base_ref)
        return replace(own, release=True) if isinstance(own, PolicyAt) else own

    async def _tip_of(self, repo: Repo, ref: str) -> PolicyAt | Broken | None:
        return self.read(await self._row(repo, ref))

    def read(self, row: StoredPolicy) -> PolicyAt | Broken | None:
        """Return the policy of a row, without any call."""
        text = self._default if row.text is None else row.text.encode()
        if text is None:
            return None
        sha = row.blob_sha or "server"
        parsed = self._parse(text)
        if isinstance(parsed, PolicyErrors):
            return Broken(tuple(error.sentence for error in parsed.errors), row.ref, sha)
        return PolicyAt(parsed, row.ref, sha)

    async def known(self, repo_id: RepoId, ref: str) -> Policy | None:
        """Return a branch's policy as last read, without any call; None if unknown or broken."""
        row = await self._store.policies.get(repo_id, ref)
        found = self.read(row) if row else None
        return found.policy if isinstance(found, PolicyAt) else None

    async def pushed(self, repo: Repo, branch: str) -> None:
        """Forget a branch's policy: the runs of its push need the new one."""
        forget = Plan(forget_policy=(repo.id, branch))
        async with self._lock(repo, branch):  # a read that has begun gets the old one
            await self._store.commit(forget, self._clock.now(), done=None)

    def _parse(self, text: bytes) -> Policy | PolicyErrors:
        if text not in self._parsed:
            if len(self._parsed) >= MAX_PARSED:
                self._parsed.clear()
            self._parsed[text] = load_policy(text)
        return self._parsed[text]

    async def _row(self, repo: Repo, ref: str) -> StoredPolicy:
        """Return the branch's row; read it from GitHub if it is missing or old."""
        row = await self._fresh(repo, ref)
        if row is not None:
            return row
        # A push and its pull request come together: the second uses what the first has read.
        async with self._lock(repo, ref):
            return await self._fresh(repo, ref) or await self._read_anew(repo, ref)

    def _lock(self, repo: Repo, ref: str) -> asyncio.Lock:
        return self._reading.setdefault((repo.id, ref), asyncio.Lock())

    async def _fresh(self, repo: Repo, ref: str) -> StoredPolicy | None:
        row = await self._store.policies.get(repo.id, ref)
        now = self._clock.now()
        young = row and (now - row.read_at).total_seconds() < REREAD_AFTER_S
        return row if young else None

    async def _read_anew(self, repo: Repo, ref: str) -> StoredPolicy:
        now = self._clock.now()
        file = await self._github.file(repo, POLICY_PATH, ref)
        text = file.text.decode(errors="replace") if file else None
        row = StoredPolicy(repo.id, ref, file.blob_sha if file else "", text, now)
        await self._store.commit(Plan(repo=repo, policy=row), now, done=None)
        return row
