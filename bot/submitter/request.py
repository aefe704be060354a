"""The body of `POST /api/v1/rayjobs`: decode it strictly, and name the error."""

import re
import secrets
from typing import Any

import msgspec

from bot.submitter.patches import flaw_in_patches

# Linux refuses a single argument or variable above 128 KiB (MAX_ARG_STRLEN) and all together above
# about 2 MiB; a job that cannot be started is better refused.
MAX_STRING_BYTES = 128 * 1024 - 64
MAX_STRINGS_BYTES = 1024 * 1024
MAX_REPLICAS = 1024

TOKEN = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")
PATTERNS = {
    "repository": re.compile(r"[0-9A-Za-z_.-]{1,100}/[0-9A-Za-z_.-]{1,100}"),
    "commit_sha": re.compile(r"[0-9a-fA-F]{7,64}"),
    "github_run_id": TOKEN,
    "github_run_attempt": TOKEN,
    "name_suffix": re.compile(r"(?:[0-9A-Za-z][0-9A-Za-z._-]{0,39})?"),
}
# Printable ASCII: it passes any proxy unchanged.
KEY = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class RefusedError(Exception):
    """A call that is answered with `status` (4xx or 503) and a reason for the caller."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class JobRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job that a workflow wants to run; the names are those of the API."""

    repository: str
    commit_sha: str
    github_run_id: str
    github_run_attempt: str
    script: str
    branch: str = ""
    image: str = ""
    name_suffix: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    worker_replicas: int | float = 1
    template_patches: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Accept 2.0 as the whole number that it is in JSON."""
        if isinstance(self.worker_replicas, float) and self.worker_replicas.is_integer():
            msgspec.structs.force_setattr(self, "worker_replicas", int(self.worker_replicas))


def decode_request(body: bytes | bytearray) -> JobRequest:
    """Decode and check a body; raise `RefusedError` (400) that names the error."""
    try:
        request = msgspec.json.decode(body, type=JobRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(400, f"the body is not a job: {error}") from error
    flaw = _flaw(request)
    if flaw:
        raise RefusedError(400, flaw)
    return request


def new_id(request: JobRequest) -> str:
    """Return a new job id that contains its run."""
    parts = ["rj", request.github_run_id, request.github_run_attempt, request.name_suffix]
    name = "-".join(part for part in parts if part).lower()
    return f"{re.sub(r'[^a-z0-9]+', '-', name)[:80]}-{secrets.token_hex(4)}"


def _flaw(request: JobRequest) -> str | None:
    for name, pattern in PATTERNS.items():
        if pattern.fullmatch(getattr(request, name)) is None:
            return f"`{name}` must match {pattern.pattern}"
    if not request.script.strip():
        return "`script` is empty"
    replicas = request.worker_replicas
    if not (isinstance(replicas, int) and 0 <= replicas <= MAX_REPLICAS):
        return f"`worker_replicas` must be a whole number from 0 to {MAX_REPLICAS}"
    return _strings_flaw(request) or flaw_in_patches(request.template_patches)


def _strings_flaw(request: JobRequest) -> str | None:
    for name in request.env:
        if ENV_NAME.fullmatch(name) is None:
            return f"`env`: {name[:80]!r} is no name of a variable"
    named = [("branch", request.branch), ("image", request.image), ("script", request.script)]
    named += [(f"args[{i}]", arg) for i, arg in enumerate(request.args)]
    named += [(f"env.{name}", f"{name}={value}") for name, value in request.env.items()]
    total = 0
    for label, text in named:
        if "\0" in text:
            return f"`{label}` holds a NUL byte"
        size = len(text.encode())
        if size > MAX_STRING_BYTES:
            return f"`{label}` is longer than {MAX_STRING_BYTES} bytes"
        total += size
    if total > MAX_STRINGS_BYTES:
        return f"args and env together are longer than {MAX_STRINGS_BYTES} bytes"
    return None
