"""How much people without rights may make the bot do: anybody can push to a fork and comment.

Each look at a head and each answer costs some calls and writes, of which GitHub allows only so many
for all. Each process counts for itself, as many times as replicas live: they share the work and the
allowance.
"""

from datetime import datetime, timedelta

from bot.core.model.ids import RepoId
from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.model.views import GateDue
from bot.core.policy.levels import Level
from bot.ports.clock import Clock
from bot.ports.errors import Transient
from bot.ports.github import GitHub
from bot.services.events.allowance import Allowance, Bucket

_KNOWN_FOR = timedelta(minutes=10)  # that somebody has rights, or has none and is kept waiting
_MOST = 10_000  # people remembered


class TooOften(Transient):
    """A person without rights makes the bot do too much: this waits.

    ``gates`` are looked at anew if it is dropped.
    """

    is_told = True

    def __init__(self, message: str, gates: tuple[GateDue, ...] = ()) -> None:
        super().__init__(message)
        self.gates = gates


OF_ONE = Allowance(20, 120)
OF_ALL = Allowance(60, 480)
_ALWAYS = 3  # looks and answers that nobody is refused because of what others did


class _Person(Bucket):
    """What one person has left, and where they have rights, or are kept waiting, until when."""

    def __init__(self, allowance: Allowance, now: datetime) -> None:
        super().__init__(allowance, now)
        self.rights: dict[RepoId, tuple[datetime, bool]] = {}
        self.stranger_until: dict[RepoId, datetime] = {}


class Strangers:
    """Remembers what people without rights had done lately."""

    def __init__(
        self, github: GitHub, clock: Clock, of_one: Allowance = OF_ONE, of_all: Allowance = OF_ALL
    ) -> None:
        self._github = github
        self._clock = clock
        self._of_one = of_one
        self._people: dict[int, _Person] = {}
        self._all = Bucket(of_all, clock.now())
        self.living = 1
        """The replicas that live, this one with them."""

    async def has_rights(self, repo: Repo, who: Account) -> bool:
        """Return True if a person has triage permission, as known for some minutes."""
        now = self._clock.now()
        bucket = self._bucket(who, now)
        known = bucket.rights.get(repo.id)
        if known is None or now >= known[0]:
            has = (await self._github.permission(repo, who)).at_least(Level.TRIAGE)
            known = bucket.rights[repo.id] = (now + _KNOWN_FOR, has)
        return known[1]

    async def may_act(self, repo: Repo, who: Account) -> bool:
        """Return True if the bot does something for a person now, and count it.

        Whoever has triage permission in the repository always may.
        """
        if not who:
            return True
        now = self._clock.now()
        bucket = self._bucket(who, now)
        is_stranger = now < bucket.stranger_until.get(repo.id, now)
        if not is_stranger and (await self._github.permission(repo, who)).at_least(Level.TRIAGE):
            return True
        much = self.living
        always = bucket.used <= max(_ALWAYS - much, 0)
        may = bucket.has(much) and (self._all.has(much) or always)
        if may:
            bucket.take(much)
            self._all.take(much)
        elif not is_stranger:
            bucket.stranger_until[repo.id] = now + _KNOWN_FOR
        return may

    def _bucket(self, who: Account, now: datetime) -> _Person:
        self._all.fill(now)
        found = self._people.get(who.id)
        if found is None:
            if len(self._people) >= _MOST:
                self._forget(now)
            found = self._people[who.id] = _Person(self._of_one, now)
        found.fill(now)
        return found

    def _forget(self, now: datetime) -> None:
        """Forget those of whom nothing is remembered, else everybody."""
        for bucket in self._people.values():
            bucket.fill(now)
        kept = {one: bucket for one, bucket in self._people.items() if not bucket.is_full}
        self._people = kept if len(kept) < _MOST else {}
