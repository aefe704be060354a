"""A demo that goes wrong says what differs, ends with 1, and cleans up all the same."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli.demo.expected import Answer, gate
from bot.cli.demo.play import Play, Scene
from bot.cli.demo.run import DIFFERS, Wishes, errors_in, run
from bot.cli.demo.scenes import nothing


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


async def wrong(play: Play) -> None:
    sha = (await play.open("wim", "Say it better", "nothing"))["head_sha"]
    await play.expect(gate(sha, "failure", "The policy has errors"))


async def unanswered(play: Play) -> None:
    number = (await play.open("wim", "Say it well", "nothing"))["number"]
    await play.expect(Answer(await play.comment(number, "mia", "thanks"), ("passed",)))


async def never_rerun(play: Play) -> None:
    green = gate((await play.open("wim", "Say it", "nothing"))["head_sha"], "success", "No Ascend")
    await play.expect(green)
    check = play.github.seen.check(*green.key)
    assert check is not None
    play.limit_s = play.seconds + 1
    await play.expect(replace(green, after=check.id))


async def started_early(play: Play) -> None:
    sha = (await play.open("mia", "Warm up in two steps", "passes"))["head_sha"]
    await play.until("the workflow to start", lambda seen: seen.dispatch(sha) is not None)
    play.nothing_started(sha)


async def refused(play: Play) -> None:
    await play.github.do("levitate")


async def broken(_: Play) -> None:
    raise RuntimeError("a scene broke")


def test_an_error_in_the_bots_log_is_a_difference() -> None:
    fine = '{"event": "run moved", "level": "info"}'
    bad = '{"loop": "inbox-0", "event": "a loop failed", "level": "error"}'
    assert errors_in([fine, bad]) == [f"the bot's log: {bad}"]


async def test_what_differs_is_said_with_the_bots_log_and_ends_with_one(
    temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenes = (
        Scene("nothing", "As it should be", nothing),
        Scene("wrong", "Expects what does not come", wrong, limit_s=1),
        Scene("unanswered", "Expects a reply to what is no command", unanswered, limit_s=1),
        Scene("never_rerun", "Expects a new check run of no click", never_rerun),
        Scene("early", "Expects that nothing starts", started_early),
        Scene("refused", "Asks for what cannot be done", refused),
    )
    assert await run(Wishes(once=True, as_json=True, scenes=scenes)) == DIFFERS
    out, err = capsys.readouterr()
    assert "nothing: as expected" in err
    assert "wrong: waited for the end of ascend-ci, and it did not come within 1 s" in err
    assert "expected completed failure, titled …The policy has errors…" in err
    assert ": expected one, there are 0" in err
    assert "No Ascend…; there is none newer than" in err
    assert "early: a workflow run was dispatched for" in err
    assert "refused: the simulated GitHub refused levitate: unknown deed" in err
    assert '"event": "listening"' in err
    assert "No Ascend suite needed" in {one["title"] for one in json.loads(out)["check_runs"]}
    assert list(temporary.iterdir()) == []


async def test_a_scene_that_breaks_leaves_no_file(temporary: Path) -> None:
    with pytest.raises(RuntimeError, match="a scene broke"):
        await run(Wishes(once=True, as_json=False, scenes=(Scene("broken", "", broken),)))
    assert list(temporary.iterdir()) == []
