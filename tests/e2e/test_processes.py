"""The service as a real process: how it starts, how it refuses to, and how it stops."""

import asyncio
import os
import sys
from pathlib import Path

from bot.sim.auth import key_pair


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return what a process needs to run beside others; nothing listens where GitHub would be."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    private, _ = key_pair()
    ours = {
        "GITHUB_APP_ID": "1",
        "GITHUB_PRIVATE_KEY": private,
        "GITHUB_WEBHOOK_SECRET": "hook-secret",
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "DATABASE_URL": f"sqlite+aiosqlite:///{folder / 'bot.db'}",
        "DATA_DIR": str(folder / "data"),
        "PORT": "0",
    }
    return {**kept, **ours, **more}


async def serve(variables: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "serve"),
        env=variables,
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        umask=0,
    )


async def test_wrong_settings_are_said_at_once_and_leave_with_2(tmp_path: Path) -> None:
    variables = environment(tmp_path, GITHUB_APP_ID="x", PORT="-1", GITHUB_WEBHOOK_SECRET="")
    process = await serve(variables)
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    text = said.decode()
    assert process.returncode == 2
    assert "Traceback" not in text
    for name in ("GITHUB_APP_ID", "PORT", "GITHUB_WEBHOOK_SECRET"):
        assert name in text


def others_read_nothing(folder: Path, pid: int) -> None:
    """Check the database's files, and that all later ones will be as private."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert set(modes) >= {"bot.db", "bot.db-wal", "bot.db-shm", "bot.db.lock"}
    assert {name for name, mode in modes.items() if mode & 0o077} == set()
    assert "Umask:\t0077" in Path(f"/proc/{pid}/status").read_text()


async def test_a_service_started_with_umask_0_is_private_and_told_to_stop_leaves_with_0(
    tmp_path: Path,
) -> None:
    (tmp_path / "bot.db").touch()  # as from a backup: others may read it
    process = await serve(environment(tmp_path))
    assert process.stdout is not None
    lines: list[bytes] = []
    async with asyncio.timeout(60):
        while not any(b"started" in line for line in lines):
            line = await process.stdout.readline()
            assert line, lines
            lines.append(line)
    others_read_nothing(tmp_path, process.pid)
    process.terminate()
    rest, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, rest.decode()
    assert b"stopped" in rest
    assert b"Traceback" not in rest
