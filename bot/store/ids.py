"""Ids of our own: ULIDs, which sort by their time."""

import secrets
from datetime import datetime

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_LENGTH = 26
_RANDOM_BITS = 80


def ulid(now: datetime) -> str:
    """Return a new ULID: 48 bits of milliseconds, 80 bits of chance."""
    number = int(now.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(_LENGTH)))
