"""The story, scene by scene; all are played at once. A new one is a function and a line below."""

from __future__ import annotations

from dataclasses import replace

from bot.cli.demo.expected import Answer, gate, suite
from bot.cli.demo.github import Seen
from bot.cli.demo.play import Play, Scene

PPO = "two-node-ppo"
EVALUATION = "two-node-eval"
NIGHTLY = "nightly-unit"
PEOPLE = {"mia": "maintain", "wim": "write", "sam": "none"}


async def passes(play: Play) -> None:
    """Let a maintainer's change run on two nodes, and its unit tests on one."""
    sha = (await play.open("mia", "Warm up in two steps", "passes"))["head_sha"]
    await play.expect(
        suite(PPO, sha, "success", "Passed"),
        suite("npu-unit", sha, "success", "Passed"),
        gate(sha, "success", "2 suites passed"),
    )


async def fails(play: Play) -> None:
    """Let a change break in a file of its own; run again, it breaks there again."""
    sha = (await play.open("wim", "Drop long responses", "fails"))["head_sha"]
    broken = suite(PPO, sha, "failure", "ValueError in trainer/rollout.py:12")
    await play.expect(broken)
    first = await play.rerun(broken, by="wim")
    await play.expect(
        replace(broken, after=first.id),
        gate(sha, "failure", f"{PPO} failed"),
    )


async def nothing(play: Play) -> None:
    """Touch documentation alone: the gate is green at once."""
    await _documentation(play)


async def asked(play: Play) -> None:
    """Let a comment run a heavy suite there all the same: one reply, edited to the end."""
    number, sha = await _documentation(play)
    words = f"/ascend-e2e {NIGHTLY}"
    comment_id = await play.comment(number, "mia", words)
    await play.expect(
        suite(NIGHTLY, sha, "success", "Passed"),
        Answer(comment_id, (f"`{words}` on `{sha[:7]}`", f"| `{NIGHTLY}` | passed", "[check run]")),
        gate(sha, "success", "No Ascend suite needed"),
    )


async def _documentation(play: Play) -> tuple[int, str]:
    pull = await play.open("wim", "Say it better", "nothing")
    number, sha = pull["number"], pull["head_sha"]
    await play.expect(gate(sha, "success", "No Ascend suite needed"))
    return number, sha


async def stranger(play: Play) -> None:
    """Let somebody without permission ask from a fork: nothing starts before the approval."""
    sha = (await play.open("sam", "Double the rate", "stranger", fork=True))["head_sha"]
    waits = gate(sha, "action_required", "Waiting for a maintainer: 1 suite")
    await play.expect(waits)
    play.nothing_started(sha)
    await play.press(waits, "approve", by="mia")
    await play.expect(
        suite(PPO, sha, "success", "Passed"),
        gate(sha, "success", f"{PPO} passed"),
    )


async def supersedes(play: Play) -> None:
    """Push again while the first commit trains: its run is cancelled, the second counts."""
    pull = await play.open("wim", "Train for long", "superseded")
    old, number = pull["head_sha"], pull["number"]
    await play.until_rayjob_runs(old)
    play.says("wim pushes again")
    sha = (await play.push(number, "superseding"))["sha"]
    await play.expect(
        suite(PPO, old, "cancelled", f"Superseded by {sha[:7]}"),
        gate(old, "cancelled", f"Superseded by {sha[:7]}"),
        suite(PPO, sha, "success", "Passed"),
        gate(sha, "success", f"{PPO} passed"),
    )


async def outlives(play: Play) -> None:
    """Let the workflow only submit: its runner is free again, the RayJob's verdict counts."""
    sha = (await play.open("mia", "Evaluate less", "outlives"))["head_sha"]
    await play.until("the Actions job to end", lambda seen: _job_ended(seen, sha))
    await play.until_rayjob_runs(sha)  # still, or this scene proves nothing
    await play.expect(
        suite(EVALUATION, sha, "success", "Passed"),
        gate(sha, "success", f"{EVALUATION} passed"),
    )


def _job_ended(seen: Seen, sha: str) -> bool:
    dispatch = seen.dispatch(sha)
    return dispatch is not None and dispatch.conclusion == "success"


SCENES = (
    Scene("passes", "A maintainer's pull request passes on two nodes", passes),
    Scene("fails", "One fails in a file of its own, re-run or not", fails),
    Scene("asked", "A comment runs a nightly suite on a docs change", asked),
    Scene("stranger", "A stranger's fork runs once it is approved", stranger),
    Scene("supersedes", "A newer push supersedes what runs", supersedes),
    Scene("outlives", "A RayJob outlives its Actions job", outlives),
)
