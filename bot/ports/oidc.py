"""Proofs from the OIDC issuer of GitHub Actions."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from bot.core.model.ids import RepoId
from bot.ports.errors import Transient


@dataclass(frozen=True, slots=True)
class Proof:
    """What a verified OIDC token of Actions says about the job that asked for it."""

    jti: str
    repo_id: RepoId
    repository: str  # "owner/name" at that moment
    actions_run_id: int
    actions_attempt: int
    workflow_ref: str  # "owner/name/.github/workflows/FILE@refs/heads/BRANCH"
    event: str
    until: datetime  # refused from then on


class Why(Enum):
    """Why an announcement was refused; the caller can do something else about each."""

    UNPROVEN = "unproven"  # the token is not valid
    MISMATCH = "mismatch"  # it is valid, and for something else
    NOT_YET = "not yet"  # its run is not known here yet: ask again in a moment
    OVER = "over"  # the run is done
    TOO_MANY = "too many"  # it named more RayJobs than it can have


@dataclass(frozen=True, slots=True)
class Denial:
    """A refusal and its reason in words; never part of a token."""

    why: Why
    reason: str


class IssuerSilent(Transient):
    """The issuer's keys can't be read, so nothing is proven; its text may be shown."""


class Prover(Protocol):
    """Verifies tokens against their issuer's keys."""

    async def prove(self, token: str) -> Proof | Denial:
        """Verify a token; raises ``IssuerSilent`` while the issuer's keys can't be read."""
