"""The end of a step or of a log: its last lines that say something.

It is what a person reads where no cause is known. The runner's own lines say nothing there.
"""

import re
from collections.abc import Iterable, Sequence

from bot.core.digest.shapes import parse

TOLD_LINES = 30
STEP_LINES = 2 * TOLD_LINES  # raw lines that are kept to choose from
MAX_CHARS = 300  # of a line
_SCRIPT = b"\x1b[36;1m"  # the colour in which the runner prints the script of a step
_RUNNERS = re.compile(
    r"##\[(?:endgroup|debug|command)\]|\[command\]|shell: |Process completed with exit code \d"
    r"|Post job cleanup|Cleaning up orphan processes|Terminate orphan process|Complete job name"
)
_WATCHERS = "[rayjob "


def told_lines(raws: Iterable[bytes]) -> tuple[str, ...]:
    """Return the last lines that say something, without time stamps and prefixes."""
    found = [line for raw in raws if _SCRIPT not in raw for line in list(parse(0, raw))[-1:]]
    texts = [line.text[:MAX_CHARS].rstrip() for line in found if line.tag != "group"]
    return tuple(text for text in texts if text and not _RUNNERS.match(text))[-TOLD_LINES:]


def last_told(lines: Sequence[str]) -> str:
    """Return the last line that the job itself printed, else the last one; "" for none."""
    own = [line for line in lines if not line.startswith(_WATCHERS)]
    return next(reversed(own or list(lines)), "")
