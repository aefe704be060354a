import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp.test_utils import unused_port

from bot.adapters.rayjobs import HttpLimits, open_rayjobs
from bot.core.rayjob.events import Final
from bot.core.rayjob.record import Gone, NotOffered, RayJobRecord
from bot.core.rayjob.stream import StreamDecoder
from bot.core.rayjob.words import RayJobId
from bot.ports.errors import Silent, SubmitterRefused, Transient
from bot.ports.rayjobs import Submitter
from tests.adapters.scripted_server import Act, Asked, reply, serve, silent, stream

QUICK = HttpLimits(connect_s=5, answer_s=5, silence_s=5, wait_s=0)
RECORD = {"job_id": "j", "status": "RUNNING", "github_run_id": "7", "github_run_attempt": "1"}
LIST = "GET /base/api/v1/workflows/0?attempt=1"
PARSED = RayJobRecord(RayJobId("j"), "RUNNING", github_run_id=7, github_run_attempt=1)


@asynccontextmanager
async def talking(
    *acts: Act, limits: HttpLimits = QUICK, token: str | None = None
) -> AsyncIterator[tuple[Submitter, Asked]]:
    async with serve(*acts) as asked, open_rayjobs(asked.url, token=token, limits=limits) as client:
        yield client, asked


async def read(client: Submitter, after: int = 0) -> bytes:
    return b"".join([chunk async for chunk in client.watch("j", after=after)])


async def test_a_submitter_that_answers_is_healthy() -> None:
    async with talking(reply(204)) as (client, asked):
        assert await client.health() is None
        assert asked.calls == ["GET /base/healthz", LIST]


async def test_a_slash_at_the_urls_end_changes_nothing() -> None:
    async with serve(reply()) as asked, open_rayjobs(f"{asked.url}/", limits=QUICK) as client:
        assert await client.health() is None
        assert asked.calls[0] == "GET /base/healthz"


@pytest.mark.parametrize(
    ("status", "usable"), [(401, False), (403, False), (404, True), (500, True)]
)
async def test_a_submitter_that_refuses_the_token_is_not_usable(status: int, usable: bool) -> None:
    async with talking(reply(), reply(status)) as (client, asked):
        assert (await client.health() is None) is usable
        assert asked.calls == ["GET /base/healthz", LIST]


async def test_a_submitter_that_fails_its_health_call_says_why_and_is_asked_once() -> None:
    async with talking(reply(503, "starting")) as (client, asked):
        assert str(await client.health()) == "the submitter answered 503: starting"
        assert len(asked.calls) == 1


async def test_a_submitter_that_nobody_runs_is_unhealthy_in_words() -> None:
    async with open_rayjobs(f"http://127.0.0.1:{unused_port()}", limits=QUICK) as client:
        problem = await client.health()
    assert "could not be reached" in str(problem)


async def test_a_name_that_does_not_resolve_is_transient() -> None:
    async with open_rayjobs("http://submitter.invalid", limits=QUICK) as client:
        with pytest.raises(Transient, match="could not be reached"):
            await client.job("j")


async def test_a_url_that_is_none_is_permanent() -> None:
    async with open_rayjobs("http://", limits=QUICK) as client:
        with pytest.raises(SubmitterRefused, match="SUBMITTER_URL"):
            await client.job("j")


async def test_a_job_is_read_with_the_token() -> None:
    async with talking(reply(200, json.dumps(RECORD)), token="secret") as (client, asked):
        assert await client.job("j") == PARSED
        assert asked.calls == ["GET /base/api/v1/rayjobs/j"]
        assert asked.headers[0]["Authorization"] == "Bearer secret"


async def test_without_a_token_none_is_sent() -> None:
    async with talking(reply(200, json.dumps(RECORD))) as (client, asked):
        await client.job("j")
        assert "Authorization" not in asked.headers[0]


async def test_a_record_that_says_not_found_is_a_record() -> None:
    async with talking(reply(200, '{"job_id": "j", "status": "NOT_FOUND"}')) as (client, _):
        assert await client.job("j") == RayJobRecord(RayJobId("j"), "NOT_FOUND")


