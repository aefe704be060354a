"""The learning rate rises, then stays."""

import unittest

from trainer.optimizer import PEAK, WARM_UP, learning_rate


class LearningRate(unittest.TestCase):
    """The schedule."""

    def test_it_reaches_its_peak(self) -> None:
        """The rate is at its peak long after the warm-up."""
        assert learning_rate(100) == PEAK

    def test_it_rises_during_the_warm_up(self) -> None:
        """The first step is slower than the last of the warm-up."""
        assert learning_rate(1) < learning_rate(WARM_UP)


if __name__ == "__main__":
    unittest.main()
