"""The policy in force, read from the tip of a branch that the author can't choose."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from bot.core.messages import Message
from bot.core.model.ids import RepoId, Sha
from bot.core.model.own_jobs import OwnJob
from bot.core.model.people import Account
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.selections import SelectionDetails, StoredSelection
from bot.core.model.views import GateDue
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.commits import DEAR, OFTEN, select_unlisted
from bot.core.planning.plan import Plan
from bot.core.policy.changes import Before, Comparison, compare
from bot.core.policy.document import MAX_BYTES
from bot.core.policy.loading import WHOLE_FILE, Checked, PolicyError, PolicyErrors, check_policy
from bot.core.policy.models import Language, Policy, Trigger
from bot.core.policy.selection import (
    MISNAMED,
    POLICY_PATH,
    POLICY_TWIN,
    Selection,
    lists_branch,
    select,
    select_cost,
    touches_protected,
)
from bot.core.policy.triggers import PullTriggers
from bot.core.workflows.own_jobs import jobs_of_run
from bot.core.workflows.reading import MAX_BYTES as MAX_WORKFLOW_BYTES
from bot.ports.clock import Clock
from bot.ports.github import ChangedFiles, FileText, GitHub
from bot.ports.sandbox import Done, Sandbox, Stopped, StoppedBy
from bot.services.events.cpu_shares import CpuShares
from bot.store import Store
from bot.store.columns import EPOCH

# A push drops the row at once. This bounds how long an old policy counts if its webhook is lost.
REREAD_AFTER_S = 600
MAX_PARSED = 64  # results kept; a policy is some 100 kB
# A policy so short is checked at once: with the dearest values it costs 60 ms. Aliases would make
# it long, and expressions dear; both may hide behind escapes.
CHEAP_BYTES = 2048
# What is compared at once when suites are selected: it takes some 30 ms.
CHEAP_SELECTION = 10_000_000
_DEAR = (b"&", b"\\", b"signatures")
_STOPPED_S = 5.0  # what work costs that is stopped for what it takes
_OFTEN = "often"  # why it is not done: too much was done for the same person

T = TypeVar("T")

Texts = TypeVarTuple("Texts")


class PolicyChecker:
    """Checks policies in the sandbox, and remembers the results: anybody may propose one."""

    def __init__(
        self,
        sandbox: Sandbox,
        cheap_selection: int = CHEAP_SELECTION,
        shares: CpuShares | None = None,
    ) -> None:
        """``cheap_selection`` is what `select_cost` may return for a selection at once."""
        self._sandbox = sandbox
        self._shares = shares
        self._cheap_selection = cheap_selection
        self._known: dict[object, Checked | Comparison] = {}
        self._checking: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def check(self, text: bytes, owner: str | Account) -> Checked:
        """Return the policy in a text, or all its errors.

        ``owner`` is who it is checked for. A person has only so much done in an hour.
        """
        found = await self._of(owner, check_policy, text)
        assert isinstance(found, Checked)
        return found

    async def policy(self, text: bytes, owner: str | Account) -> Policy | None:
        """Return the policy in a text, None if it has errors."""
        result = (await self.check(text, owner)).result
        return result if isinstance(result, Policy) else None

    async def compare(
        self, old: bytes | None, new: bytes | None, today: date, owner: str | Account
    ) -> Comparison:
        """Compare the current policy with one proposed today; None: there is no file."""
        found = await self._of(owner, compare, old, new, today)
        assert isinstance(found, Comparison)
        return found

    async def select(
        self,
        policy: Policy,
        listed: ChangedFiles,
        owner: str | Account,
        trigger: Trigger = Trigger.PULL_REQUEST,
        workflows: PullTriggers | None = None,
    ) -> Selection:
        """Select suites; many files or filters are compared in the sandbox.

        If that takes too much, every suite with paths is selected.
        """
        work = partial(select, truncated=listed.truncated, trigger=trigger, workflows=workflows)
        if not listed.often:
            if select_cost(policy, listed.files, workflows) <= self._cheap_selection:
                return work(policy, listed.files)
            answer = await self._run(owner, work, policy, listed.files)
            if isinstance(answer, Done):
                return answer.value
        protected = touches_protected(listed.files, POLICY_PATH, truncated=listed.truncated)
        why = OFTEN if listed.often else DEAR
        found = select_unlisted(policy, trigger, why, workflows)
        return replace(found, protected=protected, truncated=listed.truncated)

    async def own_jobs(
        self, raws: Iterable[bytes], suites: dict[str, tuple[str, ...]], owner: str | Account
    ) -> dict[str, tuple[OwnJob, ...]]:
        """Return the jobs of suites in the files of a workflow, whose author may be anybody."""
        texts = [raw[: MAX_WORKFLOW_BYTES + 1] for raw in raws]
        found = await self.in_sandbox(owner, jobs_of_run, texts, suites)
        return jobs_of_run((), suites) if found is None else found

    async def in_sandbox(
        self, owner: str | Account, work: Callable[[*Texts], T], *args: *Texts
    ) -> T | None:
        """Do work on what anybody may have written; None if it takes too much."""
        answer = await self._run(owner, work, *args)
        return answer.value if isinstance(answer, Done) else None

    async def _of(
        self, owner: str | Account, work: Callable[[*Texts], Checked | Comparison], *texts: *Texts
    ) -> Checked | Comparison:
        key = (work, *texts)
        async with self._checking.setdefault(key, asyncio.Lock()):
            if key in self._known:
                return self._known[key]
            if all(map(_is_cheap, texts)):
                result = work(*texts)
            else:
                answer = await self._run(owner, work, *texts)
                if answer is None:
                    return _unchecked(work, _OFTEN)
                if isinstance(answer, Done):
                    result = answer.value
                elif answer.why is StoppedBy.DIED:  # the next event tries again
                    return _unchecked(work, answer.why)
                else:
                    result = _unchecked(work, answer.why)
            if len(self._known) >= MAX_PARSED:
                self._known.clear()
            self._known[key] = result
            return result

    async def _run(
        self, owner: str | Account, work: Callable[[*Texts], T], *args: *Texts
    ) -> Done[T] | Stopped | None:
        """Do work in the sandbox; None: too much was done for its owner lately."""
        if not isinstance(owner, Account):
            return await self._sandbox.run(owner, work, *args)
        name = f"account {owner.id}"
        if self._shares is None:
            return await self._sandbox.run(name, work, *args)
        async with self._shares.turn(owner) as may:
            if not may:
                return None
            answer = await self._sandbox.run(name, work, *args)
            self._shares.spend(owner, answer.seconds if isinstance(answer, Done) else _STOPPED_S)
            return answer


def _is_cheap(text: object) -> bool:
    if not isinstance(text, bytes):
        return True
    return len(text) <= CHEAP_BYTES and not any(word in text for word in _DEAR)


def _unchecked(work: object, why: str) -> Checked | Comparison:
    """Return the error that says why a policy could not be checked."""
    errors = (PolicyError(WHOLE_FILE, 1, Message(f"policy_stopped_{why}")),)
    if work is compare:
        return Comparison(Before.READ, errors=errors)
    return Checked(PolicyErrors(errors))


@dataclass(frozen=True, slots=True)
class Broken:
    """A policy with errors: each in words, with its line."""

    errors: tuple[Message, ...]
    ref: str
    sha: str
    language: Language  # of the last one without errors

    def plan(self, repo_id: RepoId, sha: Sha, number: int) -> Plan:
        """Plan the gate that shows the errors; nothing starts."""
        if self.errors[0].key == MISNAMED:
            return Plan(gates=(GateDue(repo_id, sha, number, unknown=self.errors[0]),))
        errors = tuple(Message("policy_error_at", ref=self.ref, error=item) for item in self.errors)
        details = SelectionDetails(
            policy_ref=self.ref, policy_errors=errors, language=self.language
        )
        row = StoredSelection(repo_id, sha, number, self.sha, details)
        return Plan(selection=row, gates=(GateDue(repo_id, sha, number),))


def policy_text(file: FileText | None) -> str | None:
    """Return the text of a policy; of one that is too long, so much that this is seen."""
    return None if file is None else file.text[: MAX_BYTES + 1].decode(errors="replace")


_ASK_AGAIN_S = (2.0, 5.0)  # a server of GitHub may not have a push's files yet
_SETTLED_S = 10  # by then every server has them: what was read right after a push is read again


def waiting_pulls(repo_id: RepoId) -> str:
    """Return the name of the poll that plans the pull requests that wait on a policy."""
    return f"waiting:{repo_id}"


def all_pulls(repo_id: RepoId) -> str:
    """Return the name of the poll that compares all open pull requests with GitHub's."""
    return f"heads:{repo_id}"


