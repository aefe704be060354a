"""The repository that the demo starts from: its policy fits the templates that it stands on."""

from pathlib import Path

import pytest

from bot import resources
from bot.cli.demo.play import files_of
from bot.cli.demo.stage import POLICY, repository_in
from bot.cli.init.templates import wanted
from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy
from bot.sim.workflow import WorkflowFile, parse

SUBMIT_JOB, RUN_JOB = "ascend_multinode.yml", "ascend_nightly.yml"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repository_in(tmp_path, "en")


def policy_of(repository: Path) -> Policy:
    policy = load_policy((repository / POLICY).read_bytes())
    assert isinstance(policy, Policy), policy
    return policy


def workflow(repository: Path, name: str) -> WorkflowFile:
    return parse((repository / ".github" / "workflows" / name).read_text())


def test_the_policy_names_workflows_and_the_folder_that_are_there(repository: Path) -> None:
    policy = policy_of(repository)
    assert {suite.workflow for suite in policy.suites.values()} == {SUBMIT_JOB, RUN_JOB}
    assert policy.log.repo_roots == (f"{repository.parent / 'tmp'}/ascend-ci-*/work/project",)
    assert {one.name for one in policy.nightly} == {"units"}


def test_the_workflows_declare_every_input_that_the_policy_sends(repository: Path) -> None:
    policy = policy_of(repository)
    for suite in policy.suites.values():
        sent = {"ascend_ci", "sha", "pr", "runner", "timeout_minutes", *suite.inputs}
        found = workflow(repository, suite.workflow)
        assert found.problems == []
        assert sent <= set(found.inputs)


def test_the_workflows_are_the_very_templates(repository: Path) -> None:
    installed = {file.path: file.content for file in wanted() if file.path.startswith(".github/")}
    del installed[POLICY]
    assert f".github/workflows/{SUBMIT_JOB}" in installed
    for path, content in installed.items():
        assert (repository / path).read_bytes() == content, path


def test_each_change_differs_from_the_repository(repository: Path) -> None:
    changes = {name.split("/")[2] for name in resources.names("demo/pulls")}
    assert changes
    for change in changes:
        files = files_of(change)
        assert files
        assert all((repository / path).read_text() != text for path, text in files.items())
