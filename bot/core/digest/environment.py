"""What a job ran with, as its log tells: versions of packages and of the driver, the image.

The launcher of the templates prints a block. Other logs have it in what people print anyway:
``pip list``, ``npu-smi info``, and docker's digest of the image that it pulled.
"""

import re

_OURS = "ascend-ci:   "
_BLOCK = re.compile(rf"^{_OURS}([A-Za-z][\w.-]{{0,40}}) (\S.{{0,120}})$")
_DIGEST = re.compile(r"^Digest: (sha256:[0-9a-f]{12})[0-9a-f]{52}$")
_DRIVER = re.compile(r"^\| npu-smi \S+ +Version: (\S{1,40}) ")
_HEAD = re.compile(r"^Package +Version\b")
_ROW = re.compile(r"^([A-Za-z0-9][\w.-]{0,80}) +(\d[\w.+!-]{0,60})(?:\s|$)")
_RULE = re.compile(r"^-{3,}[ -]*$")
PACKAGES = frozenset(
    (
        *("torch", "torch-npu", "vllm", "vllm-ascend", "sglang", "transformers", "ray", "numpy"),
        *("megatron-core", "mindspeed", "mbridge", "megatron-bridge", "triton-ascend", "verl"),
    )
)
_OTHERS = frozenset(("image", "CANN", "driver", "firmware", "python"))


class Environment:
    """Collects what the lines of a log tell; the first node that tells something counts."""

    def __init__(self) -> None:
        """Start empty."""
        self.known: dict[str, str] = {}
        self._in_list = False

    def take(self, text: str) -> int:
        """Read a line; return how many of the next lines may tell more."""
        if self._in_list:
            self._in_list = self._row(text)
            return int(self._in_list)
        if text.startswith(_OURS):
            if (block := _BLOCK.match(text)) and block[1] in PACKAGES | _OTHERS:
                self.known.setdefault(block[1], block[2].strip())
        elif text.startswith("Package"):
            self._in_list = _HEAD.match(text) is not None
            return int(self._in_list)
        elif found := _DIGEST.match(text):
            self.known.setdefault("image digest", found[1])
        elif found := _DRIVER.match(text):
            self.known.setdefault("driver", found[1])
        return 0

    def _row(self, text: str) -> bool:
        """Read a line of a list of packages; return False after its end."""
        row = _ROW.match(text)
        if row is None:
            return _RULE.match(text) is not None
        name = row[1].lower().replace("_", "-")
        if name in PACKAGES:
            self.known.setdefault(name, row[2])
        return True


def changed(before: dict[str, str], now: dict[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Return what both know and differs: the name, the value before and the value now."""
    both = [name for name in now if name in before]
    return tuple((name, before[name], now[name]) for name in both if before[name] != now[name])
