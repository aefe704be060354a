"""A hint is given where what it says is true, and nowhere else."""

import pytest

from bot.core.digest.digester import Digester
from tests.core.digest.corpus import signatures

TRACE = """Traceback (most recent call last):
  File "{path}", line 3, in f
    raise {error}
{error}
"""
PYTEST = "============ test session starts ============\n"


def hint(log: str) -> str:
    digester = Digester(signatures(), repo_roots=["/verl"])
    digester.feed(log.encode())
    return digester.end().hint


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            TRACE.format(path="/verl/verl/a.py", error="ValueError: bad"),
            "last line of the",
        ),
        (TRACE.format(path="/usr/lib/x.py", error="ValueError: bad"), ""),
        ("ValueError: bad\n", ""),
        (TRACE.format(path="/verl/tests/test_a.py", error="AssertionError: 1 != 2"), "compare"),
        (TRACE.format(path="/verl/tests/test_a.py", error="AssertionError: no"), ""),
        (TRACE.format(path="/x.py", error="TimeoutError: no answer"), "did not answer in time"),
        ("x\n##[error]Process completed with exit code 2.\n", ""),
        (PYTEST + "x\n##[error]Process completed with exit code 2.\n", "were collected"),
        (PYTEST + "x\n##[error]Process completed with exit code 3.\n", "INTERNALERROR"),
        (PYTEST + "x\n##[error]Process completed with exit code 4.\n", "arguments"),
        ("x\n##[error]Process completed with exit code 124.\n", "time limit"),
        ("x\n##[error]Process completed with exit code 126.\n", "can't be executed"),
        ("x\n##[error]Process completed with exit code 127.\n", "was not found"),
        ("x\n##[error]Process completed with exit code 134.\n", "died of a signal"),
        ("x\n##[error]Process completed with exit code 135.\n", "/dev/shm"),
        ("x\n##[error]Process completed with exit code 137.\n", "does not say by what"),
        ("the log stops\n", ""),
        ("OSError: [Errno 28] No space left on device\n", "is full"),
    ],
)
def test_a_hint_fits_what_the_log_shows_or_is_absent(log: str, said: str) -> None:
    found = hint(log)
    assert said in found
    assert bool(said) == bool(found)
