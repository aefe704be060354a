"""Accounts for the tests: a login always has the same number."""

from zlib import crc32

from bot.core.model.people import Account


def account(login: str) -> Account:
    """Return an account; "" is nobody."""
    return Account(crc32(login.casefold().encode()), login)
