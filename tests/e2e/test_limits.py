"""What a person may set and override, and what the limits of the policy keep from starting."""

from bot.sim.model import Pull
from tests.core.commands.commenting import offered
from tests.e2e.people import say
from tests.e2e.world import LABEL, POLICY, World

SETTABLE = POLICY.replace(
    "    runners: [linux-aarch64-a3-16]\n",
    "    runners: [linux-aarch64-a3-16]\n    inputs: {script: old.sh}\n"
    '    settable: {script: "tests/special_npu/**.sh"}\n',
)
NIGHTLY = "nightly-grpo"
A3 = "linux-aarch64-a3-16"


async def with_policy(world: World, text: str) -> None:
    """Put a policy on the default branch."""
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text}, None)
    await world.settle()


REFUSED = {
    "script=evil.sh": "`script` may not be set to `evil.sh`",
    "script=tests/special_npu/../../x.sh": "may not be set",
    "image=mine": "`image` may not be set to `mine`",
}


async def test_what_is_settable_is_sent_and_nothing_else_may_be_set(world: World) -> None:
    pull = world.open_pull(path="docs/a.txt")
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} --set script=a.sh")
    assert f"`{NIGHTLY}` was not started: none of its inputs may be set" in reply
    two_labels = f"runners: [{A3}, {LABEL}]"
    await with_policy(world, SETTABLE.replace(f"runners: [{A3}]", two_labels))
    lines = "\n".join(f"/ascend-e2e {NIGHTLY} --set {option}" for option in REFUSED)
    reply = await say(world, pull, "writer", lines)
    for said in REFUSED.values():
        assert said in reply
    assert reply.count("Allowed: `script` (`tests/special_npu/**.sh`)") == len(REFUSED)
    assert world.github.runs() == []
    script = "tests/special_npu/new.sh"
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} --set script={script}")
    run = world.only_run()
    assert (run.inputs["script"], run.inputs["sha"]) == (script, pull.head_sha)
    assert "queued" in reply or "waiting" in reply
    assert f"script={script}" in str(world.check(NIGHTLY, pull.head_sha).summary)
    await a_reply_shows_that_its_run_has_begun(world, pull)
    await world.finish("success")
    other = world.open_pull(path="docs/b.txt")
    await an_open_attempt_with_other_inputs_or_elsewhere_is_not_joined(world, other)


async def a_reply_shows_that_its_run_has_begun(world: World, pull: Pull) -> None:
    world.github.actions.start(world.only_run())
    await world.settle()
    assert "running since" in world.github.comments(pull)[-1]


async def an_open_attempt_with_other_inputs_or_elsewhere_is_not_joined(
    world: World, pull: Pull
) -> None:
    await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY}")
    before = len(world.github.runs())
    script = "tests/special_npu/new.sh"
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} --set script={script}")
    assert "`nightly-grpo` was not started again: it is already queued or running" in reply
    assert f"`/ascend-e2e cancel {NIGHTLY}`" in reply
    assert len(world.github.runs()) == before
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} --runner {LABEL}")
    assert f"and not for `{LABEL}` alone" in reply
    assert f"`/ascend-e2e cancel {NIGHTLY}`" in reply
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} --runner {A3}")
    assert "already queued or running" not in reply  # it runs there


async def test_a_run_with_inputs_of_its_own_does_not_turn_the_gate_green(world: World) -> None:
    text = POLICY.replace(
        "    title: NPU unit tests\n",
        '    title: NPU unit tests\n    inputs: {script: old.sh}\n    settable: {script: "**"}\n'
        "    triggers: [pull_request, command]\n",
    )
    await with_policy(world, text)
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", log="AssertionError: 1 != 2\n")
    await world.pass_time(60)
    reply = await say(world, pull, "writer", "/ascend-e2e unit --set script=true.sh")
    assert "(attempt 2)" in reply
    await world.finish("success")
    await world.pass_time(60)
    assert world.check("unit", pull.head_sha).conclusion == "success"
    assert world.gate(pull.head_sha).conclusion == "failure"


LIMITED = POLICY.replace("debounce_seconds: 0", "debounce_seconds: 0, npu_hours_per_day: 4")


async def spend(world: World) -> None:
    """Let a run use eight NPUs for an hour."""
    world.open_pull(path="verl/spent.py", text="spent")
    await world.settle()
    world.github.actions.start(world.only_run())
    await world.settle()
    await world.pass_time(3600)
    await world.finish("success")


