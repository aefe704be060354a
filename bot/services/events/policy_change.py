"""A pull request that changes the policy gets a check run that shows what it would change.

So does one that changes workflows in a way that the policy does not follow.
"""

import hashlib
from itertools import islice

from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.views import Proposal, WorkflowNote
from bot.core.planning.attempts import PolicyAt
from bot.core.policy.models import Policy
from bot.core.policy.selection import POLICY_PATH, ChangedFile
from bot.core.policy.tree import WORKFLOWS
from bot.core.workflows import MAX_BYTES, SourceFile
from bot.core.workflows.drift import Drift, DriftKind, drifts
from bot.services.policies import Broken, policy_text
from bot.services.workers import Deps, Service

# Changed workflows of a pull request that are read, and differences that are kept.
MAX_READ = 10
MAX_NOTES = 50


class PolicyChanges(Service):
    """Reads the policy that a pull request proposes, beside the one in force."""

    def __init__(self, deps: Deps, default: bytes | None) -> None:
        """``default`` is the server's own policy for repositories without one."""
        super().__init__(deps)
        self._default = default.decode() if default is not None else None

    async def proposed(
        self, repo: Repo, pull: Pull, in_force: PolicyAt | Broken, files: tuple[ChangedFile, ...]
    ) -> Proposal | None:
        """Return the policy that a head proposes; None if there is nothing to say of it.

        It is checked for the author of the pull request, who may have only so much checked.
        """
        changed = any(POLICY_PATH in (file.path, file.previous_path) for file in files)
        workflows = [file for file in files if any(map(_is_workflow, file.names()))]
        if not changed and (not workflows or not isinstance(in_force, PolicyAt)):
            return None
        row = await self._store.policies.get(repo.id, in_force.ref)
        old = row.text if row and row.text is not None else self._default
        found = await self._github.file(repo, POLICY_PATH, pull.head_sha) if changed else None
        new = policy_text(found) if changed else old
        policy = in_force.policy if isinstance(in_force, PolicyAt) else None
        judge = await self._parsed(new, pull.author) if changed else policy
        notes = await self._notes(repo, pull, judge, workflows) if judge else ()
        if not changed and not notes:
            return None
        return Proposal(
            key=_key(pull, in_force.sha, found.blob_sha if found else ""),
            repo_id=repo.id,
            sha=pull.head_sha,
            number=pull.number,
            gate=policy.gate.name if policy else "ascend-ci",
            ref=in_force.ref,
            policy_sha=in_force.sha,
            old=old,
            new=new,
            redact=_redacted(policy, judge),
            by=pull.author.id,
            unprotected=in_force.unprotected if isinstance(in_force, PolicyAt) else "",
            language=in_force.language,
            notes=notes,
            unread=max(0, len(_to_read(workflows)) - MAX_READ),
        )

    async def _parsed(self, text: str | None, owner: Account) -> Policy | None:
        return await self._policies.checker.policy(text.encode(), owner) if text else None

    async def _notes(
        self, repo: Repo, pull: Pull, policy: Policy, files: list[ChangedFile]
    ) -> tuple[WorkflowNote, ...]:
        """Return what a policy and the changed workflows differ in at the head."""
        sources, gone = [], {name for file in files for name in file.names()}
        for file in _to_read(files)[:MAX_READ]:
            found = await self._github.file(repo, file.path, pull.head_sha)
            if found is not None:
                sources.append(SourceFile(file.path, found.text[: MAX_BYTES + 1]))
        gone -= {file.path for file in _to_read(files)}
        added = {file.path for file in files if file.status in {"added", "copied", "renamed"}}
        run = self._policies.checker.in_sandbox
        differ = await run(pull.author, _drifts, policy, tuple(sources), frozenset(gone))
        return tuple(_note(one, added) for one in differ or ())


def _to_read(files: list[ChangedFile]) -> list[ChangedFile]:
    """Return the workflows that exist at the head."""
    return [file for file in files if file.status != "removed" and _is_workflow(file.path)]


def _is_workflow(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return f"{folder}/" == WORKFLOWS and name.endswith((".yml", ".yaml"))


def _drifts(
    policy: Policy, sources: tuple[SourceFile, ...], gone: frozenset[str]
) -> tuple[Drift, ...]:
    return tuple(islice(drifts(policy, sources, gone), MAX_NOTES))


def _note(drift: Drift, added: set[str]) -> WorkflowNote:
    adds = drift.kind is DriftKind.LACKS and drift.file in added
    there = drift.kind is not DriftKind.GONE or bool(drift.job)
    return WorkflowNote(drift.file, drift.line, drift.message, adds=adds, there=there)


def _redacted(*policies: Policy | None) -> tuple[str, ...]:
    """Return the values that the policies keep out of reports."""
    found = (value for policy in policies if policy for value in policy.log.redact)
    return tuple(dict.fromkeys(found))


def _key(pull: Pull, held: str, proposed: str) -> str:
    """Return an id that is the same for the same two policies on the same commit."""
    parts = (str(pull.repo_id), str(pull.number), pull.head_sha, held, proposed)
    return "policy-" + hashlib.sha256(" ".join(parts).encode()).hexdigest()[:40]
