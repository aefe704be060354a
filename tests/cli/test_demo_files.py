"""The repository that the demo starts from: its policy, workflows and scripts do as they say."""

import os
import subprocess
from pathlib import Path

import pytest

from bot import resources
from bot.cli.demo.play import files_of
from bot.cli.demo.stage import POLICY, repository_in
from bot.core.policy import Policy, load_policy
from bot.sim.workflow import WorkflowFile, parse

SUBMIT_JOB, RUN_JOB = "ascend_multinode.yml", "ascend_nightly.yml"
SCRIPTS = ".github/ascend-ci"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repository_in(tmp_path)


def policy_of(repository: Path) -> Policy:
    policy = load_policy((repository / POLICY).read_bytes())
    assert isinstance(policy, Policy), policy
    return policy


def workflow(repository: Path, name: str) -> WorkflowFile:
    return parse((repository / ".github" / "workflows" / name).read_text())


def test_the_policy_names_workflows_and_the_folder_that_are_there(repository: Path) -> None:
    policy = policy_of(repository)
    assert {suite.workflow for suite in policy.suites.values()} == {SUBMIT_JOB, RUN_JOB}
    assert policy.log.repo_roots == (f"{repository.parent / 'staging'}/*/pr",)
    assert {one.name for one in policy.nightly} == {"units"}


def test_the_workflows_declare_every_input_that_the_policy_sends(repository: Path) -> None:
    policy = policy_of(repository)
    for suite in policy.suites.values():
        sent = {"ascend_ci", "sha", "pr", "runner", "timeout_minutes", *suite.inputs}
        found = workflow(repository, suite.workflow)
        assert found.problems == []
        assert sent <= set(found.inputs)


def test_the_submit_job_executes_trusted_code_only(repository: Path) -> None:
    found = workflow(repository, SUBMIT_JOB)
    assert found.permissions == {"contents": "read", "id-token": "write"}
    steps = found.jobs["submit"].steps
    assert [step.arguments.get("path") for step in steps if step.uses] == ["trusted", "pr"]
    commands = [step.run for step in steps if step.run]
    assert all(" trusted/.github/ascend-ci/" in command for command in commands)
    assert not any("pr/" in command or "${{" in command for command in commands)


def test_the_run_job_has_nothing_to_steal(repository: Path) -> None:
    found = workflow(repository, RUN_JOB)
    assert found.permissions == {"contents": "read"}
    text = (repository / ".github" / "workflows" / RUN_JOB).read_text()
    assert "secrets" not in text
    assert "cache" not in text
    checkouts = [step for job in found.jobs.values() for step in job.steps if step.uses]
    assert [step.arguments["persist-credentials"] for step in checkouts] == ["false"]
    assert not any("${{" in (step.run or "") for step in found.jobs["test"].steps)


def test_each_change_differs_from_the_repository(repository: Path) -> None:
    changes = {name.split("/")[2] for name in resources.names("demo/pulls")}
    assert changes
    for change in changes:
        files = files_of(change)
        assert files
        assert all((repository / path).read_text() != text for path, text in files.items())


def test_the_helper_in_the_repository_is_the_one_of_this_version(repository: Path) -> None:
    own = Path(__file__).parents[2] / "bot" / "submit.py"
    assert (repository / SCRIPTS / "submit.py").read_text() == own.read_text()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Lay out what the submit job has checked out."""
    made = tmp_path / "workspace"
    (made / "pr" / ".git").mkdir(parents=True)
    (made / "pr" / ".git" / "HEAD").write_text(f"{COMMIT}\n")
    (made / "pr" / "run.sh").write_text('printf "ran in %s\\n" "$PWD"\n')
    (made / "pr" / "link").symlink_to("/etc/passwd")
    (made / "trusted").symlink_to(repository_in(tmp_path))
    return made


def staged(workspace: Path) -> "subprocess.CompletedProcess[str]":
    variables = {"STAGING_DIR": str(workspace.parent / "staging"), "GITHUB_RUN_ID": "7"}
    variables |= {"GITHUB_RUN_ATTEMPT": "2", "GITHUB_OUTPUT": str(workspace / "output")}
    return bash(workspace, variables, f"trusted/{SCRIPTS}/stage.sh")


def bash(folder: Path, env: dict[str, str], *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", *argv],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def launched(workspace: Path, commit: str) -> "subprocess.CompletedProcess[str]":
    variables = {"ASCEND_CI_COMMIT_SHA": commit, "ASCEND_CI_NODES": "2"}
    launcher = workspace.parent / "staging" / "7-2" / "launch.sh"
    return bash(workspace, variables, str(launcher), "run.sh")


def test_staging_copies_bytes_to_a_folder_of_this_run_and_attempt(workspace: Path) -> None:
    assert staged(workspace).returncode == 0
    folder = workspace.parent / "staging" / "7-2"
    assert (workspace / "output").read_text() == f"launch={folder}/launch.sh\n"
    assert (folder / "COMMIT").read_text() == f"{COMMIT}\n"
    assert (folder / "pr" / "link").is_symlink()
    assert not (folder / "pr" / ".git").exists()


def test_an_attempt_is_never_staged_over_another(workspace: Path) -> None:
    assert staged(workspace).returncode == 0
    assert staged(workspace).returncode != 0


def test_the_launcher_runs_the_commit_that_was_asked_for(workspace: Path) -> None:
    staged(workspace)
    done = launched(workspace, COMMIT)
    assert done.returncode == 0
    assert done.stdout.endswith(f"ran in {workspace.parent}/staging/7-2/pr\n")


def test_the_launcher_refuses_another_commit(workspace: Path) -> None:
    staged(workspace)
    done = launched(workspace, COMMIT.replace("0", "f"))
    assert done.returncode == 1
    assert "asked for was" in done.stderr
    assert "ran in" not in done.stdout
