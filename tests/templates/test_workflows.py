"""The workflows of the templates: safe, complete, and what the shipped policy sends."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.sim.expressions import Scope, condition, interpolate
from bot.sim.workflow import parse
from tests.templates.standin import SCRIPTS, TEMPLATES
from tests.templates.trust import faults, powers

MULTINODE, NIGHTLIES = WORKFLOWS = sorted((TEMPLATES / "workflows").glob("*.yml"))
POLICY = yaml.safe_load((TEMPLATES.parent / "policy.yml").read_text())
ALWAYS_SENT = {"ascend_ci", "sha", "pr", "runner", "timeout_minutes"}
OPTIONAL = {"ascend_multinode.yml": {"detach"}}  # a suite may send it, the shipped ones do not

EACH = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)

# The target's nights: script below tests/special_npu/, label, data.
A2, A3 = "linux-aarch64-a2b3-8", "linux-aarch64-a3-16"
NIGHT = "nightly_ci_ascend"
NIGHTLY = {
    "ppo-qwen3-8b": (f"{NIGHT}/run_ppo_qwen3-8b_fsdp_npu.sh", A2, "gsm8k"),
    "grpo-qwen3-vl-8b": ("run_qwen3_vl_8b_Instruct_fsdp2_npu.sh", A2, "geo3k"),
    "dapo-moonlight-16b": (f"{NIGHT}/run_dapo_moonlight-16b_megatron_npu.sh", A2, "gsm8k"),
    "gspo-qwen3-30b": (f"{NIGHT}/run_gspo_qwen3_30b_megatron_npu.sh", A3, "gsm8k"),
    "grpo-qwen3-30b-sglang": (f"{NIGHT}/run_grpo_qwen3_30b_megatron_sglang_npu.sh", A3, ""),
    "grpo-qwen3_5-2b": (f"{NIGHT}/run_grpo_qwen3_5_2b_fsdp2_npu.sh", A3, "geo3k"),
    "grpo-qwen3_5-2b-turbo": (f"{NIGHT}/run_grpo_qwen3_5_2b_fsdp_turbo_npu.sh", A2, "geo3k"),
    "grpo-qwen3_5-35b": (f"{NIGHT}/run_grpo_qwen3_5_35b_megatron_npu.sh", A3, "geo3k"),
    "grpo-qwen3-30b-veomni": (f"{NIGHT}/run_grpo_qwen3_30b_veomni_fsdp.sh", A3, "gsm8k"),
    "gspo-qwen3-8b": (f"{NIGHT}/run_gspo_qwen3_8b_fsdp2_npu.sh", A2, "gsm8k"),
    **{
        f"quickstart-{strategy}-{engine}": (
            f"quick_start/run_qwen3_0_6b_{strategy}_{engine}_ascend.sh",
            A2,
            "gsm8k",
        )
        for strategy in ("fsdp2", "megatron")
        for engine in ("vllm", "sglang")
    },
}


def read(path: Path) -> dict[str, Any]:
    """Return a workflow; YAML 1.1 takes the key `on` for a truth value."""
    data = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in data.items()}


def inputs_of(path: Path) -> dict[str, dict[str, Any]]:
    declared: dict[str, dict[str, Any]] = read(path)["on"]["workflow_dispatch"]["inputs"]
    return declared


def suites_of(path: Path) -> dict[str, dict[str, Any]]:
    suites = POLICY["suites"].items()
    return {name: suite for name, suite in suites if suite["workflow"] == path.name}


def steps_of(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_both_templates_are_looked_at() -> None:
    assert [path.name for path in WORKFLOWS] == ["ascend_multinode.yml", "ascend_nightly.yml"]
    assert [len(suites_of(path)) for path in WORKFLOWS] == [1, len(NIGHTLY)]


@EACH
def test_no_job_with_a_power_executes_the_commit_under_test(path: Path) -> None:
    assert faults(path.read_text()) == []


@EACH
@pytest.mark.parametrize(
    ("named", "actor", "runs"),
    [
        ("", "somebody", "true"),
        ("the-app[bot]", "the-app[bot]", "true"),
        ("the-app[bot]", "somebody", "false"),
        ("the-app[bot]", "other-app[bot]", "false"),
    ],
)
def test_only_the_bot_starts_a_workflow_where_its_account_is_named(
    path: Path, named: str, actor: str, runs: str
) -> None:
    """Who has write can start a workflow by hand, with any inputs."""
    scope = Scope({"github": {"actor": actor}, "vars": {"ASCEND_CI_ACTOR": named} if named else {}})
    for job in read(path)["jobs"].values():
        assert interpolate(job["if"], scope) == runs


@EACH
@pytest.mark.parametrize(("named", "warns"), [("", True), ("the-app[bot]", False)])
def test_a_workflow_that_anybody_with_write_may_start_says_so_in_its_log_first(
    path: Path, named: str, warns: bool
) -> None:
    scope = Scope({"vars": {"ASCEND_CI_ACTOR": named} if named else {}})
    for job in read(path)["jobs"].values():
        step = job["steps"][0]
        assert step["run"].startswith('echo "::warning title=')
        assert "ASCEND_CI_ACTOR" in step["run"]
        assert condition(step["if"], scope) is warns


def test_a_step_that_executes_the_commit_would_be_found() -> None:
    lines = MULTINODE.read_text().replace("trusted/.github", "pr/.github", 1)
    assert len(faults(lines)) == 1


@EACH
def test_permissions_are_the_least(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        signs = {"id-token": "write"} if path.stem == "ascend_multinode" else {}
        assert job["permissions"] == {"contents": "read", **signs}
        assert list(powers(workflow, job)) == (["id-token: write", "a secret"] if signs else [])


@EACH
def test_the_submitters_token_goes_to_the_steps_that_call_it_and_to_no_other(path: Path) -> None:
    given = [step["name"] for step in steps_of(path) if "secrets." in str(step)]
    calling = [step["name"] for step in steps_of(path) if "SUBMITTER_URL" in step.get("env", {})]
    assert given == calling
    assert path.read_text().count("secrets.") == len(given)
    assert all(job.get("environment") for job in read(path)["jobs"].values() if given)


@EACH
def test_every_action_is_pinned_by_its_commit_and_names_its_version(path: Path) -> None:
    used = re.findall(r"uses:(.*)", path.read_text())
    assert len(used) == sum("uses" in step for step in steps_of(path)) > 0
    for action in used:
        assert re.fullmatch(r" [\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@EACH
def test_nothing_is_pasted_into_a_script(path: Path) -> None:
    scripts = [step["run"] for step in steps_of(path) if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]


@EACH
def test_what_the_policy_sends_is_what_is_declared(path: Path) -> None:
    declared = inputs_of(path)
    for name, suite in suites_of(path).items():
        sent = set(suite["inputs"]) | ALWAYS_SENT
        left = set(declared) - sent
        assert sent <= set(declared), name
        assert left == OPTIONAL.get(path.name, set()), name
        assert all("default" in declared[one] and not declared[one]["required"] for one in left)


@EACH
def test_a_required_input_is_never_sent_empty(path: Path) -> None:
    declared = inputs_of(path)
    assert not declared["pr"]["required"]
    for suite in suites_of(path).values():
        empty = {name for name, value in suite["inputs"].items() if value == ""}
        assert not [name for name in empty if declared[name]["required"]]


@EACH
def test_the_runs_title_carries_the_bots_id(path: Path) -> None:
    contexts = {"inputs": {"ascend_ci": "01JB00000000000000000000AA", "job": "ppo"}}
    title = interpolate(read(path)["run-name"], Scope(contexts))
    assert "01JB00000000000000000000AA" in title


@EACH
def test_label_and_limit_are_the_bots(path: Path) -> None:
    workflow = read(path)
    for job in workflow["jobs"].values():
        assert job["runs-on"] == "${{ inputs.runner }}"
        assert job["timeout-minutes"] == "${{ fromJSON(inputs.timeout_minutes) }}"


@EACH
def test_only_a_dispatch_starts_it(path: Path) -> None:
    assert set(read(path)["on"]) == {"workflow_dispatch"}
    assert "schedule" not in path.read_text()


@EACH
def test_a_last_step_clears_up_whatever_happened(path: Path) -> None:
    assert "always()" in steps_of(path)[-1]["if"]
    assert "continue-on-error" not in path.read_text()


@EACH
def test_the_simulated_github_knows_all_of_its_syntax(path: Path) -> None:
    file = parse(path.read_text())
    assert [*file.problems, *(one for job in file.jobs.values() for one in job.problems)] == []


@EACH
def test_the_programs_it_calls_are_shipped(path: Path) -> None:
    runs = "\n".join(step.get("run", "") for step in steps_of(path))
    called = set(re.findall(r"\.github/scripts/(\S+)", runs)) - {"ascend_ci_submit.py"}
    assert called
    assert all((SCRIPTS / name).is_file() for name in called)


def test_each_nightly_job_of_the_target_can_be_chosen() -> None:
    assert inputs_of(NIGHTLIES)["job"]["type"] == "choice"
    assert set(inputs_of(NIGHTLIES)["job"]["options"]) == set(NIGHTLY)
    sent = {suite["inputs"]["job"]: suite for suite in suites_of(NIGHTLIES).values()}
    assert set(sent) == set(NIGHTLY)
    for job, (script, label, data) in NIGHTLY.items():
        given = sent[job]["inputs"]
        assert given["script"] == f"tests/special_npu/{script}"
        assert sent[job]["runners"] == [label]
        assert given["data"] == data


def test_the_data_is_prepared_before_the_run() -> None:
    runs = [step.get("run", "") for step in steps_of(NIGHTLIES)]
    prepares = next(at for at, run in enumerate(runs) if "ascend_ci_setup.sh" in run)
    assert prepares < next(at for at, run in enumerate(runs) if "$TEST_SCRIPT" in run)


@pytest.mark.parametrize("path", sorted(p for p in TEMPLATES.rglob("*") if p.is_file()), ids=str)
def test_no_template_is_bound_to_one_machine(path: Path) -> None:
    if path.suffix != ".pyc":
        assert not re.search(r"resolv\.conf|/root\b|nameserver", path.read_text())


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.stem)
def test_a_script_stops_at_its_first_failure(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert next(line for line in lines if line and line[0] != "#") == "set -euo pipefail"
