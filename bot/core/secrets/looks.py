"""Tells a secret from innocent text, where only the words around it hint at one."""

import re
from itertools import pairwise

MARK = "***"
_RANDOM_CHARS = 8
_LONG_CHARS = 24
_LETTERS = 3
_BODY_CHARS = 60  # lines of keys have 64, 70 or 76
_QUOTES = "\\\"'"
# Code that stands where a value may stand: a call, an index, a type, a name of a variable.
_CODE = re.compile(
    r"[A-Za-z_.]+[(\[]"
    r"|\$[A-Z_][A-Z0-9_]*\W*$|\$\{[A-Za-z_]\w*\}?|\$\{\{|\$\(|\{[a-z_.]+\}|<[a-z_ -]+>\W*$"
    r"|(?i:none|null|nil|true|false|undefined|str|string|bytes|int|bool|optional|any|default"
    r"|required|missing|empty|invalid|unset)\W*$"
)


def blanked(part: bytes) -> bytes:
    """Return what stands for a secret or a part of one: never more characters."""
    return MARK[: len(part[:12].decode("utf-8", "ignore"))].encode()


def is_code(value: str) -> bool:
    """Return True if a value without quotes is code or nothing: `None`, `tensor([`, `$TOKEN`."""
    return _CODE.match(value) is not None


def is_number(value: str) -> bool:
    """Return True for numbers, also with a sign behind them."""
    return not value.strip("0123456789.,eE+-%)]}").strip()


def looks_mixed(value: str) -> bool:
    """Return True if the value looks like a credential: digits, inner capitals, or its length."""
    bare = value.strip(_QUOTES)
    if bare == MARK:
        return True
    return (
        len(bare) >= _LONG_CHARS or any(c.isdigit() for c in bare) or bare[1:].lower() != bare[1:]
    )


def looks_random(value: str) -> bool:
    """Return True if kinds of characters alternate as in no word, name, date or path."""
    kinds = [_kind(char) for char in value]
    changes = sum(one != two for one, two in pairwise(kinds))
    letters = sum(kind in "aA" for kind in kinds)
    return len(value) >= _RANDOM_CHARS and letters >= _LETTERS and changes * 3 >= len(value)


def is_key_body(line: bytes) -> bool:
    """Return True for a whole line of a private key in base64, but not for a checksum."""
    text = line.decode()
    return len(text) >= _BODY_CHARS and text != text.lower() and looks_random(text)


def _kind(char: str) -> str:
    if char.isdigit():
        return "0"
    if char.isalpha():
        return "A" if char.isupper() else "a"
    return "-"
