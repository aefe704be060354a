"""Signatures: the meanings of lines as data, and one linear matcher (RE2) for all of them."""

import re
from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Self
from typing import Literal as OneOf

import re2
import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bot.core.digest.chinese import WORDS, in_english
from bot.core.digest.literals import Literal, needed, spellings
from bot.core.digest.triggers import BARS, TRIGGERS

ClassName = OneOf[
    "code_failure",
    "test_assertion",
    "oom_device",
    "oom_host",
    "hccl_comm",
    "device_fault",
    "environment",
    "dependency_install",
    "network_download",
    "disk",
    "cluster_scheduling",
    "timeout_hang",
    "cancelled",
    "runner_lost",
    "data_missing",
    "config_error",
    "baseline_regression",
    "unknown",
]
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's takes a tenth of the time
_DFA_BYTES = 8 << 20  # the limit of an RE2 cache; a digester may use 32 MiB
_PATTERN_BYTES = 1 << 20
_ANCHOR = re.compile(r"(?<![\[\\])\^|(?<!\\)\$")


class Role(StrEnum):
    """How a matching line is judged against other lines."""

    PRIMARY = "primary"
    LOSS = "loss"
    COMM = "comm"
    FOLLOWER = "follower"
    SECONDARY = "secondary"
    WRAPPER = "wrapper"
    SIGNAL = "signal"
    KILLED = "killed"
    STATUS = "status"
    KILL = "kill"
    NOTE = "note"
    NOISE = "noise"
    NOISE_BLOCK = "noise_block"


_NOISE = frozenset({Role.NOISE, Role.NOISE_BLOCK})


class LogSign(BaseModel):
    """One mechanism: its patterns, its class, and whether a retry helps."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    failure_class: Annotated[ClassName, Field(alias="class")]
    match: Annotated[str | None, Field(max_length=2_000)] = None
    unless: Annotated[str | None, Field(max_length=2_000)] = None
    codes: tuple[str, ...] = ()
    given: str | None = None
    clears: str | None = None
    role: Role = Role.PRIMARY
    infra: bool | OneOf["stalled"] = False
    title: Annotated[str, Field(max_length=80)] = ""
    hint: Annotated[str, Field(max_length=400)] = ""
    source: str = ""
    example: Annotated[str, Field(min_length=1, max_length=1_000)]

    @model_validator(mode="after")
    def _check_patterns(self) -> Self:
        if self.match is None and not self.codes:
            raise ValueError("needs match or codes")
        for pattern in (self.match, self.unless):
            if pattern is not None and _compiled(pattern).search(""):
                raise ValueError("a pattern must not match an empty line")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: OneOf[1]
    signatures: list[LogSign]


def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern)
    except re2.error as error:
        message = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"not an RE2 pattern: {message}") from error


class Signatures:
    """All signatures in order of precedence; immutable, so many digesters share them."""

    def __init__(self, signatures: Sequence[LogSign], *, own: int = 0) -> None:
        """Compile them; the first `own` are a repository's, which the triggers do not cover."""
        self.all = tuple(signatures)
        self._unless = [None if s.unless is None else _compiled(s.unless) for s in self.all]
        self._by_code: dict[str, LogSign] = {}
        for signature in self.all:
            for code in signature.codes:
                self._by_code.setdefault(code, signature)
        self._patterns = [i for i, s in enumerate(self.all) if s.match is not None]
        self._filter = re2.Filter()  # literals first, then only the patterns that contain them
        for i in self._patterns:
            self._filter.Add(self.all[i].match, _options(_PATTERN_BYTES))
        self._filter.Compile()
        words = _prefilter(self.all, own)
        self.words = re2.compile(words.encode(), _raw_options())
        self.prefilter = re2.compile(f"{words}|{BARS}".encode(), _raw_options())

    def find(self, text: str, seen: Container[str] = ()) -> LogSign | None:
        """Return the first signature that matches the text; `seen` names the notes so far."""
        text = in_english(text)
        hits: list[int] = self._filter.Match(text) or []
        for hit in sorted(hits):
            i = self._patterns[hit]
            unless, given = self._unless[i], self.all[i].given
            if (unless is None or not unless.search(text)) and (given is None or given in seen):
                return self.all[i]
        return None

    def by_codes(self, codes: Iterable[str]) -> LogSign | None:
        """Return the signature of the first code that has one."""
        return next((self._by_code[c] for c in codes if c in self._by_code), None)


def _options(max_bytes: int) -> Any:
    options = re2.Options()
    options.max_mem = max_bytes
    options.log_errors = False
    return options


def _raw_options() -> Any:
    """Return options for raw bytes of any encoding; nothing matches across a line's end."""
    options = _options(_DFA_BYTES)
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_nl = True
    return options


def _prefilter(signatures: Sequence[LogSign], own: int) -> str:
    """Join the triggers with what they lack of the signatures.

    The first `own` are a repository's, whose anchors do not fit raw lines.
    """
    relaxed = []
    mine = signatures[:own]
    for pattern in [s.match for s in mine if s.match] + [
        re.escape(c) for s in mine for c in s.codes
    ]:
        loose = _ANCHOR.sub("", pattern)
        relaxed.append(loose if _is_valid(loose) else pattern)
    patterns = tuple(s.match for s in signatures[own:] if s.match and s.role not in _NOISE)
    return "|".join([TRIGGERS, *(f"(?:{p})" for p in relaxed), *_missing(patterns)])


@cache
def _missing(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the literals of signatures, and of Chinese messages, that no trigger lets through."""
    triggers = re2.compile(TRIGGERS.encode(), _raw_options())

    def passes(literal: Literal) -> bool:
        """Return True if the triggers find it in any case, whatever stands around it."""
        lines = [f"{c}{x}{c}".encode() for x in spellings(literal) for c in ("", " ", "x")]
        return all(triggers.search(line) for line in lines)

    known = cache(passes)
    found = {"".join(x) for p in patterns for x in needed(p, known) or () if not known(x)}
    return tuple(sorted(found.union(re.escape(word) for word in WORDS)))


def _is_valid(pattern: str) -> bool:
    try:
        re2.compile(pattern, _options(_PATTERN_BYTES))
    except re2.error:
        return False
    return True


def load_signatures(text: str, *, own: Sequence[LogSign] = ()) -> Signatures:
    """Read `config/signatures.yml`, a repository's own first; `ValueError` lists errors."""
    book = _File.model_validate(yaml.load(text, Loader=_LOADER))  # noqa: S506  one of the two safe ones
    names = [s.name for s in book.signatures]
    if doubled := sorted({n for n in names if names.count(n) > 1}):
        raise ValueError(f"signatures named twice: {', '.join(doubled)}")
    return Signatures([*own, *book.signatures], own=len(own))