class PolicyReader:
    """Reads policies through the store: an unchanged one costs no call."""

    def __init__(
        self,
        store: Store,
        github: GitHub,
        clock: Clock,
        *,
        checker: PolicyChecker,
        default: bytes | None,
    ) -> None:
        """``default`` is the server's own policy for repositories without one."""
        self._store = store
        self._github = github
        self._clock = clock
        self.checker = checker
        self._default = default
        self._reading: WeakValueDictionary[tuple[RepoId, str], asyncio.Lock] = WeakValueDictionary()

    async def of(self, repo: Repo, base_ref: str) -> PolicyAt | Broken | None:
        """Return the policy for a base branch; None if the repository has none.

        It is the default branch's. A base that this policy lists has its own while GitHub protects
        the branch: else anybody who may push one would bring a policy.
        """
        found = await self._for_base(repo, base_ref)
        return replace(found, base=base_ref) if isinstance(found, PolicyAt) else found

    async def _for_base(self, repo: Repo, base_ref: str) -> PolicyAt | Broken | None:
        found = await self.read(await self._row(repo, repo.default_branch))
        if not isinstance(found, PolicyAt) or base_ref == repo.default_branch:
            return found
        if not lists_branch(found.policy, base_ref):
            return found
        if not await self._github.is_protected(repo, base_ref):
            return replace(found, unprotected=base_ref)
        own = await self.read(await self._row(repo, base_ref))
        return own.as_release(found.policy) if isinstance(own, PolicyAt) else own

    async def read(self, row: StoredPolicy) -> PolicyAt | Broken | None:
        """Return the policy of a row, without any call to GitHub.

        A row without a text and with a file's id stands for a file of the wrong name.
        """
        if row.text is None and row.blob_sha:
            why = Message(MISNAMED, ref=row.ref, path=POLICY_PATH, twin=POLICY_TWIN)
            return Broken((why,), row.ref, row.blob_sha, row.language)
        text = self._default if row.text is None else row.text.encode()
        if text is None:
            return None
        sha = row.blob_sha or "server"
        parsed = (await self.checker.check(text, f"policy {row.repo_id}")).result
        if isinstance(parsed, PolicyErrors):
            errors = tuple(error.sentence for error in parsed.errors)
            return Broken(errors, row.ref, sha, row.language)
        return PolicyAt(parsed, row.ref, sha)

    async def known(self, repo_id: RepoId, ref: str) -> Policy | None:
        """Return a branch's policy as last read, without any call; None if unknown or broken."""
        row = await self._store.policies.get(repo_id, ref)
        found = await self.read(row) if row else None
        return found.policy if isinstance(found, PolicyAt) else None

    async def language(self, repo: Repo) -> Language:
        """Return the language of the default branch's last policy without errors, without a call.

        English if the repository never had one.
        """
        row = await self._store.policies.get(repo.id, repo.default_branch)
        return row.language if row else Language.EN

    async def gate_name(self, repo: Repo) -> str | None:
        """Return the gate's name, without any call; None if no policy is known."""
        row = await self._store.policies.get(repo.id, repo.default_branch)
        found = await self.read(row) if row else None
        if found is None:
            return None
        return found.policy.gate.name if isinstance(found, PolicyAt) else ""

    async def pushed(self, repo: Repo, branch: str) -> None:
        """Forget a branch's policy: the runs of its push need the new one."""
        forget = Plan(forget_policy=(repo.id, branch))
        async with self._lock(repo, branch):  # a read that has begun gets the old one
            await self._store.commit(forget, self._clock.now(), done=None)

    async def _row(self, repo: Repo, ref: str) -> StoredPolicy:
        """Return the branch's row; read it from GitHub if it is missing or old."""
        row = await self._fresh(repo, ref)
        if row is not None:
            return row
        # A push and its pull request come together: the second uses what the first has read.
        async with self._lock(repo, ref):
            row = await self._fresh(repo, ref)
            if row is not None:
                return row
            before = await self._store.policies.get(repo.id, ref)
            return await self._read_anew(repo, ref, before)

    def _lock(self, repo: Repo, ref: str) -> asyncio.Lock:
        return self._reading.setdefault((repo.id, ref), asyncio.Lock())

    async def read_again_at(self, repo: Repo) -> datetime:
        """Return when the default branch's policy is read again if somebody asks for it."""
        row = await self._row(repo, repo.default_branch)
        return row.read_at + timedelta(seconds=REREAD_AFTER_S)

    async def _fresh(self, repo: Repo, ref: str) -> StoredPolicy | None:
        row = await self._store.policies.get(repo.id, ref)
        now = self._clock.now()
        young = row and (now - row.read_at).total_seconds() < REREAD_AFTER_S
        return row if young else None

    async def _asked_again(self, repo: Repo, ref: str) -> FileText | None:
        """Return the policy file of a branch that had one; None if it is gone for sure."""
        for wait_s in _ASK_AGAIN_S:
            await self._clock.sleep(wait_s)
            file = await self._github.file(repo, POLICY_PATH, ref)
            if file is not None:
                return file
        return None

    async def _read_anew(self, repo: Repo, ref: str, before: StoredPolicy | None) -> StoredPolicy:
        now = self._clock.now()
        file = await self._github.file(repo, POLICY_PATH, ref)
        if file is None and before is not None and before.text is not None:
            file = await self._asked_again(repo, ref)
        held = file or await self._github.file(repo, POLICY_TWIN, ref)
        row = StoredPolicy(
            repo.id,
            ref,
            blob_sha=held.blob_sha if held else "",
            text=policy_text(file),
            read_at=now,
            language=before.language if before else Language.EN,
        )
        found = await self.read(row)
        if isinstance(found, PolicyAt):
            row = replace(row, language=found.policy.report.language)
        pushed = before is not None and before.read_at == EPOCH
        if pushed:  # what was told may be of before the push
            row = replace(row, read_at=now - timedelta(seconds=REREAD_AFTER_S - _SETTLED_S))
        changed = before is not None and (
            (before.text, before.blob_sha) != (row.text, row.blob_sha)
        )
        gates = await self._gates_without(repo, row) if changed and file is None else ()
        await self._store.commit(Plan(repo=repo, policy=row, gates=gates), now, done=None)
        if changed or pushed:
            await self._store.polls.hurry(waiting_pulls(repo.id), now)
        if changed and file is not None and before is not None and before.text is None:
            await self._store.polls.hurry(all_pulls(repo.id), now)  # none was planned meanwhile
        return row

    async def _gates_without(self, repo: Repo, row: StoredPolicy) -> tuple[GateDue, ...]:
        """Return the gates that a missing policy opens: of the pull requests that it judged."""
        found = await self.read(row)
        if isinstance(found, PolicyAt):  # the server's own
            return ()
        gone = Message("gate_policy_gone", ref=row.ref, path=POLICY_PATH)
        why = found.errors[0] if found else gone
        return tuple(
            GateDue(repo.id, pull.head_sha, pull.number, unknown=why)
            for pull in await self._store.pulls.open(repo.id)
            if row.ref in (pull.base_ref, repo.default_branch)
        )