@pytest.mark.parametrize(
    ("status", "body", "value"),
    [
        (404, "404: Not Found", NotOffered()),
        (404, '{"detail": "Not Found"}', NotOffered()),
        (404, '{"path": "/api/v1/rayjobs/j", "error": "Not Found"}', NotOffered()),
        (404, "[]", NotOffered()),
        (405, "", NotOffered()),
        (501, "", NotOffered()),
        (404, '{"error": "no job j"}', Gone("no job j")),
        (404, '{"status": "NOT_FOUND", "message": "unknown here"}', Gone("unknown here")),
        (410, "", Gone("")),
    ],
)
async def test_a_call_not_offered_differs_from_a_job_not_known(
    status: int, body: str, value: NotOffered | Gone
) -> None:
    async with talking(reply(status, body)) as (client, asked):
        assert await client.job("j") == value
        assert len(asked.calls) == 1


@pytest.mark.parametrize("body", ["", "<html>sign in</html>", "[]", "[" * 100_000])
async def test_an_answer_that_is_no_record_is_transient(body: str) -> None:
    async with talking(reply(200, body)) as (client, _):
        with pytest.raises(Transient, match="something else"):
            await client.job("j")
        with pytest.raises(Transient, match="something else"):
            await client.of_workflow(7, 1)


@pytest.mark.parametrize(
    ("job_id", "path"),
    [
        ("a/../b", "a%2F..%2Fb"),
        ("a?x=1#f", "a%3Fx%3D1%23f"),
        ("中", "%E4%B8%AD"),
    ],
)
async def test_an_id_cannot_leave_its_place_in_the_path(job_id: str, path: str) -> None:
    async with talking(reply(200, "{}")) as (client, asked):
        await client.job(job_id)
        assert asked.calls == [f"GET /base/api/v1/rayjobs/{path}"]


@pytest.mark.parametrize("job_id", ["", ".", ".."])
async def test_an_id_that_names_a_folder_is_refused_unasked(job_id: str) -> None:
    async with talking(reply()) as (client, asked):
        with pytest.raises(SubmitterRefused, match="no job id"):
            await client.job(job_id)
        assert asked.calls == []


async def test_the_jobs_of_an_attempt_are_listed() -> None:
    async with talking(reply(200, json.dumps({"jobs": [RECORD]}))) as (client, asked):
        assert await client.of_workflow(7, 2) == (PARSED,)
        assert asked.calls == ["GET /base/api/v1/workflows/7?attempt=2"]


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_list_that_is_not_offered_is_a_value(status: int) -> None:
    async with talking(reply(status)) as (client, _):
        assert await client.of_workflow(7, 2) == NotOffered()


@pytest.mark.parametrize("status", [200, 202, 204, 404])
async def test_a_delete_that_leaves_nothing_returns(status: int) -> None:
    async with talking(reply(status)) as (client, asked):
        await client.delete_workflow(7, 2)
        assert asked.calls == ["DELETE /base/api/v1/workflows/7?attempt=2"]


async def test_a_delete_is_repeated_then_transient() -> None:
    async with talking(reply(500, "etcd is away")) as (client, asked):
        with pytest.raises(Transient, match="500: etcd is away"):
            await client.delete_workflow(7, 2)
        assert len(asked.calls) == QUICK.attempts


async def test_a_read_succeeds_after_bad_gateways() -> None:
    acts = reply(502), reply(504), reply(200, json.dumps(RECORD))
    async with talking(*acts) as (client, asked):
        assert await client.job("j") == PARSED
        assert len(asked.calls) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422])
async def test_a_refusal_is_permanent_and_not_repeated(status: int) -> None:
    async with talking(reply(status, "no")) as (client, asked):
        with pytest.raises(SubmitterRefused, match="no") as raised:
            await client.job("j")
        assert raised.value.status == status
        assert len(asked.calls) == 1


async def test_a_redirect_is_not_followed() -> None:
    async with talking(reply(307, Location="/elsewhere"), token="secret") as (client, asked):
        with pytest.raises(SubmitterRefused, match="307"):
            await client.delete_workflow(7, 2)
        assert len(asked.calls) == 1


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("120", 120, 120),
        ("999999", 3600, 3600),
        (timedelta(minutes=10), 300, 600),
        (timedelta(minutes=-10), 0, 0),
    ],
    ids=["seconds", "too long", "date", "date gone by"],
)
async def test_a_wait_that_the_submitter_names_is_the_callers(
    header: str | timedelta, least: float, most: float
) -> None:
    if isinstance(header, timedelta):
        header = format_datetime(datetime.now(UTC) + header, usegmt=True)
    async with talking(reply(429, Retry_After=header)) as (client, asked):
        with pytest.raises(Transient) as raised:
            await client.job("j")
        assert raised.value.retry_after_s is not None
        assert least <= raised.value.retry_after_s <= most
        assert len(asked.calls) == 1


