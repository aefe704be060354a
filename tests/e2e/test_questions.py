"""Questions in comments are answered with what was asked for, and start nothing."""

from tests.e2e.people import say
from tests.e2e.world import POLICY, World

NATIVE = """\
  own:
    workflow: own.yml
    runners: [linux-aarch64-a3-16]
    start: native
    paths: ["docs/**"]
"""


async def test_what_names_no_suite_or_no_command_is_told_and_nothing_starts(world: World) -> None:
    policy = POLICY.replace("suites:\n", f"suites:\n{NATIVE}", 1)
    files = {".github/ascend-ci.yml": policy, ".github/workflows/own.yml": "on: pull_request\n"}
    world.github.people.push_branch("maintainer", files)
    await world.settle()
    await world.pass_time(11)
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    answer = await say(world, pull, "reader", "/ascend-e2e explain unti ow*")
    assert "No suite `unti`. Did you mean `unit`?" in answer
    assert "| `own` | yes | `docs/a.md` matches `docs/**` | by GitHub | re-run: triage" in answer
    assert "`multinode`" not in answer
    assert "There is no command `bogus`." in await say(
        world, pull, "reader", "/ascend-e2e help bogus"
    )
    assert "GitHub starts `own` itself" in await say(world, pull, "writer", "/ascend-e2e own")
    answer = await say(world, pull, "writer", "/ascend-e2e")
    assert "select no standard suite that a command starts" in answer
    assert world.github.runs() == []
