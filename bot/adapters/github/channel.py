"""A channel to GitHub: credentials, rate limits, ETags, retries, and the meaning of errors.

Each installation has one, and so has the app. Retries happen only here, and only for calls that are
safe to repeat. A dispatch or a creation without an answer raises ``Lost``.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import aiohttp
import gidgethub
import stamina
import structlog
from cachetools import LRUCache
from gidgethub import sansio

from bot.adapters.github.auth import Credentials
from bot.adapters.github.budget import Priority, Quota, WritePace
from bot.adapters.github.outages import Outages
from bot.adapters.github.wire import STREAM_SILENCE_S, TOTAL_S, Request, Response, Wire
from bot.ports.clock import Clock
from bot.ports.errors import Held, Lost, Permanent, Silent, Transient, is_soon_over

JSON = "application/vnd.github+json"
CACHE_BYTES = 8 << 20  # ETags of an installation: a few hundred lists
CACHED_BODY_BYTES = 1 << 20  # a larger body would push out all others
CONCURRENT = 50  # GitHub allows 100 at once for all replicas together
ATTEMPTS = 3
UNAUTHORISED_RETRY_S = 60.0  # temporary while a key is rotated or a clock is set
READ = ("content-type", "link")
WORDS = 300  # characters of a body that is not JSON
MAX_PAGES = 30  # 3,000 items, where GitHub's own lists end
# Normal answers: GitHub knows no such thing, or a write came too late.
ORDINARY = frozenset({404, 409, 410, 422})

T = TypeVar("T")
Vars = Mapping[str, str | int | None]


@dataclass(frozen=True, slots=True)
class Call:
    """A named call; ``url`` is a URI template below the API's address, or a complete URL."""

    operation: str
    method: str
    url: str
    vars: Vars = field(default_factory=dict)
    data: Mapping[str, Any] | None = None
    accept: str = JSON
    repeat: bool = False  # safe to send again if no answer came
    priority: Priority = Priority.PLAIN
    ordinary: frozenset[int] = ORDINARY  # refusals that are no failure of GitHub

    @property
    def where(self) -> str:
        """Return the repository's full name, "" for a call of the app."""
        return f"{self.vars['owner']}/{self.vars['repo']}" if "repo" in self.vars else ""

    def unclear(self, message: str) -> Transient:
        """Return the error for a call that GitHub may have carried out."""
        return (Transient if self.repeat else Lost)(f"{self.operation}: {message}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call: decoded JSON (``None`` for no body), and the next page's URL."""

    data: Any
    next_url: str | None = None


@dataclass(frozen=True, slots=True)
class _Cached:
    """A body with its ETag, as bytes, so that no caller can change it."""

    etag: str
    response: Response


class Channel:
    """Makes the calls of one installation, or of the app."""

    def __init__(
        self,
        wire: Wire,
        base_url: str,
        credentials: Credentials,
        clock: Clock,
        *,
        outages: Outages,
        writes_per_s: float = 1.0,
    ) -> None:
        self._wire = wire
        self._outages = outages
        self._base_url = base_url
        self._credentials = credentials
        self._log = structlog.get_logger("bot.adapters.github")
        self._budget = Quota(clock)
        self._pace = WritePace(clock, writes_per_s)
        self._room = asyncio.Semaphore(CONCURRENT)
        self._cache: LRUCache[tuple[str, str], _Cached] = LRUCache(
            CACHE_BYTES, getsizeof=lambda cached: len(cached.response.body) + 2000
        )

    def share(self, part: float) -> bool:
        """Pace writes as a process with this part; return True if one waited since the last."""
        waited, self._pace.has_waited = self._pace.has_waited, False
        self._pace.share(part)
        return waited

    async def call(self, call: Call, read: Callable[[Any], T]) -> T:
        """Make a call and decode its answer; raise ``Transient`` (``Lost``) or ``Permanent``."""
        with self._watched(call):
            answer = await self._answer(call)
            with understood(call):
                return read(answer.data)

    @contextmanager
    def _watched(self, call: Call) -> Iterator[None]:
        """Note whether GitHub did what a call asked, and understood it."""
        try:
            yield
        except Held:
            raise  # a line in the log says so, and GitHub is well
        except Permanent as exc:
            if exc.status in call.ordinary:
                self._outages.worked(call.operation, call.where)
            else:
                self._outages.failed(call.operation, call.where, str(exc))
            raise
        except Transient as exc:
            self._tell(call, exc)
            raise
        self._outages.worked(call.operation, call.where)

    def _tell(self, call: Call, exc: Transient) -> None:
        """Note a failure, once: it may be that of the token."""
        if not exc.is_told:
            self._outages.failed(call.operation, call.where, str(exc))
            exc.is_told = True

    async def _answer(self, call: Call) -> Answer:
        self._budget.admit(call.priority)
        await self._credentials.header()  # it retries by itself
        if not call.repeat:
            return await self._once(call)
        async for attempt in stamina.retry_context(
            on=is_soon_over,
            attempts=ATTEMPTS,
            timeout=TOTAL_S,  # the caller holds a lease, so do not wait twice
            wait_initial=0.2,
            wait_jitter=0.3,
            wait_max=2,
        ):
            with attempt:
                return await self._once(call)
        raise AssertionError  # the last attempt returns or raises

    async def pages(
        self, call: Call, key: str, read: Callable[[Any], T], *, most: int = MAX_PAGES
    ) -> AsyncGenerator[list[T]]:
        """Yield the decoded items of each page; ``key`` names the list, "" if it is the answer."""
        for _ in range(most):
            with self._watched(call):
                answer = await self._answer(call)
                items = _items(call, answer.data, key)
                with understood(call):
                    page = [read(item) for item in items]
            yield page
            if answer.next_url is None:
                return
            call = replace(call, url=answer.next_url)
        self._log.warning("list cut", operation=call.operation, pages=most)

    async def stream(self, call: Call) -> AsyncGenerator[bytes]:
        """Yield a body in chunks; refused like any call, never retried after the first chunk."""
        self._budget.admit(call.priority)
        header = await self._credentials.header()
        try:
            async with aclosing(self._wire.stream(self._request(call, header, None))) as parts:
                async for part in parts:
                    if isinstance(part, bytes):
                        yield part
                        continue
                    with self._watched(call):
                        self._begin(call, header, part)
        except aiohttp.SocketTimeoutError as exc:
            silent = Silent(f"{call.operation}: nothing came for {STREAM_SILENCE_S:.0f} s")
            self._tell(call, silent)
            raise silent from exc
        except (aiohttp.ClientError, TimeoutError) as exc:
            lost = _lost(call, exc)
            self._tell(call, lost)
            raise lost from exc

    def _begin(self, call: Call, header: str, head: Response) -> None:
        """Check a stream's head; drop a refused token, so that the next try has a new one."""
        if head.status == 401:
            self._credentials.forget(header)
            raise Transient(f"{call.operation}: GitHub refused the token")
        self._refuse(call, head)

    async def _once(self, call: Call) -> Answer:
        self._budget.admit(call.priority)
        if call.priority is not Priority.PLAIN:
            await self._pace.take(call.priority)
            self._budget.admit(call.priority)  # a limit may have come while it waited
        url = sansio.format_url(call.url, call.vars, base_url=self._base_url)
        cached = self._cache.get((call.accept, url)) if call.method == "GET" else None
        response = await self._authorised(call, cached)
        if cached is not None and response.status == 304:
            return _answer(call, cached.response)
        self._refuse(call, response)
        self._remember(call, url, response)
        return _answer(call, response)

    async def _authorised(self, call: Call, cached: _Cached | None) -> Response:
        """Send it; after a refused token send it once more with a new one."""
        header = await self._credentials.header()
        response = await self._send(call, header, cached)
        if response.status == 401:
            self._credentials.forget(header)
            response = await self._send(call, await self._credentials.header(), cached)
        return response

    async def _send(self, call: Call, header: str, cached: _Cached | None) -> Response:
        async with self._room:
            try:
                return await self._wire.send(self._request(call, header, cached))
            except (aiohttp.ClientError, TimeoutError) as exc:
                raise _lost(call, exc) from exc

    def _request(self, call: Call, header: str, cached: _Cached | None) -> Request:
        headers = {"accept": call.accept, "authorization": header}
        if cached is not None:
            headers["if-none-match"] = cached.etag
        body = None
        if call.data is not None:
            headers["content-type"] = "application/json; charset=utf-8"
            body = json.dumps(call.data).encode()
        url = sansio.format_url(call.url, call.vars, base_url=self._base_url)
        return Request(call.operation, call.method, url, headers, body)

    def _refuse(self, call: Call, response: Response) -> None:
        """Update the budget; raise if a limit refused the call."""
        wait = self._budget.note(response.status, response.headers, response.body)
        if wait is not None:
            self._log.warning("github limit", operation=call.operation, seconds=wait)
            message = f"{call.operation}: GitHub's limits refused it ({response.status})"
            raise Held(message, retry_after_s=wait)
        if response.status >= 300:
            _answer(call, response)

    def _remember(self, call: Call, url: str, response: Response) -> None:
        etag = response.headers.get("etag")
        if call.method == "GET" and etag and len(response.body) <= CACHED_BODY_BYTES:
            self._cache[(call.accept, url)] = _Cached(etag, response)


@contextmanager
def understood(call: Call) -> Iterator[None]:
    """Raise ``Transient`` for an incomplete answer (``Lost`` for a creation)."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        raise call.unclear(f"GitHub's answer can't be read ({exc!r})") from exc


def as_is(data: Any) -> Any:
    """Return an answer as it came."""
    return data


def _answer(call: Call, response: Response) -> Answer:
    """Decode an answer, a copy for each caller; raise for anything but success."""
    try:
        # Without the quota's headers: the budget reads them and recognises a limit.
        headers = {key: response.headers[key] for key in READ if key in response.headers}
        data, _, next_url = sansio.decipher_response(response.status, headers, response.body)
    except gidgethub.BadRequest as exc:
        raise _refused(call, response, str(exc)) from exc
    except gidgethub.HTTPException as exc:
        raise call.unclear(f"{response.status} {exc}") from exc
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        # Broken JSON, bytes that are not text, a 422 without a message, an unnamed status.
        words = response.body[:WORDS].decode(errors="replace")
        if 400 <= response.status < 500:
            raise _refused(call, response, words) from exc
        raise call.unclear(f"{response.status} with a body that is no JSON: {words}") from exc
    return Answer(data, next_url)


def _refused(call: Call, response: Response, words: str) -> Transient | Permanent:
    message = f"{call.operation}: {response.status} {words}"
    if response.status == 401:
        return Transient(message, retry_after_s=UNAUTHORISED_RETRY_S)
    if response.status == 408:
        return Transient(message)
    wanted = response.headers.get("x-accepted-github-permissions")
    if response.status == 403 and wanted:
        message = f"{message} (GitHub wants the permission {wanted})"
    return Permanent(message, status=response.status)


def _lost(call: Call, exc: Exception) -> Transient:
    """Describe a network error; ``Lost`` if GitHub may have carried out the call."""
    message = f"no answer from GitHub ({type(exc).__name__}: {exc})"
    if isinstance(exc, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Transient(f"{call.operation}: {message}")  # never sent
    return call.unclear(message)


def _items(call: Call, data: Any, key: str) -> Sequence[Any]:
    """Return the list of a page; raise for any other answer."""
    items = data.get(key) if key and isinstance(data, dict) else data
    if not isinstance(items, list):
        raise Transient(f"{call.operation}: GitHub's answer holds no list")
    return items
