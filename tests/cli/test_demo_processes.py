"""No process of the demo outlives it, whatever happens; what does not start is said."""

import os
import signal
import sys
from pathlib import Path

import pytest

from bot.cli.demo.errors import DemoError
from bot.cli.demo.processes import Child, children, left_by, temporary_of

SLEEP = "import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); {SLEEP}"
PARENT = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEP!r}], start_new_session=True)
print("up")
{SLEEP}
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    temporary_of(tmp_path).mkdir()
    return {"TMPDIR": str(temporary_of(tmp_path)), "PYTHONUNBUFFERED": "1"}


def up(line: str) -> bool | None:
    return line == "up" or None


async def test_an_error_stops_every_child(tmp_path: Path, env: dict[str, str]) -> None:
    started: list[Child] = []

    async def breaks() -> None:
        async with children(tmp_path) as home:
            for name in ("one", "two"):
                argv = [sys.executable, "-c", f"print('up'); {SLEEP}"]
                started.append(await home.start(name, argv, env))
                await started[-1].heard(up, within_s=30)
            raise RuntimeError("a scene broke")

    with pytest.raises(RuntimeError, match="a scene broke"):
        await breaks()
    assert [child.process.returncode for child in started] == [-signal.SIGTERM] * 2


async def test_a_child_that_ignores_the_request_is_killed(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with children(tmp_path, stop_s=0.05) as home:
        child = await home.start("stubborn", [sys.executable, "-c", STUBBORN], env)
        await child.heard(up, within_s=30)
    assert child.process.returncode == -signal.SIGKILL


async def test_what_a_child_started_in_a_session_of_its_own_is_found_and_killed(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with children(tmp_path) as home:
        child = await home.start("parent", [sys.executable, "-c", PARENT], env)
        await child.heard(up, within_s=30)
        assert len(left_by(tmp_path)) == 2
    assert left_by(tmp_path) == []


async def test_whoever_reads_a_log_in_the_folder_is_none_of_ours(tmp_path: Path) -> None:
    async with children(tmp_path) as home:
        argv = [sys.executable, "-c", f"print('up'); {SLEEP}", str(tmp_path / "bot.log")]
        child = await home.start("reader", argv, {"PYTHONUNBUFFERED": "1"})
        await child.heard(up, within_s=30)
        assert child.process.pid not in left_by(tmp_path)
        os.kill(child.process.pid, 0)


async def test_a_child_that_ends_before_it_speaks_is_an_error_with_its_last_words(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with children(tmp_path) as home:
        argv = [sys.executable, "-c", "import sys; sys.exit('the port is taken')"]
        child = await home.start("bot", argv, env)
        with pytest.raises(DemoError, match=r"bot ended with 1:\nthe port is taken"):
            await child.heard(up, within_s=30)


async def test_a_child_that_does_not_speak_in_time_is_an_error_with_its_last_words(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with children(tmp_path) as home:
        child = await home.start("bot", [sys.executable, "-c", SLEEP], env)
        with pytest.raises(DemoError, match="bot did not say where it listens"):
            await child.heard(up, within_s=0.05)


async def test_a_line_is_heard_when_it_is_whole(tmp_path: Path, env: dict[str, str]) -> None:
    async with children(tmp_path) as home:
        argv = [sys.executable, "-c", f"print('up\\nhalf', end='', flush=True); {SLEEP}"]
        child = await home.start("bot", argv, env)
        await child.heard(up, within_s=30)
        assert child.lines() == ["up"]
        assert child.tail() == "up\nhalf"
