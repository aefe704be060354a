#!/usr/bin/env bash
# GRPO with Qwen3.5-35B-A3B (mixture of experts) on geometry3k, Megatron + vLLM, one node of 16 NPUs.
#
# What may be changed is a variable with a default; values are read as Hydra reads them ([a,b] is a
# list). Further arguments are overrides and win. The exit status is the training's.
set -euo pipefail

MODEL_ID=${MODEL_ID:-Qwen/Qwen3.5-35B-A3B}
MODEL_PATH=${MODEL_PATH:-$HOME/.cache/models/$MODEL_ID}
DATA_DIR=${DATA_DIR:-$HOME/data/geo3k}
TRAIN_FILE=${TRAIN_FILE:-$DATA_DIR/train.parquet}
TEST_FILE=${TEST_FILE:-$DATA_DIR/test.parquet}
NNODES=${NNODES:-1}
NPUS_PER_NODE=${NPUS_PER_NODE:-16}
TOTAL_TRAINING_STEPS=${TOTAL_TRAINING_STEPS:-15}
PROJECT_NAME=${PROJECT_NAME:-grpo_nightly}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3_5_35b_megatron}
LOG_DIR=${LOG_DIR:-$HOME/logs/run_grpo_qwen3_5_35b_megatron_npu}

# Dense layers: TP x PP x CP x data parallel = NPUs. Experts have a split of their own, ETP x EP x PP
# must divide the NPUs: 1 x 8 x 2 of 16. Without ETP Megatron takes TP for it, and 2 x 8 x 2 do not.
TP=${TP:-2}
PP=${PP:-2}
CP=${CP:-1}
EP=${EP:-8}
ETP=${ETP:-1}
GEN_TP=${GEN_TP:-8}

export HCCL_CONNECT_TIMEOUT=${HCCL_CONNECT_TIMEOUT:-1500}
export HCCL_HOST_SOCKET_PORT_RANGE=${HCCL_HOST_SOCKET_PORT_RANGE:-60000-60050}
export HCCL_NPU_SOCKET_PORT_RANGE=${HCCL_NPU_SOCKET_PORT_RANGE:-61000-61050}
export RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES=${RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES:-1}
export CPU_AFFINITY_CONF=${CPU_AFFINITY_CONF:-1}
export VLLM_USE_V1=${VLLM_USE_V1:-1}
export VLLM_ALLREDUCE_USE_SYMM_MEM=${VLLM_ALLREDUCE_USE_SYMM_MEM:-0}

data=(
    model_engine=megatron
    algorithm.adv_estimator=grpo
    algorithm.use_kl_in_reward=False
    "data.train_files=$TRAIN_FILE"
    "data.val_files=$TEST_FILE"
    data.train_batch_size=32
    data.max_prompt_length=1024
    data.max_response_length=2048
    data.filter_overlong_prompts=True
    data.truncation=error
    data.shuffle=False
    data.validation_shuffle=False
)

model=(
    "actor_rollout_ref.model.path=$MODEL_PATH"
    actor_rollout_ref.model.trust_remote_code=True
    actor_rollout_ref.model.use_remove_padding=False
)

actor=(
    actor_rollout_ref.actor.optim.lr=1e-6
    actor_rollout_ref.actor.ppo_mini_batch_size=32
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096
    actor_rollout_ref.actor.use_dynamic_bsz=False
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.01
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.checkpoint.strict=False
)

reference=(
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=4096
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=False
)

megatron=(
    actor_rollout_ref.actor.megatron.use_mbridge=True
    actor_rollout_ref.actor.megatron.use_remove_padding=False
    actor_rollout_ref.actor.megatron.dtype=bfloat16
    actor_rollout_ref.actor.megatron.optimizer_offload=True
)
for role in actor ref; do
    prefix=actor_rollout_ref.$role.megatron
    megatron+=(
        "$prefix.tensor_model_parallel_size=$TP"
        "$prefix.pipeline_model_parallel_size=$PP"
        "$prefix.context_parallel_size=$CP"
        "$prefix.expert_model_parallel_size=$EP"
        "$prefix.expert_tensor_parallel_size=$ETP"
        "$prefix.param_offload=True"
    )
done

transformer=(
    use_flash_attn=True
    recompute_granularity=full
    recompute_method=uniform
    recompute_num_layers=1
    moe_aux_loss_coeff=0.01
    moe_z_loss_coeff=0.001
    moe_permute_fusion=True
    moe_grouped_gemm=True
    moe_token_dispatcher_type=alltoall
    use_naive_l2norm=True
)
for setting in "${transformer[@]}"; do
    megatron+=("+actor_rollout_ref.actor.megatron.override_transformer_config.$setting")
done
megatron+=(++actor_rollout_ref.actor.megatron.override_transformer_config.attention_backend=auto)

optimizer=(
    optimizer_cpu_offload=True
    optimizer_offload_fraction=1
    overlap_cpu_optimizer_d2h_h2d=True
    use_precision_aware_optimizer=True
)
for setting in "${optimizer[@]}"; do
    megatron+=("+actor_rollout_ref.actor.optim.override_optimizer_config.$setting")
done

rollout=(
    actor_rollout_ref.rollout.name=vllm
    "actor_rollout_ref.rollout.tensor_model_parallel_size=$GEN_TP"
    actor_rollout_ref.rollout.n=5
    actor_rollout_ref.rollout.dtype=bfloat16
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6
    actor_rollout_ref.rollout.calculate_log_probs=True
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=4096
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False
    actor_rollout_ref.rollout.enforce_eager=False
    +actor_rollout_ref.rollout.engine_kwargs.vllm.mm_processor_cache_gb=0
)

trainer=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    "trainer.project_name=$PROJECT_NAME"
    "trainer.experiment_name=$EXPERIMENT_NAME"
    "trainer.nnodes=$NNODES"
    "trainer.n_gpus_per_node=$NPUS_PER_NODE"
    trainer.balance_batch=False
    trainer.val_before_train=False
    trainer.save_freq=-1
    trainer.test_freq=-1
    trainer.total_epochs=15
    "trainer.total_training_steps=$TOTAL_TRAINING_STEPS"
)

mkdir -p -- "$LOG_DIR"
PYTHONUNBUFFERED=1 python3 -m verl.trainer.main_ppo \
    "${data[@]}" "${model[@]}" "${actor[@]}" "${reference[@]}" "${megatron[@]}" "${rollout[@]}" \
    "${trainer[@]}" "$@" 2>&1 | tee -- "$LOG_DIR/train.log"
