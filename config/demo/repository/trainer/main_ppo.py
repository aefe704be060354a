"""Runs a pretended PPO training and prints the metrics of each step as a real one does."""

# ruff: noqa: T201 - a job's log is what it prints

import json
import time
from pathlib import Path

from trainer.optimizer import learning_rate
from trainer.rollout import generate


def train(steps: int, step_seconds: float, batch: int) -> None:
    """Train for some steps."""
    for step in range(1, steps + 1):
        time.sleep(step_seconds)
        rewards = generate(step, batch)
        mean = sum(rewards) / len(rewards)
        print(
            f"step:{step} - critic/rewards/mean:{mean:.3f} - actor/lr:{learning_rate(step):.2e}"
            f" - timing_s/step:{step_seconds:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    train(**json.loads(Path(__file__).with_name("settings.json").read_text()))
