"""The story, scene by scene. All are played at once. A new one is a function and a line below."""

from dataclasses import replace

from bot.cli.demo.expected import ExpectedComment, ExpectedReply, gate, suite
from bot.cli.demo.play import Play, Scene
from bot.sim.model import Pull

PPO = "two-node-ppo"
EVALUATION = "two-node-eval"
NIGHTLY = "nightly-unit"
PEOPLE = {"mia": "maintain", "wim": "write", "sam": "none"}


async def passes(play: Play) -> None:
    """Let a maintainer's change run on two nodes, and its unit tests on one."""
    sha = play.open("mia", "Warm up in two steps", "passes").head_sha
    await play.expect(
        suite(PPO, sha, "success", "Passed"),
        suite("npu-unit", sha, "success", "Passed"),
        gate(sha, "success", "2 suites passed"),
    )


async def fails(play: Play) -> None:
    """Let a change break in a file of its own; run again, it breaks there again."""
    pull = play.open("wim", "Drop long responses", "fails")
    sha = pull.head_sha
    broken = suite(PPO, sha, "failure", "ValueError in trainer/rollout.py:12")
    await play.expect(broken)
    first = play.rerun(broken, by="wim")
    row = f"| `{PPO}` | failed (attempt 2) | all 8 responses of step 4"
    await play.expect(
        replace(broken, after=first.id),
        gate(sha, "failure", f"{PPO} failed"),
        ExpectedComment(pull.number, (row, "/ascend-e2e rerun --sha")),
    )


async def nothing(play: Play) -> None:
    """Touch documentation alone: the gate is green at once."""
    await _documentation(play)


async def asked(play: Play) -> None:
    """Let a comment run a heavy suite there all the same: one reply, edited to the end."""
    pull = await _documentation(play)
    sha = pull.head_sha
    words = f"/ascend-e2e {NIGHTLY}"
    comment_id = play.comment(pull, "mia", words)
    await play.expect(
        suite(NIGHTLY, sha, "success", "Passed"),
        ExpectedReply(
            comment_id, (f"`{words}` on `{sha[:7]}`", f"| `{NIGHTLY}` | passed", "[check run]")
        ),
        gate(sha, "success", "No Ascend suite needed"),
    )


async def _documentation(play: Play) -> Pull:
    pull = play.open("wim", "Say it better", "nothing")
    await play.expect(gate(pull.head_sha, "success", "No Ascend suite needed"))
    return pull


async def stranger(play: Play) -> None:
    """Let somebody without permission ask from a fork: nothing starts before the approval."""
    sha = play.open("sam", "Double the rate", "stranger", fork=True).head_sha
    waits = gate(sha, "action_required", "Waiting for a maintainer: 1 suite")
    await play.expect(waits)
    play.nothing_started(sha)
    play.press(waits, "approve", by="mia")
    await play.expect(suite(PPO, sha, "success", "Passed"), gate(sha, "success", f"{PPO} passed"))


async def supersedes(play: Play) -> None:
    """Push again while the first commit trains: its run is cancelled, the second counts."""
    pull = play.open("wim", "Train for long", "superseded")
    old = pull.head_sha
    await play.until_rayjob_runs(old)
    sha = play.push(pull, "superseding")
    await play.expect(
        suite(PPO, old, "cancelled", f"Superseded by {sha[:7]}"),
        gate(old, "cancelled", f"Superseded by {sha[:7]}"),
        suite(PPO, sha, "success", "Passed"),
        gate(sha, "success", f"{PPO} passed"),
    )


async def outlives(play: Play) -> None:
    """Let the workflow only submit: its runner is free again, the RayJob's verdict counts."""
    sha = play.open("mia", "Evaluate less", "outlives").head_sha
    await play.until("the Actions job to end", lambda: _job_ended(play, sha))
    await play.until_rayjob_runs(sha)  # still, or this scene proves nothing
    await play.expect(
        suite(EVALUATION, sha, "success", "Passed"), gate(sha, "success", f"{EVALUATION} passed")
    )


def _job_ended(play: Play, sha: str) -> bool:
    run = play.dispatched(sha)
    return run is not None and run.conclusion == "success"


SCENES = (
    Scene("passes", "passes on two nodes", passes),
    Scene("fails", "fails in its own file, run again", fails),
    Scene("asked", "a comment runs a nightly suite", asked),
    Scene("stranger", "a stranger's fork, approved", stranger),
    Scene("supersedes", "a newer push supersedes a run", supersedes),
    Scene("outlives", "a RayJob outlives its job", outlives),
)
