"""Commands at the edges: heads that come back, half-right words, dry runs, suites that are gone."""

import itertools

from bot.sim.model import Pull
from tests.e2e.people import paste, say, stands, stranger
from tests.e2e.world import POLICY, World

POLICY_FILE = ".github/ascend-ci.yml"


async def new_policy(world: World, text: str) -> None:
    world.github.people.push_branch("maintainer", {POLICY_FILE: text})
    await world.settle()


async def test_a_commit_pushed_back_5_s_before_a_command_has_to_be_named(world: World) -> None:
    people = world.github.people
    rows = list(itertools.product(("approve", "unit"), ("pushed back", "pushed")))
    pulls = [await stranger(world, f"verl/{number}.py") for number in range(len(rows))]
    first = [pull.head_sha for pull in pulls]
    for pull in pulls:
        people.push(pull, {"verl/a.py": "benign"})
    await stands(world, 300)
    for (_, how), pull, sha in zip(rows, pulls, first, strict=True):
        if how == "pushed back":
            people.force_push(pull, sha)
        else:
            people.push(pull, {"verl/a.py": "evil"})
    await stands(world, 5)
    for (verb, _), pull in zip(rows, pulls, strict=True):
        people.comment(pull, "writer", f"/ascend-e2e {verb}")
    await stands(world, 10)
    for row, pull in zip(rows, pulls, strict=True):
        assert paste(row[0], pull.head_sha) in world.github.comments(pull)[-1], row
    assert world.github.runs() == []


async def test_a_push_back_between_comment_and_handling_starts_nothing(world: World) -> None:
    pull = await stranger(world)
    a = pull.head_sha
    world.github.people.push(pull, {"verl/a.py": "benign"})
    await world.pass_time(300)
    world.github.people.comment(pull, "writer", "/ascend-e2e approve")
    await world.clock.advance(2)
    world.github.people.force_push(pull, a)
    await stands(world, 10)
    assert world.github.runs() == []


NOTHING_STARTS = {
    "unit typo": "`typo`",  # one wrong word stops the whole command
    "unit cancel": "`cancel`",
    f"unit --sha {'ab' * 10}": "--sha",
}


async def test_half_right_words_start_nothing_nor_does_a_dry_run_or_a_closed_pull_request(
    world: World,
) -> None:
    pull, closed = (world.open_pull(path=f"docs/{name}.md") for name in "ab")
    world.github.people.close(closed)
    await world.settle()
    for text, told in NOTHING_STARTS.items():
        reply = await say(world, pull, "writer", f"/ascend-e2e {text}")
        assert reply.count(told) == 1, reply  # the line of a refusal can be pasted
    await say(world, closed, "writer", "/ascend-e2e unit")
    assert world.github.runs() == []
    await new_policy(world, POLICY.replace("version: 1", "version: 1\nmode: dry_run"))
    dry = world.open_pull(path="docs/c.md")
    await world.settle()
    await say(world, dry, "writer", "/ascend-e2e unit")
    assert world.github.runs() == []


async def test_a_suite_that_left_the_policy_or_takes_no_commands_is_answered(world: World) -> None:
    shy = POLICY.replace("title: NPU unit tests", "title: NPU\n    triggers: [pull_request]")
    await new_policy(world, shy)
    running, failed = [await opened(world, name) for name in "ab"]
    await world.finish("failure", "ValueError: x")
    answer = await say(world, running, "maintainer", "/ascend-e2e cancel unit")
    assert "no command starts" not in answer
    await world.pass_time(120)
    await new_policy(world, POLICY.replace("  unit:\n", "  other:\n"))
    assert await say(world, failed, "writer", "/ascend-e2e rerun")
    assert await say(world, running, "reader", "/ascend-e2e cancel")


async def opened(world: World, name: str) -> Pull:
    pull = world.open_pull(path=f"verl/{name}.py", text=name)
    await world.settle()
    return pull
