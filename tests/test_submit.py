"""The workflows' helper as the process that it is, against our submitter and a faulty one."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.submit import Config, Follower
from bot.submitter.local import Limits, LocalBackend
from bot.submitter.web import Options, create_app
from tests.submitter.faulty import Event, FaultySubmitter, Watch, error, final, log, status

HELPER = Path(__file__).parents[1] / "bot" / "submit.py"
INPUTS = {
    "GITHUB_REPOSITORY": "octo/verl",
    "ASCEND_CI_SHA": "b" * 40,
    "GITHUB_SHA": "a" * 40,
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "3",
    "ASCEND_CI_SCRIPT": "tests/x.sh",
    "ASCEND_CI_NAME_SUFFIX": "ppo",
    "ASCEND_CI_RETRY_SECONDS": "1",
}
FIVE: list[Event] = [log("a"), log("b"), log("c"), log("d"), final("SUCCEEDED", "well done")]


@dataclass
class Done:
    """How a helper ended; `lines` are its stdout, `said` its stderr."""

    code: int
    lines: list[str]
    said: str

    @property
    def log(self) -> list[str]:
        return [line for line in self.lines if not line.startswith("ascend-ci: ")]


async def start(url: str, *argv: str, **more: str) -> asyncio.subprocess.Process:
    environ = {"PATH": os.environ["PATH"], "SUBMITTER_URL": url, **INPUTS, **more}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(HELPER), *argv, env=environ,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=2**24,
    )  # fmt: skip


async def end(process: asyncio.subprocess.Process) -> Done:
    out, said = await process.communicate()
    assert process.returncode is not None
    return Done(process.returncode, out.decode().split("\n")[:-1], said.decode())


async def run(url: str, *argv: str, **more: str) -> Done:
    return await end(await start(url, *argv, **more))


@pytest.fixture
async def faulty() -> AsyncIterator[FaultySubmitter]:
    async with FaultySubmitter() as server:
        yield server


@pytest.fixture
async def ours(tmp_path: Path) -> AsyncIterator[str]:
    backend = LocalBackend(tmp_path / "data", workdir=tmp_path, limits=Limits(grace_s=0.3))
    async with TestServer(create_app(backend, Options(stop_jobs_on_exit=True))) as server:
        yield str(server.make_url("")).rstrip("/")


def test_it_is_one_file_of_python_3_9_and_its_standard_library() -> None:
    tree = ast.parse(HELPER.read_text(), feature_version=(3, 9))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).partition(".")[0])
        assert not isinstance(node, ast.Match)
    assert names <= sys.stdlib_module_names - {"tomllib"}


async def test_a_job_on_our_submitter_is_followed_to_its_success(ours: str, tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text('echo "$1 $A"; seq 1 300')
    more = {"ASCEND_CI_ARGS": '["a b"]', "ASCEND_CI_ENV": '{"A": "x y"}'}
    done = await run(ours, "--script", "x.sh", **more)
    assert done.code == 0, done
    assert done.lines[0].startswith("ascend-ci: rayjob rj-77-3-ppo-")
    assert done.lines[-1] == "ascend-ci: final SUCCEEDED"
    assert done.log == ["a b x y", *map(str, range(1, 301))]
    assert "ascend-ci: status RUNNING Running" in "\n".join(done.lines)


async def test_a_failed_job_is_exit_code_1(ours: str, tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("exit 3")
    done = await run(ours, "--script", "x.sh")
    assert (done.code, done.lines[-1]) == (1, "ascend-ci: final FAILED")


async def test_the_time_limit_becomes_the_job_s_own(faulty: FaultySubmitter) -> None:
    await run(faulty.url, ASCEND_CI_TIMEOUT_MINUTES="240")
    patches = faulty.named("post")[0].body["template_patches"]
    assert patches == [{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 14400}]


async def test_the_body_is_that_of_the_api_and_the_key_is_of_the_run(
    faulty: FaultySubmitter,
) -> None:
    await run(faulty.url, "--worker-replicas", "4", "--image", "i", SUBMITTER_TOKEN="t0k")
    call = faulty.named("post")[0]
    assert call.body == {
        "repository": "octo/verl",
        "commit_sha": "b" * 40,
        "branch": "",
        "github_run_id": "77",
        "github_run_attempt": "3",
        "image": "i",
        "name_suffix": "ppo",
        "script": "tests/x.sh",
        "args": [],
        "env": {},
        "worker_replicas": 4,
        "template_patches": [],
    }
    assert call.headers["Idempotency-Key"] == "ascend-ci-77-3-ppo"
    assert call.headers["Authorization"] == "Bearer t0k"


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"ASCEND_CI_ARGS": '["a", 1]'}, "args: item 1 must be a string, not 1"),
        ({"ASCEND_CI_ARGS": "a b"}, "args (ASCEND_CI_ARGS) must be a JSON array, not a b"),
        ({"ASCEND_CI_ARGS": "{}"}, "args (ASCEND_CI_ARGS) must be a JSON array"),
        ({"ASCEND_CI_ENV": "[]"}, "env (ASCEND_CI_ENV) must be a JSON object"),
        ({"ASCEND_CI_ENV": '{"A": true}'}, "env: item A must be a string, not true"),
        ({"ASCEND_CI_ENV": '{"A-B": "x"}'}, "env: 'A-B' is no name of a variable"),
        ({"ASCEND_CI_WORKER_REPLICAS": "two"}, "worker_replicas"),
        ({"ASCEND_CI_WORKER_REPLICAS": "1.5"}, "worker_replicas"),
        ({"ASCEND_CI_WORKER_REPLICAS": "-1"}, "worker_replicas"),
        ({"ASCEND_CI_WORKER_REPLICAS": "true"}, "worker_replicas"),
        ({"ASCEND_CI_TIMEOUT_MINUTES": "4h"}, "timeout_minutes"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": "{}"}, "template_patches"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '["x"]'}, "template_patches: item 0: must be an object"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '[{"op": ["add"]}]'}, "template_patches: item 0"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '[{"op": "add", "path": "/a"}]'}, "add needs 'value'"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '[{"op": "remove", "path": "a"}]'}, "JSON pointer"),
        ({"SUBMITTER_URL": "file:///etc/passwd"}, "url (SUBMITTER_URL) must be an http(s) address"),
        ({"SUBMITTER_URL": ""}, "url (SUBMITTER_URL) is missing"),
        ({"GITHUB_RUN_ID": ""}, "github_run_id (GITHUB_RUN_ID) is missing"),
    ],
)
async def test_wrong_use_is_exit_code_2_and_the_flaw_is_named(
    faulty: FaultySubmitter, more: dict[str, str], named: str
) -> None:
    done = await run(more.pop("SUBMITTER_URL", faulty.url), **more)
    assert done.code == 2
    assert named in done.said
    assert (done.lines, faulty.calls) == ([], [])


async def test_a_refusal_shows_code_and_answer(faulty: FaultySubmitter) -> None:
    faulty.fail("post", 418)
    done = await run(faulty.url)
    assert done.code == 1
    assert "HTTP 418: <html>HTTP 418 by the ingress</html>" in done.said


async def test_an_answer_that_is_no_json_is_a_refusal(faulty: FaultySubmitter) -> None:
    faulty.fail("post", "garbage")
    done = await run(faulty.url)
    assert done.code == 1
    assert "<html>so sorry</html>" in done.said


async def test_an_ingress_that_fails_for_a_while_is_waited_for(faulty: FaultySubmitter) -> None:
    faulty.fail("post", 502, 503, 504)
    done = await run(faulty.url)
    assert (done.code, len(faulty.jobs)) == (0, 1)


async def test_a_submitter_out_of_reach_is_exit_code_3() -> None:
    done = await run("http://127.0.0.1:1")
    assert done.code == 3
    assert "out of reach" in done.said


@pytest.mark.parametrize("honours_keys", [True, False])
async def test_a_lost_answer_starts_no_second_job(
    faulty: FaultySubmitter, *, honours_keys: bool
) -> None:
    faulty.honours_keys = honours_keys
    faulty.fail("post", "drop")
    done = await run(faulty.url)
    assert (done.code, len(faulty.jobs)) == (0, 1)


async def test_a_lost_answer_without_a_list_repeats_the_same_key(faulty: FaultySubmitter) -> None:
    faulty.lack("list", "state", code=405)
    faulty.fail("post", "drop")
    done = await run(faulty.url)
    assert (done.code, len(faulty.jobs)) == (0, 1)
    assert len({call.headers["Idempotency-Key"] for call in faulty.named("post")}) == 1


@pytest.mark.parametrize(
    "watches",
    [
        [Watch(events=2, end="cut"), Watch()],
        [Watch(events=2, end="close"), Watch(start="first")],
        [Watch(events=0, end="cut"), Watch(events=0), Watch(code=502), Watch(code=503), Watch()],
        [Watch(events=2, end="cut", torn=9), Watch(start="first")],
        [Watch(events=2, end="cut", numbered=False), Watch(start="first", numbered=False)],
        [
            Watch(events=2, end="cut", numbered=False),
            Watch(start="first", events=1, end="cut", numbered=False),
            Watch(start="first", numbered=False),
        ],
        [Watch(events=2, end="cut", numbered=False), Watch(start="now", numbered=False)],
        [Watch(chunk=1)],
        [Watch(events=2, end="cut", chunk=3), Watch(events=1, end="cut"), Watch(chunk=7)],
    ],
)
@pytest.mark.parametrize("lacks", [(), ("state", "list")])
async def test_no_line_is_lost_or_printed_twice(
    faulty: FaultySubmitter, watches: list[Watch], lacks: tuple[Any, ...]
) -> None:
    faulty.next_events, faulty.next_watches = FIVE, watches
    faulty.lack(*lacks)
    done = await run(faulty.url)
    assert done.log == ["a", "b", "c", "d"]
    assert (done.code, done.lines[-1]) == (0, "ascend-ci: final SUCCEEDED")
    assert "ascend-ci: end SUCCEEDED well done" in done.lines


async def test_a_watch_is_resumed_behind_the_last_number(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=3, end="cut"), Watch()]
    await run(faulty.url)
    assert [call.query.get("after") for call in faulty.named("watch")] == [None, "3"]


async def test_a_character_cut_in_half_by_the_connection_comes_whole(
    faulty: FaultySubmitter,
) -> None:
    faulty.next_events = [log("é1"), log("xé2"), final("SUCCEEDED")]
    faulty.next_watches = [Watch(events=1, end="cut", torn="é"), Watch()]
    assert (await run(faulty.url)).log == ["é1", "xé2"]


async def test_lines_of_every_kind_are_kept_as_log(faulty: FaultySubmitter) -> None:
    big = "x" * 5_000_000
    faulty.next_events = [
        log(big),
        log("50%\r100%"),
        log("a\0b"),
        b"",
        b"no json",
        b'["a list"]',
        b"\xff",
        {"type": "surprise", "n": 1},
        {"type": "log", "line": 5},
        error("the pod is not there yet"),
        status("RUNNING", "Running"),
        log("ascend-ci: final SUCCEEDED"),
        final("FAILED"),
    ]
    done = await run(faulty.url)
    assert done.code == 1
    assert done.log[:2] == [big, "50%\r100%"]
    assert done.log[2:7] == ["a\\0b", "", "no json", '["a list"]', "�"]
    assert '"type": "surprise"' in done.log[7]
    assert '"line": 5' in done.log[8]
    assert done.log[9:] == [" ascend-ci: final SUCCEEDED"]
    assert "ascend-ci: error the pod is not there yet" in done.lines
    assert "ascend-ci: status RUNNING Running" in done.lines


@pytest.mark.parametrize(
    ("word", "code"), [("SUCCEEDED", 0), ("FAILED", 1), ("TIMEOUT", 1), ("NOT_FOUND", 1), ("?", 1)]
)
async def test_only_succeeded_is_exit_code_0(faulty: FaultySubmitter, word: str, code: int) -> None:
    faulty.next_events = [final(word)]
    done = await run(faulty.url)
    assert (done.code, done.lines[-1]) == (code, f"ascend-ci: final {word}")


async def test_without_final_the_job_s_state_decides(faulty: FaultySubmitter) -> None:
    faulty.next_events = [log("a")]
    process = await start(faulty.url)
    assert process.stdout is not None
    await process.stdout.readline()
    (job,) = faulty.jobs.values()
    job.state, job.ended_at = "SUCCEEDED", "2026-01-01T00:00:00Z"
    done = await end(process)
    assert (done.code, done.lines[-1]) == (0, "ascend-ci: final SUCCEEDED")


async def test_an_end_that_nobody_tells_is_not_a_pass(faulty: FaultySubmitter) -> None:
    faulty.next_events = [log("a")]
    faulty.lack("state", "list")
    done = await run(faulty.url)
    assert (done.code, done.lines[-1]) == (3, "ascend-ci: final UNKNOWN")


async def test_a_job_that_the_submitter_forgot_is_not_found(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=1, end="hang"), Watch()]
    process = await start(faulty.url)
    assert process.stdout is not None
    while await process.stdout.readline() != b"a\n":
        pass
    faulty.restart()
    faulty.release.set()
    done = await end(process)
    assert (done.code, done.lines[-1]) == (1, "ascend-ci: final NOT_FOUND")


async def test_silence_makes_a_new_watch(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=2, end="hang"), Watch()]
    done = await run(faulty.url, ASCEND_CI_SILENCE_SECONDS="1")
    assert (done.code, done.log) == (0, ["a", "b", "c", "d"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_cancel_deletes_the_jobs_of_the_run_attempt_and_says_so(
    faulty: FaultySubmitter, number: int
) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=1, end="hang")]
    faulty.fail("delete", 503)
    process = await start(faulty.url)
    assert process.stdout is not None
    while await process.stdout.readline() != b"a\n":
        pass
    process.send_signal(number)
    done = await end(process)
    assert done.code == 1
    assert faulty.deleted == [("77", "3")]
    assert "are deleted" in done.said


async def test_a_cancel_that_fails_says_that_jobs_may_run_on(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = FIVE, [Watch(events=1, end="hang")]
    faulty.fail("delete", 403)
    process = await start(faulty.url)
    assert process.stdout is not None
    while await process.stdout.readline() != b"a\n":
        pass
    process.send_signal(signal.SIGTERM)
    done = await end(process)
    assert "could NOT be deleted" in done.said
    assert "HTTP 403" in done.said


async def test_in_actions_the_log_can_give_the_runner_no_commands(
    faulty: FaultySubmitter,
) -> None:
    faulty.next_events = [log("::add-mask::x"), final("SUCCEEDED")]
    done = await run(faulty.url, GITHUB_ACTIONS="true")
    before, mark = done.lines[1].rsplit("::", 1)
    assert before == "::stop-commands"
    assert len(mark) == 32
    assert done.lines.index(f"::{mark}::") > done.lines.index("::add-mask::x")
    assert done.lines[-1] == "ascend-ci: final SUCCEEDED"


@dataclass
class Bot:
    """What the bot and the token service of Actions were asked."""

    url: str
    codes: list[int]
    asked: list[tuple[str, str, Any]]

    @property
    def environ(self) -> dict[str, str]:
        return {
            "ASCEND_CI_URL": self.url,
            "ASCEND_CI_RUN": "01RUN",
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}/token?api=1",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "proof",
        }


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    codes: list[int] = []
    asked: list[tuple[str, str, Any]] = []

    async def token(request: web.Request) -> web.Response:
        assert request.query["audience"] == "ascend-ci"
        assert request.headers["Authorization"] == "Bearer proof"
        return web.json_response({"value": "oidc"})

    async def announced(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers["Authorization"], await request.json()))
        return web.Response(status=codes.pop(0) if codes else 202)

    app = web.Application()
    app.router.add_get("/token", token)
    app.router.add_post("/api/v1/runs/{run}/rayjobs", announced)
    async with TestServer(app) as server:
        yield Bot(str(server.make_url("")).rstrip("/"), codes, asked)


async def test_the_job_is_announced_with_an_oidc_token_again_after_409(
    faulty: FaultySubmitter, bot: Bot
) -> None:
    bot.codes.extend([409, 503])
    done = await run(faulty.url, **bot.environ)
    job_id = next(iter(faulty.jobs))
    call = ("/api/v1/runs/01RUN/rayjobs", "Bearer oidc", {"job_id": job_id})
    assert bot.asked == [call, call, call]
    assert (done.code, done.said) == (0, "")


@pytest.mark.parametrize("code", [403, 409])
async def test_a_failed_announcement_is_a_warning(
    faulty: FaultySubmitter, bot: Bot, code: int
) -> None:
    bot.codes.extend([code] * 99)
    done = await run(faulty.url, **bot.environ)
    assert done.code == 0
    assert f"not announced to the bot: HTTP {code}" in done.said


async def test_without_the_permission_the_announcement_is_a_warning(
    faulty: FaultySubmitter, bot: Bot
) -> None:
    done = await run(faulty.url, ASCEND_CI_URL=bot.url, ASCEND_CI_RUN="01RUN")
    assert done.code == 0
    assert "id-token: write" in done.said


async def test_detached_it_submits_announces_and_leaves(faulty: FaultySubmitter, bot: Bot) -> None:
    done = await run(faulty.url, "--detach", **bot.environ)
    assert done.code == 0
    assert done.lines == [f"ascend-ci: rayjob {next(iter(faulty.jobs))}"]
    assert len(bot.asked) == 1
    assert faulty.named("watch") == []


LINE = st.sampled_from(["a", "b", "c", ""])
CUTS = st.lists(st.integers(0, 12), max_size=4)


class Replayed(Follower):
    """A follower whose watches are given; each but the last is cut, all replay from the first."""

    def __init__(self, watches: list[list[dict[str, Any]]]) -> None:
        super().__init__(Config("", "", "", {}, "", "", False, 0, 1), "rj")
        self._watches = iter(watches)

    def _blocks(self) -> Iterator[bytes]:
        for event in next(self._watches):
            yield json.dumps(event).encode()

    def _state(self) -> tuple[str, bool]:
        return "", True

    def shown(self) -> list[str]:
        out = io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(out):
            assert self.run() == "SUCCEEDED"
        return out.buffer.getvalue().decode().split("\n")[:-2]


@settings(max_examples=150)
@given(texts=st.lists(LINE, max_size=12), cuts=CUTS)
def test_numbered_lines_come_once_and_all_whatever_is_replayed(
    texts: list[str], cuts: list[int]
) -> None:
    events = [{"type": "log", "seq": i, "line": text} for i, text in enumerate(texts, 1)]
    whole = [*events, {**final("SUCCEEDED"), "seq": len(events) + 1}]
    assert Replayed([*(events[:cut] for cut in cuts), whole]).shown() == texts


@settings(max_examples=150)
@given(texts=st.lists(LINE, max_size=12), cuts=CUTS)
def test_unnumbered_lines_come_once_and_all_when_watches_replay(
    texts: list[str], cuts: list[int]
) -> None:
    events: list[dict[str, Any]] = [{"type": "log", "line": text} for text in texts]
    whole = [*events, dict(final("SUCCEEDED"))]
    assert Replayed([*(events[:cut] for cut in cuts), whole]).shown() == texts


@settings(max_examples=150)
@given(texts=st.lists(LINE, max_size=9), loose=st.lists(LINE, max_size=9), cuts=CUTS)
def test_lines_without_number_among_numbered_ones_come_once_and_all_when_watches_replay(
    texts: list[str], loose: list[str], cuts: list[int]
) -> None:
    events: list[dict[str, Any]] = [{"type": "log", "seq": 1, "line": "first"}]
    for i, text in enumerate(texts, 2):
        events.append({"type": "log", "seq": i, "line": text})
        events += [{"type": "log", "line": loose[i - 2]}] if i - 2 < len(loose) else []
    whole = [*events, {**final("SUCCEEDED"), "seq": 99}]
    shown = Replayed([*(events[:cut] for cut in cuts), whole]).shown()
    assert shown == [event["line"] for event in events]
