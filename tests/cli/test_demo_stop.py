"""No process of the demo outlives it, whatever happens."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from bot.cli.demo.strays import kill_strays, left_by, temporary_of

SLEEP = "import time; time.sleep(600)"
PARENT = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEP!r}], start_new_session=True)
print("up", flush=True)
{SLEEP}
"""

# One scene is enough: the command's own start and end are those of the demo's other tests.
DEMO = """
import asyncio, sys
from bot.cli.demo.run import Options, run
from bot.cli.demo.scenes import SCENES
scenes = tuple(scene for scene in SCENES if scene.name == "supersedes")
sys.exit(asyncio.run(run(Options(once=False, as_json=False, scenes=scenes))))
"""


async def start(script: str, *argv: str, **env: str) -> asyncio.subprocess.Process:
    """Start a program and wait for the first line that it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, *argv),
        env={**os.environ, **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"up\n"
    return process


async def test_a_process_and_its_child_in_another_session_are_found_and_killed(
    tmp_path: Path,
) -> None:
    parent = await start(PARENT, TMPDIR=str(temporary_of(tmp_path)))
    assert len(left_by(tmp_path)) == 2
    await kill_strays(tmp_path)
    assert await parent.wait() == -signal.SIGKILL
    assert left_by(tmp_path) == []


async def test_a_supervisor_of_a_job_is_found_by_its_argument(tmp_path: Path) -> None:
    script = f"print('up', flush=True)  # bot.submitter.supervise\n{SLEEP}"
    supervisor = await start(script, str(tmp_path / "submitter" / "jobs" / "a"))
    assert left_by(tmp_path) == [supervisor.pid]
    await kill_strays(tmp_path)
    await supervisor.wait()


async def test_a_process_that_reads_a_file_in_the_folder_is_not_ours(tmp_path: Path) -> None:
    reader = await start(f"print('up', flush=True)\n{SLEEP}", str(tmp_path / "demo.log"))
    assert left_by(tmp_path) == []
    reader.kill()
    await reader.wait()


async def test_ctrl_c_while_a_rayjob_runs_stops_all_of_it(tmp_path: Path) -> None:
    """The signal goes to the whole process group, as a terminal sends it."""
    demo = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DEMO),
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert demo.stderr is not None
    async with asyncio.timeout(90):
        while "pushes again" not in (line := (await demo.stderr.readline()).decode()):
            assert line, "it ended before a RayJob ran"
    (folder,) = tmp_path.iterdir()
    assert left_by(folder) != []
    os.killpg(demo.pid, signal.SIGINT)
    async with asyncio.timeout(30):
        said = (await demo.stderr.read()).decode()
    assert await demo.wait() == 1
    assert said.splitlines()[-1] == "stopped before the end"
    assert "Traceback" not in said
    assert left_by(folder) == []
    assert list(tmp_path.iterdir()) == []
