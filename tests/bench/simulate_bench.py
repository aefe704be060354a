"""How long `ascend-ci simulate` takes: process start, policy, commits and answer.

Run `python -m tests.bench.simulate_bench [COMMITS.jsonl]`; the figure is the median of five runs
of the whole command. Without a file, 100 commits are made up: 400 files of the shipped policy's
kind, 1 to 60 a commit. Budget: 2 s for 100 commits.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bot.resources import path_of

RUNS = 5
SEED = 7  # the same commits each time
FOLDERS = ("verl/workers", "verl/trainer", "verl/utils", "tests/special_npu", "docs", "examples")


def main(commits: Path) -> None:
    """Print the median time and what was simulated."""
    with path_of("policy.yml") as policy:
        options = ["--policy", str(policy), "--commits", str(commits), "--json"]
        command = [sys.executable, "-m", "bot", "simulate", *options]
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            times.append(time.perf_counter() - start)
    answer = json.loads(done.stdout)
    what = f"{len(answer['commits'])} commits, {answer['runs']} runs"
    took = f"{statistics.median(times):.2f} s (slowest {max(times):.2f} s)"
    sys.stdout.write(f"{what}: {took}\n")


def made_up(path: Path) -> Path:
    """Write 100 commits to ``path``."""
    choose = random.Random(SEED)
    files = [
        f"{choose.choice(FOLDERS)}/module_{number}.{choose.choice(('py', 'sh', 'md'))}"
        for number in range(400)
    ]
    lines = (
        json.dumps(
            {"commit": f"{number:07x}", "files": choose.sample(files, choose.randint(1, 60))}
        )
        for number in range(100)
    )
    path.write_text("\n".join(lines))
    return path


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else made_up(Path(folder) / "commits.jsonl"))
