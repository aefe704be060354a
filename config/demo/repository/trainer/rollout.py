"""Generates responses and scores them."""


def generate(step: int, batch: int) -> list[float]:
    """Return the rewards of a batch of responses."""
    return [min(1.0, 0.1 * step + 0.01 * number) for number in range(batch)]
