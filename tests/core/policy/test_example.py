"""The policy that ships in `config/`, which people copy."""

import re
from pathlib import Path

import pytest

from bot.core.policy.loading import check_policy
from bot.core.policy.models import Policy, Start, Tier, Trigger
from bot.core.policy.selection import ChangedFile, nightly_suites, select

CONFIG = Path(__file__).parents[3] / "config" / "policy.yml"
NIGHTLY = "tests/special_npu/nightly_ci_ascend/"


@pytest.fixture(scope="module")
def policy() -> Policy:
    checked = check_policy(CONFIG.read_bytes())
    assert isinstance(checked.result, Policy), str(checked.result)
    assert checked.warnings == ()
    return checked.result


def test_the_example_has_the_labels_of_the_project(policy: Policy) -> None:
    assert {name: runner.npus for name, runner in policy.runners.items()} == {
        "linux-aarch64-a2-4": 4,
        "linux-aarch64-a2b3-8": 8,
        "linux-aarch64-a3-8": 8,
        "linux-aarch64-a3-16": 16,
    }


def test_nightly_suites_are_heavy_and_selected_by_their_own_script_alone(policy: Policy) -> None:
    nightly = {key: suite for key, suite in policy.suites.items() if key.startswith("nightly-")}
    assert len(nightly) == 14
    for suite in nightly.values():
        assert suite.tier is Tier.HEAVY
        assert suite.paths == (suite.inputs["script"],)
        assert set(suite.triggers) == {Trigger.PULL_REQUEST, Trigger.COMMAND, Trigger.NIGHTLY}


def test_each_suite_with_the_nightly_trigger_runs_once_a_night(policy: Policy) -> None:
    planned = [name for entry in policy.nightly for name in nightly_suites(policy, entry)]
    with_trigger = [k for k, suite in policy.suites.items() if suite.started_by(Trigger.NIGHTLY)]
    assert sorted(planned) == sorted(with_trigger)


@pytest.mark.parametrize(
    ("path", "selected"),
    [
        ("verl/trainer/main_ppo.py", {"multinode-ppo"}),
        ("verl/README.md", set()),
        ("docs/index.rst", set()),
        ("tests/special_npu/run_qwen3_06b_ppo_multinode.sh", {"multinode-ppo"}),
        (NIGHTLY + "run_grpo_qwen3_5_35b_megatron_npu.sh", {"nightly-grpo-qwen3_5-35b"}),
        (
            "tests/special_npu/quick_start/run_qwen3_0_6b_fsdp2_vllm_ascend.sh",
            {"nightly-quickstart-fsdp2-vllm"},
        ),
    ],
)
def test_files_select_what_an_owner_expects(policy: Policy, path: str, selected: set[str]) -> None:
    chosen = select(policy, [ChangedFile(path)]).selected
    ours = {name for name in chosen if policy.suites[name].start is Start.DISPATCH}
    assert ours == selected


def test_what_github_starts_is_followed_counted_and_never_dispatched(policy: Policy) -> None:
    native = {key: suite for key, suite in policy.suites.items() if suite.start is Start.NATIVE}
    assert len(native) == 13
    for key, suite in native.items():
        assert suite.workflow == f"{key}.yml"
        assert f".github/workflows/{suite.workflow}" in suite.paths
        assert suite.triggers == (Trigger.PULL_REQUEST,)
        assert suite.is_required
        assert 60 <= suite.timeout_minutes <= 120


def test_what_github_starts_costs_what_its_18_jobs_may_take(policy: Policy) -> None:
    native = [suite for suite in policy.suites.values() if suite.start is Start.NATIVE]
    # Of 18 jobs of 8 NPUs two run one after the other, so at once they take 17 × 8.
    assert sum(suite.nodes * suite.npus_on(suite.runners[0], policy) for suite in native) == 136
    assert sum(suite.npu_hours_on(suite.runners[0], policy) for suite in native) == 188


def test_what_the_multinode_workflow_is_told_is_what_is_counted(policy: Policy) -> None:
    suite = policy.suites["multinode-ppo"]
    assert suite.inputs["worker_replicas"] == str(suite.nodes)
    assert suite.inputs["npus_per_worker"] == str(suite.npus)
    assert suite.rayjob


def test_every_line_of_the_example_fits_a_screen() -> None:
    long = [line for line in CONFIG.read_text().splitlines() if len(line) > 110]
    assert long == []


def test_code_does_not_know_the_project() -> None:
    word = re.compile(r"\bverl\b")
    sources = (Path(__file__).parents[3] / "bot" / "core" / "policy").glob("*.py")
    assert [path.name for path in sources if word.search(path.read_text())] == []
