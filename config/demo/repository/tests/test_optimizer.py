"""The learning rate rises, then stays."""

import unittest

from trainer.optimizer import PEAK, learning_rate


class LearningRate(unittest.TestCase):
    """The schedule."""

    def test_it_reaches_its_peak(self) -> None:
        """The rate is at its peak long after the warm-up."""
        assert learning_rate(100) == PEAK


if __name__ == "__main__":
    unittest.main()
