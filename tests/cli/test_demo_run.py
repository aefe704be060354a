"""A demo that goes wrong says what differs, ends with 1, and cleans up all the same."""

import json
import tempfile
from pathlib import Path

import pytest

from bot.cli.demo.expected import gate
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
        Scene("refused", "Asks for what cannot be done", refused),
    )
    assert await run(Wishes(once=True, as_json=True, scenes=scenes)) == DIFFERS
    out, err = capsys.readouterr()
    assert "nothing: as expected" in err
    assert "wrong: waited for the end of ascend-ci, and it did not come within 1 s" in err
    assert "expected completed failure, titled …The policy has errors…" in err
    assert "refused: the simulated GitHub refused levitate: unknown deed" in err
    assert '"event": "listening"' in err
    assert "No Ascend suite needed" in {one["title"] for one in json.loads(out)["check_runs"]}
    assert list(temporary.iterdir()) == []


async def test_a_scene_that_breaks_leaves_no_file(temporary: Path) -> None:
    with pytest.raises(RuntimeError, match="a scene broke"):
        await run(Wishes(once=True, as_json=False, scenes=(Scene("broken", "", broken),)))
    assert list(temporary.iterdir()) == []
