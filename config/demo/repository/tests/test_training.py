"""A short training runs to its end: too long for every pull request, so it runs each night."""

import contextlib
import io
import unittest

from trainer.main_ppo import train


class Training(unittest.TestCase):
    """A training of a few steps."""

    def test_every_step_is_logged(self) -> None:
        """Five steps print five lines of metrics."""
        log = io.StringIO()
        with contextlib.redirect_stdout(log):
            train(steps=5, step_seconds=0.3, batch=8)
        assert log.getvalue().count("critic/rewards/mean") == 5


if __name__ == "__main__":
    unittest.main()
