"""How many planted secrets are found, how many innocent lines are changed, and how fast.

    python -m tests.bench.secrets_bench [FOLDER]...

The folders hold real logs; without one the cases of the digest are read. Budgets: 97 % of the
planted forms, one changed line in 10,000, and 200 MB a second of processor time for a log of a
training.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bot.core.secrets.redaction import RedactingStream, Redactor
from tests.bench.training_log import lines
from tests.core.secrets.planted import is_shown, planted

CASES = Path(__file__).parents[1] / "core" / "digest" / "cases"
CHUNK_BYTES = 64 * 1024
BYTES = 32_000_000
FOUND, CHANGED, MB_S = 0.97, 1 / 10_000, 200


def main(folders: list[Path]) -> int:
    """Print the figures; return 1 beyond a budget."""
    redactor = Redactor()
    found = sum(not is_shown(secret, redactor(text)) for text, secret in planted())
    _write(f"planted forms found: {found} of {len(planted())}")
    changed = total = 0
    for raw, shown in _both(redactor, folders or [CASES]):
        total += 1
        changed += raw != shown
    _write(f"lines of real logs changed: {changed} of {total}")
    log = "\n".join(lines(BYTES)).encode()
    began = time.process_time()
    stream = RedactingStream(redactor)
    for start in range(0, len(log), CHUNK_BYTES):
        stream.feed(log[start : start + CHUNK_BYTES])
    stream.end()
    rate = len(log) / (time.process_time() - began) / 1e6
    _write(f"a training's log: {rate:.0f} MB/s")
    fine = found >= FOUND * len(planted()) and changed <= CHANGED * total and rate >= MB_S
    return int(not fine)


def _both(redactor: Redactor, folders: list[Path]) -> Iterator[tuple[str, str]]:
    for path in sorted(path for folder in folders for path in folder.rglob("*.log")):
        text = path.read_text("utf-8", "replace")
        yield from zip(text.split("\n"), redactor(text).split("\n"), strict=True)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main([Path(one) for one in sys.argv[1:]]))
