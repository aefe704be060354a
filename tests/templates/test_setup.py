"""Setting a checkout up: what is installed and which data set is prepared."""

import pytest

from tests.templates.standin import SCRIPTS, Bash

SETUP = SCRIPTS / "ascend_ci_setup.sh"


@pytest.mark.parametrize(
    ("data", "raw"), [("gsm8k", "openai/gsm8k"), ("geo3k", "hiyouga/geometry3k")]
)
def test_the_commits_own_program_prepares_the_data(bash: Bash, data: str, raw: str) -> None:
    assert bash.run(SETUP, data).returncode == 0
    path = f"{bash.home}/.cache/datasets/{raw}"
    program = f"examples/data_preprocess/{data}.py"
    assert bash.calls() == [[program, "--local_dataset_path", path]]


def test_data_sets_may_lie_elsewhere(bash: Bash) -> None:
    bash.run(SETUP, "gsm8k", DATASETS_DIR="/mnt/a b")
    assert bash.calls()[0][-1] == "/mnt/a b/openai/gsm8k"


@pytest.mark.parametrize("arguments", [[], [""]])
def test_no_data_set_is_no_fault(bash: Bash, arguments: list[str]) -> None:
    assert bash.run(SETUP, *arguments).returncode == 0
    assert bash.calls() == []


@pytest.mark.parametrize("data", ["gsm9k", "../gsm8k", "*", "gsm8k geo3k", "$(id)"])
def test_an_unknown_data_set_is_refused_before_anything_is_done(bash: Bash, data: str) -> None:
    (bash.cwd / "pyproject.toml").write_text("")
    done = bash.run(SETUP, data)
    assert done.returncode == 1
    assert "no data set is called" in done.stderr
    assert bash.calls() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.py"])
def test_a_package_is_installed_in_the_place_of_the_images_copy(bash: Bash, name: str) -> None:
    (bash.cwd / name).write_text("")
    bash.run(SETUP, "")
    assert bash.calls() == [["-m", "pip", "install", "--no-deps", "--editable", "."]]


def test_a_failure_is_not_passed_over(bash: Bash) -> None:
    (bash.cwd / "setup.py").write_text("")
    assert bash.run(SETUP, "gsm8k", PYTHON_ENDS_WITH="3").returncode == 3
    assert len(bash.calls()) == 1
