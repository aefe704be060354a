import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.simulate import command

POLICY = """\
version: 1
runners: {npu-8: {}}
suites:
  unit: {workflow: unit.yml, runners: [npu-8], paths: ["src/**"], timeout_minutes: 60}
  docs: {workflow: docs.yml, runners: [npu-8], paths: ["docs/**"], npus: 1}
  idle: {workflow: idle.yml, runners: [npu-8]}
"""
COMMITS = """\
{"commit": "1a2b3c4", "files": ["src/a.py", "docs/a.md"]}
{"commit": "2b3c4d5", "files": ["src/b.py"]}
{"commit": "3c4d5e6", "files": ["README"]}
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "new": POLICY,
        "old": POLICY.replace("docs/**", "README").replace("  unit:", "  core:"),
        "commits": COMMITS,
        "minutes": '{"unit": 15}',
        "wrong": "version: 2\nrunners: {a: {}}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


def simulate(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(command, arguments, input=given)


def test_json_has_the_runs_their_npu_hours_and_each_commit(files: dict[str, str]) -> None:
    result = simulate("--policy", files["new"], "--commits", "-", "--json", given=COMMITS)
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert (data["runs"], data["npu_hours"]) == (3, 20)
    assert [item["commit"] for item in data["commits"]] == ["1a2b3c4", "2b3c4d5", "3c4d5e6"]
    assert [item["selected"] for item in data["commits"]] == [["unit", "docs"], ["unit"], []]
    assert "against" not in data


def test_against_another_policy_json_says_what_differs(files: dict[str, str]) -> None:
    arguments = ("--policy", files["new"], "--against", files["old"], "--commits")
    against = json.loads(simulate(*arguments, files["commits"], "--json").stdout)["against"]
    assert (against["runs"], against["more_runs"], against["more_npu_hours"]) == (3, 0, 0)
    assert against["commits"][2] == {"commit": "3c4d5e6", "added": [], "removed": ["docs"]}


def test_a_table_sums_up_each_suite_that_runs_and_says_that_hours_are_an_upper_bound(
    files: dict[str, str],
) -> None:
    result = simulate("--policy", files["new"], "--commits", files["commits"])
    assert result.exit_code == 0
    assert [line.split("│")[1:4] for line in result.stdout.splitlines() if "│" in line] == [
        [" unit  ", "    2 ", "        16 "],
        [" docs  ", "    1 ", "         4 "],
    ]
    assert result.stdout.endswith("2 of 3 commits start something: 3 runs, up to 20 NPU-hours\n")


def test_the_table_shows_both_policies_and_the_commits_that_differ(files: dict[str, str]) -> None:
    result = simulate(
        "--policy", files["new"], "--against", files["old"], "--commits", files["commits"]
    )
    rows = [line.replace(" ", "") for line in result.stdout.splitlines() if "│" in line]
    assert rows == ["│unit│2│16│-│-│", "│docs│1│4│1│4│", "│core│-│-│2│16│"]
    assert result.stdout.splitlines()[-5:] == [
        "before: 3 of 3 commits start something: 3 runs, up to 20 NPU-hours",
        "1a2b3c4  +unit +docs -core",
        "2b3c4d5  +unit -core",
        "3c4d5e6  -docs",
        "0 of 3 commits select the same suites",
    ]


def test_what_the_bot_would_not_start_is_counted_apart(files: dict[str, str]) -> None:
    text = POLICY.replace("docs.yml,", "docs.yml, start: native,")
    result = simulate("--policy", "-", "--commits", files["commits"], given=text)
    told = "1 run is started by GitHub itself (native suites), 2 by the bot"
    assert result.stdout.splitlines()[-1] == told
    dry = simulate("--policy", "-", "--commits", files["commits"], given=text + "mode: dry_run\n")
    assert dry.stdout.splitlines()[-2:] == [
        told,
        "dry run: the bot would start 2 runs, and starts nothing until `mode: on`",
    ]


def test_no_two_columns_share_a_name(files: dict[str, str]) -> None:
    arguments = ("--policy", files["new"], "--against", files["old"], "--commits")
    out = simulate(*arguments, files["commits"]).stdout
    head = next(line for line in out.splitlines() if "suite " in line)
    names = [name.strip() for name in head.strip("┃ ").split("┃")]
    assert names == ["suite", "runs", "NPU-hours", "runs before", "NPU-hours before"]


def test_typical_minutes_make_it_an_estimate(files: dict[str, str]) -> None:
    arguments = ("--policy", files["new"], "--minutes", files["minutes"], "--commits")
    result = simulate(*arguments, files["commits"])
    assert "3 runs, about 8 NPU-hours" in result.stdout


def test_minutes_may_name_suites_of_either_policy(files: dict[str, str]) -> None:
    arguments = ("--policy", files["new"], "--against", files["old"], "--minutes", "-", "--commits")
    result = simulate(*arguments, files["commits"], "--json", given='{"core": 30, "unit": 30}')
    assert json.loads(result.stdout)["against"]["npu_hours"] == 12


@pytest.mark.parametrize(
    ("minutes", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "minutes above 0"),
        ('{"unit": 0}', "minutes above 0"),
        ('{"unit": true}', "minutes above 0"),
        ('{"unit": NaN}', "minutes above 0"),
        ('{"unti": 5}', "unknown suite `unti`; did you mean `unit`?"),
    ],
)
def test_minutes_that_are_none_are_wrong_use(
    files: dict[str, str], minutes: str, message: str
) -> None:
    arguments = ("--policy", files["new"], "--commits", files["commits"], "--minutes", "-")
    result = simulate(*arguments, given=minutes)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_line_that_is_no_commit_is_wrong_use(files: dict[str, str]) -> None:
    result = simulate("--policy", files["new"], "--commits", "-", given=COMMITS + "{}\n")
    assert result.exit_code == 2
    assert "-:4: is not like" in result.stderr


@pytest.mark.parametrize("option", ["--policy", "--against"])
def test_a_wrong_policy_is_a_no_with_its_errors_on_stderr(
    files: dict[str, str], option: str
) -> None:
    policies = {"--policy": files["new"], option: files["wrong"]}
    arguments = [word for pair in policies.items() for word in pair]
    result = simulate(*arguments, "--commits", files["commits"], "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"{files['wrong']}:1: version: must be 1")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--policy", "-"],
        ["--policy", "no/such/file", "--commits", "-"],
        ["--policy", "-", "--commits", "-"],
    ],
)
def test_wrong_use_ends_with_two(arguments: list[str]) -> None:
    result = simulate(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.stderr


def test_json_needs_no_more_than_match(files: dict[str, str]) -> None:
    arguments = ["simulate", "--policy", files["new"], "--commits", files["commits"], "--json"]
    program = (
        "import sys\n"
        "from bot.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "heavy = {'rich', 'aiohttp', 'sqlalchemy', 'asyncio', 'alembic', 'structlog'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


WORKFLOW = """\
on: {pull_request: {branches: [main]}}
jobs:
  a: {runs-on: npu-8, timeout-minutes: 30}
  b: {runs-on: npu-8, timeout-minutes: 60, strategy: {matrix: {n: [1, 2]}}}
