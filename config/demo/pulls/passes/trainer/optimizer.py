"""The schedule of the learning rate."""

PEAK = 1e-6
WARM_UP = 2


def learning_rate(step: int) -> float:
    """Return the rate of a step: it rises to its peak and stays there."""
    return PEAK * min(1.0, step / WARM_UP)
