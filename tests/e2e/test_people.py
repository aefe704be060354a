"""How people drive it: commands and approvals, seen on GitHub."""

from tests.e2e.people import say, started, stranger
from tests.e2e.world import World


async def test_a_command_starts_a_suite_if_its_words_are_right_and_its_author_may(
    world: World,
) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    for verb in ("explain", "status", "help"):
        assert len(await say(world, pull, "reader", f"/ascend-e2e {verb}")) > 40, verb
    reply = await say(world, pull, "writer", "/ascend-e2e nightly-grp")
    assert "Did you mean `nightly-grpo`" in reply
    reply = await say(world, pull, "triager", "/ascend-e2e nightly-grpo")
    assert "needs write permission" in reply
    assert f"/ascend-e2e nightly-grpo --sha {pull.head_sha[:12]}" in reply
    assert world.github.runs() == []
    reply = await say(world, pull, "writer", "please\n/ascend-e2e nightly-grpo\n谢谢")
    assert world.only_run().inputs["sha"] == pull.head_sha
    assert "nightly-grpo" in reply
    await world.finish("success")
    await world.pass_time(10)
    assert "passed" in world.github.comments(pull)[-1]
    check = world.check("nightly-grpo", pull.head_sha)
    assert check.conclusion == "success"
    assert "Started by writer." in (check.summary or "")


async def test_an_approval_starts_what_waits_for_this_commit_only(world: World) -> None:
    spoken, pressed = [await stranger(world, f"verl/{name}.py") for name in "ab"]
    approved = spoken.head_sha
    reply = await say(world, spoken, "writer", f"/ascend-e2e approve --sha {approved[:12]}")
    assert "approved" in reply
    assert started(world) == [approved]
    world.github.people.push(spoken, {"verl/a.py": "evil"})
    await world.pass_time(10)
    assert started(world) == [approved]
    assert world.gate(spoken.head_sha).conclusion == "action_required"
    world.github.people.press(world.gate(pressed.head_sha).id, "approve", "writer")
    await world.pass_time(10)
    assert started(world) == [approved, pressed.head_sha]
    assert world.gate(pressed.head_sha).status == "in_progress"
    told = world.check("unit", pressed.head_sha).summary or ""
    assert "Started by the approval of writer." in told
