"""HTTP for GitHub: versioned headers, time limits, redirects that keep method and body.

aiohttp's own redirects turn ``POST`` + 301 into a ``GET`` without the body. A renamed repository
answers just that, so redirects are followed here.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass

import aiohttp
import structlog
from yarl import URL

CONNECT_S = 5.0
TOTAL_S = 15.0  # the limit of a call with its redirects
STREAM_SILENCE_S = 30.0  # a log may take minutes, but must not pause for so long
MAX_HOPS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
USER_AGENT = "ascend-ci"

OnCall = Callable[[str, int, float], None]
"""Told of each answer: operation, status (0: none came), seconds."""


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request with a complete URL."""

    operation: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A complete HTTP answer; header names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Sends requests over the session; each is logged and counted once."""

    def __init__(
        self, session: aiohttp.ClientSession, *, api_version: str, on_call: OnCall | None = None
    ) -> None:
        self._session = session
        self._api_version = api_version
        self._on_call = on_call
        self.total_s = TOTAL_S
        self.silence_s = STREAM_SILENCE_S
        self._log = structlog.get_logger("bot.adapters.github")

    async def send(self, request: Request) -> Response:
        """Send it and read the whole answer; aiohttp's errors and ``TimeoutError`` pass through."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.total_s), await self._follow(request, None) as response:
                answer = Response(response.status, response.headers, await response.read())
        except (aiohttp.ClientError, TimeoutError) as exc:
            self._note(request, None, started, error=type(exc).__name__)
            raise
        self._note(request, answer, started)
        return answer

    async def stream(self, request: Request) -> AsyncGenerator[Response | bytes]:
        """Yield the answer's head, then its body in chunks if the status is 200."""
        started = time.perf_counter()
        async with await self._follow(request, self.silence_s) as response:
            body = b"" if response.status == 200 else await response.read()
            head = Response(response.status, response.headers, body)
            self._note(request, head, started)
            yield head
            if response.status == 200:
                async for chunk in response.content.iter_any():
                    yield chunk

    async def _follow(self, request: Request, silence_s: float | None) -> aiohttp.ClientResponse:
        """Follow GitHub's redirects; ``Authorization`` is sent only to the first origin."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=silence_s)
        home = url = URL(request.url, encoded=True)
        method, body = request.method, request.body
        for _ in range(MAX_HOPS):
            response = await self._session.request(
                method,
                url,
                data=body,
                headers=self._headers(request, same_origin=url.origin() == home.origin()),
                timeout=timeout,
                allow_redirects=False,
            )
            target = response.headers.get("location")
            if response.status not in REDIRECTS or not target:
                return response
            response.release()
            url = url.join(URL(target, encoded=True))
            if response.status == 303:
                method, body = "GET", None
        raise aiohttp.TooManyRedirects(response.request_info, (response,))

    def _headers(self, request: Request, *, same_origin: bool) -> dict[str, str]:
        if not same_origin:  # a signed link refuses a second authorization
            return {"user-agent": USER_AGENT}
        return {
            **request.headers,
            "user-agent": USER_AGENT,
            "x-github-api-version": self._api_version,
        }

    def _note(
        self, request: Request, answer: Response | None, started: float, *, error: str = ""
    ) -> None:
        seconds = time.perf_counter() - started
        status = answer.status if answer else 0
        headers = answer.headers if answer else {}
        self._log.debug(
            "github call",
            operation=request.operation,
            status=status,
            seconds=round(seconds, 4),
            remaining=headers.get("x-ratelimit-remaining"),
            request_id=headers.get("x-github-request-id"),
            error=error or None,
        )
        if self._on_call is not None:
            self._on_call(request.operation, status, seconds)
