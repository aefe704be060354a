"""A process that can't start says why in a line, without a traceback, and with its exit code."""

import os
import socket
import subprocess
import sys
from pathlib import Path

PEM = "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n"


def start(command: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the service to its end."""
    given = {
        "GITHUB_APP_ID": "1",
        "GITHUB_PRIVATE_KEY": PEM,
        "GITHUB_WEBHOOK_SECRET": "hook",
        "PATH": os.environ["PATH"],
        **settings,
    }
    words = [sys.executable, "-m", "bot", command]
    env = {**given, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_port_in_use_is_said_in_a_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = start("serve", tmp_path, PORT=str(taken.getsockname()[1]), LOG_LEVEL="ERROR")
    assert ended.returncode == 2
    assert ended.stderr.startswith("HOST, PORT: can't listen: ")
    assert ended.stderr.count("\n") == 1


def test_a_database_that_is_away_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_text("no database")
    ended = start("migrate", tmp_path, DATABASE_URL="sqlite:///junk.db")
    assert ended.returncode == 3
    assert ended.stderr == ("DATABASE_URL: the database can't be reached: file is not a database\n")