async def test_hours_beyond_the_day_wait_are_refused_and_can_be_forced(world: World) -> None:
    await with_policy(world, LIMITED)
    await spend(world)
    pull = world.open_pull(path="verl/b.py", text="b")
    await world.settle()
    check = world.check("unit", pull.head_sha)
    assert check.status == "queued"
    assert check.title is not None
    assert check.title.startswith(
        "Queued: this repository used 8 NPU-hours in the last 24 h (limit 4); there is room again "
    )
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY}")
    assert "this repository used 8 NPU-hours in the last 24 h, and its limit is 4" in reply
    assert "There is room again at" in reply
    forced = f"/ascend-e2e {NIGHTLY} --force --sha {pull.head_sha[:12]}"
    assert forced in offered(reply)
    reply = await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} --force")
    assert "`--force` needs maintain permission here, and you have write" in reply
    assert len(world.github.runs()) == 1
    await say(world, pull, "maintainer", forced)
    assert len(world.github.runs()) == 2
    reply = await say(world, pull, "writer", "/ascend-e2e unit")  # it waits already
    forced = f"/ascend-e2e unit --force --sha {pull.head_sha[:12]}"
    assert forced in offered(reply)
    await say(world, pull, "maintainer", forced)
    assert len(world.github.runs()) == 3
    await world.pass_time(60)
    assert "maintainer used `--force`" in str(world.check("unit", pull.head_sha).summary)
    await world.finish("failure", log="OSError: [Errno 28] No space left on device\n")
    await world.pass_time(60)
    assert len(world.github.runs()) == 4  # nor do they bar the attempt after a broken one
    for run in world.github.runs()[1:]:
        if run.status != "completed":
            world.github.actions.finish(run, "success")
    await who_waits_goes_by_the_policy_of_now_and_the_hours_of_the_day(world)


async def who_waits_goes_by_the_policy_of_now_and_the_hours_of_the_day(world: World) -> None:
    before = len(world.github.runs())
    pull = world.open_pull(path="verl/c.py", text="c")
    await with_policy(world, LIMITED.replace("npu_hours_per_day: 4", "npu_hours_per_day: 0.5"))
    await world.pass_time(60)
    await world.pass_time(60)
    said = "Queued: this repository used 8 NPU-hours in the last 24 h (limit 0.5)"
    assert str(world.check("unit", pull.head_sha).title).startswith(said)
    assert len(world.github.runs()) == before
    await with_policy(world, LIMITED.replace("npu_hours_per_day: 4", "npu_hours_per_day: 4000"))
    await world.pass_time(60)
    assert [run.inputs["sha"] for run in world.github.runs()][before:] == [pull.head_sha]
    await world.finish("success")
    await with_policy(world, LIMITED)
    later = world.open_pull(path="verl/d.py", text="d")
    await world.pass_time(22 * 3600)
    assert len(world.github.runs()) == before + 1
    await world.pass_time(2 * 3600)
    assert [run.inputs["sha"] for run in world.github.runs()][before + 1 :] == [later.head_sha]


async def test_a_run_that_outgrew_its_pool_waits_and_stands_in_nobodys_way(world: World) -> None:
    text = POLICY.replace("    rayjob: true\n", "")
    await with_policy(world, text)
    for number in range(2):  # each takes eight of sixteen
        world.open_pull(path=f"multi/{number}.py", text=str(number))
    await world.settle()
    big = world.open_pull(path="multi/big.py", text="big")
    await world.settle()
    assert len(world.github.runs()) == 2
    await with_policy(
        world,
        text.replace("pools: {a2-cluster: {npus: 16", "pools: {a2-cluster: {npus: 4").replace(
            "npus: 4\n", "npus: 2\n"
        ),
    )
    for run in world.github.runs():
        world.github.actions.start(run)
        await world.settle()
        world.github.actions.finish(run, "success")
        await world.settle()
    small = world.open_pull(path="multi/small.py", text="small")
    await world.pass_time(60)
    await world.pass_time(60)
    assert [run.inputs["sha"] for run in world.github.runs()][2:] == [small.head_sha]
    title = world.check("multinode", big.head_sha).title
    assert title == "Queued: it needs 8 NPUs, and a2-cluster has only 4 in all"


async def test_a_pull_request_has_so_many_runs_at_once(world: World) -> None:
    text = POLICY.replace("debounce_seconds: 0", "debounce_seconds: 0, runs_per_pr: 1")
    await with_policy(world, text)
    pull = world.open_pull(path="docs/a.txt")
    await say(world, pull, "writer", f"/ascend-e2e {NIGHTLY} unit")
    assert len(world.github.runs()) == 1
    waiting = [
        name
        for name in (NIGHTLY, "unit")
        if world.check(name, pull.head_sha).title
        == "Queued: 1 run of this pull request is going, the limit is 1"
    ]
    assert len(waiting) == 1
    await world.finish("success")
    await world.pass_time(60)
    assert len(world.github.runs()) == 2
