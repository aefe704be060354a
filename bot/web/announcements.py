"""RayJobAnnouncements: a workflow job reports its RayJob's id, proven by an OIDC token."""

import re
from typing import Protocol

import msgspec
from aiohttp import web

from bot.ports.oidc import Denial, IssuerSilent, Why
from bot.store.tokens import Accepted
from bot.web.guard import bearer, refuse

MAX_BODY = 4096  # an id has at most 253 characters
# The same length as in `ascend-ci submit`.
_JOB_ID = re.compile(r"[\w.:-]{1,253}", re.ASCII).fullmatch
_STATUS = {Why.UNPROVEN: 403, Why.MISMATCH: 403, Why.NOT_YET: 409, Why.OVER: 410}


class _Body(msgspec.Struct):
    job_id: str


class Announcer(Protocol):
    """Takes announcements of RayJobs."""

    async def announce(self, dispatch_id: str, token: str, job_id: str) -> Accepted | Denial:
        """Take a RayJob's id from the workflow that submitted it; raises ``Transient``."""


class RayJobAnnouncements:
    """Reads, hands on, answers."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer

    async def post(self, request: web.Request) -> web.Response:
        """Answer 202 for a new RayJob, 200 for a known one, otherwise the reason."""
        token = bearer(request)
        if not token:
            header = {"WWW-Authenticate": "Bearer"}
            return refuse(401, "send an OIDC token of GitHub Actions as the bearer", header)
        try:
            body = await _read(request)
        except (web.RequestPayloadError, ConnectionResetError):  # broken chunks, or a hang-up
            return refuse(400, "the body did not come whole")
        if body is None:
            return refuse(413, f"the body is larger than {MAX_BODY} bytes")
        job_id = _job_id(body)
        if job_id is None:
            return refuse(400, 'the body must be {"job_id": "…"}, with the id of a RayJob')
        try:
            dispatch_id = request.match_info["id"]
            answer = await self._announcer.announce(dispatch_id, token, job_id)
        except IssuerSilent as error:
            return refuse(503, str(error), {"Retry-After": "5"})
        return _response(answer)


def _response(answer: Accepted | Denial) -> web.Response:
    if isinstance(answer, Denial):
        return refuse(_STATUS[answer.why], answer.reason)
    result = "accepted" if answer.new else "known"
    return web.json_response({"result": result}, status=202 if answer.new else 200)


async def _read(request: web.Request) -> bytes | None:
    """Return the body, None if it is too large; read no more than the limit."""
    body = b""
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return body


def _job_id(body: bytes) -> str | None:
    try:
        job_id = msgspec.json.decode(body, type=_Body).job_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return job_id if _JOB_ID(job_id) else None
