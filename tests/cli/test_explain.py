import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.cli.explain import command

POLICY = """\
version: 1
runners: {npu-8: {}}
suites:
  unit: {workflow: unit.yml, runners: [npu-8], paths: ["src/**", "!**/*.md"]}
  night: {workflow: night.yml, runners: [npu-8], triggers: [command], tier: heavy}
"""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.yml"
    path.write_text(POLICY)
    return str(path)


def explain(*arguments: str, given: bytes | str = "") -> Result:
    return CliRunner().invoke(command, arguments, input=given)


def test_each_suite_is_told_with_its_pattern_who_may_start_it_and_its_cost(policy: str) -> None:
    result = explain("--policy", policy, "src/a.py", "src/b.py", "README.md")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "yes  unit   `src/a.py` matches `src/**` and 1 more",
        (
            "     starts: by itself for authors with write · who may start it: triage permission"
            " · cost: up to 32 NPU-hours, npu-8"
        ),
        "no   night  not started by `pull_request`, only by `command`",
        (
            "     starts: by command · who may start it: write permission"
            " · cost: up to 32 NPU-hours, npu-8"
        ),
        "1 of 2 suites selected",
    ]


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_colour_is_honoured(policy: str, env: dict[str, str], *, coloured: bool) -> None:
    arguments = ("explain", "--policy", policy, "src/a.py")
    result = CliRunner(env=env).invoke(main, arguments, color=True)
    assert ("\x1b[" in result.stdout) is coloured


def test_json_holds_the_same_for_scripts(policy: str) -> None:
    result = explain("--policy", policy, "--json", "--suite", "u*", "src/a.py")
    (suite,) = json.loads(result.stdout)["suites"]
    assert suite["name"] == "unit"
    assert suite["pattern"] == "src/**"
    assert suite["files"] == ["src/a.py"]
    assert (suite["starts"], suite["author"], suite["level"]) == ("itself", "write", "triage")
    assert suite["cost"]["npu_hours"] == 32


def test_files_come_from_arguments_a_file_or_a_dash(policy: str, tmp_path: Path) -> None:
    listing = tmp_path / "files"
    listing.write_bytes(b"src/ a \n\nsrc/\xff.py\nsrc/b.md")
    from_file = explain("--policy", policy, "--files-from", str(listing), "--json")
    from_dash = explain(
        "--policy", policy, "--files-from", "-", "--json", given=listing.read_bytes()
    )
    assert json.loads(from_file.stdout)["suites"][0]["files"] == ["src/ a ", "src/\ufffd.py"]
    assert from_dash.stdout == from_file.stdout


def test_an_empty_line_is_no_file(policy: str) -> None:
    result = explain("--policy", policy, "--files-from", "-", given="\ndocs/a.md\n\n")
    assert "the changed file matches none of its paths" in result.stdout


def test_more_files_than_github_lists_select_all_that_have_paths(policy: str) -> None:
    listing = "".join(f"docs/{number}\n" for number in range(3001))
    result = explain("--policy", policy, "--files-from", "-", "--json", given=listing)
    assert [suite["selected"] for suite in json.loads(result.stdout)["suites"]] == [True, False]


def test_a_suite_that_there_is_not_is_answered_with_the_nearest(policy: str) -> None:
    result = explain("--policy", policy, "--suite", "unti", "a.py")
    assert result.exit_code == 2
    assert "unknown suite `unti`; did you mean `unit`?" in result.stderr
    assert result.stdout == ""


def test_a_wrong_policy_is_a_no_with_its_errors_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "policy.yml"
    path.write_text("version: 2\nrunners: {a: {}}\n")
    result = explain("--policy", str(path), "a.py")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{path}:1: version: must be 1, the only version")
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.py"],
        ["--policy", "no/such/file", "a.py"],
        ["--policy", "-", "--files-from", "-"],
        ["--policy", "-"],
        ["--policy", "-", "--files-from", "-", "a.py"],
    ],
)
def test_wrong_use_ends_with_two(arguments: list[str]) -> None:
    result = explain(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.stderr


def test_a_quarantine_is_told(policy: str) -> None:
    until = str(datetime.now(UTC).date() + timedelta(days=9))
    rest = f"suite: unit, until: {until}, owner: amy, reason: flaky, issue: 12"
    Path(policy).write_text(f"{POLICY}quarantine: [{{{rest}}}]\n")
    assert f"in quarantine until {until}" in explain("--policy", policy, "src/a.py").stdout
    told = explain("--policy", policy, "--json", "src/a.py")
    assert json.loads(told.stdout)["suites"][0]["quarantine"][0]["until"] == until


def test_the_command_imports_nothing_that_it_does_not_use(policy: str) -> None:
    program = (
        "import sys\n"
        "from bot.cli import main\n"
        f"main(['explain', '--policy', {policy!r}, 'src/a.py'], standalone_mode=False)\n"
        "heavy = {'rich', 'aiohttp', 'sqlalchemy', 'asyncio', 'alembic', 'structlog'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
