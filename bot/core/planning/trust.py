"""The trust in a commit, on which suites may start by themselves. Nobody trusts a person."""

from dataclasses import dataclass

from bot.core.messages import Message
from bot.core.model.people import Account
from bot.core.model.pulls import Approval, Pull
from bot.core.policy.levels import Level
from bot.core.policy.models import Trust


@dataclass(frozen=True, slots=True)
class Person:
    """A person and their level; ``listed``: in the users or teams of the policy."""

    account: Account
    level: Level
    listed: bool = False

    @property
    def login(self) -> str:
        """Return the name to show."""
        return self.account.login

    def may_start(self, needed: Level) -> bool:
        """Return True if the person has this level; a listed person counts as one with write."""
        return self.level.at_least(needed) or (self.listed and Level.WRITE.at_least(needed))


@dataclass(frozen=True, slots=True)
class Authorship:
    """Whose commit it is: nobody approves their own."""

    own: frozenset[Account]  # authors and pushers of every pull request with this head
    pusher_known: bool = True  # False: GitHub has not said

    def is_own(self, account: Account) -> bool:
        """Return True if the person wrote or pushed the commit."""
        return account in self.own

    def may_be_own(self, level: Level) -> bool:
        """Return True if a person of this level can't approve before the pusher is known.

        The pusher could be that person. Who maintains the repository could merge the commit
        anyway.
        """
        return not (self.pusher_known or level.at_least(Level.MAINTAIN))

    def approval(self, rule: Trust, approvals: tuple[Approval, ...]) -> Approval | None:
        """Return the approval that counts: nobody approves what they wrote or pushed."""
        for item in approvals:
            own = self.is_own(item.by) or self.may_be_own(item.level)
            if item.level.at_least(rule.approve) and not own:
                return item
        return None


@dataclass(frozen=True, slots=True)
class Trusted:
    """Whether a commit is trusted, with the reason in words."""

    trusted: bool
    why: Message
    approved: bool = False  # by a person, for this commit
    looked_at: bool = True  # False: nothing depends on it, so nobody's level was asked for


def trust_sha(
    rule: Trust,
    pull: Pull,
    people: tuple[Person, Person | None],
    protected: tuple[str, ...],
    approval: Approval | None,
) -> Trusted:
    """Judge a head commit.

    ``people`` are the author and who brought the commit, None if GitHub has not said;
    ``protected`` the changed files that are the policy or under ``.github/``; ``approval`` the
    one that counts.
    """
    author, pusher = people
    if approval:
        return Trusted(True, Message("trust_approved", by=approval.by.login), approved=True)
    involved = [person for person in people if person]
    for person in involved:
        if not person.may_start(rule.auto):
            author_may = person is not author
            return Trusted(False, Message("trust_pusher" if author_may else "trust_author"))
    # Who pushes to a branch of the repository itself has write.
    if pusher is None and (pull.from_fork or not Level.WRITE.at_least(rule.auto)):
        return Trusted(False, Message("trust_unseen"))
    if protected:
        return _protected(pusher, involved, protected)
    return Trusted(True, Message("trust_both"))


def trust_former(approval: Approval | None) -> Trusted:
    """Judge a former head: its files are not known any more, so only an approval counts."""
    if approval is None:
        return Trusted(False, Message("trust_unapproved"))
    return Trusted(True, Message("trust_approved", by=approval.by.login), approved=True)


def _protected(
    pusher: Person | None, involved: list[Person], protected: tuple[str, ...]
) -> Trusted:
    if pusher and all(person.level.at_least(Level.MAINTAIN) for person in involved):
        return Trusted(True, Message("trust_maintain"))
    return Trusted(False, Message("trust_protected", path=protected[0]))
