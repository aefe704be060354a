"""The server stores what GitHub signed, once, and answers everything else with a reason."""

import asyncio
import gzip
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.ports.wake import Topic
from bot.store.database import Database, Work
from bot.store.group_commit import GroupCommit
from bot.telemetry import Metrics
from bot.web.hooks import MAX_BODY, Hooks
from tests.web.server import SECRETS, WebServer, named, signed

PING = {"zen": "Keep it logically awesome.", "hook_id": 1}
SHA = "a" * 40
REPO = {"id": 7, "name": "project", "full_name": "octo/project", "owner": {"login": "octo"}}
PUSH = {"ref": "refs/heads/main", "after": SHA, "repository": REPO, "installation": {"id": 1}}


def check_event(app_id: int, action: str = "rerequested") -> dict[str, Any]:
    check = {"app": {"id": app_id}, "name": "build", "head_sha": SHA, "external_id": "x"}
    return {"action": action, "check_run": check, "repository": REPO, "sender": {"login": "mia"}}


def sha1(body: bytes) -> str:
    return "sha1=" + hmac.new(SECRETS[0].encode(), body, hashlib.sha1).hexdigest()


async def test_a_signed_event_is_stored_with_its_body_and_answered(
    server: WebServer,
) -> None:
    answer = await server.deliver("push", PUSH)
    assert (answer.status, answer.data["result"]) == (202, "stored")
    [row] = await server.rows()
    assert (row["state"], row["event"], row["repo_id"]) == ("new", "push", 7)
    assert json.loads(row["body"]) == PUSH


async def test_a_stored_event_whose_wake_was_lost_is_found_by_the_next_poll(
    server: WebServer,
) -> None:
    await server.deliver("push", PUSH)
    wake = server.parts.wake
    async with asyncio.timeout(60):
        await wake.wait(Topic.INBOX)  # lost: nobody claims
        [poll] = [loop for loop in server.loops.loops if loop.name == "due"]
        assert not await poll.step()
        await wake.wait(Topic.INBOX)


@pytest.mark.parametrize("secret", SECRETS)
async def test_both_secrets_count_while_they_are_rotated(server: WebServer, secret: str) -> None:
    body = json.dumps(PUSH).encode()
    answer = await server.post(body, {**named("push"), **signed(body, secret)})
    assert answer.status == 202


BODY = json.dumps(PUSH).encode()
WRONG_SIGNATURES = {
    "none": {},
    "empty": {"X-Hub-Signature-256": ""},
    "SHA-1 alone": {"X-Hub-Signature": sha1(BODY)},
    "SHA-1 in its place": {"X-Hub-Signature-256": sha1(BODY)},
    "SHA-256 without its name": {"X-Hub-Signature-256": signed(BODY)["X-Hub-Signature-256"][7:]},
    "in capitals": {"X-Hub-Signature-256": signed(BODY)["X-Hub-Signature-256"].upper()},
    "cut": {"X-Hub-Signature-256": signed(BODY)["X-Hub-Signature-256"][:-1]},
    "longer": {"X-Hub-Signature-256": signed(BODY)["X-Hub-Signature-256"] + "0"},
    "of another body": signed(BODY + b" "),
    "by another secret": signed(BODY, "another"),
    "by no secret": signed(BODY, ""),
    "by both secrets as they stand": signed(BODY, ",".join(SECRETS)),
    "not ASCII": {"X-Hub-Signature-256": "sha256=" + "é" * 64},
}


@pytest.mark.parametrize("headers", WRONG_SIGNATURES.values(), ids=WRONG_SIGNATURES)
async def test_nothing_is_stored_without_the_right_signature(
    server: WebServer, headers: dict[str, str]
) -> None:
    answer = await server.post(BODY, {**named("push"), **headers})
    assert answer.status == 401
    assert "signature" in answer.data["error"]
    assert await server.rows() == []


@pytest.mark.parametrize("secrets", [(), (b"",), (b"good", b"")])
def test_a_door_without_a_secret_can_not_be_made(
    server: WebServer, secrets: tuple[bytes, ...]
) -> None:
    with pytest.raises(ValueError, match="secret"):
        Hooks(server.parts.store, secrets, 1, server.clock, Metrics())


async def test_a_body_of_25_mb_is_taken_and_one_byte_more_is_refused(server: WebServer) -> None:
    text = b'{"zen": "%s"}'
    full = text % (b"a" * (MAX_BODY - len(text) + 2))
    assert len(full) == MAX_BODY
    assert (await server.deliver("ping", full)).status == 202
    answer = await server.deliver("ping", full + b" ", guid="guid-2")
    assert (answer.status, answer.data["error"]) == (413, "the body is larger than 25 MB")
    assert len(await server.rows()) == 1


