"""The story, scene by scene; all are played at once. A new one is a function and a line below."""

from __future__ import annotations

from bot.cli.demo.expected import gate, suite
from bot.cli.demo.github import Seen
from bot.cli.demo.play import Play, Scene

PPO = "two-node-ppo"
EVALUATION = "two-node-eval"
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
    """Let a change break in a file of its own: the title names the error and its line."""
    sha = (await play.open("wim", "Drop long responses", "fails"))["head_sha"]
    await play.expect(
        suite(PPO, sha, "failure", "ValueError in trainer/rollout.py:12"),
        gate(sha, "failure", f"{PPO} failed"),
    )


async def nothing(play: Play) -> None:
    """Touch documentation alone: the gate is green at once."""
    sha = (await play.open("wim", "Say it better", "nothing"))["head_sha"]
    await play.expect(gate(sha, "success", "No Ascend suite needed"))


async def stranger(play: Play) -> None:
    """Let somebody without permission ask from a fork: nothing starts, the gate says who can."""
    sha = (await play.open("sam", "Double the rate", "stranger", fork=True))["head_sha"]
    await play.expect(gate(sha, "action_required", "Waiting for a maintainer: 1 suite"))


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
    Scene("fails", "One fails with a traceback in a file of its own", fails),
    Scene("nothing", "One touches nothing that needs an NPU", nothing),
    Scene("stranger", "A stranger's fork waits for approval", stranger),
    Scene("supersedes", "A newer push supersedes what runs", supersedes),
    Scene("outlives", "A RayJob outlives its Actions job", outlives),
)
