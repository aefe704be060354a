"""A pull request that changes the policy gets a check run that shows what it would change."""

import hashlib

from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.views import Proposal
from bot.core.planning.attempts import PolicyAt
from bot.core.policy.models import Policy
from bot.core.policy.selection import POLICY_PATH, ChangedFile
from bot.services.policies import Broken, policy_text
from bot.services.workers import Deps, Service


class PolicyChanges(Service):
    """Reads the policy that a pull request proposes, beside the one in force."""

    def __init__(self, deps: Deps, default: bytes | None) -> None:
        """``default`` is the server's own policy for repositories without one."""
        super().__init__(deps)
        self._default = default.decode() if default is not None else None

    async def proposed(
        self, repo: Repo, pull: Pull, in_force: PolicyAt | Broken, files: tuple[ChangedFile, ...]
    ) -> Proposal | None:
        """Return the policy that a head proposes; None if it does not change the policy.

        It is checked for the author of the pull request, who may have only so much checked.
        """
        if not any(POLICY_PATH in (file.path, file.previous_path) for file in files):
            return None
        row = await self._store.policies.get(repo.id, in_force.ref)
        old = row.text if row and row.text is not None else self._default
        found = await self._github.file(repo, POLICY_PATH, pull.head_sha)
        new = policy_text(found)
        policy = in_force.policy if isinstance(in_force, PolicyAt) else None
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
            redact=await self._redacted(policy, new, pull.author),
            by=pull.author.id,
            unprotected=in_force.unprotected if isinstance(in_force, PolicyAt) else "",
            language=in_force.language,
        )

    async def _redacted(
        self, held: Policy | None, new: str | None, owner: Account
    ) -> tuple[str, ...]:
        """Return the values that either policy keeps out of reports."""
        proposed = (
            await self._policies.checker.policy(new.encode(), owner) if new is not None else None
        )
        policies = (item for item in (held, proposed) if item)
        return tuple(dict.fromkeys(value for policy in policies for value in policy.log.redact))


def _key(pull: Pull, held: str, proposed: str) -> str:
    """Return an id that is the same for the same two policies on the same commit."""
    parts = (str(pull.repo_id), str(pull.number), pull.head_sha, held, proposed)
    return "policy-" + hashlib.sha256(" ".join(parts).encode()).hexdigest()[:40]
