"""How many long lists of files are read, for one person and for many."""

from bot.core.model.people import NOBODY, Account
from bot.services.events.long_lists import LongLists
from tests.adapters.github.support import HandClock

LONG, SHORT = 1000, 300  # files: 10 pages, and 3, which are not counted


def test_many_people_with_long_lists_leave_calls_for_others() -> None:
    clock = HandClock()
    lists = LongLists(clock, pages=30, all_pages=60)
    crowd = [Account(number) for number in range(1, 21)]
    read = sum(lists.may_read(who, LONG) for _ in range(5) for who in crowd)
    assert read == 12  # each had one in turn, until all had twice what all may have
    assert not lists.may_read(Account(99), LONG)
    assert lists.may_read(Account(99), SHORT)
    assert lists.may_read(NOBODY, LONG)  # the service itself, before a dispatch
    clock.advance(3600)
    lists.living = 2  # replicas, of which this is one
    assert [lists.may_read(crowd[0], LONG) for _ in range(3)] == [True, False, False]
    lists.living = 50
    assert lists.may_read(crowd[1], SHORT)
    lists.living = 1
    clock.advance(3600)
    assert [lists.may_read(crowd[0], LONG) for _ in range(4)] == [True, True, True, False]
