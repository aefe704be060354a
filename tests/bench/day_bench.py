"""A day of the target project: NPU-hours with today's filters, and with the shipped policy.

Run `python -m tests.bench.day_bench [--hours 24] [--times 1] [--npu-hours N]
[--form dispatched|shipped] [--commits FILE.jsonl] [--json]`. One side is a plain model of GitHub
and its runners. The other is the whole bot against the simulated GitHub, on a clock that is moved
by hand. The shipped policy leaves the 13 workflows of today to GitHub, so of these it saves
nothing; the bot's side is that policy with each of them dispatched by the bot. `--form shipped`
plays it as it stands. It ends with 1 if a label ever had more jobs than slots, or a head has no
final gate.
"""

import argparse
import asyncio
import json
import logging
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stamina
import structlog

from bot.core.policy.models import Policy
from tests.bench import day_policy
from tests.bench.day import PULLS, Push, asked, natives, nights, pushes
from tests.bench.day_compare import Figures, as_json, figures, reasons
from tests.bench.day_mix import commits
from tests.bench.day_model import replay
from tests.bench.day_world import Play, most_at_once
from tests.databases import SqliteTemplate
from tests.e2e.world import open_world

FORMS = {"dispatched": day_policy.dispatched, "shipped": day_policy.shipped}
_SEED = 1
_WRITES_PER_SECOND = 50.0
_MEMORY = Path("/dev/shm")  # a disk's speed is not what is measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the day on both sides and print what each used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--times", type=int, default=1, help="so many times the policy's slots")
    parser.add_argument("--npu-hours", type=int, help="the limit of a day, not the policy's")
    parser.add_argument("--form", choices=FORMS, default="dispatched")
    parser.add_argument("--commits", type=Path, help="JSON lines with `files`, not the own mix")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    mix = _read(options.commits) if options.commits else commits(PULLS)
    pushed = pushes(options.hours, mix)
    answer = compare(FORMS[options.form](options.times, options.npu_hours), pushed, options)
    _print_json(answer) if options.json else _print(answer)
    return 1 if answer["problems"] else 0


def _read(file: Path) -> list[tuple[str, ...]]:
    lines = [tuple(json.loads(line)["files"]) for line in file.read_text().splitlines()]
    return random.Random(_SEED).sample(lines, PULLS)


def compare(source: str, pushed: list[Push], options: argparse.Namespace) -> dict[str, Any]:
    """Return both sides' figures and what makes the difference."""
    before = day_policy.load(day_policy.shipped(options.times))
    wanted = asked(natives(before), pushed)
    slots = {label: runner.slots for label, runner in before.runners.items()}
    today = replay([*wanted, *nights(before, options.hours)], slots)
    policy, began = day_policy.load(source), time.monotonic()
    played, problems, peaks = asyncio.run(_play(policy, source, pushed, options.hours))
    return {
        "pushes": len(pushed),
        "pulls": len({push.pull for push in pushed}),
        "starting": len({(item.push.pull, item.push.number) for item in wanted if item.push}),
        "slots": slots,
        "at_once": peaks,
        "today": figures(today, wanted),
        "bot": figures(played, wanted),
        "why": reasons(today, played, pushed, policy.limits.debounce_seconds),
        "problems": problems,
        "took_s": round(time.monotonic() - began),
        "cpu_s": round(time.process_time()),
    }


async def _play(
    policy: Policy, source: str, pushed: list[Push], hours: int
) -> tuple[list[Any], list[str], dict[str, int]]:
    memory = str(_MEMORY) if _MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as name,
        stamina.set_testing(True, attempts=3, cap=True),
    ):
        folder = Path(name)
        async with open_world(folder, SqliteTemplate(folder).fresh(folder)) as world:
            world.github.validator = world.github.deliveries.validator = None  # tests do that
            # A batch of paced writes may wait longer than what the world's clock lets pass at once.
            paced = {"github_writes_per_second": _WRITES_PER_SECOND}
            world.settings = world.settings.model_copy(update=paced)
            await world.restart()
            play = Play(world, policy, pushed, hours)
            await play.open(source)
            await play.run()
            peaks = most_at_once(world.github.runs(), dispatched=False)
            own = most_at_once(world.github.runs(), dispatched=True)
            problems = play.problems + [f"no final gate: #{number}" for number in play.open_gates()]
            for label, most in own.items():
                if most > policy.runners[label].slots:
                    problems.append(f"{most} jobs dispatched at once to {label}")
            return play.spells, problems, peaks


def _print_json(answer: dict[str, Any]) -> None:
    sides = {side: as_json(answer[side]) for side in ("today", "bot")}
    why = {name: round(hours, 1) for name, hours in answer["why"].items()}
    sys.stdout.write(json.dumps(answer | sides | {"why": why}, indent=2) + "\n")


_ROWS = (
    ("jobs that got a runner", "runs"),
    ("NPU-hours", "hours"),
    ("of these, nights", "night_hours"),
    ("of these, stopped by a newer push", "stopped_hours"),
    ("pushes with every result of today's filters", "verdicts"),
    ("minutes from push to start, median", "wait_median"),
    ("minutes from push to start, p95", "wait_p95"),
    ("the last job ends, hours after midnight", "over_at"),
)


def _print(answer: dict[str, Any]) -> None:
    today: Figures = answer["today"]
    bot: Figures = answer["bot"]
    write = sys.stdout.write
    write(f"{answer['pushes']} pushes on {answer['pulls']} pull requests, ")
    write(f"{answer['starting']} start a job today; ")
    write(f"took {answer['took_s']} s, {answer['cpu_s']} s of CPU\n\n")
    write(f"{'':44}{'today':>10}{'bot':>10}\n")
    for title, name in _ROWS:
        write(f"{title:44}{getattr(today, name):>10,.0f}{getattr(bot, name):>10,.0f}\n")
    write(f"\nNPU-hours, bot less today: {bot.hours - today.hours:+,.0f}\n")
    for why, hours in sorted(answer["why"].items(), key=lambda item: item[1]):
        write(f"{hours:+8,.0f}  {why}\n")
    write(f"\njobs at once: {answer['at_once']}, slots: {answer['slots']}\n")
    for problem in answer["problems"]:
        write(f"PROBLEM: {problem}\n")


if __name__ == "__main__":
    sys.exit(main())
