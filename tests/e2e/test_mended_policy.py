"""A policy that could not be read or was broken, then mended: what waits on it goes on."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha1
from typing import Any

from bot.sim.model import Pull
from tests.e2e.test_pull_events import new_policy, runs_of
from tests.e2e.world import GATE, POLICY, World

BROKEN = POLICY.replace("version: 1", "version: 1\nmoode: on")


def gates(world: World, *pulls: Pull) -> list[str]:
    found = [world.gate(pull.head_sha) for pull in pulls]
    return [gate.conclusion or gate.status for gate in found]


async def test_a_mended_policy_plans_every_pull_request_that_waits_on_it_some_at_a_time(
    world: World,
) -> None:
    await new_policy(world, BROKEN)
    pulls = [world.open_pull(path=f"verl/{number}.py") for number in range(6)]
    await world.settle()
    assert set(gates(world, *pulls)) == {"failure"}
    await new_policy(world, POLICY)
    await world.bot.step("sweeper")()
    await world.settle()
    begun = gates(world, *pulls).count("in_progress")
    assert 0 < begun < 6
    for _ in range(3):
        await world.clock.advance(2)
        await world.sweep()
    assert set(gates(world, *pulls)) == {"in_progress"}
    world.github.calls.clear()
    await world.clock.advance(3601)
    await world.sweep()
    assert world.writes("GET /repos/{owner}/{repo}/pulls/{pull_number}/files") == 0


def answered(text: str) -> Callable[[Any], Any]:
    """Return an answer that gives the policy as it was."""
    blob = sha1(b"blob %d\0" % len(text.encode()) + text.encode()).hexdigest()
    was = {"content": b64encode(text.encode()).decode(), "sha": blob}
    return lambda data: data | was


async def test_a_mended_policy_counts_whoever_looks_first_and_whatever_is_answered_at_first(
    world: World,
) -> None:
    await new_policy(world, BROKEN)
    await world.sweep()
    first = world.open_pull()
    await world.pass_time(61)
    await new_policy(world, POLICY)
    await world.bot.step("schedules")()
    await world.sweep()
    assert gates(world, first) == ["in_progress"]
    for text in (BROKEN, None):  # a server of GitHub may tell what was before the push
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text})
        await world.settle()
        await world.clock.advance(11)
        pull = world.open_pull(path="docs/a.md", text=str(text))
        await world.sweep()
        kind, change = ("says", answered(text)) if text else ("404", dict)
        stale = world.github.fault(kind, "GET", "*/contents/*ascend-ci.yml", change=change)
        await new_policy(world, POLICY)
        await world.sweep()
        shown = world.github.check(GATE, pull.head_sha)
        assert (stale.hits, shown.conclusion if shown else None) == (1, text and "failure")
        for _ in range(2):
            await world.clock.advance(11)
            await world.sweep()
        assert gates(world, pull) == ["success"]


async def test_a_click_and_a_command_plan_a_head_that_was_never_planned(world: World) -> None:
    await new_policy(world, BROKEN)
    clicked, asked, docs = (world.open_pull(path=path) for path in ("verl/a.py", "verl/b.py", "c"))
    await world.settle()
    world.github.deliveries.drop_if(lambda delivery: delivery.event == "pull_request")
    unknown = world.open_pull(path="verl/d.py")
    await world.settle()
    world.github.deliveries.drop_if(None)
    await new_policy(world, POLICY)
    for pull in (clicked, docs):
        gate = world.gate(pull.head_sha)
        world.github.checks.rerun(gate, world.github.user("maintainer"))
    for pull in (asked, unknown):
        world.github.people.comment(pull, "maintainer", "/ascend-e2e status")
    await world.settle()
    assert gates(world, clicked, asked, docs, unknown) == [
        "in_progress",
        "in_progress",
        "success",
        "in_progress",
    ]
    assert world.gate(docs.head_sha).suite.status == "completed"
    world.github.people.comment(unknown, "maintainer", "/ascend-e2e unit")
    await world.settle()
    for _ in range(3):
        for run in world.github.runs():
            if run.status != "completed":
                world.github.actions.finish(run, "success")
        await world.pass_time(61)
    assert [len(runs_of(world, pull)) for pull in (clicked, asked, unknown)] == [1, 1, 1]
    assert set(gates(world, clicked, asked, docs, unknown)) == {"success"}


async def test_a_policy_that_was_there_is_asked_for_again_before_it_counts_as_gone(
    world: World,
) -> None:
    first = world.open_pull()
    await world.settle()
    assert gates(world, first) == ["in_progress"]
    world.github.fault("404", "GET", "*/contents/*ascend-ci.yml", times=2)
    world.github.people.push_branch("maintainer", {"c": "1"})
    pull = world.open_pull(path="verl/b.py")
    green = world.open_pull(path="docs/a.md")
    await world.settle()
    assert gates(world, pull, green) == ["in_progress", "success"]
    world.github.fault("404", "GET", "*/contents/*ascend-ci.yml", times=99)
    for twin in ("", ".github/ascend-ci.yaml"):
        world.github.people.push_branch("maintainer", {twin or "c": "2"})
        await world.settle()
        await world.pass_time(10)
        assert gates(world, pull, green) == ["in_progress", "in_progress"]
        said = str(world.gate(green.head_sha).summary)
        assert ("`main` no longer has `.github/ascend-ci.yml`" in said) != bool(twin)
        assert ("`main` has `.github/ascend-ci.yaml`" in said) == bool(twin)
        world.github.faults.clear()
        world.github.people.push_branch("maintainer", {"d": twin or "3"})
        await world.settle()
        await world.sweep()
        assert gates(world, pull, green) == ["in_progress", "success"]
        world.github.fault("404", "GET", "*/contents/*ascend-ci.yml", times=99)


async def test_a_repository_that_only_ever_had_a_policy_of_the_wrong_name_is_told_so(
    world: World,
) -> None:
    right, wrong = ".github/ascend-ci.yml", ".github/ascend-ci.yaml"
    world.github.people.push_branch("maintainer", {right: None, wrong: POLICY})
    pull, docs = world.open_pull(), world.open_pull(path="docs/a.md")
    await world.settle()
    assert gates(world, pull, docs) == ["in_progress", "in_progress"]
    for head in (pull, docs):
        gate = world.gate(head.head_sha)
        assert gate.title == f"Waiting: {wrong} on main must be renamed to {right}"
        assert str(gate.summary).startswith(
            f"`main` has `{wrong}`, but the bot reads only `{right}`"
        )
    world.github.people.comment(pull, "maintainer", "/ascend-e2e unit")
    await world.settle()
    why = f"Nothing was started: `main` has `{wrong}`, but the bot reads only `{right}`"
    assert any(why in text for text in world.github.comments(pull))
    world.github.people.push_branch("maintainer", {wrong: None})
    await world.settle()
    new = world.open_pull(path="docs/b.md")
    await world.settle()
    assert gates(world, pull, docs) == ["in_progress", "in_progress"]
    assert "put it back" in str(world.gate(docs.head_sha).summary)
    assert world.github.check(GATE, new.head_sha) is None
    world.github.people.push_branch("maintainer", {right: POLICY})
    await world.settle()
    await world.sweep()
    assert gates(world, pull, docs) == ["in_progress", "success"]
    assert world.gate(pull.head_sha).title != f"Waiting: {wrong} on main must be renamed to {right}"


async def test_pull_requests_whose_files_github_never_lists_hold_up_no_others(
    world: World,
) -> None:
    await new_policy(world, BROKEN)
    dear = [world.open_pull("stranger", f"verl/{number}.py") for number in range(4)]
    good = world.open_pull(path="verl/good.py")
    await world.settle()
    for pull in dear:
        world.github.fault("422", "GET", f"*/pulls/{pull.number}/files", times=1000)
    limit = world.github.fault("secondary", "GET", f"*/pulls/{good.number}/files")
    await new_policy(world, POLICY)
    for wait_s in (2, 2, 2, 62):
        await world.clock.advance(wait_s)
        await world.sweep()
    assert limit.hits == 1
    assert gates(world, good) == ["in_progress"]
    world.github.deliveries.drop_if(lambda delivery: delivery.event == "pull_request")
    world.github.fault("500", "GET", "/app/hook/deliveries*", times=1000)
    before = world.open_pull("stranger", "verl/before.py")
    lost = world.open_pull(path="verl/lost.py")
    after = world.open_pull("stranger", "verl/after.py")
    for pull in (before, after):
        world.github.fault("422", "GET", f"*/pulls/{pull.number}/files", times=1000)
    await world.settle()
    await world.clock.advance(3601)
    await world.sweep()
    assert gates(world, lost) == ["in_progress"]
