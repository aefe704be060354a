"""What a log tells of the versions that a job ran with."""

import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.environment import changed
from tests.core.digest.corpus import signatures

SHA = "sha256:" + "0123456789ab" + "c" * 52
BLOCK = """\
ascend-ci: environment of head
ascend-ci:   CANN 8.2.RC1
ascend-ci:   torch-npu 2.7.1
ascend-ci:   vllm-ascend 0.11 at cccccccccccc
ascend-ci:   secret value
ascend-ci: environment of w1
ascend-ci:   torch-npu 2.8.0
"""
LIST = """\
Package                 Version     Editable project location
----------------------- ----------- -------------------------
torch                   2.7.1+cpu
torch_npu               2.7.1
unknown                 1.0
verl                    0.5.0.dev0  /__w/verl/verl
training begins
vllm                    0.11
"""
SMI = """\
+------------------------------------------------------------------------+
| npu-smi 25.0.rc1.1             Version: 25.0.rc1.1                     |
"""


def told(text: str, *, passed: bool = False, stamp: str = "") -> dict[str, str]:
    digester = Digester(signatures())
    digester.feed("".join(f"{stamp}{line}\n" for line in text.splitlines()).encode())
    return digester.end(passed=passed).environment


@pytest.mark.parametrize("stamp", ["", "2026-12-01T10:00:00.0000000Z "])
@pytest.mark.parametrize("passed", [False, True])
def test_the_block_of_the_first_node_counts(stamp: str, *, passed: bool) -> None:
    assert told(BLOCK, passed=passed, stamp=stamp) == {
        "CANN": "8.2.RC1",
        "torch-npu": "2.7.1",
        "vllm-ascend": "0.11 at cccccccccccc",
    }


def test_lists_of_packages_the_driver_and_the_image_that_was_pulled_are_read() -> None:
    pulled = f"latest: Pulling from ascend/verl\nDigest: {SHA}\nDigest: sha256:no\n"
    assert told(f"{pulled}{SMI}{LIST}", stamp="2026-12-01T10:00:00.0000000Z ") == {
        "image digest": "sha256:0123456789ab",
        "driver": "25.0.rc1.1",
        "torch": "2.7.1+cpu",
        "torch-npu": "2.7.1",
        "verl": "0.5.0.dev0",
    }


def test_lines_that_only_begin_like_these_tell_nothing() -> None:
    lines = "Package  Versions\ntorch  2.7\nPackage not found\nascend-ci:   torch\nnpu-smi info\n"
    assert told(lines) == {}


def test_what_changed_is_what_both_know() -> None:
    before, now = (
        {"torch": "2.7", "ray": "2.5", "gone": "1"},
        {"torch": "2.8", "ray": "2.5", "a": "1"},
    )
    assert changed(before, now) == (("torch", "2.7", "2.8"),)
