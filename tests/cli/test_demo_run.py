"""A demo that goes wrong says what differs, ends with 1, and cleans up all the same."""

import asyncio
import json
import logging
import os
import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from bot.cli.demo.expected import ExpectedReply, gate
from bot.cli.demo.log import logging_into
from bot.cli.demo.play import Play, Scene
from bot.cli.demo.run import DIFFERS, FINE, Options, run
from bot.cli.demo.scenes import nothing
from bot.telemetry import get_log


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


async def wrong(play: Play) -> None:
    sha = play.open("wim", "Say it better", "nothing").head_sha
    await play.expect(gate(sha, "failure", "The policy has errors"))


async def unanswered(play: Play) -> None:
    pull = play.open("wim", "Say it well", "nothing")
    await play.expect(ExpectedReply(play.comment(pull, "mia", "thanks"), ("passed",)))


async def never_rerun(play: Play) -> None:
    green = gate(play.open("wim", "Say it", "nothing").head_sha, "success", "No Ascend")
    await play.expect(green)
    check = play.github.check(*green.key)
    assert check is not None
    play.limit_s = play.seconds + 1
    await play.expect(replace(green, after=check.id))


async def started_early(play: Play) -> None:
    sha = play.open("mia", "Warm up in two steps", "passes").head_sha
    await play.until("the workflow to start", lambda: play.dispatched(sha) is not None)
    play.nothing_started(sha)


async def refused(play: Play) -> None:
    play.comment(play.open("wim", "Say more", "nothing"), "nobody", "hello")


async def terminated(_: Play) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(60)


async def broken(_: Play) -> None:
    raise RuntimeError("a scene broke")


def test_an_error_in_the_log_is_a_difference_whoever_logs_it(tmp_path: Path) -> None:
    before = structlog.get_config()
    with logging_into(tmp_path / "demo.log") as log:
        get_log("runner").info("run moved")
        assert log.errors() == []
        get_log("runner").error("a step raised")
        logging.getLogger("asyncio").error("never retrieved")
    first, second = log.errors()
    assert '"event": "a step raised"' in first
    assert "never retrieved" in second
    assert "run moved" in log.tail()
    assert structlog.get_config() == before


async def test_what_differs_is_said_with_the_log_and_ends_with_one(
    temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenes = (
        Scene("nothing", "as it should be", nothing),
        Scene("wrong", "expects what does not come", wrong, limit_s=1),
        Scene("unanswered", "expects a reply to what is no command", unanswered, limit_s=1),
        Scene("never_rerun", "expects a new check run of no click", never_rerun),
        Scene("early", "expects that nothing starts", started_early),
        Scene("refused", "asks for what cannot be done", refused),
    )
    before = dict(os.environ)
    assert await run(Options(once=True, as_json=True, scenes=scenes)) == DIFFERS
    out, err = capsys.readouterr()
    assert "nothing: No Ascend suite needed" in err
    assert "wrong: waited for the end of ascend-ci, and it did not come within 1 s" in err
    assert "expected completed failure, titled …The policy has errors…" in err
    assert ": expected one, there are 0" in err
    assert "No Ascend…; there is none newer than" in err
    assert "early: a workflow run was dispatched for" in err
    assert "refused: no user 'nobody'" in err
    assert '"event": "listening"' in err
    assert "No Ascend suite needed" in {one["title"] for one in json.loads(out)["check_runs"]}
    assert list(temporary.iterdir()) == []
    assert os.environ == before


async def test_in_chinese_the_bot_writes_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    scenes = (Scene("nothing", "documentation alone", nothing),)
    assert await run(Options(once=True, as_json=True, scenes=scenes, language="zh")) == FINE
    assert json.loads(capsys.readouterr().out)["check_runs"][0]["title"] == "无需运行昇腾套件"


async def test_a_scene_that_breaks_leaves_no_file(temporary: Path) -> None:
    with pytest.raises(RuntimeError, match="a scene broke"):
        await run(Options(once=True, as_json=False, scenes=(Scene("broken", "", broken),)))
    assert list(temporary.iterdir()) == []


async def test_sigterm_ends_it_with_one_and_leaves_no_file(
    temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenes = (Scene("terminated", "", terminated),)
    assert await run(Options(once=False, as_json=False, scenes=scenes)) == DIFFERS
    assert capsys.readouterr().err.splitlines()[-1] == "stopped before the end"
    assert list(temporary.iterdir()) == []
