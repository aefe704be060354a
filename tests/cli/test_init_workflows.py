"""`ascend-ci init --from-workflows`: the policy made of the workflows that a checkout has."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli.check_policy import command as check_policy
from bot.cli.init import command
from bot.cli.init.workflows import MAX_FILES
from bot.cli.match import command as match

FOLDER = ".github/workflows"
POLICY = ".github/ascend-ci.yml"

E2E = """\
on:
  pull_request:
    paths: ["src/**"]
  push:
jobs:
  a: {runs-on: linux-aarch64-a3-8}
"""


def init(folder: Path, *options: str, **workflows: str) -> Result:
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for stem, text in workflows.items():
        (folder / FOLDER / f"{stem}.yml").write_text(text)
    return CliRunner().invoke(command, ["--yes", "--from-workflows", *options, str(folder)])


def answer(result: Result) -> dict[str, Any]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_the_policy_is_right_and_selects_as_the_workflows_do(tmp_path: Path) -> None:
    result = init(tmp_path, e2e=E2E)
    assert result.exit_code == 0
    checked = CliRunner().invoke(check_policy, [str(tmp_path / POLICY)])
    assert checked.output.endswith(
        ": OK, 1 suite, 1 runner label, 0 pools, 0 nightly times, 0 warnings\n"
    )
    arguments = ["--policy", str(tmp_path / POLICY), "--json"]
    matched = CliRunner().invoke(match, arguments, input="src/a.py\n")
    assert [one["selected"] for one in json.loads(matched.stdout)["suites"]] == [True]
    assert "\nmode: dry_run" in (tmp_path / POLICY).read_text()


def test_each_workflow_and_all_that_is_missed_is_told(tmp_path: Path) -> None:
    reason = "`push` cannot start a native suite; GitHub goes on starting the workflow at it"
    lines = init(tmp_path, e2e=E2E, lint="on: push\njobs: {a: {runs-on: ubuntu-latest}}\n").stdout
    assert lines.splitlines()[-3:] == [
        f"carried   {FOLDER}/e2e.yml: suite e2e",
        f"left      {FOLDER}/lint.yml: no label of its jobs names Ascend NPUs: `ubuntu-latest`",
        f"missed    {FOLDER}/e2e.yml:4: {reason}",
    ]


def test_json_tells_the_same(tmp_path: Path) -> None:
    found = answer(init(tmp_path, "--json", e2e=E2E))
    assert found["workflows"] == [
        {"file": f"{FOLDER}/e2e.yml", "suite": "e2e", "reason": "carried over"}
    ]
    assert [(one["file"], one["line"]) for one in found["missed"]] == [(f"{FOLDER}/e2e.yml", 4)]


def test_a_second_run_leaves_all_as_it_is(tmp_path: Path) -> None:
    init(tmp_path, e2e=E2E)
    result = init(tmp_path, "--json")
    assert result.exit_code == 0
    assert {one["status"] for one in answer(result)["files"]} == {"same"}
    assert [one["suite"] for one in answer(result)["workflows"]] == [None, None, "e2e"]


def test_a_policy_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / POLICY).write_text("mine\n")
    result = init(tmp_path, e2e=E2E)
    assert (result.exit_code, (tmp_path / POLICY).read_text()) == (1, "mine\n")


@pytest.mark.parametrize("workflows", [{}, {"lint": "on: push\njobs: {a: {runs-on: gpu}}\n"}])
def test_without_a_workflow_to_carry_no_policy_is_written(
    tmp_path: Path, workflows: dict[str, str]
) -> None:
    result = init(tmp_path, **workflows)
    assert result.exit_code == 1
    assert "No workflow could be carried over, so no policy was written" in result.stderr
    assert "Without --from-workflows a starter policy" in result.stderr
    assert "Next:" not in result.stderr
    assert not (tmp_path / POLICY).exists()
    assert (tmp_path / FOLDER / "ascend_nightly.yml").is_file()


def test_a_folder_without_workflows_has_none(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--yes", "--from-workflows", "--json", str(tmp_path)])
    assert (result.exit_code, answer(result)["workflows"]) == (1, [])


def test_what_is_no_file_of_the_checkout_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yml"
    outside.write_text(E2E)
    checkout = tmp_path / "checkout"
    (checkout / FOLDER).mkdir(parents=True)
    (checkout / FOLDER / "link.yml").symlink_to(outside)
    (checkout / FOLDER / "folder.yaml").mkdir()
    (checkout / FOLDER / "notes.txt").write_text(E2E)
    found = answer(init(checkout, "--json", e2e=E2E))
    assert [(one["file"][18:], one["suite"]) for one in found["workflows"]] == [
        ("e2e.yml", "e2e"),
        ("folder.yaml", None),
        ("link.yml", None),
    ]
    assert [one["reason"] for one in found["missed"][:2]] == [
        f"{FOLDER}/folder.yaml is not a file",
        f"{FOLDER}/link.yml is a symbolic link; none is followed",
    ]


def test_a_folder_of_workflows_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / FOLDER).write_text("")
    result = CliRunner().invoke(command, ["--yes", "--from-workflows", "--json", str(tmp_path)])
    assert answer(result)["missed"] == [
        {"file": FOLDER, "line": 1, "reason": f"{FOLDER} is not a folder"}
    ]


def test_a_file_of_any_bytes_and_a_huge_one_harm_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "bytes.yml").write_bytes(bytes(range(256)))
    (tmp_path / FOLDER / "huge.yml").write_text(E2E + "#" * 1_000_000)
    (tmp_path / FOLDER / "new\nline.yml").write_text("[")
    result = init(tmp_path, e2e=E2E)
    assert result.exit_code == 0
    missed = [line for line in result.stdout.splitlines() if line.startswith("missed")]
    assert len(missed) == 4
    assert f"missed    {FOLDER}/new?line.yml:1: is not valid YAML" in result.stdout
    assert "huge.yml:1: has 262,145 bytes; at most 262,144 are read\n" in result.stdout


def test_so_many_workflows_are_not_all_looked_at(tmp_path: Path) -> None:
    result = init(tmp_path, "--json", **{f"w{number:03}": "on: push\n" for number in range(501)})
    missed = answer(result)["missed"]
    assert [one["file"] for one in missed] == [f"{FOLDER}/w{MAX_FILES}.yml"]
    assert len(answer(result)["workflows"]) == 501


def test_places_with_the_same_reason_share_a_line(tmp_path: Path) -> None:
    lint = "on: push\njobs: {a: {runs-on: gpu}}\n"
    lines = init(tmp_path, a=E2E, b=E2E, lint=lint, test=lint).stdout.splitlines()
    push = "`push` cannot start a native suite; GitHub goes on starting the workflow at it"
    assert lines[-2:] == [
        f"left      {FOLDER}/lint.yml and 1 more: no label of its jobs names Ascend NPUs: `gpu`",
        f"missed    {FOLDER}/a.yml:4 and 1 more: {push}",
    ]
