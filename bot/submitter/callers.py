"""Who calls: the holder of the service's token, or a workflow of Actions with its OIDC token.

A workflow may submit, see and stop only what is of its own repository, run and attempt.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bot.ports.oidc import Denial, IssuerSilent, Proof, Prover
from bot.submitter.backend import JobView
from bot.submitter.event_file import write_atomically
from bot.submitter.request import JobRequest, RefusedError

NEEDED = "a valid bearer token is needed"
OTHER = "{name} is another repository now than before: number {number}"


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller; with `proof` `None` it holds the service's token and may do everything."""

    proof: Proof | None = None

    @property
    def repository_id(self) -> int | None:
        """Return the number of the repository that has proven itself, `None` if none has."""
        return None if self.proof is None else self.proof.repo_id

    def owns(self, view: JobView) -> bool:
        """Return True if the caller may see and stop a job."""
        is_theirs = self.proof is None or view.repository_id == self.proof.repo_id
        return is_theirs and self.may_submit(view.request)

    def may_submit(self, job: JobRequest) -> bool:
        """Return True if the caller may submit a job for this repository, run and attempt."""
        proof = self.proof
        return proof is None or (
            proof.repository,
            str(proof.actions_run_id),
            str(proof.actions_attempt),
        ) == (job.repository, job.github_run_id, job.github_run_attempt)


class DamagedError(Exception):
    """A file of the service can't be read; nothing in it can be guessed."""

    def __init__(self, path: Path, advice: str) -> None:
        super().__init__(f"{path} is damaged: {advice}")


class Repositories:
    """Keeps in a file which repository a name was when it called first, by GitHub's number.

    A name that its owner gave up can be taken by somebody else, with all its workflows.
    """

    def __init__(self, path: Path) -> None:
        """Set it up; raise `DamagedError` if the file is damaged."""
        self._path = path
        self._known: dict[str, int] = {}
        if path.exists():
            try:
                self._known = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                advice = "restore it, or remove it to bind the names of repositories anew"
                raise DamagedError(path, advice) from error

    def is_same(self, proof: Proof) -> bool:
        """Return True if the repository is the one that its name was before, or is new."""
        known = self._known.get(proof.repository)
        if known is None:
            known = self._known[proof.repository] = proof.repo_id
            write_atomically(self._path, msgspec.json.encode(self._known).decode())
        return known == proof.repo_id


class Callers:
    """Tells who calls. `workflows` are the `workflow_ref`s that may: a file at a branch, exactly.

    There are no wildcards: in a branch's name an `@` may stand, too.
    """

    def __init__(
        self,
        digest: str,
        prover: Prover | None = None,
        workflows: frozenset[str] = frozenset(),
        repositories: Repositories | None = None,
    ) -> None:
        """Set it up; `digest` is the SHA-256 of the service's token (see `digest_of`)."""
        self._digest = digest
        self._prover = prover
        self._workflows = workflows
        self._repositories = repositories

    async def of(self, authorization: str) -> Caller:
        """Return who sent an `Authorization` header; raise `RefusedError`."""
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise RefusedError(401, NEEDED)
        if hmac.compare_digest(digest_of(given.strip()), self._digest):
            return Caller()
        if self._prover is None:
            raise RefusedError(401, NEEDED)
        try:
            proof = await self._prover.prove(given.strip())
        except IssuerSilent as error:
            raise RefusedError(503, str(error)) from error
        if isinstance(proof, Denial):
            raise RefusedError(401, f"{NEEDED}: {proof.reason}")
        if proof.workflow_ref not in self._workflows:
            raise RefusedError(403, f"the workflow {proof.workflow_ref} may not call")
        if self._repositories is not None and not self._repositories.is_same(proof):
            raise RefusedError(403, OTHER.format(name=proof.repository, number=proof.repo_id))
        return Caller(proof)


def digest_of(token: str) -> str:
    """Return the SHA-256 of a token; files and memory keep no more of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def kept_digest(path: Path) -> tuple[str, str | None]:
    """Return the digest in a file; without one make a token, which is the second value.

    Only the digest is kept: a job that reads the service's files learns no token from it.
    """
    if path.exists():
        digest = path.read_text(errors="replace").strip()
        if re.fullmatch("[0-9a-f]{64}", digest) is None:
            raise DamagedError(path, "remove it for a new token")
        return digest, None
    token = secrets.token_urlsafe(32)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(path, digest_of(token))
    return digest_of(token), token
