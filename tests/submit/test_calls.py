"""What the helper sends: the job, its announcement, a cancel."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.submit.conftest import HELPER, INPUTS, Bot, end, run, start
from tests.submitter.faulty_submitter import FaultySubmitter, Watch, log


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
        ({"ASCEND_CI_WORKER_REPLICAS": "two"}, "--worker-replicas"),
        ({"ASCEND_CI_WORKER_REPLICAS": "1.5"}, "--worker-replicas"),
        ({"ASCEND_CI_WORKER_REPLICAS": "-1"}, "--worker-replicas"),
        ({"ASCEND_CI_WORKER_REPLICAS": "true"}, "--worker-replicas"),
        ({"ASCEND_CI_TIMEOUT_MINUTES": "4h"}, "--timeout-minutes"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": "{}"}, "--template-patches"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '["x"]'}, "--template-patches: item 0: must be an object"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '[{"op": ["add"]}]'}, "--template-patches: item 0"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '[{"op": "add", "path": "/a"}]'}, "add needs 'value'"),
        ({"ASCEND_CI_TEMPLATE_PATCHES": '[{"op": "remove", "path": "a"}]'}, "JSON pointer"),
        (
            {"SUBMITTER_URL": "file:///etc/passwd"},
            "--url (SUBMITTER_URL) must be an http(s) address",
        ),
        ({"SUBMITTER_URL": ""}, "--url (SUBMITTER_URL) is missing"),
        ({"GITHUB_RUN_ID": ""}, "--github-run-id (GITHUB_RUN_ID) is missing"),
        (
            {"ASCEND_CI_SHA": "", "GITHUB_SHA": ""},
            "--commit-sha (ASCEND_CI_SHA GITHUB_SHA) is missing",
        ),
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


async def test_a_missing_token_is_asked_for(faulty: FaultySubmitter) -> None:
    faulty.fail("post", 401)
    done = await run(faulty.url)
    assert done.code == 1
    assert "refused the job (set SUBMITTER_TOKEN or SUBMITTER_AUDIENCE): HTTP 401" in done.said


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_cancel_deletes_the_jobs_of_the_run_attempt_and_says_so(
    faulty: FaultySubmitter, number: int
) -> None:
    faulty.next_events, faulty.next_watches = [log("a")], [Watch(end="hang")]
    faulty.fail("delete", 503)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a shell
    try:
        process = await start(faulty.url)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    while await process.stdout.readline() != b"a\n":
        pass
    process.send_signal(number)
    done = await end(process)
    assert done.code == 1
    assert faulty.deleted == [("77", "3")]
    assert "are deleted" in done.said


async def test_a_cancel_that_fails_says_that_jobs_may_run_on(faulty: FaultySubmitter) -> None:
    faulty.next_events, faulty.next_watches = [log("a")], [Watch(end="hang")]
    faulty.fail("delete", 403)
    process = await start(faulty.url)
    assert process.stdout is not None
    while await process.stdout.readline() != b"a\n":
        pass
    process.send_signal(signal.SIGTERM)
    done = await end(process)
    assert "could NOT be deleted" in done.said
    assert "HTTP 403" in done.said


async def test_the_job_is_announced_with_an_oidc_token_again_after_409(
    faulty: FaultySubmitter, bot: Bot
) -> None:
    bot.codes.extend([409, 503])
    done = await run(faulty.url, **bot.environ)
    job_id = next(iter(faulty.jobs))
    call = ("/api/v1/runs/01RUN/rayjobs", "Bearer oidc", {"job_id": job_id})
    assert bot.asked == [call, call, call]
    assert (done.code, done.said) == (0, "")


async def test_a_job_of_a_run_that_github_started_is_announced_without_an_id(
    faulty: FaultySubmitter, bot: Bot
) -> None:
    done = await run(faulty.url, **{**bot.environ, "ASCEND_CI_RUN": ""})
    assert bot.asked == [("/api/v1/rayjobs", "Bearer oidc", {"job_id": next(iter(faulty.jobs))})]
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


async def test_the_command_passes_its_arguments_on_unread(faulty: FaultySubmitter) -> None:
    environ = {"PATH": os.environ["PATH"], **INPUTS, "SUBMITTER_URL": faulty.url}
    argv = ["-m", "bot", "submit", "--script=-x.sh", "--args", '["--help"]']
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, env=environ, stdout=PIPE, stderr=PIPE
    )
    assert (await end(process)).code == 0
    body = faulty.named("post")[0].body
    assert (body["script"], body["args"]) == ("-x.sh", ["--help"])
