#!/usr/bin/env bash
# Two-node PPO with Qwen3-0.6B on gsm8k, one step: does training over two nodes work at all?
#
# Runs on a Ray cluster that is up. What may be changed is a variable with a default; values are read
# as Hydra reads them ([a,b] is a list). Further arguments are overrides and win. The exit status is
# the training's.
set -euo pipefail

MODEL_ID=${MODEL_ID:-Qwen/Qwen3-0.6B}
MODEL_PATH=${MODEL_PATH:-$HOME/.cache/models/$MODEL_ID}
DATA_DIR=${DATA_DIR:-$HOME/data/gsm8k}
TRAIN_FILE=${TRAIN_FILE:-$DATA_DIR/train.parquet}
TEST_FILE=${TEST_FILE:-$DATA_DIR/test.parquet}
NNODES=${NNODES:-2}
NPUS_PER_NODE=${NPUS_PER_NODE:-4}
SP=${SP:-2} # Ulysses: over how many NPUs a sequence is split
GEN_TP=${GEN_TP:-1}
TOTAL_TRAINING_STEPS=${TOTAL_TRAINING_STEPS:-1}
PROJECT_NAME=${PROJECT_NAME:-ppo_multinode}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3_06b_${NNODES}x${NPUS_PER_NODE}}
SKIP_ENABLE=${SKIP_ENABLE:-True} # keep the rollout of these steps and use it again
SKIP_DUMP_DIR=${SKIP_DUMP_DIR:-$HOME/data/rollout_dump_sync}
SKIP_STEPS=${SKIP_STEPS:-[1]}
SKIP_ACTION=${SKIP_ACTION:-cache}
LOG_DIR=${LOG_DIR:-$HOME/logs/run_qwen3_06b_ppo_multinode}

data=(
    algorithm.adv_estimator=gae
    "data.train_files=$TRAIN_FILE"
    "data.val_files=$TEST_FILE"
    data.train_batch_size=16
    data.max_prompt_length=512
    data.max_response_length=128
    data.shuffle=False
)

actor=(
    "actor_rollout_ref.model.path=$MODEL_PATH"
    actor_rollout_ref.model.use_remove_padding=True
    actor_rollout_ref.model.enable_gradient_checkpointing=True
    actor_rollout_ref.actor.optim.lr=1e-6
    actor_rollout_ref.actor.ppo_mini_batch_size=8
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1
    actor_rollout_ref.actor.fsdp_config.param_offload=True
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True
    actor_rollout_ref.actor.use_kl_loss=False
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size=$SP"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.use_torch_compile=False
)

rollout=(
    actor_rollout_ref.rollout.name=vllm
    "actor_rollout_ref.rollout.tensor_model_parallel_size=$GEN_TP"
    actor_rollout_ref.rollout.gpu_memory_utilization=0.8
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.enable_chunked_prefill=True
    actor_rollout_ref.rollout.enforce_eager=False
    +actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.cudagraph_mode=FULL_AND_PIECEWISE
)

critic=(
    "critic.model.path=$MODEL_PATH"
    critic.model.use_remove_padding=True
    critic.model.enable_gradient_checkpointing=True
    critic.optim.lr=1e-5
    critic.ppo_micro_batch_size_per_gpu=1
    "critic.ulysses_sequence_parallel_size=$SP"
    critic.fsdp.param_offload=True
    critic.fsdp.optimizer_offload=True
    critic.use_dynamic_bsz=True
)

trainer=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    "trainer.project_name=$PROJECT_NAME"
    "trainer.experiment_name=$EXPERIMENT_NAME"
    "trainer.nnodes=$NNODES"
    "trainer.n_gpus_per_node=$NPUS_PER_NODE"
    trainer.save_freq=-1
    trainer.test_freq=-1
    trainer.total_epochs=1
    "trainer.total_training_steps=$TOTAL_TRAINING_STEPS"
)

skip=(
    "skip.rollout.enable=$SKIP_ENABLE"
    "skip.rollout.dump_dir=$SKIP_DUMP_DIR"
    "skip.rollout.steps=$SKIP_STEPS"
    "skip.rollout.action=$SKIP_ACTION"
)

mkdir -p -- "$LOG_DIR"
PYTHONUNBUFFERED=1 python3 -m verl.trainer.main_ppo \
    "${data[@]}" "${actor[@]}" "${rollout[@]}" "${critic[@]}" "${trainer[@]}" "${skip[@]}" "$@" \
    2>&1 | tee -- "$LOG_DIR/train.log"
