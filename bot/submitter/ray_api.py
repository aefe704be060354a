r"""What we ask of a Ray cluster, over the HTTP port of its dashboard.

HTTP and not `import ray`: the package is 300 MB, must be of the cluster's own release, and its
client does over `requests` in threads what is five calls here.

Submitting, stopping and asking go by the Jobs API. Logs go by the State API instead of the Jobs
API's `/logs/tail`: that one reads the file as strict UTF-8 text, so that one foreign byte, half a
character at the file's end or a line above 4 MiB ends it, silently and for good, and it turns every
`\r` into a line's end. The State API hands out the bytes as they lie there; before Ray 2.46 it put
a byte of its own before each chunk, so older releases are refused.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

CALL_S = 15.0
SUBMIT_S = 60.0  # Ray waits up to 60 s for its agent to come up
# A silent stream may have lost its peer. After this time it is opened again.
STREAM = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=900)
WHOLE_LOG_S = 1800  # the time limit of a whole log; Ray's own default is 30 s
OLDEST = (2, 46)


class UnreachableError(Exception):
    """The cluster did not answer, or not like Ray: ask again later."""


class AnswerError(Exception):
    """The cluster answered that it can't do what was asked."""


class RayJob(msgspec.Struct, frozen=True):
    """Ray's view of a job; `status` is PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED."""

    status: str
    message: str | None = None
    driver_exit_code: int | None = None
    driver_node_id: str | None = None


class RayApi:
    """A client of one cluster; with `token` `None` it sends no token."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address = address.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Open the connections."""
        self._session = aiohttp.ClientSession(
            headers=self._headers, connector=aiohttp.TCPConnector(limit=0), trust_env=True
        )

    async def close(self) -> None:
        """Close them."""
        if self._session is not None:
            await self._session.close()

    async def check(self) -> None:
        """Raise `UnreachableError` or `AnswerError` unless a usable release of Ray answers."""
        body = await self._call("GET", "/api/version", timeout_s=5)
        try:
            release = str(json.loads(body)["ray_version"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnreachableError("what answers there is no Ray cluster") from error
        numbers = re.match(r"(\d+)\.(\d+)", release)
        if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise AnswerError(f"Ray {release} is too old, {needed} is needed")

    async def submit(self, body: dict[str, Any]) -> None:
        """Start a job; the body names its `submission_id`."""
        await self._call("POST", "/api/jobs/", json_body=body, timeout_s=SUBMIT_S)

    async def job(self, job_id: str) -> RayJob | None:
        """Return a job; `None` if the cluster does not know it."""
        try:
            body = await self._call("GET", f"/api/jobs/{quote(job_id)}")
            return msgspec.json.decode(body, type=RayJob)
        except _NotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise UnreachableError("the answer for a job is none of Ray's") from error

    async def stop(self, job_id: str) -> None:
        """Ask Ray to end a job: TERM to its process group, KILL 3 s later."""
        with contextlib.suppress(_NotFoundError):
            await self._call("POST", f"/api/jobs/{quote(job_id)}/stop")

    async def nodes_alive(self) -> int:
        """Return the number of living nodes, including the head."""
        query = {"filter_keys": "state", "filter_predicates": "=", "filter_values": "ALIVE"}
        body = await self._call("GET", "/api/v0/nodes", query=query)
        try:
            nodes = json.loads(body)["data"]["result"]["result"]
            return sum(node["state"] == "ALIVE" for node in nodes)
        except (ValueError, KeyError, TypeError) as error:
            raise UnreachableError("the answer for the nodes is none of Ray's") from error

    async def log(self, job_id: str, node_id: str, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """Yield a job's whole output from its first byte; with `follow` it never ends by itself."""
        kind = "stream" if follow else "file"
        query = {"node_id": node_id, "filename": f"job-driver-{job_id}.log", "lines": "-1"}
        query |= {"interval": "0.5"} if follow else {"timeout": str(WHOLE_LOG_S)}
        with _translated():
            async with self._http.get(
                f"{self.address}/api/v0/logs/{kind}", params=query, timeout=STREAM
            ) as answer:
                await _check(answer)
                async for chunk in answer.content.iter_any():
                    yield chunk

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        json_body: Any = None,
        timeout_s: float = CALL_S,
    ) -> bytes:
        with _translated():
            async with self._http.request(
                method,
                self.address + path,
                params=query,
                json=json_body,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
            ) as answer:
                await _check(answer)
                return await answer.read()

    @property
    def _http(self) -> aiohttp.ClientSession:
        assert self._session is not None, "open() comes first"
        return self._session


class _NotFoundError(AnswerError):
    pass


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turn connection errors into `UnreachableError`."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
        raise UnreachableError(str(error) or type(error).__name__) from error


async def _check(answer: aiohttp.ClientResponse) -> None:
    """Distinguish Ray's refusals from those of a proxy; 429, 502, 503, 504 are a proxy's."""
    if answer.status < 300:
        return
    text = (await answer.content.read(64 * 1024)).decode("utf-8", "replace")
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    reason = f"{answer.status}: {last.strip()[:300]}"
    if answer.status == 404:
        raise _NotFoundError(reason)
    if answer.status in (400, 422, 500):
        raise AnswerError(reason)
    raise UnreachableError(reason)
