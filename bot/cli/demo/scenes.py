"""The story, scene by scene. All are played at once. A new one is a function and a line below."""

from dataclasses import replace

from bot.cli.demo.expected import ExpectedCheck, ExpectedComment, ExpectedReply, gate, suite
from bot.cli.demo.play import Play, Scene
from bot.core.messages.words import capital
from bot.sim.model import Pull

PPO = "two-node-ppo"
EVALUATION = "two-node-eval"
NIGHTLY = "nightly-unit"
PEOPLE = {"mia": "maintain", "wim": "write", "sam": "none"}


async def passes(play: Play) -> None:
    """Let a maintainer's change run on two nodes, and its unit tests on one."""
    sha = play.open("mia", "Warm up in two steps", "passes").head_sha
    await play.expect(
        suite(PPO, sha, "success", play.messages("success")),
        suite("npu-unit", sha, "success", play.messages("success")),
        gate(sha, "success", play.messages("gate_passed", suites=_suites(play, 2))),
    )


async def fails(play: Play) -> None:
    """Let a change break in a file of its own; run again, it breaks there again."""
    pull = play.open("wim", "Drop long responses", "fails")
    sha = pull.head_sha
    broken = suite(PPO, sha, "failure", "trainer/rollout.py:12")
    await play.expect(broken)
    first = play.rerun(broken, by="wim")
    state = play.messages("row_attempt", state=play.messages("row_failure"), attempt=2)
    row = f"| `{PPO}` | {state} | all 8 responses of step 4"
    await play.expect(
        replace(broken, after=first.id),
        gate(sha, "failure", play.messages("gate_failed_one", suite=PPO)),
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
    head = play.messages("reply_for", command=f"`{words}`", sha=f"`{sha[:7]}`")
    row = f"| `{NIGHTLY}` | {play.messages('row_success')}"
    link = f"[{play.messages('link_check')}]"
    await play.expect(
        suite(NIGHTLY, sha, "success", play.messages("success")),
        ExpectedReply(comment_id, (head, row, link)),
        gate(sha, "success", play.messages("gate_none")),
    )


async def _documentation(play: Play) -> Pull:
    pull = play.open("wim", "Say it better", "nothing")
    await play.expect(gate(pull.head_sha, "success", play.messages("gate_none")))
    return pull


def _suites(play: Play, many: int) -> str:
    return play.messages("count_suite", n=many)


async def stranger(play: Play) -> None:
    """Let somebody without permission ask from a fork: nothing starts before the approval."""
    sha = play.open("sam", "Double the rate", "stranger", fork=True).head_sha
    title = play.messages("gate_approval", suites=_suites(play, 1), sha=sha[:7])
    waits = gate(sha, "action_required", title)
    await play.expect(waits)
    play.nothing_started(sha)
    play.press(waits, "approve", by="mia")
    await play.expect(*_passed(play, PPO, sha))


async def supersedes(play: Play) -> None:
    """Push again while the first commit trains: its run is cancelled, the second counts."""
    pull = play.open("wim", "Train for long", "superseded")
    old = pull.head_sha
    await play.until_rayjob_runs(old)
    sha = play.push(pull, "superseding")
    title = capital(play.messages("superseded_by", sha=sha[:7]))
    await play.expect(
        suite(PPO, old, "cancelled", title),
        gate(old, "cancelled", title),
        *_passed(play, PPO, sha),
    )


async def outlives(play: Play) -> None:
    """Let the workflow only submit: its runner is free again, the RayJob's verdict counts."""
    sha = play.open("mia", "Evaluate less", "outlives").head_sha
    await play.until("the Actions job to end", lambda: _job_ended(play, sha))
    await play.until_rayjob_runs(sha)  # still, or this scene proves nothing
    await play.expect(*_passed(play, EVALUATION, sha))


def _passed(play: Play, name: str, sha: str) -> tuple[ExpectedCheck, ExpectedCheck]:
    """Return what is expected of a commit whose only suite passes."""
    title = play.messages("gate_passed_one", suite=name)
    return suite(name, sha, "success", play.messages("success")), gate(sha, "success", title)


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
