"""Accounts are their numbers."""

from bot.core.model.people import NOBODY, Account


def test_an_account_is_its_number() -> None:
    assert Account(7, "amy") == Account(7, "renamed")
    assert Account(7, "amy") != Account(8, "amy")
    assert Account(7)
    assert not NOBODY