"""
NATIVE = """\
version: 1
runners: {npu-8: {}}
suites:
"""
SUITE = '  %s: {workflow: w.yml, start: native, runners: [npu-8], paths: ["src/**"]%s}\n'


@pytest.mark.parametrize(
    ("suites", "runs"),
    [
        (SUITE % ("all", ""), 2),
        (SUITE % ("a", ", jobs: [a]") + SUITE % ("b", ", jobs: [b]"), 4),
    ],
)
def test_one_policy_written_in_two_ways_costs_the_same(
    suites: str, runs: int, tmp_path: Path
) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "w.yml").write_text(WORKFLOW)
    (tmp_path / "policy.yml").write_text(NATIVE + suites)
    asked = ("--policy", str(tmp_path / "policy.yml"), "--commits", "-", "--json")
    read = ("--repo", str(tmp_path))
    data = json.loads(simulate(*asked, *read, given=COMMITS).stdout)
    assert (data["runs"], data["npu_hours"]) == (runs, 2 * (8 * 0.5 + 2 * 8))
    other = json.loads(simulate(*asked, *read, "--base", "v1", given=COMMITS).stdout)
    assert other["runs"] == 0


def test_a_base_needs_the_workflows(files: dict[str, str]) -> None:
    asked = ("--policy", files["new"], "--commits", files["commits"], "--base", "main")
    result = simulate(*asked)
    assert result.exit_code == 2
    assert "--base needs --repo" in result.stderr
