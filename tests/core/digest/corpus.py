"""Reads cases (a log and what is expected of it) and says how a digest differs from it."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest
from bot.core.digest.signatures import Signatures, load_signatures
from bot.resources import text

HERE = Path(__file__).parent
SHARED = HERE.parents[2].parent / "shared" / "cases" / "logs"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Case:
    """One log with its expectation; `expected` has the keys of the reference's corpus."""

    name: str
    raw: bytes
    expected: dict[str, object]

    @property
    def roots(self) -> list[str]:
        roots = self.expected.get("repo_roots", [])
        assert isinstance(roots, list)
        return roots


def load(folder: Path) -> list[Case]:
    """Return the cases of a folder, none when it is not there."""
    return [
        Case(
            path.stem,
            path.read_bytes(),
            json.loads(path.with_suffix(".expected.json").read_text("utf-8")),
        )
        for path in sorted(folder.glob("*.log"))
    ]


@cache
def signatures() -> Signatures:
    """Return the built-in signatures, compiled once for all tests."""
    return load_signatures(text("signatures.yml"))


def digest(case: Case, chunk: int = 1 << 20) -> Digest:
    """Read a case in chunks of one size."""
    digester = Digester(signatures(), repo_roots=case.roots)
    for start in range(0, len(case.raw), chunk):
        digester.feed(case.raw[start : start + chunk])
    return digester.end()


def differences(case: Case, found: Digest) -> list[str]:
    """List what differs; alternatives that the case names are tolerated."""
    claimant = case.expected
    lines = [claimant["root_cause_line"], *_list(claimant, "root_cause_line_alternatives")]
    classes = [claimant["class"], *_list(claimant, "class_alternatives")]
    place = claimant.get("annotation")
    first = found.annotations[0] if found.annotations else None
    excerpt = _ANSI.sub("", found.excerpt)
    checks = {
        f"class {found.failure_class} not in {classes}": found.failure_class in classes,
        f"infra {found.infra}": found.infra is claimant["infra"],
        f"codes {found.codes}, not {claimant['codes']}": set(_list(claimant, "codes"))
        <= set(found.codes),
        "ERR99999 reported": "ERR99999" not in found.codes,
        f"root {found.root_cause_line} not in {lines}: {found.cause}": found.root_cause_line
        in lines,
        f"annotation {first}, not {place}": (first and {"path": first.path, "line": first.line})
        == place,
        "excerpt is longer than 60 lines": len(found.excerpt_lines) <= 60,
    }
    wrong = [what for what, right in checks.items() if not right]
    wrong += [
        f"lacks {t!r}" for t in _list(claimant, "excerpt_must_contain") if str(t) not in excerpt
    ]
    return wrong + [
        f"has {t!r}" for t in _list(claimant, "excerpt_must_not_contain") if str(t) in excerpt
    ]


def _list(claimant: dict[str, object], key: str) -> list[object]:
    value = claimant.get(key, [])
    assert isinstance(value, list)
    return value
