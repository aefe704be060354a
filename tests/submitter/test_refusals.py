"""What is not accepted is answered with 4xx and a reason, whatever it is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.submitter.backend import Limits
from bot.submitter.request import MAX_STRING_BYTES, MAX_STRINGS_BYTES, RefusedError, decode_request
from bot.submitter.web import Options
from tests.submitter.conftest import BODY, CALLERS, TOKEN, Service, in_process

GOOD = {**BODY, "script": "x.sh"}


def added(name: str, value: Any) -> dict[str, Any]:
    return {"template_patches": [{"op": "add", "path": f"/spec/{name}", "value": value}]}


FLAWS: list[tuple[dict[str, Any], str]] = [
    ({"repository": "octo"}, "repository"),
    ({"commit_sha": "main"}, "commit_sha"),
    ({"github_run_id": 7}, "github_run_id"),
    ({"github_run_id": "../x"}, "github_run_id"),
    ({"github_run_attempt": ""}, "github_run_attempt"),
    ({"name_suffix": "a b"}, "name_suffix"),
    ({"script": " "}, "script"),
    ({"script": "a\0b"}, "NUL"),
    ({"args": ["a", 1]}, "args[1]"),
    ({"args": "a"}, "args"),
    ({"args": ["a\0"]}, "args[0]"),
    ({"args": ["x" * (MAX_STRING_BYTES + 1)]}, "args[0]"),
    ({"args": ["x" * 100_000] * (MAX_STRINGS_BYTES // 100_000 + 1)}, "together"),
    ({"env": {"A": 1}}, "env"),
    ({"env": {"A=B": "x"}}, "A=B"),
    ({"env": ["A"]}, "env"),
    ({"worker_replicas": "2"}, "worker_replicas"),
    ({"worker_replicas": -1}, "worker_replicas"),
    ({"worker_replicas": 2.5}, "worker_replicas"),
    ({"template_patches": {}}, "template_patches"),
    ({"template_patches": [1]}, "template_patches[0]"),
    ({"template_patches": [{"op": "put", "path": "/a", "value": 1}]}, "`op`"),
    ({"template_patches": [{"op": ["add"], "path": "/a", "value": 1}]}, "`op`"),
    ({"template_patches": [{"op": "add", "path": "/a"}]}, "value"),
    ({"template_patches": [{"op": "add", "value": 1}]}, "path"),
    ({"template_patches": [{"op": "remove", "path": "a/b"}]}, "path"),
    ({"template_patches": [{"op": "remove", "path": "/a~2"}]}, "path"),
    ({"template_patches": [{"op": "move", "path": "/a"}]}, "from"),
    (
        {"template_patches": [{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": "9"}]},
        "activeDeadlineSeconds",
    ),
    (added("entrypointNumCpus", "2"), "entrypointNumCpus"),
    (added("entrypointNumGpus", -1), "entrypointNumGpus"),
    (added("entrypointNumGpus", True), "entrypointNumGpus"),
    (added("entrypointResources", {"NPU": 8}), "entrypointResources"),
    (added("entrypointResources", '{"NPU": "8"}'), "entrypointResources"),
    (added("entrypointResources", "[" * 100_000), "entrypointResources"),
    ({"surprise": 1}, "surprise"),
]


@pytest.mark.parametrize(("change", "named"), FLAWS)
def test_a_flawed_body_is_refused_and_the_flaw_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(RefusedError) as caught:
        decode_request(json.dumps({**GOOD, **change}).encode())
    assert caught.value.status == 400
    assert named in caught.value.reason


@pytest.mark.parametrize("name", ["repository", "commit_sha", "github_run_id", "script"])
def test_a_missing_field_is_named(name: str) -> None:
    body = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(RefusedError, match=name):
        decode_request(json.dumps(body).encode())


def test_the_first_form_of_the_workflow_without_patches_is_accepted() -> None:
    body = {key: value for key, value in GOOD.items() if key != "template_patches"}
    assert decode_request(json.dumps(body).encode()).template_patches == ()


def test_a_whole_number_may_be_written_with_a_point() -> None:
    request = decode_request(json.dumps({**GOOD, "worker_replicas": 2.0}).encode())
    assert repr(request.worker_replicas) == "2"


@pytest.mark.parametrize(
    "patch",
    [
        {"op": "add", "path": "", "value": None},
        {"op": "replace", "path": "/a/0/limits/huawei.com~1ascend-1980", "value": 16},
        {"op": "test", "path": "/a~0b/-", "value": []},
        {"op": "remove", "path": "/"},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "copy", "from": "/a", "path": "/b"},
    ],
)
def test_every_operation_of_rfc_6902_is_accepted(patch: dict[str, Any]) -> None:
    decode_request(json.dumps({**GOOD, "template_patches": [patch]}).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(field=st.sampled_from(sorted(GOOD)), value=JSON)
def test_no_value_in_any_field_is_more_than_a_refusal(field: str, value: Any) -> None:
    with contextlib.suppress(RefusedError):
        decode_request(json.dumps({**GOOD, field: value}).encode())


@settings(max_examples=150)
@given(st.binary(max_size=60))
def test_no_bytes_are_more_than_a_refusal(body: bytes) -> None:
    with pytest.raises(RefusedError):
        decode_request(body)


def test_a_body_nested_without_end_is_refused() -> None:
    with pytest.raises(RefusedError):
        decode_request(b'{"args":' + b"[" * 100_000)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/nothing", 404),
        ("PUT", "/api/v1/rayjobs", 405),
        ("DELETE", "/api/v1/workflows/77", 400),
        ("DELETE", "/api/v1/workflows/77?attempt=a%2Fb", 400),
        ("GET", "/api/v1/workflows/a%20b", 400),
        ("GET", "/api/v1/rayjobs/x/watch?after=-1", 400),
        ("GET", "/api/v1/rayjobs/x/watch?after=1e3", 400),
        ("GET", "/api/v1/rayjobs/x/watch?after=" + "9" * 40, 400),
        ("GET", "/api/v1/rayjobs/x/watch?format=text", 400),
    ],
)
async def test_a_wrong_call_is_answered_as_json_with_a_reason(
    service: Service, method: str, path: str, code: int
) -> None:
    status, answer = await service.call(method, path)
    assert status == code
    assert answer["error"]


async def test_a_body_above_the_limit_is_413(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = Options(CALLERS, max_body_bytes=1000, stop_jobs_on_exit=True)
    async with in_process(service.http, tmp_path_factory.mktemp("x"), options) as small:
        status, answer = await small.try_post(b" " * 1001)
    assert status == 413
    assert answer["error"]


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_of_wrong_length_is_refused(service: Service, key: str) -> None:
    status, answer = await service.try_post(service.body(), key=key)
    assert status == 400
    assert "Idempotency-Key" in answer["error"]


async def test_more_live_jobs_than_allowed_are_refused_until_one_ends(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = Limits(live_jobs=1, grace_s=0.2)
    async with in_process(service.http, tmp_path_factory.mktemp("x"), limits=limits) as small:
        job = await small.post("sleep 60")
        status, answer = await small.try_post(small.body())
        assert (status, answer["error"]) == (429, "1 jobs are alive already")
        await small.call("DELETE", "/api/v1/workflows/77?attempt=1")
        assert await small.post() != job


@pytest.mark.parametrize("name", ["watches", "watches_a_job", "watches_a_peer"])
async def test_one_watch_too_many_is_429_and_a_place_is_free_when_one_leaves(
    service: Service, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    limits = Limits(**{name: 2})
    async with in_process(service.http, tmp_path_factory.mktemp("x"), limits=limits) as small:
        gate = small.folder / "gate"
        job = await small.post(f"until [ -e {gate} ]; do sleep .05; done")
        async with small.watch(job) as first, small.watch(job) as second:
            assert (first.status, second.status) == (200, 200)
            async with small.watch(job) as third:
                assert third.status == 429
                assert "watches" in (await third.json())["error"]
            gate.touch()
            await asyncio.gather(first.read(), second.read())
        assert (await small.events(job))[-1]["status"] == "SUCCEEDED"


async def test_a_watch_of_a_silent_job_that_its_client_left_frees_its_place(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = Limits(watches=1, grace_s=0.2)
    async with in_process(service.http, tmp_path_factory.mktemp("x"), limits=limits) as small:
        job = await small.post("echo up; sleep 60")
        await small.until_line(job, "up")
        async with asyncio.timeout(60):
            code = 429
            while code == 429:
                async with small.watch(job) as watch:
                    code = watch.status
        assert code == 200


async def test_the_token_is_asked_for_everywhere_but_on_healthz(service: Service) -> None:
    paths = ["/api/v1/workflows/1", "/api/v1/rayjobs/x", "/openapi.json", "/nowhere"]
    async with aiohttp.ClientSession() as http:
        for given in ("", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer a.b.c", TOKEN):
            for path in paths:
                headers = {"Authorization": given} if given else {}
                async with http.get(service.url + path, headers=headers) as answer:
                    assert answer.status == 401
                    assert answer.headers["WWW-Authenticate"] == "Bearer"
        async with http.get(f"{service.url}/healthz") as answer:
            assert answer.status == 200
    assert (await service.call("GET", paths[0]))[0] == 200


async def test_the_openapi_document_names_every_call_and_the_body(service: Service) -> None:
    _, answer = await service.call("GET", "/openapi.json")
    assert set(answer["paths"]["/api/v1/workflows/{run_id}"]) == {"get", "delete"}
    assert set(answer["components"]["schemas"]["JobRequest"]["properties"]) == set(GOOD)


async def test_a_data_folder_that_takes_nothing_refuses_jobs_and_is_not_healthy(
    service: Service,
) -> None:
    kept = await service.post("echo kept")
    await service.events(kept)
    jobs = service.folder / "data" / "jobs"
    jobs.rename(jobs.with_name("away"))
    jobs.write_text("a file where the folder was")
    status, answer = await service.try_post(service.body(), key="k")
    assert (status, answer["error"]) == (503, "the data folder: Not a directory")
    jobs.unlink()
    assert (await service.call("GET", "/healthz"))[0] == 503
    jobs.with_name("away").rename(jobs)
    assert (await service.call("GET", "/healthz"))[0] == 200
    assert (await service.try_post(service.body(), key="k"))[0] == 201


async def test_a_disk_with_too_little_room_for_a_log_refuses_jobs(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = Limits(free_bytes=2**62)
    async with in_process(service.http, tmp_path_factory.mktemp("x"), limits=limits) as full:
        status, answer = await full.try_post(full.body())
        assert (status, await full.call("GET", "/healthz")) == (503, (503, answer))
        assert "MiB left" in answer["error"]
