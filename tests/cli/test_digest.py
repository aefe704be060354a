import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.digest import command

LOG = b"""\
start
Traceback (most recent call last):
  File "/__w/verl/verl/verl/a.py", line 3, in f
    boom()
ValueError: bad value password=hunter2hunter2
"""
INFRA = b"OSError: [Errno 28] No space left on device\n"


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "job.log"
    path.write_bytes(LOG)
    return str(path)


@pytest.mark.parametrize(
    ("folder", "options", "asked"),
    [
        (b"/home/me/src", [], True),
        (b"/home/me/src", ["--repo-root", "/home/me/src"], False),
        (b"/__w/verl/verl", [], False),  # a runner's folder is known
        (b"/usr/lib/python3.11/site-packages", [], False),
    ],
)
def test_the_folder_that_would_name_the_line_is_asked_for(
    folder: bytes, options: list[str], *, asked: bool
) -> None:
    log = LOG.replace(b"/__w/verl/verl", folder)
    said = CliRunner().invoke(command, [*options, "-"], input=log).stdout
    assert ("--repo-root DIR names the line in the repository" in said) is asked
    rooted = CliRunner().invoke(command, ["--repo-root", folder.decode(), "-"], input=log).stdout
    assert ("verl/a.py:3" in rooted) or not asked


def test_json_has_every_key_of_the_contract_and_nothing_else_on_stdout(log: str) -> None:
    result = CliRunner().invoke(command, ["--json", "--repo-root", "/__w/*/*", log])
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert answer == {
        "class": "code_failure",
        "infra": False,
        "codes": [],
        "root_cause_line": 5,
        "excerpt": answer["excerpt"],
        "annotation": {"path": "verl/a.py", "line": 3},
        "annotations": [
            {"path": "verl/a.py", "line": 3, "message": "ValueError: bad value password=***"}
        ],
        "hint": answer["hint"],
        "title": "ValueError in verl/a.py:3: bad value password=***",
        "lines": 5,
        "bytes": len(LOG),
    }
    assert "5  ValueError: bad value" in answer["excerpt"]
    assert "hunter2" not in result.stdout


@pytest.mark.parametrize("options", [["--json"], []])
def test_nothing_of_a_log_acts_on_the_terminal_of_who_reads_its_digest(options: list[str]) -> None:
    """Whoever runs may print anything: U+009B begins a command, U+202E turns the text around."""
    raw = "ValueError: bad \x9b2J \u202e \u2066 \x1b[2J 中文\n".encode()
    shown = CliRunner().invoke(command, [*options, "-"], input=raw).stdout
    assert "bad" in shown
    assert "中文" in shown
    assert not set(shown) & set("\x9b\x1b\u202e\u2066")


def test_a_log_on_standard_input_without_a_cause_has_no_annotation() -> None:
    result = CliRunner().invoke(command, ["--json", "-"], input=b"")
    answer = json.loads(result.stdout)
    assert (answer["class"], answer["annotation"], answer["annotations"]) == ("unknown", None, [])
    assert answer["root_cause_line"] is None


def test_people_get_class_cause_lines_and_hint(log: str) -> None:
    result = CliRunner().invoke(command, ["--repo-root", "/__w/verl/verl", log])
    assert result.exit_code == 0
    for part in ("code_failure (a retry would not help)", "       5  ValueError", "verl/a.py:3"):
        assert part in result.stdout
    assert "5 lines" in result.stdout


def test_people_get_codes_and_an_empty_log_gets_a_title() -> None:
    coded = b"EJ0001: [PID: 1] 2026-01-02-03:04:05.1 Failed to initialize the HCCP process.\n"
    result = CliRunner().invoke(command, ["-"], input=coded)
    assert "[EJ0001]" in result.stdout
    assert "infrastructure, a retry may help" in result.stdout
    assert "Nothing in this log failed" in CliRunner().invoke(command, ["-"], input=b"").stdout


@pytest.mark.parametrize(
    ("raw", "code"), [(LOG, 1), (INFRA, 0), (b"12 passed in 3s\n", 1), (b"Ran 2 tests\n\nOK\n", 1)]
)
def test_infra_only_answers_with_the_exit_code(raw: bytes, code: int) -> None:
    assert CliRunner().invoke(command, ["--infra-only", "-"], input=raw).exit_code == code


def test_a_passing_log_is_no_failure_and_one_that_just_stops_says_so() -> None:
    passing = CliRunner().invoke(command, ["-"], input=b"12 passed, 1 warning in 3s\n").stdout
    assert passing == "Nothing in this log failed\n\n1 line, 27 bytes\n"
    assert "stops without an error" in CliRunner().invoke(command, ["-"], input=b"start\n").stdout


@pytest.mark.parametrize("arguments", [[], ["no-such-file.log"], ["--nope", "-"]])
def test_wrong_use_exits_with_two(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code == 2


def test_bytes_that_are_no_text_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(bytes(range(256)) * 50 + INFRA)
    assert json.loads(CliRunner().invoke(command, ["--json", str(path)]).stdout)["bytes"] == (
        12_800 + len(INFRA)
    )


def test_the_command_line_reads_a_file(log: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", "digest", "--json", log],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["root_cause_line"] == 5
