"""Generates responses and scores them, without those that are too long."""

LONGEST = 40


def generate(step: int, batch: int) -> list[float]:
    """Return the rewards of a batch of responses."""
    lengths = [12 * step + number for number in range(batch)]
    kept = [length for length in lengths if length <= LONGEST]
    if not kept:
        message = f"all {batch} responses of step {step} are longer than {LONGEST} tokens"
        raise ValueError(message)
    return [min(1.0, length / 100) for length in kept]
