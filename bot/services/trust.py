"""Asks GitHub whom a commit is of, what it changes and what they may, and judges its trust."""

from dataclasses import replace

from bot.core.model.ids import Sha
from bot.core.model.pulls import Approval, Head, Pull
from bot.core.model.repos import Repo
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.trust import Authorship, Person, Trusted, trust_former, trust_sha
from bot.core.policy.levels import Level
from bot.core.policy.models import Trust
from bot.core.policy.selection import POLICY_PATH, touches_protected
from bot.ports.errors import Permanent
from bot.ports.github import ChangedFiles
from bot.services.workers import Service


class TrustJudge(Service):
    """Judges commits by the levels that people have now."""

    async def person(self, repo: Repo, rule: Trust, login: str) -> Person:
        """Return a person with their level now; the level is NONE without a login."""
        level = await self._github.permission(repo, login) if login else Level.NONE
        return Person(login, level, await self._listed(repo, rule, login))

    async def _listed(self, repo: Repo, rule: Trust, login: str) -> bool:
        if login.casefold() in {user.casefold() for user in rule.users}:
            return True
        for team in rule.teams:
            if login and await self._github.in_team(repo, team, login):
                return True
        return False

    async def authorship(self, pull: Pull, head: Head) -> Authorship:
        """Return whose commit a head is: also that of who brought it to other pull requests."""
        elsewhere = await self._store.pulls.authors(pull.repo_id, head.sha)
        names = {pull.author, head.pusher or "", *elsewhere}
        own = frozenset(name.casefold() for name in names if name)
        return Authorship(own, pusher_known=head.pusher is not None)

    async def of_head(
        self, repo: Repo, pull: Pull, rule: Trust, head: Head, protected: tuple[str, ...]
    ) -> Trusted:
        """Judge the head of a pull request; ``protected`` as `protected_files` returns them."""
        author = await self.person(repo, rule, pull.author)
        pusher = None
        if head.pusher is not None:
            same = head.pusher.casefold() == author.login.casefold()
            pusher = author if same else await self.person(repo, rule, head.pusher)
        approval = await self._approval(repo, pull, rule, head)
        return trust_sha(rule, pull, (author, pusher), protected, approval)

    async def of_former_head(self, repo: Repo, pull: Pull, rule: Trust, head: Head) -> Trusted:
        """Judge a former head, by an approval alone: its files are not known any more."""
        return trust_former(await self._approval(repo, pull, rule, head))

    async def _approval(self, repo: Repo, pull: Pull, rule: Trust, head: Head) -> Approval | None:
        """Return the approval that counts: by a person who may still approve."""
        given = await self._store.pulls.approvals(repo.id, head.sha)
        now = [replace(item, level=await self._github.permission(repo, item.by)) for item in given]
        return (await self.authorship(pull, head)).approval(rule, tuple(now))

    async def protected_files(
        self, repo: Repo, pull: Pull, at: PolicyAt, listed: ChangedFiles
    ) -> tuple[str, ...]:
        """Return the policy and the files under `.github/` that a head changes.

        A pull request's list is GitHub's three-dot comparison with its base. That tells all if
        the base is the default branch, or has its own policy. Any other base may have the
        edit already, so the head is also compared with the default branch, at one more call.
        """
        found = touches_protected(listed.files, POLICY_PATH, truncated=listed.truncated)
        if pull.base_ref in {repo.default_branch, at.ref}:
            return found
        compared = await self._compared(repo, pull.head_sha)
        more = touches_protected(compared.files, POLICY_PATH, truncated=compared.truncated)
        return tuple(dict.fromkeys((*found, *more)))

    async def _compared(self, repo: Repo, sha: Sha) -> ChangedFiles:
        """Compare a commit with the default branch; without a common ancestor all may differ."""
        try:
            return await self._github.compare_files(repo, repo.default_branch, sha)
        except Permanent as error:
            if not error.is_gone:
                raise
            return ChangedFiles((), truncated=True)
