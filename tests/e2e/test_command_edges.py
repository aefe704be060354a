"""Commands at the edges: heads that come back, half-right words, dry runs, suites that are gone."""

import pytest

from tests.e2e.people import say, stranger
from tests.e2e.world import POLICY, World


@pytest.mark.parametrize("text", ["/ascend-e2e approve", "/ascend-e2e unit"])
@pytest.mark.parametrize("back", [True, False])
async def test_a_commit_pushed_back_5_s_before_a_command_has_to_be_named(
    world: World, text: str, *, back: bool
) -> None:
    pull = await stranger(world)
    a = pull.head_sha
    world.github.people.push(pull, {"verl/a.py": "benign"})
    await world.pass_time(300)
    if back:
        world.github.people.force_push(pull, a)
    else:
        world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.pass_time(5)
    await say(world, pull, "writer", text)
    assert world.github.runs() == []


async def test_a_push_back_between_comment_and_handling_starts_nothing(world: World) -> None:
    pull = await stranger(world)
    a = pull.head_sha
    world.github.people.push(pull, {"verl/a.py": "benign"})
    await world.pass_time(300)
    world.github.people.comment(pull, "writer", "/ascend-e2e approve")
    await world.clock.advance(2)
    world.github.people.force_push(pull, a)
    await world.settle()
    await world.pass_time(10)
    assert world.github.runs() == []


@pytest.mark.parametrize("text", ["/ascend-e2e unit typo", "/ascend-e2e unit cancel"])
async def test_one_wrong_word_stops_the_whole_command(world: World, text: str) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    await say(world, pull, "writer", text)
    assert world.github.runs() == []


async def test_a_dry_run_starts_nothing_by_command(world: World) -> None:
    world.github.people.push_branch(
        "maintainer",
        {".github/ascend-ci.yml": POLICY.replace("version: 1", "version: 1\nmode: dry_run")},
    )
    await world.settle()
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    await say(world, pull, "writer", "/ascend-e2e unit")
    assert world.github.runs() == []


async def test_a_command_on_a_closed_pull_request_starts_nothing(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    world.github.people.close(pull)
    await world.settle()
    await say(world, pull, "writer", "/ascend-e2e unit")
    assert world.github.runs() == []


@pytest.mark.parametrize(("who", "verb"), [("writer", "rerun"), ("reader", "cancel")])
async def test_a_suite_that_left_the_policy_is_answered(world: World, who: str, verb: str) -> None:
    pull = world.open_pull()
    await world.settle()
    if verb == "rerun":
        await world.finish("failure", "ValueError: x")
    await world.pass_time(120)
    text = POLICY.replace("  unit:\n", "  other:\n")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text})
    await world.settle()
    r = await say(world, pull, who, f"/ascend-e2e {verb}")
    assert r


async def test_the_line_of_a_refused_commit_can_be_pasted(world: World) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    r = await say(world, pull, "writer", "/ascend-e2e unit --sha " + "ab" * 10)
    assert r.count("--sha") == 1
    assert world.github.runs() == []


async def test_a_suite_without_commands_can_be_cancelled(world: World) -> None:
    world.github.people.push_branch(
        "maintainer",
        {
            ".github/ascend-ci.yml": POLICY.replace(
                "title: NPU unit tests", "title: NPU unit tests\n    triggers: [pull_request]"
            )
        },
    )
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    r = await say(world, pull, "maintainer", "/ascend-e2e cancel unit")
    assert "not started by" not in r
