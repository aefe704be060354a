"""Suites with the trigger `push`: on the default and listed branches, by changed files."""

import pytest

from bot.core.model.ids import Sha
from bot.core.model.runs import Rank
from bot.sim.deliveries import Delivery
from tests.e2e.people import replay
from tests.e2e.world import POLICY, World

BRANCHES = 'branches: ["v0.*"]\n'
PUSHED = POLICY.replace(
    '    paths: ["verl/**", "!**/*.md"]\n',
    '    paths: ["verl/**", "!**/*.md"]\n    triggers: [pull_request, push]\n',
).replace(
    "    tier: heavy\n    triggers: [pull_request, command, nightly]\n",
    "    tier: heavy\n    triggers: [push]\n",
)


@pytest.fixture
async def repo(world: World) -> World:
    """Return a world whose policy has suites for pushes."""
    files = {".github/ascend-ci.yml": BRANCHES + PUSHED}
    world.github.people.push_branch("maintainer", files, "v0.1")
    await world.settle()  # no policy lists it yet
    world.github.people.push_branch("maintainer", files)
    await world.settle()
    return world


async def push(world: World, files: dict[str, str], branch: str | None = None) -> str:
    sha = world.github.people.push_branch("maintainer", files, branch)
    await world.settle()
    return sha


def ran(world: World) -> list[tuple[str, str]]:
    return [(run.title.split()[0], run.inputs["sha"]) for run in world.github.runs()]


async def test_a_push_runs_what_its_files_select_with_a_check_run_on_the_commit(
    repo: World,
) -> None:
    sha = await push(repo, {"verl/a.py": "1"})
    await push(repo, {"README.md": "no suite"}, "feature")
    assert ran(repo) == [("Unit", sha)]
    check = repo.check("unit", sha)
    assert f"Started by the push of {sha[:7]} to main." in (check.summary or "")
    assert repo.github.check("ascend-ci", sha) is None
    await repo.finish("failure", "ValueError: x")
    await repo.pass_time(120)
    assert repo.check("unit", sha).conclusion == "failure"
    assert "unchanged: button above." in (repo.check("unit", sha).summary or "")
    repo.github.people.press(repo.check("unit", sha).id, "rerun", "writer")
    await repo.pass_time(10)
    await repo.finish("success")
    await repo.pass_time(10)
    assert repo.check("unit", sha).conclusion == "success"


async def test_a_later_push_drops_what_the_one_before_has_running(repo: World) -> None:
    first = await push(repo, {"verl/a.py": "1"})
    run = repo.only_run()
    repo.github.actions.start(run)
    await repo.settle()
    last = await push(repo, {"README.md": "nothing to run"})
    assert run.cancelled
    repo.github.actions.finish(run, "cancelled")
    await repo.pass_time(10)
    assert repo.check("unit", first).conclusion == "cancelled"
    assert f"uperseded by {last[:7]}" in (repo.check("unit", first).title or "")


async def test_which_pushes_run_what(repo: World) -> None:
    both = ["nightly-grpo", "unit"]
    for branch, path, suites, rank in (
        ("v0.1", "nightly/a.py", ["nightly-grpo"], Rank.RELEASE),
        (None, "verl/a.py", ["unit"], Rank.AUTOMATIC),
        ("v0.2", "a-new-branch-tells-no-files.md", both, Rank.RELEASE),
        ("feature", "verl/a.py", [], None),
        (None, "docs/a.md", [], None),
    ):
        sha = repo.github.people.push_branch("maintainer", {path: "1"}, branch)
        await repo.github.deliveries.idle()
        while await repo.bot.step("inbox")():
            pass
        store, known = repo.bot.parts.store, await repo.bot.parts.store.repos.active()
        found = await store.runs.at(known[0].id, Sha(sha))
        assert sorted(item.run.suite for item in found) == suites
        claimants = {
            (claimant.source, claimant.rank) for item in found for claimant in item.claimants
        }
        assert claimants == ({(f"push:{branch or 'main'}", rank)} if suites else set())


async def test_a_push_that_comes_late_starts_nothing_and_drops_nothing(repo: World) -> None:
    late: list[Delivery] = []

    def overtaken(one: Delivery) -> bool:
        if one.event == "push" and not late:
            late.append(one)
        return one in late

    repo.github.deliveries.drop_if(overtaken)
    await push(repo, {"verl/a.py": "1"})
    sha = await push(repo, {"verl/a.py": "2"})
    replay(repo, late[0], "late")
    await repo.settle()
    assert ran(repo) == [("Unit", sha)]
    assert not repo.only_run().cancelled


async def test_a_push_to_a_branch_that_is_not_protected_starts_what_its_pusher_may_start(
    world: World,
) -> None:
    files = {"verl/a.py": "1", "nightly/a.py": "1"}
    world.github.people.protect("main")
    found = []
    for number, trust in enumerate(("{heavy: maintain}", "{auto: maintain}")):
        policy = PUSHED.replace("version: 1", f"version: 1\ntrust: {trust}")
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": BRANCHES + policy})
        await world.settle()
        for who in ("writer", "maintainer"):
            before = len(world.github.runs())
            world.github.people.push_branch(who, files, f"v0.{number}-{who}")
            await world.settle()
            found.append(len(world.github.runs()) - before)
            for run in world.github.runs()[before:]:
                world.github.actions.start(run)
                world.github.actions.finish(run, "success")
            await world.pass_time(10)
    assert found == [1, 2, 0, 2]
