"""Recognise runner labels of Ascend NPUs, and read the hardware from their names.

A label counts if GitHub does not host it and if one of its words (between ``-``, ``_`` and ``.``)
is an Ascend chip, npu or ascend. Labels of GPUs have no such word.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

# Labels of github.com's own runners, also of larger runners with their default names.
_HOSTED = re.compile(r"(?:ubuntu|windows|macos)-.*", re.IGNORECASE)

# GitHub gives these labels to every self-hosted runner, whatever its hardware.
_STANDARD = frozenset({"self-hosted", "linux", "windows", "macos", "x64", "arm", "arm64"})

_CHIPS = (
    (re.compile(r"a2(?:b\d)?|910b\w*"), "a2"),
    (re.compile(r"a3|910c\w*"), "a3"),
    (re.compile(r"310p\w*"), "310p"),
    (re.compile(r"npus?|ascend\d*\w?"), ""),
)
_BREAK = re.compile(r"[-_.]")
_COUNT = re.compile(r".*-([1-9]\d?)")


def is_npu(label: str) -> bool:
    """Return True if ``label`` names Ascend NPUs."""
    return not _HOSTED.fullmatch(label) and _chip(label) is not None


def chip_of(label: str) -> str:
    """Return the chip generation in the name of ``label``, "" if there is none."""
    return _chip(label) or ""


def npus_of(label: str) -> int | None:
    """Return the number at the end of ``label`` (``-8``), None if there is none."""
    match = _COUNT.fullmatch(label)
    return int(match[1]) if match else None


def own_labels(labels: Sequence[str]) -> list[str]:
    """Return ``labels`` without the labels that every self-hosted runner has."""
    return [label for label in labels if label.lower() not in _STANDARD]


@lru_cache(maxsize=1024)  # a matrix repeats the same few labels
def _chip(label: str) -> str | None:
    found = None
    for word in _BREAK.split(label.lower()):
        for pattern, chip in _CHIPS:
            if pattern.fullmatch(word):
                found = found or chip
    return found
