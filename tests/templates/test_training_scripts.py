"""The training scripts, run under bash: what Hydra gets, and how a failure ends."""

from pathlib import Path

import pytest

from tests.templates.standin import SCRIPTS, Bash

PPO = SCRIPTS / "run_qwen3_06b_ppo_multinode.sh"
GRPO = SCRIPTS / "run_grpo_qwen3_5_35b_megatron_npu.sh"
BOTH = pytest.mark.parametrize("script", [PPO, GRPO], ids=lambda path: path.stem)

ROLLOUT = "actor_rollout_ref.rollout"
MEGATRON = "actor_rollout_ref.actor.megatron"
REFERENCE = "actor_rollout_ref.ref.megatron"

# The parameters that the scripts are built from.
PPO_SETS = {
    "algorithm.adv_estimator": "gae",
    "data.train_batch_size": 16,
    "data.max_prompt_length": 512,
    "data.max_response_length": 128,
    "data.shuffle": False,
    "actor_rollout_ref.model.use_remove_padding": True,
    "actor_rollout_ref.model.enable_gradient_checkpointing": True,
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 8,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 1,
    "actor_rollout_ref.actor.fsdp_config.param_offload": True,
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload": True,
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": 2,
    "actor_rollout_ref.actor.use_dynamic_bsz": True,
    "actor_rollout_ref.actor.use_torch_compile": False,
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.tensor_model_parallel_size": 1,
    f"{ROLLOUT}.gpu_memory_utilization": 0.8,
    f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": 1,
    f"{ROLLOUT}.log_prob_use_dynamic_bsz": True,
    f"{ROLLOUT}.enable_chunked_prefill": True,
    f"{ROLLOUT}.enforce_eager": False,
    f"{ROLLOUT}.engine_kwargs.vllm.compilation_config.cudagraph_mode": "FULL_AND_PIECEWISE",
    "critic.optim.lr": 1e-5,
    "critic.fsdp.param_offload": True,
    "critic.fsdp.optimizer_offload": True,
    "critic.ulysses_sequence_parallel_size": 2,
    "trainer.critic_warmup": 0,
    "trainer.logger": ["console"],
    "trainer.n_gpus_per_node": 4,
    "trainer.nnodes": 2,
    "trainer.save_freq": -1,
    "trainer.test_freq": -1,
    "trainer.total_epochs": 1,
    "trainer.total_training_steps": 1,
    "skip.rollout.enable": True,
    "skip.rollout.steps": [1],
    "skip.rollout.action": "cache",
}
TRANSFORMER = f"{MEGATRON}.override_transformer_config"
GRPO_SETS = {
    "algorithm.adv_estimator": "grpo",
    "data.train_batch_size": 32,
    "data.max_prompt_length": 1024,
    "data.max_response_length": 2048,
    f"{ROLLOUT}.n": 5,
    f"{ROLLOUT}.tensor_model_parallel_size": 8,
    **{
        f"{role}.{key}": value
        for role in (MEGATRON, REFERENCE)
        for key, value in {
            "tensor_model_parallel_size": 2,
            "pipeline_model_parallel_size": 2,
            "context_parallel_size": 1,
            "expert_model_parallel_size": 8,
            "expert_tensor_parallel_size": 1,
            "param_offload": True,
        }.items()
    },
    f"{MEGATRON}.optimizer_offload": True,
    f"{TRANSFORMER}.moe_aux_loss_coeff": 0.01,
    f"{TRANSFORMER}.moe_z_loss_coeff": 0.001,
    f"{TRANSFORMER}.moe_permute_fusion": True,
    f"{TRANSFORMER}.moe_grouped_gemm": True,
    f"{TRANSFORMER}.moe_token_dispatcher_type": "alltoall",
    f"{TRANSFORMER}.recompute_granularity": "full",
    f"{TRANSFORMER}.recompute_method": "uniform",
    f"{TRANSFORMER}.recompute_num_layers": 1,
    f"{TRANSFORMER}.use_flash_attn": True,
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 16,
    "trainer.total_training_steps": 15,
}


def overrides(bash: Bash) -> dict[str, object]:
    """Return what Hydra itself reads from the one call of the training."""
    # It takes half a second to load, which no other worker of the tests shall pay.
    from hydra.core.override_parser.overrides_parser import (  # noqa: PLC0415
        OverridesParser,
    )

    (call,) = bash.calls()
    assert call[:2] == ["-m", "verl.trainer.main_ppo"]
    parsed = OverridesParser.create().parse_overrides(call[2:])
    assert not any(override.is_sweep_override() for override in parsed)
    return {override.key_or_group: override.value() for override in parsed}