async def test_a_chunked_body_without_a_length_is_capped_alike(server: WebServer) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(27):
            yield b"x" * 1024 * 1024

    answer = await server.post(endless(), {**named("ping"), **signed(b"")})
    assert answer.status == 413


async def test_a_chunked_body_in_small_pieces_is_read_whole(server: WebServer) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(BODY), 7):
            yield BODY[start : start + 7]
            await asyncio.sleep(0)

    answer = await server.post(pieces(), {**named("push"), **signed(BODY)})
    assert answer.status == 202


REFUSED_HEADERS = {
    "no id": ({"X-GitHub-Delivery": ""}, 400, "X-GitHub-Delivery"),
    "an id with a slash": ({"X-GitHub-Delivery": "../../etc"}, 400, "X-GitHub-Delivery"),
    "an endless id": ({"X-GitHub-Delivery": "a" * 65}, 400, "X-GitHub-Delivery"),
    "no event": ({"X-GitHub-Event": ""}, 400, "X-GitHub-Event"),
    "an event with a capital": ({"X-GitHub-Event": "Push"}, 400, "X-GitHub-Event"),
    "an endless event": ({"X-GitHub-Event": "a" * 65}, 400, "X-GitHub-Event"),
    "a form": ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "application/json"),
    "no type": ({"Content-Type": ""}, 415, "application/json"),
    "a type that is none": ({"Content-Type": "json;;=/"}, 415, "application/json"),
}


@pytest.mark.parametrize(
    ("headers", "status", "says"), REFUSED_HEADERS.values(), ids=REFUSED_HEADERS
)
async def test_a_wrong_header_is_refused_by_its_name(
    server: WebServer, headers: dict[str, str], status: int, says: str
) -> None:
    answer = await server.post(BODY, {**signed(BODY), **named("push"), **headers})
    assert answer.status == status
    assert says in answer.data["error"]
    assert await server.rows() == []


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"1", b"null", b'"x"', b"\xff\xfe", b"{" * 5000, b'{"a":"\xed\xa0\x80"}'],
    ids=str,
)
async def test_a_body_that_is_no_json_object_is_refused(server: WebServer, body: bytes) -> None:
    answer = await server.deliver("push", body)
    assert (answer.status, answer.data["error"]) == (400, "the body is no JSON object")


async def test_a_charset_in_the_content_type_is_no_obstacle(server: WebServer) -> None:
    answer = await server.deliver(
        "push", PUSH, **{"Content-Type": "application/json; charset=utf-8"}
    )
    assert answer.status == 202


@pytest.mark.parametrize("path", ["ref", "after", "repository", "installation"])
async def test_an_event_that_lacks_what_we_need_is_refused_by_the_field(
    server: WebServer, path: str
) -> None:
    payload = {key: value for key, value in PUSH.items() if key != path}
    answer = await server.deliver("push", payload)
    if path == "installation":
        assert answer.status == 202  # a webhook of a repository, not of an app, has none
    else:
        assert answer.status == 422
        assert path in answer.data["error"]


@pytest.mark.parametrize("event", ["sponsorship", "projects_v2_item"])
async def test_an_unknown_event_is_noted_and_its_body_is_not_kept(
    server: WebServer, event: str
) -> None:
    answer = await server.deliver(event, {"action": "is_v2", "much": "x" * 999})
    assert (answer.status, answer.data["result"]) == (202, "ignored")
    [row] = await server.rows()
    assert (row["state"], row["body"], row["event"]) == ("ignored", None, event)
    assert row["action"] == "is_v2"


@pytest.mark.parametrize("event", ["check_run", "check_suite"])
async def test_another_apps_check_is_noted_without_its_body(server: WebServer, event: str) -> None:
    payload = check_event(15368)
    payload["check_suite"] = payload["check_run"]
    answer = await server.deliver(event, payload)
    assert answer.data == {"result": "ignored", "reason": "another app's check"}
    [row] = await server.rows()
    assert row["body"] is None


async def test_a_repeated_delivery_changes_nothing(server: WebServer) -> None:
    await server.deliver("push", PUSH)
    before = await server.rows()
    answer = await server.deliver("push", {**PUSH, "ref": "refs/heads/other"})
    assert (answer.status, answer.data["result"]) == (202, "repeated")
    assert await server.rows() == before


@pytest.mark.both_databases
async def test_the_same_delivery_at_once_is_stored_once(server: WebServer) -> None:
    answers = await asyncio.gather(*(server.deliver("push", PUSH) for _ in range(20)))
    assert sorted(answer.data["result"] for answer in answers) == ["repeated"] * 19 + ["stored"]
    assert len(await server.rows()) == 1


