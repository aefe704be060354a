"""`ascend-ci init` on real folders: what it writes, keeps, refuses and says."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from bot.cli.init import command
from bot.cli.init.checkout import MAX_READ_BYTES
from bot.cli.init.templates import wanted
from bot.core.policy.loading import check_policy
from bot.core.policy.models import Policy

ROOT = Path(__file__).parents[2]
POLICY = ".github/ascend-ci.yml"
MULTINODE = ".github/workflows/ascend_multinode.yml"
HELPER = ".github/scripts/ascend_ci_submit.py"
TRAINING = "tests/special_npu/run_qwen3_06b_ppo_multinode.sh"


def init(folder: Path, *options: str, answers: str = "") -> Result:
    return CliRunner().invoke(command, [*options, str(folder)], input=answers)


def statuses(folder: Path, *options: str) -> dict[str, str]:
    result = init(folder, *options, "--json")
    return {one["path"]: one["status"] for one in json.loads(result.stdout)["files"]}


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def paths() -> list[str]:
    return [file.path for file in wanted()]


def test_an_empty_folder_gets_every_file(tmp_path: Path, paths: list[str]) -> None:
    result = init(tmp_path, "--yes")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [f"created   {path}" for path in paths]
    assert sorted(tree(tmp_path)) == sorted(paths)
    assert {POLICY, MULTINODE, HELPER, TRAINING} <= set(paths)


def test_it_says_how_to_let_nobody_but_the_app_start_the_workflows(tmp_path: Path) -> None:
    said = init(tmp_path, "--yes").stderr
    assert "gh variable set ASCEND_CI_ACTOR --body '<app-slug>[bot]'" in said


def test_a_second_run_changes_nothing(tmp_path: Path, paths: list[str]) -> None:
    init(tmp_path, "--yes")

    def written() -> list[tuple[int, int]]:
        return [
            (one.st_ino, one.st_ctime_ns) for one in (tmp_path.joinpath(p).stat() for p in paths)
        ]

    before = written()
    for options in (["--yes"], ["--force"], []):
        assert statuses(tmp_path, *options) == dict.fromkeys(paths, "same")
    assert written() == before


def test_the_helper_is_the_packages_own_byte_for_byte(tmp_path: Path) -> None:
    init(tmp_path, "--yes")
    assert (tmp_path / HELPER).read_bytes() == (ROOT / "bot/submit.py").read_bytes()


def test_the_starter_is_a_right_policy_that_starts_nothing_yet(tmp_path: Path) -> None:
    init(tmp_path, "--yes")
    checked = check_policy((tmp_path / POLICY).read_bytes())
    assert isinstance(checked.result, Policy)
    assert checked.warnings == ()
    assert checked.result.mode == "dry_run"


def test_what_the_policies_name_is_where_they_say(tmp_path: Path) -> None:
    init(tmp_path, "--yes")
    shipped = {path.name: path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.sh")}
    for source in (tmp_path / POLICY, ROOT / "config/policy.yml"):
        for suite in yaml.safe_load(source.read_text())["suites"].values():
            script = suite.get("inputs", {}).get("script", "")
            assert shipped.get(script.rsplit("/", 1)[-1], script) == script
            if source.name == "ascend-ci.yml":
                declared = tmp_path / ".github/workflows" / suite["workflow"]
                inputs = yaml.safe_load(declared.read_text())[True]["workflow_dispatch"]["inputs"]
                assert set(suite["inputs"]) <= set(inputs)
                assert (tmp_path / script).is_file()


def test_scripts_are_executable_and_the_rest_is_not(tmp_path: Path, paths: list[str]) -> None:
    init(tmp_path, "--yes")
    for path in paths:
        executable = bool((tmp_path / path).stat().st_mode & stat.S_IXUSR)
        assert executable is path.endswith((".sh", ".py")), path


def test_files_are_as_open_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        init(tmp_path, "--yes")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / MULTINODE).stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / HELPER).stat().st_mode) == 0o750


def changed(folder: Path, path: str, text: str = "mine\n") -> Path:
    """Install everything, then change one file."""
    init(folder, "--yes")
    (folder / path).write_text(text)
    return folder / path


def test_yes_keeps_what_differs_and_says_so(tmp_path: Path) -> None:
    file = changed(tmp_path, MULTINODE)
    result = init(tmp_path, "--yes")
    assert result.exit_code == 1
    assert f"kept      {MULTINODE}: differs; --force replaces it\n" in result.stdout
    assert file.read_text() == "mine\n"


@pytest.mark.parametrize("options", [["--force"], ["--yes", "--force"]])
def test_force_replaces_what_differs(tmp_path: Path, options: list[str]) -> None:
    file = changed(tmp_path, MULTINODE)
    result = init(tmp_path, *options)
    assert result.exit_code == 0
    assert f"replaced  {MULTINODE}\n" in result.stdout
    assert file.read_bytes() == (ROOT / "config/templates/workflows" / file.name).read_bytes()


OWN = "python3 -m train +a.vanilla=False 'b.steps=[1]' --resume\nexport KEY=1\n: ${NNODES:-1}\n"
LACKS = "its replacement lacks `KEY=1`, `+a.vanilla=False`, `--resume`"


@pytest.mark.parametrize(
    ("options", "answers", "asked", "kept"),
    [
        ([], "", False, True),
        (["--yes"], "", False, True),
        (["--force", "--yes"], "", False, True),
        (["--force"], "n\n", True, True),
        (["--force"], "y\n", True, False),
    ],
)
def test_a_script_that_would_lose_arguments_is_only_replaced_if_somebody_says_so(
    tmp_path: Path, options: list[str], answers: str, asked: bool, kept: bool
) -> None:
    file = changed(tmp_path, TRAINING, OWN)
    result = init(tmp_path, *options, answers=answers)
    assert (file.read_text() == OWN) is kept
    assert (LACKS in result.stdout) is kept
    assert (f"Replace {TRAINING}? [y/N]: " in result.stderr) is asked
    assert (f"{TRAINING} differs, and {LACKS}.\n" in result.stderr) is asked


def test_a_script_that_would_lose_nothing_is_replaced_by_force(tmp_path: Path) -> None:
    changed(tmp_path, TRAINING, "# a.b=c\nWORD=1\nword=1\n")
    assert statuses(tmp_path, "--force")[TRAINING] == "replaced"


def test_a_script_that_lost_its_mode_differs(tmp_path: Path) -> None:
    init(tmp_path, "--yes")
    (tmp_path / TRAINING).chmod(0o644)
    assert f"kept      {TRAINING}: is not executable" in init(tmp_path, "--yes").stdout
    asked = init(tmp_path, answers="y\n")
    assert "new mode, executable\n" in asked.stderr
    assert f"replaced  {TRAINING}\n" in asked.stdout
    assert os.access(tmp_path / TRAINING, os.X_OK)


def test_each_change_is_shown_and_asked_for(tmp_path: Path, paths: list[str]) -> None:
    changed(tmp_path, MULTINODE, "mine\x1b[31m\nno newline")
    (tmp_path / TRAINING).unlink()
    result = init(tmp_path, answers="n\ny\n")
    assert f"--- a/{MULTINODE}\n+++ b/{MULTINODE}\n" in result.stderr
    assert "\n-mine?[31m\n-no newline\n+" in result.stderr
    assert f"Replace {MULTINODE}? [y/N]: " in result.stderr
    assert f"--- /dev/null\n+++ b/{TRAINING}\n" in result.stderr
    assert f"Create {TRAINING}? [Y/n]: " in result.stderr
    assert result.exit_code == 1
    expected = dict.fromkeys(paths, "same") | {MULTINODE: "kept", TRAINING: "created"}
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        [status, path.removesuffix(":") + ":" * (status == "kept")]
        for path, status in expected.items()
    ]


def test_a_refusal_creates_nothing(tmp_path: Path, paths: list[str]) -> None:
    result = init(tmp_path, answers="n\n" * len(paths))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [f"skipped   {path}: not created" for path in paths]
    assert tree(tmp_path) == {}


def test_without_anybody_to_ask_it_stops(tmp_path: Path) -> None:
    result = init(tmp_path)
    assert (result.exit_code, tree(tmp_path)) == (1, {})
    assert "Aborted!" in result.stderr
    assert "--yes creates missing files" in result.stderr


def test_it_says_what_to_do_next_and_warns_of_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    result = init(tmp_path, "--yes")
    assert "is not a Git checkout" in result.stderr
    assert "ascend-ci check-policy" in result.stderr
    (tmp_path / ".git").mkdir()
    assert "is not a Git checkout" not in init(tmp_path, "--yes").stderr


def test_json_alone_goes_to_standard_output(tmp_path: Path, paths: list[str]) -> None:
    result = init(tmp_path, "--json", answers="y\n" * len(paths))
    answer: dict[str, Any] = json.loads(result.stdout)
    assert list(answer) == ["files"]
    assert answer["files"][0] == {"path": paths[0], "status": "created", "reason": ""}


def test_a_file_too_large_to_compare_is_kept_or_replaced(tmp_path: Path) -> None:
    changed(tmp_path, MULTINODE, "x" * (MAX_READ_BYTES + 1))
    assert statuses(tmp_path, "--yes")[MULTINODE] == "kept"
    result = init(tmp_path, answers="y\n")
    assert f"{MULTINODE} is too large to be compared\n" in result.stderr
    assert statuses(tmp_path, "--yes")[MULTINODE] == "same"


@pytest.mark.parametrize(
    "arguments", [["no/such/folder"], [str(Path(__file__))], [], ["--no", "."]]
)
def test_wrong_use_ends_with_two(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code == 2
