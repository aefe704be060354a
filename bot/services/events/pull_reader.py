"""Reads pull requests and their files, and believes no answer that may be stale.

For some seconds after a push a server of GitHub may answer with what it knew before.
"""

from datetime import timedelta

from bot.core.messages.words import count
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.ports.errors import Transient
from bot.ports.github import ChangedFiles
from bot.services.workers import Service

_LAG = timedelta(seconds=10)  # by then every server has what one of them told
_NO_LAG = timedelta(minutes=10)  # a list that still does not fit never will


class HeadMoved(Transient):
    """A pull request has another head now than the one that was asked for."""

    def __init__(self, pull: Pull) -> None:
        msg = f"#{pull.number} has a newer head"
        super().__init__(msg)
        self.pull = pull


class PullReader(Service):
    """Compares GitHub's answers with what its webhooks have told."""

    async def pull(self, repo: Repo, number: int) -> Pull:
        """Return the newer one of GitHub's answer and our row.

        Raise ``Transient`` if they have two heads of the same second.
        """
        answer = await self._github.pull(repo, number)
        known = await self._store.pulls.get(repo.id, number)
        return answer if known is None else self.newer(known, answer)

    def newer(self, known: Pull, answer: Pull) -> Pull:
        """Return the newer one; raise ``Transient`` if they have two heads of the same second."""
        if known.updated_at is None or answer.updated_at is None:
            return answer
        if answer.updated_at < known.updated_at:
            return known
        same_second = answer.updated_at == known.updated_at
        if same_second and answer.head_sha != known.head_sha and not self._is_old(answer, _LAG):
            raise Transient(f"GitHub names two heads of #{answer.number}")
        return answer

    def _is_old(self, pull: Pull, age: timedelta) -> bool:
        return pull.updated_at is not None and self._clock.now() - pull.updated_at > age

    async def listed(self, repo: Repo, pull: Pull, by: Account) -> ChangedFiles:
        """Return GitHub's list of files, if ``by`` did not have too many long ones read.

        Nobody (the service itself) has all that it needs.
        """
        if not self._long_lists.may_read(by, pull.changed_files):
            return ChangedFiles((), truncated=True, often=True)
        return await self._github.pull_files(repo, pull.number, pull.changed_files)

    async def files(self, repo: Repo, pull: Pull, by: Account = NOBODY) -> ChangedFiles:
        """Return the files of a pull request's head; ``by`` is who made us look.

        A list counts if it has as many files as the pull request, and names this head. Raise
        ``Transient`` for any other list: ``HeadMoved`` if there is a newer head. A list that does
        not fit 10 minutes later counts as truncated.
        """
        listed = await self.listed(repo, pull, by)
        if listed.truncated or listed.is_of(pull.head_sha, pull.changed_files):
            return listed
        now = self.newer(pull, await self._github.pull(repo, pull.number))
        if now.head_sha != pull.head_sha:
            raise HeadMoved(now)
        # A payload may lack the number. A list that names no head, of removed files alone or of
        # none, may be of an older head; right after a push GitHub may not have counted any.
        is_sure = bool(listed.heads) or self._is_old(pull, _LAG)
        complete = is_sure and len(listed.files) == now.changed_files
        if complete and listed.heads <= {pull.head_sha}:
            return listed
        if self._is_old(pull, _NO_LAG):  # by its webhook: a comment renews what GitHub answers
            return ChangedFiles(listed.files, truncated=True)
        if listed.heads - {pull.head_sha}:
            raise Transient(f"GitHub still lists the files of an older head of #{pull.number}")
        raise Transient(
            f"GitHub lists {count(len(listed.files), 'file')} of #{pull.number}, which changes"
            f" {now.changed_files:,}"
        )
