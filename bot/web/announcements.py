"""RayJobAnnouncements: a workflow job reports its RayJob's id, proven by an OIDC token."""

from typing import Protocol

import msgspec
from aiohttp import web

from bot.core.rayjob.words import rayjob_id
from bot.door import DOOR, RefusedBody, Sparing
from bot.ports.oidc import Denial, IssuerSilent, Why
from bot.store.tokens import Accepted
from bot.telemetry import get_log
from bot.web.guard import bearer, refuse

MAX_BODY = 4096  # an id has at most 253 characters
_STATUS = {Why.UNPROVEN: 403, Why.MISMATCH: 403, Why.NOT_YET: 409, Why.OVER: 410, Why.TOO_MANY: 422}


class _Body(msgspec.Struct):
    job_id: str


class Announcer(Protocol):
    """Takes announcements of RayJobs."""

    async def announce(self, dispatch_id: str | None, token: str, job_id: str) -> Accepted | Denial:
        """Take a RayJob's id from the workflow that submitted it; raises ``Transient``."""


class RayJobAnnouncements:
    """Reads, hands on, answers."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        # Anybody can be refused, a million times.
        self._warn = Sparing(get_log("announcements").warning)

    async def post(self, request: web.Request) -> web.Response:
        """Answer 202 for a new RayJob, 200 for a known one, otherwise the reason."""
        token = bearer(request)
        if not token:
            header = {"WWW-Authenticate": "Bearer"}
            return refuse(401, "send an OIDC token of GitHub Actions as the bearer", header)
        try:
            body = await request.config_dict[DOOR].read(request, MAX_BODY)
        except RefusedBody as error:
            return refuse(error.status, error.reason)
        job_id = _job_id(body)
        if job_id is None:
            return refuse(400, 'the body must be {"job_id": "…"}, with the id of a RayJob')
        try:
            dispatch_id = request.match_info.get("id")  # None: GitHub started the workflow
            answer = await self._announcer.announce(dispatch_id, token, job_id)
        except IssuerSilent as error:
            return refuse(503, str(error), {"Retry-After": "5"})
        if isinstance(answer, Denial):
            what = "an announcement was refused"
            self._warn(what, dispatch=dispatch_id, kind=answer.why.value, why=answer.reason)
        return _response(answer)


def _response(answer: Accepted | Denial) -> web.Response:
    if isinstance(answer, Denial):
        return refuse(_STATUS[answer.why], answer.reason)
    result = "accepted" if answer.new else "known"
    return web.json_response({"result": result}, status=202 if answer.new else 200)


def _job_id(body: bytes) -> str | None:
    try:
        job_id = msgspec.json.decode(body, type=_Body).job_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return rayjob_id(job_id)
