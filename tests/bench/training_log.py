"""A log as a healthy training prints it, with one failure at its end; any size, always the same."""

import random
from collections.abc import Callable, Iterator

_KEYS = [
    "actor/entropy", "actor/kl_loss", "actor/pg_loss", "actor/pg_clipfrac", "actor/ppo_kl",
    "actor/grad_norm", "critic/score/mean", "critic/rewards/mean", "critic/advantages/max",
    "response_length/mean", "response_length/clip_ratio", "prompt_length/mean", "timing_s/gen",
    "timing_s/reward", "timing_s/adv", "timing_s/update_actor", "timing_s/step",
    "perf/total_num_tokens", "perf/throughput", "perf/max_memory_allocated_gb",
    "reward/error_rate/mean", "global_seqlen/minmax_diff",
]  # fmt: skip
_END = """\
(WorkerDict pid=5122, ip=10.0.3.21) Traceback (most recent call last):
(WorkerDict pid=5122, ip=10.0.3.21)   File "/verl/verl/workers/engine_workers.py", line 313, in f
(WorkerDict pid=5122, ip=10.0.3.21)     loss.backward()
(WorkerDict pid=5122, ip=10.0.3.21) RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB
[rayjob final] FAILED Job entrypoint command failed with exit code 1
"""


def lines(size: int) -> Iterator[str]:
    """Yield lines of about `size` bytes: engine statistics, records, steps, bars, warnings."""
    rng = random.Random(7)
    step = made = 0
    while made < size:
        step += 1
        for line in _step(rng, step):
            made += len(line) + 1
            yield line
    yield from _END.splitlines()


def _step(rng: random.Random, step: int) -> Iterator[str]:
    """Yield what one training step of 16 workers and 4 engines prints."""
    for i in range(120):
        at = f"{step // 60 % 24:02d}:{step % 60:02d}:{i % 60:02d}"
        yield (
            f"\x1b[36m(vLLMHttpServer pid={4420 + i % 4})\x1b[0m INFO 07-09 {at} [loggers.py:257] "
            f"Engine 000: Avg prompt throughput: {rng.random() * 900:.1f} tokens/s, Avg generation "
            f"throughput: {rng.random() * 3000:.1f} tokens/s, Running: {i} reqs, Waiting: 0 reqs, "
            f"GPU KV cache usage: {rng.random() * 90:.1f}%, Prefix cache hit rate: 12.5%"
        )
    for rank in range(16):
        yield (
            f"\x1b[36m(WorkerDict pid={3500 + rank}, ip=10.0.3.2)\x1b[0m INFO:2026-07-09 18:41:30"
            f",{rank:03d}:After offload actor, memory allocated (GB): {rng.random() * 9:.2f}, "
            "memory reserved (GB): 4.02, device memory used/total (GB): 9.51/60.96"
        )
        yield (
            f"\x1b[36m(WorkerDict pid={3500 + rank}, ip=10.0.3.2)\x1b[0m loading shard {rank} of 16"
            f" into rank {rank}: {rng.randrange(10**9)} bytes in {rng.random():.3f} s"
        )
    yield (
        "\x1b[36m(WorkerDict pid=3511)\x1b[0m [W709 18:18:33.301 compiler_depend.ts:164] Warning: "
        "torch_npu.memory: [ERROR] [3511] Get a block from the existing pool failed. Try to free "
        "cached blocks and reallocate. This error log can be ignored."
    )
    metrics = " - ".join(f"{key}:{rng.random() * 10:.6f}" for key in _KEYS * 4)
    yield f"\x1b[36m(TaskRunner pid=2210)\x1b[0m step:{step} - {metrics}"
    yield (
        f"\x1b[36m(TaskRunner pid=2210)\x1b[0m Training Progress:  10%|9         | {step}/99999 "
        "[38:11<5:57:21, 163.68s/it]"
    )


def steps(size: int, metrics: int = 88) -> Iterator[str]:
    """Yield nothing but training steps, as verl prints them, and the failure."""
    rng = random.Random(7)
    keys = (_KEYS * 4)[:metrics]

    def line(step: int) -> str:
        shown = " - ".join(f"{key}:{rng.random() * 10:.6f}" for key in keys)
        return f"\x1b[36m(TaskRunner pid=2210)\x1b[0m step:{step} - {shown}"

    return _many(size, line)


def few_metrics(size: int) -> Iterator[str]:
    """Yield training steps with ten metrics."""
    return steps(size, metrics=10)


def megatron(size: int) -> Iterator[str]:
    """Yield iterations as Megatron prints them."""
    rng = random.Random(7)

    def line(step: int) -> str:
        return (
            f" [2026-07-09 18:41:30] iteration {step:8d}/  100000 | consumed samples: "
            f"{step * 64:12d} | elapsed time per iteration (ms): {rng.random() * 9000:.1f} | "
            f"learning rate: 1.000000E-05 | global batch size:    64 | lm loss: "
            f"{rng.random():.6E} | loss scale: 1.0 | grad norm: {rng.random():.3f} | number of "
            "skipped iterations:   0 | number of nan iterations:   0 |"
        )

    return _many(size, line)


def trainer(size: int) -> Iterator[str]:
    """Yield steps as the trainer of transformers prints them."""
    rng = random.Random(7)

    def line(step: int) -> str:
        loss, norm = rng.random(), rng.random()
        epoch = step / 100
        return f"{{'loss': {loss:.4f}, 'grad_norm': {norm:.6f}, 'epoch': {epoch:.2f}}}"

    return _many(size, line)


def bars(size: int) -> Iterator[str]:
    """Yield progress bars."""

    def line(step: int) -> str:
        return (
            f"\x1b[36m(TaskRunner pid=2210)\x1b[0m Training Progress:  10%|9         | "
            f"{step % 99_999}/99999 [38:11<5:57:21, 163.68s/it]"
        )

    return _many(size, line)


def _many(size: int, line: Callable[[int], str]) -> Iterator[str]:
    step = made = 0
    while made < size:
        step += 1
        text = line(step)
        made += len(text) + 1
        yield text
    yield from _END.splitlines()


KINDS: dict[str, Callable[[int], Iterator[str]]] = {
    "mixed": lines,
    "steps": steps,
    "few metrics": few_metrics,
    "Megatron": megatron,
    "bars": bars,
    "Trainer": trainer,
}
