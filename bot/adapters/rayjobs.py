"""The HTTP client of the RayJob submitter.

Reads and deletes are repeated here, a few times within seconds, and nowhere else. A watch is not
repeated, because a new one may replay (`core.rayjob.Resume`). Answers become values; failures
become `Transient` or `SubmitterRefused`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import quote

import aiohttp
import msgspec
import stamina
from yarl import URL

from bot.core.rayjob.record import Gone, NotOffered, RayJobRecord, parse_record, parse_records
from bot.ports.errors import Silent, SubmitterRefused, Transient, is_soon_over

_NOT_OFFERED = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
)
# Refusals below 500 that may be temporary.
_TRY_LATER = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
# The text of a refusal goes into messages for users.
_SHOWN_CHARS = 300
# If an ingress asks for more than an hour, it is asked again after an hour.
_MAX_RETRY_AFTER_S = 3600.0


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Time limits and size limits of calls."""

    connect_s: float = 10.0
    answer_s: float = 30.0  # for the whole of a short call
    silence_s: float = 60.0  # without a byte on an open watch; then it raises `Silent`
    body_bytes: int = 4 * 1024 * 1024  # a thousand records; more is no answer of a submitter
    attempts: int = 3
    wait_s: float = 0.5  # before the second attempt; doubled before each further one


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes

    @property
    def json(self) -> object:
        """Return the decoded body, `None` if it is not JSON."""
        try:
            return msgspec.json.decode(self.body)
        except (ValueError, RecursionError):
            return None


class HttpRayJobs:
    """A client of one submitter over a shared session; implements `RayJobs`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        *,
        token: str | None = None,
        limits: HttpLimits | None = None,
    ) -> None:
        self._session = session
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._limits = limits or HttpLimits()

    async def health(self) -> Transient | SubmitterRefused | None:
        """Return `None` if the submitter is usable by this bot, otherwise why not; never raises.

        Its health call takes any token, so the list of a run that does not exist is asked for, too.
        """
        try:
            _raise_refusal(await self._once("GET", "/healthz"))
        except (Transient, SubmitterRefused) as error:
            return error
        try:
            await self._once("GET", _workflow_path(0, 1))
        except SubmitterRefused as error:
            return error if error.is_of_token else None
        except Transient:
            return None
        return None

    async def job(self, job_id: str) -> RayJobRecord | NotOffered | Gone:
        """Return one job; a 404 is `Gone` if its body shows that the call itself is known."""
        answer = await self._call("GET", _job_path(job_id), accept=_NOT_OFFERED | {HTTPStatus.GONE})
        if answer.status in _NOT_OFFERED or answer.status == HTTPStatus.GONE:
            return _absence(answer, job_id)
        record = parse_record(answer.json, job_id)
        if record is None:
            raise Transient("the submitter answered something else than a job")
        return record

    async def of_workflow(
        self, actions_run_id: int, actions_attempt: int
    ) -> tuple[RayJobRecord, ...] | NotOffered:
        """Return the jobs of one Actions run attempt."""
        path = _workflow_path(actions_run_id, actions_attempt)
        answer = await self._call("GET", path, accept=_NOT_OFFERED)
        if answer.status in _NOT_OFFERED:
            return NotOffered()
        records = parse_records(answer.json)
        if records is None:
            raise Transient("the submitter answered something else than a list of jobs")
        return records

    async def delete_workflow(self, actions_run_id: int, actions_attempt: int) -> None:
        """Stop and remove every RayJob of that attempt; return when none is left."""
        path = _workflow_path(actions_run_id, actions_attempt)
        await self._call("DELETE", path, accept=frozenset({HTTPStatus.NOT_FOUND}))

    async def watch(self, job_id: str, *, after: int = 0) -> AsyncGenerator[bytes, None]:
        """Yield the watch's body until the submitter ends it; see the port."""
        path = f"{_job_path(job_id)}/watch?format=ndjson" + (f"&after={after}" if after else "")
        patience = aiohttp.ClientTimeout(
            total=None, sock_connect=self._limits.connect_s, sock_read=self._limits.silence_s
        )
        # A compressing proxy would hold lines back until its block is full.
        headers = {"Accept": "application/x-ndjson", "Accept-Encoding": "identity"}
        with self._translated():
            async with self._request("GET", path, patience, headers) as response:
                # A 404 may be told as a `final` event; a router's is not.
                told = response.content_type == "application/x-ndjson"
                fine = response.status == HTTPStatus.OK
                if not fine and not (told and response.status == HTTPStatus.NOT_FOUND):
                    _raise_refusal(await self._answer(response), _retry_after_s(response))
                async for chunk in response.content.iter_any():
                    yield chunk

    async def _call(self, method: str, path: str, *, accept: frozenset[HTTPStatus]) -> _Answer:
        """Make a call that is safe to repeat; a status in `accept` is an answer, not a refusal."""
        limits = self._limits
        async for attempt in stamina.retry_context(
            on=is_soon_over,
            attempts=limits.attempts,
            timeout=None,
            wait_initial=limits.wait_s,
            wait_jitter=limits.wait_s,
        ):
            with attempt:
                return await self._once(method, path, accept)
        raise AssertionError  # stamina returns or raises

    async def _once(
        self, method: str, path: str, accept: frozenset[HTTPStatus] = frozenset()
    ) -> _Answer:
        patience = aiohttp.ClientTimeout(
            total=self._limits.answer_s, sock_connect=self._limits.connect_s
        )
        with self._translated():
            async with self._request(method, path, patience, {}) as response:
                answer = await self._answer(response)
                if response.status not in accept:
                    _raise_refusal(answer, _retry_after_s(response))
                return answer

    def _request(
        self, method: str, path: str, patience: aiohttp.ClientTimeout, headers: dict[str, str]
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        # A redirect would send the token elsewhere, or turn a DELETE into a GET.
        return self._session.request(
            method,
            URL(self._url + path, encoded=True),
            headers=self._headers | headers,
            timeout=patience,
            allow_redirects=False,
        )

    async def _answer(self, response: aiohttp.ClientResponse) -> _Answer:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._limits.body_bytes:
                reason = f"the submitter answered more than {self._limits.body_bytes} bytes"
                raise SubmitterRefused(reason, status=response.status)
        return _Answer(response.status, bytes(body))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the client library's errors into the port's errors."""
        try:
            yield
        except aiohttp.SocketTimeoutError as error:
            raise Silent(f"the submitter sent nothing for {self._limits.silence_s:g} s") from error
        except TimeoutError as error:
            raise Transient("the submitter did not answer in time") from error
        except aiohttp.InvalidURL as error:
            raise SubmitterRefused("SUBMITTER_URL is no URL") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = f"the submitter could not be reached: {error or type(error).__name__}"
            raise Transient(reason) from error


@asynccontextmanager
async def open_rayjobs(
    url: str, *, token: str | None = None, limits: HttpLimits | None = None, proxied: bool = True
) -> AsyncIterator[HttpRayJobs]:
    """Open a client with its own session; ``proxied``: through the environment's proxies."""
    # Watches live for hours. With the default of 100 connections the 101st would wait for them.
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, trust_env=proxied) as session:
        yield HttpRayJobs(session, url, token=token, limits=limits)