@pytest.mark.parametrize(("script", "expected"), [(PPO, PPO_SETS), (GRPO, GRPO_SETS)])
def test_hydra_reads_the_parameters_of_the_reference(
    bash: Bash, script: Path, expected: dict[str, object]
) -> None:
    assert bash.run(script).returncode == 0
    found = overrides(bash)
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("script", "name", "data"),
    [(PPO, "Qwen/Qwen3-0.6B", "gsm8k"), (GRPO, "Qwen/Qwen3.5-35B-A3B", "geo3k")],
)
def test_model_and_data_lie_under_home(bash: Bash, script: Path, name: str, data: str) -> None:
    bash.run(script)
    found = overrides(bash)
    assert found["actor_rollout_ref.model.path"] == f"{bash.home}/.cache/models/{name}"
    assert found["data.train_files"] == f"{bash.home}/data/{data}/train.parquet"
    assert found["data.val_files"] == f"{bash.home}/data/{data}/test.parquet"


@BOTH
def test_files_that_match_an_override_change_nothing(bash: Bash, script: Path) -> None:
    bash.run(script)
    (clean,) = bash.calls()
    for name in ("1", "c", "skip.rollout.steps=1", "trainer.logger=c", "a b", "-rf"):
        (bash.cwd / name).write_text("")
    bash.run(script)
    assert bash.calls()[1] == clean


HOSTILE = ["/data/a b  c", "/data/*/[1]?", "/data/~$HOME`id`$(id)", "/data/'x\"y", "-x --y", "a\nb"]


@BOTH
@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("MODEL_PATH", "actor_rollout_ref.model.path"),
        ("TRAIN_FILE", "data.train_files"),
        ("EXPERIMENT_NAME", "trainer.experiment_name"),
    ],
)
def test_a_variable_arrives_as_one_intact_argument(
    bash: Bash, script: Path, variable: str, key: str, value: str
) -> None:
    bash.run(script)
    bash.run(script, **{variable: value})
    plain, changed = bash.calls()
    assert f"{key}={value}" in changed
    assert len(changed) == len(plain)


@BOTH
def test_further_arguments_come_last_and_intact(bash: Bash, script: Path) -> None:
    more = ["trainer.nnodes=9", "+a.b='x y'", "c=[1,*]", ""]
    bash.run(script, *more)
    (call,) = bash.calls()
    assert call[-4:] == more


@BOTH
@pytest.mark.parametrize("code", ["1", "42", "137"])
def test_a_failed_training_fails_the_script_with_its_status(
    bash: Bash, script: Path, code: str
) -> None:
    assert bash.run(script, PYTHON_ENDS_WITH=code).returncode == int(code)


@BOTH
def test_both_streams_go_to_the_log_below_home_and_to_the_caller(bash: Bash, script: Path) -> None:
    done = bash.run(script)
    log = (bash.home / "logs" / script.stem / "train.log").read_text()
    assert "step:1 - critic/rewards/mean:0.5" in log
    assert "a warning of the training" in log
    assert done.stdout == log


@BOTH
def test_the_log_folder_may_be_anywhere_but_must_be_writable(bash: Bash, script: Path) -> None:
    assert bash.run(script, LOG_DIR="-logs of [1] *").returncode == 0
    assert (bash.cwd / "-logs of [1] *" / "train.log").is_file()
    (bash.cwd / "file").write_text("")
    assert bash.run(script, LOG_DIR="file/x").returncode != 0
    assert len(bash.calls()) == 1


def test_the_environment_of_the_nightly_has_defaults_that_may_be_changed(bash: Bash) -> None:
    bash.run(GRPO)
    assert bash.recorded("hccl") == "1500"
    bash.run(GRPO, HCCL_CONNECT_TIMEOUT="60")
    assert bash.recorded("hccl") == "60"


def test_the_experts_split_divides_the_npus(bash: Bash) -> None:
    bash.run(GRPO)
    found = overrides(bash)
    sizes = {
        name: int(str(found[f"{MEGATRON}.{name}_parallel_size"]))
        for name in ("pipeline_model", "expert_model", "expert_tensor")
    }
    npus = int(str(found["trainer.n_gpus_per_node"])) * int(str(found["trainer.nnodes"]))
    assert npus % (sizes["expert_tensor"] * sizes["expert_model"] * sizes["pipeline_model"]) == 0
