"""Asks GitHub whom a commit is of, what it changes and what they may, and judges its trust."""

from dataclasses import replace

from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Approval, Head, Pull
from bot.core.model.repos import Repo
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.trust import Authorship, Person, Trusted, trust_former, trust_sha
from bot.core.policy.levels import Level
from bot.core.policy.selection import POLICY_PATH, telling_first, touches_protected
from bot.ports.errors import Permanent
from bot.ports.github import ChangedFiles
from bot.services.workers import Deps, Service
from bot.telemetry import get_log


class TrustJudge(Service):
    """Judges commits by the levels that people have now."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._without: set[tuple[RepoId, str]] = set()  # policies that list nobody
        self._log = get_log("trust")

    async def person(self, repo: Repo, at: PolicyAt, account: Account) -> Person:
        """Return a person with their level now."""
        level = await self._github.permission(repo, account)
        return Person(account, level, bool(account) and await self._listed(repo, at, account))

    async def _listed(self, repo: Repo, at: PolicyAt, account: Account) -> bool:
        """Return True if the policy lists a person, or a team that they are in."""
        bound = await self._listed_users(repo, at)
        if account.id in bound.values():
            return True
        if account.login.casefold() in bound:
            self._worker.metrics.other_accounts.inc()
            told = {"repo": repo.full_name, "login": account.login, "account": account.id}
            self._log.error("a login of trust.users is another account's now: refused", **told)
        for team in at.policy.trust.teams:
            if await self._github.in_team(repo, team, account):
                return True
        return False

    async def _listed_users(self, repo: Repo, at: PolicyAt) -> dict[str, int]:
        """Return the account of each listed login, as it was when the policy was first read.

        Anybody can take a login that was given up.
        """
        key = (repo.id, at.ref)
        listed = frozenset(login.casefold() for login in at.policy.trust.users)
        if not listed and key in self._without:
            return {}
        bound = await self._store.listed_logins.of(*key)
        if bound.keys() != listed:
            new = listed - bound.keys()
            found = await self._bound_elsewhere(repo, at, new)
            for login in sorted(new - found.keys()):
                found[login] = await self._github.account_id(repo, login)
            await self._store.listed_logins.bind(*key, listed, found)
            bound = await self._store.listed_logins.of(*key)
        (self._without.discard if listed else self._without.add)(key)
        return bound

    async def _bound_elsewhere(
        self, repo: Repo, at: PolicyAt, logins: frozenset[str]
    ) -> dict[str, int]:
        """Return the accounts of logins that another branch's policy lists, too, and has bound.

        Else whoever took a login would only need a branch where nobody was judged so far.
        """
        found: dict[str, int] = {}
        for ref, bound in (await self._store.listed_logins.elsewhere(repo.id, at.ref)).items():
            policy = await self._policies.known(repo.id, ref)
            users = policy.trust.users if policy else ()
            still = logins & {login.casefold() for login in users}
            found |= {login: bound[login] for login in still & bound.keys()}
        return found

    async def authorship(self, pull: Pull, head: Head) -> Authorship:
        """Return whose commit a head is: also that of who brought it to other pull requests.

        Who owns the fork could have pushed it, too.
        """
        elsewhere = await self._store.pulls.authors(pull.repo_id, head.sha)
        owner = pull.head_owner if pull.from_fork else NOBODY
        people = {pull.author, head.pusher, owner, *elsewhere}
        return Authorship(frozenset(people - {NOBODY}), pusher_known=bool(head.pusher))

    async def with_pusher(self, repo: Repo, pull: Pull, head: Head) -> Head:
        """Return a head with its pusher, as a push's webhook or GitHub's activities tell it.

        Who opened the pull request may be somebody else. A head stays without a pusher if its
        fork is deleted, or can't be seen by us.
        """
        if head.pusher:
            return head
        pusher = NOBODY
        if not pull.from_fork:
            pusher = await self._store.pulls.pusher(repo.id, pull.head_ref, head.sha)
        if not pusher and pull.head_name:
            pusher = await self._github.pusher(repo, pull, head.sha)
        return replace(head, pusher=pusher)

    async def of_head(
        self, repo: Repo, pull: Pull, at: PolicyAt, head: Head, protected: tuple[str, ...]
    ) -> tuple[Trusted, Head]:
        """Judge the head of a pull request; ``protected`` as `protected_files` returns them.

        The pusher is asked for if the judgement depends on it, and returned with the head.
        """
        author, rule = await self.person(repo, at, pull.author), at.policy.trust
        given = await self._store.pulls.approvals(repo.id, head.sha)
        # Who can push to the repository itself has write.
        sure = Level.WRITE.at_least(rule.auto) and not (pull.from_fork or protected)
        if given or (author.may_start(rule.auto) and not sure):
            head = await self.with_pusher(repo, pull, head)
        pusher = None
        if head.pusher:
            same = head.pusher == author.account
            pusher = author if same else await self.person(repo, at, head.pusher)
        approval = await self._counting(repo, pull, at, head, given)
        return trust_sha(rule, pull, (author, pusher), protected, approval), head

    async def of_former_head(self, repo: Repo, pull: Pull, at: PolicyAt, head: Head) -> Trusted:
        """Judge a former head, by an approval alone: its files are not known any more."""
        given = await self._store.pulls.approvals(repo.id, head.sha)
        return trust_former(await self._counting(repo, pull, at, head, given))

    async def _counting(
        self, repo: Repo, pull: Pull, at: PolicyAt, head: Head, given: tuple[Approval, ...]
    ) -> Approval | None:
        """Return the approval that counts: by a person who may still approve."""
        now = [replace(item, level=await self._github.permission(repo, item.by)) for item in given]
        return (await self.authorship(pull, head)).approval(at.policy.trust, tuple(now))

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
        return telling_first((*found, *more))

    async def _compared(self, repo: Repo, sha: Sha) -> ChangedFiles:
        """Compare a commit with the default branch; without a common ancestor all may differ."""
        try:
            return await self._github.compare_files(repo, repo.default_branch, sha)
        except Permanent as error:
            if not error.is_gone:
                raise
            return ChangedFiles((), truncated=True)