NUL_PAYLOADS = {
    "action": ("sponsorship", {"action": "a\0b"}),
    "check's action": ("check_run", {**check_event(1), "action": "\0"}),
    "own check's action": ("check_run", {**check_event(1234), "action": "\0"}),
    "an endless action": ("sponsorship", {"action": "x" * 100_000}),
    "half a character": ("sponsorship", {"action": "PLACE"}),
    "ref": ("push", {**PUSH, "ref": "refs/heads/\0"}),
    "owner": ("push", {**PUSH, "repository": {**REPO, "owner": {"login": "\0"}}}),
    "huge number": ("push", {**PUSH, "repository": {**REPO, "id": 10**30}}),
    "negative number": ("push", {**PUSH, "repository": {**REPO, "id": -1}}),
}


@pytest.mark.parametrize(("event", "payload"), NUL_PAYLOADS.values(), ids=NUL_PAYLOADS)
async def test_text_that_a_database_can_not_hold_is_no_server_error(
    server: WebServer, event: str, payload: dict[str, Any]
) -> None:
    body = json.dumps(payload).replace("PLACE", "\\ud800").encode()
    answer = await server.deliver(event, body)
    assert answer.status < 500, answer.data


async def test_a_client_that_hangs_up_leaves_no_traceback(
    server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await server.deliver("push", PUSH)).status == 202
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_database_that_takes_too_long_is_told_before_github_gives_up(
    server: WebServer,
) -> None:
    db, blocked = server.parts.store._db, asyncio.Event()

    async def write(work: Work[Any]) -> Any:
        await blocked.wait()
        return await Database.write(db, work)

    db.write = write  # type: ignore[method-assign]
    server.parts.store.deliveries._group = GroupCommit(db, patience_s=0)
    answer = await server.deliver("push", PUSH)
    blocked.set()
    assert answer.status == 503
    assert answer.data["error"] == "the database takes too long: send it again"


async def test_a_slow_body_holds_up_nobody_else(server: WebServer) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
    await writer.drain()
    for number in range(5):
        writer.write(b"x")
        await writer.drain()
        assert (await server.deliver("push", PUSH, guid=f"guid-{number}")).status == 202
    writer.close()
    await writer.wait_closed()


async def test_a_compressed_body_is_taken_as_it_came_and_never_unpacked(
    server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    for body in (b"no gzip", gzip.compress(b"x" * (MAX_BODY + 2))):
        headers = {**named("push"), **signed(body), "Content-Encoding": "gzip"}
        answer = await server.post(body, headers)
        assert (answer.status, answer.data["error"]) == (400, "the body is no JSON object")
    assert [record for record in caplog.records if record.exc_info] == []


async def test_broken_chunks_are_no_server_error(server: WebServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head + b"zz\r\n")
    await writer.drain()
    assert b" 400 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


LESS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EVENTS = st.sampled_from(
    ["push", "pull_request", "check_run", "check_suite", "workflow_run", "workflow_job"]
)
RARE_EVENTS = st.sampled_from(
    ["issue_comment", "merge_group", "installation", "installation_repositories", "repository"]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
FIELDS = ["action", "ref", "after", "before", "repository", "sender", "installation", "issue"]
FIELDS += ["pull_request", "check_run", "check_suite", "workflow_run", "workflow_job", "changes"]
FIELDS += ["comment", "merge_group", "id", "app", "head", "repo", "sha", "number", "name", "login"]
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner | JSON_VALUES, max_size=6),
    max_leaves=20,
)


@LESS
@given(event=EVENTS | RARE_EVENTS, body=st.binary(max_size=200))
async def test_random_bytes_are_never_a_server_error(
    server: WebServer, event: str, body: bytes
) -> None:
    assert (await server.deliver(event, body)).status < 500


@LESS
@given(event=EVENTS | RARE_EVENTS, payload=OBJECTS, guid=st.uuids())
async def test_random_objects_are_never_a_server_error(
    server: WebServer, event: str, payload: Any, guid: object
) -> None:
    assert (await server.deliver(event, payload, guid=str(guid))).status < 500


HEADER_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"))


@LESS
@given(name=HEADER_TEXT, guid=HEADER_TEXT, kind=HEADER_TEXT, signature=HEADER_TEXT)
async def test_random_headers_are_never_a_server_error(
    server: WebServer, name: str, guid: str, kind: str, signature: str
) -> None:
    headers = {"X-GitHub-Event": name, "X-GitHub-Delivery": guid, "Content-Type": kind}
    for sign in (signed(BODY), {"X-Hub-Signature-256": signature}):
        assert (await server.post(BODY, {**headers, **sign})).status < 500