def _job_path(job_id: str) -> str:
    """Return the job's path; an id may come from a log and must not reach another path."""
    if job_id in {"", ".", ".."}:
        raise SubmitterRefused(f"{job_id!r} is no job id")
    return f"/api/v1/rayjobs/{quote(job_id, safe='')}"


def _workflow_path(actions_run_id: int, actions_attempt: int) -> str:
    return f"/api/v1/workflows/{actions_run_id:d}?attempt={actions_attempt:d}"


def _absence(answer: _Answer, job_id: str) -> NotOffered | Gone:
    """Distinguish an unknown job from an unknown call.

    A submitter's 404 contains `NOT_FOUND` or the job's id. A router's 404 at most repeats the path.
    """
    data = answer.json
    fields = data.values() if isinstance(data, dict) else ()
    said = [field for field in fields if isinstance(field, str) and "/rayjobs/" not in field]
    if answer.status == HTTPStatus.GONE or any(s == "NOT_FOUND" or job_id in s for s in said):
        return Gone(max(said, key=len, default=""))
    return NotOffered()


def _raise_refusal(answer: _Answer, retry_after_s: float | None = None) -> None:
    """Raise the error for an unsuccessful status."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    said = answer.body.decode("utf-8", "replace").strip()[:_SHOWN_CHARS]
    reason = f"the submitter answered {status}" + (f": {said}" if said else "")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _TRY_LATER:
        raise Transient(reason, retry_after_s=retry_after_s)
    raise SubmitterRefused(reason, status=status)


def _retry_after_s(response: aiohttp.ClientResponse) -> float | None:
    """Read `Retry-After`, seconds or a date (RFC 9110, 10.2.3)."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), _MAX_RETRY_AFTER_S)
    try:
        wait_s = (parsedate_to_datetime(value).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(max(wait_s, 0.0), _MAX_RETRY_AFTER_S)
