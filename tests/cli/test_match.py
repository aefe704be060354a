import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.match import command

POLICY = """\
version: 1
runners: {npu-8: {}}
suites:
  unit: {workflow: unit.yml, runners: [npu-8], paths: ["src/**", "!**/*.md"]}
  night: {workflow: night.yml, runners: [npu-8], triggers: [command]}
"""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.yml"
    path.write_text(POLICY)
    return str(path)


def test_json_answers_every_suite_with_its_reason_and_files(policy: str) -> None:
    result = CliRunner().invoke(command, ["--policy", policy, "--json"], input="src/a.py\nREADME\n")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "suites": [
            {
                "name": "unit",
                "selected": True,
                "reason": "`src/a.py` matches `src/**`",
                "files": ["src/a.py"],
            },
            {
                "name": "night",
                "selected": False,
                "reason": "not started by `pull_request`, only by `command`",
                "files": [],
            },
        ]
    }


def test_paths_are_read_as_git_lists_them_and_what_can_match_nothing_is_told(policy: str) -> None:
    listing = "./src/a.py\n/w/src/b.py\n"
    result = CliRunner().invoke(command, ["--policy", policy, "--json"], input=listing)
    assert json.loads(result.stdout)["suites"][0]["files"] == ["src/a.py"]
    assert "/w/src/b.py: is absolute" in result.stderr


QUOTED = rb'"src/\303\244\t\"\\.py"'


@pytest.mark.parametrize(
    ("listing", "files"),
    [
        (b"src/a.py\r\nsrc/b.md\r\n", ["src/a.py"]),
        (b'src/a.py\x00src/b\n.py\x00src/"c".py\x00', ["src/a.py", "src/b\n.py", 'src/"c".py']),
        (QUOTED + b"\r\n", ['src/\u00e4\t"\\.py']),
        (b'"src/\\344.py"\n"src/b.md"\n', ["src/\ufffd.py"]),
        (b"\xef\xbb\xbfsrc/a.py\n", ["src/a.py"]),
    ],
    ids=["CRLF", "NUL", "quoted", "quoted bytes", "byte order mark"],
)
def test_a_list_is_read_as_git_or_windows_writes_it(
    policy: str, listing: bytes, files: list[str]
) -> None:
    result = CliRunner().invoke(command, ["--policy", policy, "--json"], input=listing)
    assert json.loads(result.stdout)["suites"][0]["files"] == files
    assert result.stderr == ""


def test_a_pipe_gets_whole_names_and_what_is_selected_first(tmp_path: Path) -> None:
    long = "long-" * 9 + "name"
    *head, unit, night = POLICY.splitlines()
    swapped = "\n".join([*head, night, unit])
    path = tmp_path / "policy.yml"
    path.write_text(swapped.replace("  unit:", f"  {long}:"))
    out = CliRunner().invoke(command, ["--policy", str(path)], input="src/a.py\n").stdout
    rows = [line for line in out.splitlines() if "│" in line]
    assert len(rows) == 2
    assert long in rows[0]


def test_files_come_from_a_file_or_a_dash_one_a_line_as_they_are(
    policy: str, tmp_path: Path
) -> None:
    listing = tmp_path / "files"
    listing.write_bytes(b"src/ a \n\nsrc/\xff.py\nsrc/b.md")
    from_file = CliRunner().invoke(
        command, ["--policy", policy, "--files-from", str(listing), "--json"]
    )
    from_dash = CliRunner().invoke(
        command, ["--policy", policy, "--files-from", "-", "--json"], input=listing.read_bytes()
    )
    assert json.loads(from_file.stdout)["suites"][0]["files"] == ["src/ a ", "src/\ufffd.py"]
    assert from_dash.stdout == from_file.stdout


def test_without_json_a_table_says_the_same(policy: str) -> None:
    result = CliRunner().invoke(command, ["--policy", policy], input="src/[a].py\n")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "unit" in words
    assert "`src/[a].py` matches" in words
    assert "1 of 2 suites selected" in words


def test_more_files_than_github_lists_select_all_that_have_paths(policy: str) -> None:
    listing = "".join(f"docs/{number}\n" for number in range(3001))
    result = CliRunner().invoke(command, ["--policy", policy, "--json"], input=listing)
    assert [suite["selected"] for suite in json.loads(result.stdout)["suites"]] == [True, False]


def test_a_wrong_policy_is_a_no_with_every_error_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "policy.yml"
    path.write_text("version: 2\nrunnners: {}\n")
    result = CliRunner().invoke(command, ["--policy", str(path), "--json"], input="")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert [line.split(": ")[:2] for line in result.stderr.splitlines()] == [
        [f"{path}:1", "version"],
        [f"{path}:1", "runners"],
        [f"{path}:2", "runnners"],
    ]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--policy", "no/such/file"], ["--policy", "-", "--files-from", "-"], ["--nonsense"]],
)
def test_wrong_use_ends_with_two(arguments: list[str]) -> None:
    result = CliRunner().invoke(command, arguments, input="")
    assert result.exit_code == 2
    assert "Error" in result.stderr


def test_a_quarantine_is_told(policy: str) -> None:
    until = str(datetime.now(UTC).date() + timedelta(days=9))
    rest = f"suite: unit, until: {until}, owner: amy, reason: flaky, issue: 12"
    Path(policy).write_text(f"{POLICY}quarantine: [{{{rest}}}]\n")
    told = CliRunner().invoke(command, ["--policy", policy], input="src/a.py\n")
    assert f"in quarantine until {until}" in told.stdout
    told = CliRunner().invoke(command, ["--policy", policy, "--json"], input="src/a.py\n")
    unit, night = json.loads(told.stdout)["suites"]
    assert [entry["until"] for entry in unit["quarantine"]] == [until]
    assert "quarantine" not in night


def test_the_command_imports_nothing_that_it_does_not_use(policy: str) -> None:
    program = (
        "import sys\n"
        "from bot.cli import main\n"
        f"main(['match', '--policy', {policy!r}, '--json'], standalone_mode=False)\n"
        "heavy = {'rich', 'aiohttp', 'sqlalchemy', 'asyncio', 'alembic', 'structlog'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input="", capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
