"""The digesters of runs: each knows the shipped signatures and those of the run's policy."""

import json
from functools import lru_cache

from bot.core.digest.digester import Digester
from bot.core.digest.signatures import LogSign, Signatures, load_signatures
from bot.core.model.runs import Run
from bot.core.policy.models import Signature
from bot.core.report.redaction import Redactor

_KEPT = 16  # compiled sets of signatures, of some hundred kB each; a policy has at most one


class Digesters:
    """Makes digesters, and compiles each set of signatures once."""

    def __init__(self, shipped: str) -> None:
        """``shipped`` is the text of ``config/signatures.yml``."""
        self._shipped = shipped
        self._sets: dict[str, Signatures] = {"[]": _compiled(shipped)}

    def of(self, run: Run) -> Digester:
        """Return a fresh digester for a log of this run."""
        frozen = run.snapshot
        return Digester(
            self._set(frozen.log.signatures),
            repo_roots=frozen.log.repo_roots,
            redact=Redactor(frozen.log.redact),
        )

    def _set(self, policy: tuple[Signature, ...]) -> Signatures:
        own = [signature.as_json() for signature in policy]
        key = json.dumps(own)
        if key not in self._sets:
            if len(self._sets) >= _KEPT:
                del self._sets[next(key for key in self._sets if key != "[]")]
            parsed = [LogSign.model_validate(item) for item in own]
            self._sets[key] = load_signatures(self._shipped, own=parsed)
        return self._sets[key]


@lru_cache(maxsize=1)
def _compiled(shipped: str) -> Signatures:
    """Compile the shipped signatures once: it takes a quarter of a second."""
    return load_signatures(shipped)
