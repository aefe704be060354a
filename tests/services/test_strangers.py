"""What people without rights may have done, and what is remembered of it."""

from typing import Any

from bot.core.model.ids import RepoId
from bot.core.model.people import NOBODY, Account
from bot.core.model.repos import Repo
from bot.core.policy.levels import Level
from bot.services.events import strangers
from bot.services.events.allowance import Allowance
from bot.services.events.strangers import Strangers
from tests.adapters.github.support import HandClock

REPO = Repo(RepoId(1), "o", "n", "main", 2)
OTHER = Repo(RepoId(2), "o", "m", "main", 2)
ONE, MEMBER = Account(1, "one"), Account(2, "member")


class Levels:
    """A GitHub that counts how often a level is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    async def permission(self, _repo: Repo, who: Account) -> Level:
        self.asked += 1
        return Level.TRIAGE if who == MEMBER else Level.READ


def made(*, people: int = 0) -> tuple[Strangers, Levels, HandClock]:
    github: Any = Levels()
    clock = HandClock()
    found = Strangers(github, clock, Allowance(4, 60), Allowance(8, 600))
    for number in range(100, 100 + people):
        found._bucket(Account(number), clock.now())
    return found, github, clock


async def test_who_is_known_to_have_no_rights_is_not_asked_for_again_while_they_wait() -> None:
    found, github, clock = made()
    assert [await found.may_act(REPO, ONE) for _ in range(5)] == [True] * 4 + [False]
    asked = github.asked
    assert not any([await found.may_act(REPO, ONE) for _ in range(50)])
    assert github.asked == asked
    clock.advance(60)
    assert [await found.may_act(REPO, ONE) for _ in range(2)] == [True, False]


async def test_replicas_share_what_one_person_and_what_all_may_have_done() -> None:
    replicas = [made()[0] for _ in range(2)]
    for found in replicas:
        found.living = len(replicas)
    crowd = [Account(number) for number in range(10, 20)]
    may = [await found.may_act(REPO, who) for who in crowd for found in replicas * 3]
    assert [sum(may[:6]), sum(may)] == [4, 2 * 4 + 8 * 2]
    for found in replicas:
        found.living = 50
    assert await replicas[0].may_act(REPO, Account(99)), "a newcomer has an answer"


async def test_members_and_nobody_never_wait_and_use_nothing_up() -> None:
    found, _, _ = made()
    assert all([await found.may_act(REPO, who) for who in (MEMBER, NOBODY) for _ in range(20)])
    assert found._all.is_full


async def test_of_very_many_people_only_those_are_remembered_who_did_something() -> None:
    found, _, clock = made(people=strangers._MOST)
    first = next(iter(found._people.values()))
    first.take()
    assert await found.may_act(REPO, ONE)
    assert len(found._people) == 2
    clock.advance(1)
    assert not first.is_full


async def test_who_waits_in_one_repository_has_their_rights_in_another() -> None:
    found, _, _ = made()
    github: Any = found._github
    plain = github.permission

    async def permission(repo: Repo, who: Account) -> Level:
        return Level.WRITE if repo.id == OTHER.id else await plain(repo, who)

    github.permission = permission
    assert [await found.may_act(REPO, ONE) for _ in range(5)][-1] is False
    assert await found.may_act(OTHER, ONE)
    assert not await found.may_act(REPO, ONE)


async def test_rights_are_asked_for_once_in_some_minutes() -> None:
    found, github, clock = made()
    assert [await found.has_rights(REPO, who) for who in (ONE, MEMBER) * 3] == [False, True] * 3
    assert github.asked == 2
    clock.advance(600)
    assert await found.has_rights(REPO, MEMBER)
    assert github.asked == 3
