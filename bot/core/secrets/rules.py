"""The forms of secrets as data: `config/secrets.yml`."""

import re
from functools import lru_cache
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from bot import resources

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GROUP = re.compile(r"(?<!\\)\((?!\?)")
Looks = Literal["random", "mixed"]


class SecretRule(BaseModel):
    """One form of secrets; see the head of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    hint: tuple[str, ...]
    match: str
    looks: Looks | None = None
    near: str = ""
    unless: str = ""
    chars: int | None = None
    example: str
    stays: tuple[str, ...] = ()

    @property
    def begins(self) -> tuple[str, ...]:
        """Return how such a secret begins, nothing if it has no beginning of its own."""
        return () if _GROUP.search(self.match) else self.hint


class SecretBlock(BaseModel):
    """A secret over lines."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    hint: str
    begin: str
    end: str


class SecretRules(BaseModel):
    """All forms."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: tuple[SecretRule, ...]
    blocks: tuple[SecretBlock, ...]
    keys: tuple[str, ...]


@lru_cache(maxsize=1)
def shipped_rules() -> SecretRules:
    """Return the forms of `config/secrets.yml`."""
    return SecretRules.model_validate(yaml.load(resources.text("secrets.yml"), Loader=_LOADER))  # noqa: S506  one of the two safe ones
