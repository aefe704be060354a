"""Runs a pretended evaluation that takes longer than the job that submits it."""

# ruff: noqa: T201 - a job's log is what it prints

import time

STEPS = 24
STEP_SECONDS = 0.25


def evaluate() -> None:
    """Evaluate some batches."""
    for step in range(1, STEPS + 1):
        time.sleep(STEP_SECONDS)
        print(
            f"step:{step} - val-core/accuracy/mean:{0.5 + 0.02 * step:.3f}"
            f" - timing_s/step:{STEP_SECONDS:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    evaluate()
