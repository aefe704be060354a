"""The option `--sha`, which `run`, `rerun` and `approve` share."""

import re

from bot.core.commands.name import SHA_CHARS
from bot.core.commands.verb import MistakeError, Option
from bot.core.report.markdown import code

_SHA = re.compile(r"[0-9a-f]+")
_LONGEST = 64  # git's SHA-256


def _commit(value: str) -> str:
    sha = value.lower()
    if not _SHA.fullmatch(sha) or not SHA_CHARS <= len(sha) <= _LONGEST:
        raise MistakeError(key="mistake_sha", sha=code(value), least=SHA_CHARS)
    return sha


SHA = Option("--sha", "SHA", _commit)
