"""Series of lines that tell nothing but progress: what one costs to read is spared for the rest.

Of such a series only the last line and the number of lines count. Lines are of one series if each
would be read alike on its own; where that is not sure, they are read one by one.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import re2


class ProgressForm(StrEnum):
    """How a line of progress is written."""

    STEP = "step"  # verl's `step:N - key:value`
    BAR = "bar"  # tqdm's
    ITERATION = "iteration"  # Megatron's
    RECORD = "record"  # the dictionary that the trainer of transformers prints


@dataclass(frozen=True, slots=True)
class _Lines:
    """How lines of a form are known; they hold none of the words, and no line is longer."""

    pattern: Any
    without: tuple[bytes, ...]
    most_bytes: int


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern.encode(), options)


def _series(line: str) -> Any:
    return _compiled(f"(?:{line}\\n)+")


_LINES = {
    ProgressForm.STEP: _Lines(_series(r"[^\n]*\bstep:[0-9]{1,9} - [^\n]*"), (), 1 << 18),
    ProgressForm.BAR: _Lines(
        _series(
            r"[^\n]*\| [0-9]{1,9}/[0-9]{1,9} \[(?:[0-9:]+|\?)<(?:[0-9:, days]+|\?), +"
            r"[0-9]{1,9}(?:\.[0-9]{1,6})?(?:s/it|it/s)[^\n]*"
        ),
        (b"step:",),
        600,
    ),
    # Keys with `/` or `(` may name the seconds of a step: what they say is not skipped.
    ProgressForm.ITERATION: _Lines(
        _series(
            r"[ -{}~]*\biteration +[0-9]{1,9}/ *[1-9][0-9]{0,8} \|(?:[ 0-9A-Za-z]{1,60}:"
            r"[ 0-9A-Za-z.+\-]{1,60}\|){0,4} elapsed time per iteration \(ms\): "
            r"[0-9]{1,9}\.[0-9]{1,6} \|[ -.0-~]*"
        ),
        (b"step:", b"it/s", b"s/it"),
        2_000,
    ),
    ProgressForm.RECORD: _Lines(
        _series(r"[ -z|}~]*\{'loss': [ -'*-.0-~]*\}[ -.0-~]*"),
        (b"step:", b"it/s", b"s/it", b"iteration "),
        2_000,
    ),
}


_MAY_BE_WALL = _compiled(r"(?m)^[^\n]{10,11}T")
_WALL = _compiled(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z ")


def pattern_of(form: ProgressForm) -> Any:
    """Return an expression of lines of a form, one below the other."""
    return _LINES[form].pattern


def are_alike(form: ProgressForm, block: bytes) -> bool:
    """Return True if lines that the form's pattern found can be read by the last one alone."""
    lines = _LINES[form]
    if any(word in block for word in lines.without if b"/" not in word or b"/" in block):
        return False
    return max(map(len, block.split(b"\n"))) <= lines.most_bytes


def walls_go_on(*, before: bool, skipped: bytes, last: bytes) -> bool:
    """Return True if no time stamp is lost with the skipped lines; `before` is one before them."""
    if b"T" not in skipped or _MAY_BE_WALL.search(skipped) is None:
        return True
    return before and _WALL.match(last) is not None