async def test_a_wait_in_words_is_none() -> None:
    async with talking(reply(503, Retry_After="soon")) as (client, _):
        with pytest.raises(Transient) as raised:
            await client.job("j")
        assert raised.value.retry_after_s is None


async def test_a_body_without_end_is_refused() -> None:
    limits = HttpLimits(wait_s=0, body_bytes=1000)
    async with talking(reply(200, " " * 1001), limits=limits) as (client, _):
        with pytest.raises(SubmitterRefused, match="more than 1000 bytes"):
            await client.job("j")


async def test_a_submitter_that_does_not_answer_is_transient_in_time() -> None:
    limits = HttpLimits(answer_s=0.05, wait_s=0, attempts=2)
    async with talking(silent(), limits=limits) as (client, asked):
        with pytest.raises(Transient, match="in time"):
            await client.job("j")
        assert len(asked.calls) == 2


async def test_a_watch_gives_the_bodys_bytes_as_they_are() -> None:
    chunks = b'{"type":"log","line":"\xe4', b'\xb8\xad"}\n\n', b"\x00\xff\r\n"
    async with talking(stream(*chunks)) as (client, asked):
        assert await read(client) == b"".join(chunks)
        assert asked.calls == ["GET /base/api/v1/rayjobs/j/watch?format=ndjson"]
        assert asked.headers[0]["Accept-Encoding"] == "identity"


async def test_a_watch_asks_for_what_follows_a_number() -> None:
    async with talking(stream(b"")) as (client, asked):
        await read(client, after=41)
        assert asked.calls == ["GET /base/api/v1/rayjobs/j/watch?format=ndjson&after=41"]


async def test_a_watch_whose_connection_drops_gives_what_came_then_is_transient() -> None:
    async with talking(stream(b"one\n", then="drop")) as (client, asked):
        watch = client.watch("j")
        assert await anext(watch) == b"one\n"
        with pytest.raises(Transient) as raised:
            await anext(watch)
        assert not isinstance(raised.value, Silent)
        assert len(asked.calls) == 1


@pytest.mark.parametrize("act", [stream(b"one\n", then="silent"), silent()])
async def test_a_watch_that_falls_silent_says_so(act: Act) -> None:
    async with talking(act, limits=HttpLimits(silence_s=0.05)) as (client, asked):
        with pytest.raises(Silent, match=r"nothing for 0\.05 s"):
            await read(client)
        assert len(asked.calls) == 1


@pytest.mark.parametrize(("status", "error"), [(502, Transient), (404, SubmitterRefused)])
async def test_a_watch_that_is_refused_is_not_repeated(status: int, error: type[Exception]) -> None:
    async with talking(reply(status, "no")) as (client, asked):
        with pytest.raises(error, match=f"{status}: no"):
            await read(client)
        assert len(asked.calls) == 1


async def test_a_404_that_is_told_as_an_event_is_the_event() -> None:
    body = '{"type":"final","status":"NOT_FOUND"}\n'
    async with talking(reply(404, body, Content_Type="application/x-ndjson")) as (client, _):
        assert StreamDecoder().feed(await read(client)) == [Final("NOT_FOUND")]


async def test_leaving_a_watch_early_closes_its_connection() -> None:
    async with talking(stream(b"one\n", then="silent")) as (client, asked):
        async with aclosing(client.watch("j")) as chunks:
            assert await anext(chunks) == b"one\n"
        async with asyncio.timeout(60):
            await asked.left.wait()


async def test_two_hundred_watches_run_at_once() -> None:
    act = stream(b"one\n", then="silent")
    async with talking(act) as (client, asked), asyncio.timeout(60):
        watches = [client.watch("j") for _ in range(200)]
        assert await asyncio.gather(*(anext(watch) for watch in watches)) == [b"one\n"] * 200
        assert len(asked.calls) == 200
        asked.over.set()
        for watch in watches:
            assert [chunk async for chunk in watch] == []


async def test_the_environments_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(reply(200, json.dumps(RECORD))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        async with open_rayjobs("http://submitter.invalid", limits=QUICK) as client:
            assert await client.job("j") == PARSED
        assert proxy.calls == ["GET http://submitter.invalid/api/v1/rayjobs/j"]
