"""Made-up secrets in the forms of real ones, spelled out only in memory."""

import random
import re
import string
from functools import cache
from pathlib import Path
from typing import Any

from tests.quick_yaml import read_yaml

_FILE = Path(__file__).with_name("planted_secrets.yml")
_CHARS = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "upper": string.ascii_uppercase + "234567",
    "lower": string.ascii_lowercase + string.digits,
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "_-",
    "age": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
_SHAPE = re.compile(r"\{(" + "|".join(_CHARS) + r"):(\d+)\}")
_PIECE_CHARS = 8  # so much of a secret that is left counts as shown


def spelled(text: str) -> str:
    """Return a text with its shapes filled in, always in the same way."""
    dice = random.Random(text)
    return _SHAPE.sub(lambda found: "".join(dice.choices(_CHARS[found[1]], k=int(found[2]))), text)


@cache
def planted() -> tuple[tuple[str, str], ...]:
    """Return texts, each with the secret in it."""
    found = []
    for item in _read()["planted"]:
        secret = spelled(item["s"])
        found.append((spelled(item["t"]).replace("§", secret), secret))
    return tuple(found)


@cache
def look_alikes() -> tuple[str, ...]:
    """Return lines without a secret."""
    return tuple(map(spelled, _read()["stays"]))


def is_shown(secret: str, text: str) -> bool:
    """Return True if a text still shows a piece of a secret."""
    size = min(_PIECE_CHARS, len(secret))
    return any(secret[at : at + size] in text for at in range(len(secret) - size + 1))


def _read() -> dict[str, Any]:
    loaded: dict[str, Any] = read_yaml(_FILE)
    return loaded
