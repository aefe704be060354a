"""GitHub's example payloads. Every shape is an example, with the differences laid over it.

Each file in `payloads/` is an object as GitHub's documentation shows it. Parts that are an example
of their own, such as the user of a comment, are left out. What stands in many places of an example,
such as the repository's name in its links, is a word of `WORDS` and is replaced everywhere.
"""

import json
import re
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from bot.sim.clock import stamp

Json = dict[str, Any]

FOLDER = Path(__file__).parent / "payloads"
WORDS = {
    "id": "35129377",
    "label": "enhancement",
    "login": "octocat",
    "number": "1347",
    "path": "docs/guide.md",
    "repo": "octo-org/octo-repo",
    "run": "30433642",
    "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
    "slug": "octoapp",
    "suite": "118578147",
    "workflow": "159038",
}
HOSTS = ("https://api.github.com", "https://github.com")
_WORD = re.compile("|".join(map(re.escape, (*HOSTS, *WORDS.values()))))


def example(name: str, url: str, **words: object) -> Json:
    """Return a new copy of an example, with the server's address and these words in it.

    Raises `KeyError` if the example has a word that is not given.
    """
    made: Json = _copied(_filled(name, url, tuple(words.items())))
    return made


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


@lru_cache(maxsize=1024)  # a repository and its people come again in every webhook
def _filled(name: str, url: str, words: tuple[tuple[str, object], ...]) -> Any:
    known = dict.fromkeys(HOSTS, url)
    known |= {WORDS[word]: json.dumps(str(value))[1:-1] for word, value in words}
    text, found = _parts(name)
    pairs = zip(text, [*(known[word] for word in found), ""], strict=True)
    return json.loads("".join(part for pair in pairs for part in pair))


@cache
def _parts(name: str) -> tuple[list[str], list[str]]:
    """Return the text between the words of an example, and its words."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return _WORD.split(text), _WORD.findall(text)


def fields(thing: object, *names: str) -> Json:
    """Return fields of a record whose names are GitHub's own. Times become text."""
    found = {name: getattr(thing, name) for name in names}
    return {name: stamp(v) if isinstance(v, datetime) else v for name, v in found.items()}
