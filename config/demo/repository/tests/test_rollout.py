"""A batch has as many rewards as responses."""

import unittest

from trainer.rollout import generate


class Rollout(unittest.TestCase):
    """The rewards of a batch."""

    def test_every_response_has_a_reward(self) -> None:
        """A batch of eight gives eight rewards."""
        assert len(generate(1, 8)) == 8


if __name__ == "__main__":
    unittest.main()
