"""For some seconds after a push, a server of GitHub answers with what it knew before."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from bot.sim import shapes
from bot.sim.model import Pull
from tests.e2e.test_pull_events import runs_of
from tests.e2e.world import GATE, World

UNIT = "verl/changed.py"


def files_of(world: World, pull: Pull) -> list[Any]:
    """Return the list of files that GitHub gives now."""
    changes = pull.repo.git.changes(pull.base_sha, pull.head_sha)
    return [
        shapes.file_json(world.github.state, pull.repo, pull.head_sha, item) for item in changes
    ]


def of_now(data: Any) -> Callable[[Any], Any]:
    """Return an answer that stays as it is now."""
    kept = copy.deepcopy(data)
    return lambda _: kept


def short(data: Any) -> Any:
    return [item for item in data if item["filename"] != UNIT]


def is_open(world: World, pull: Pull) -> bool:
    """Return True if nothing says that the head may be merged, or not."""
    gate = world.github.check(GATE, pull.head_sha)
    return gate is None or gate.status != "completed"


def removed(data: Any) -> Any:
    """Return a list of as many removed files, which names no head."""
    return [
        item | {"status": "removed", "filename": f"docs/old-{number}.md"}
        for number, item in enumerate(data)
    ]


LISTS: dict[str, Callable[[Any], Any] | None] = {
    "the list of the old head": None,
    "an empty list": lambda _: [],
    "a list without one file": short,
    "an old list of removed files": removed,
}
SAYS = {
    "the list of the old head": "GitHub still lists the files of an older head",
    "an empty list": "GitHub lists 0 files",
    "a list without one file": "GitHub lists 1 file",
    "an old list of removed files": "GitHub lists 2 files",
}


async def test_a_list_that_is_old_or_short_never_turns_the_gate_green(world: World) -> None:
    pulls: dict[str, Pull] = {}
    for name, change in LISTS.items():
        pull = world.open_pull(path=f"docs/{len(pulls)}.md", text=name)
        await world.settle()
        assert world.gate(pull.head_sha).conclusion == "success", name
        stale = change or of_now(files_of(world, pull))
        path = f"*/pulls/{pull.number}/files"
        world.github.fault("says", "GET", path, times=2, change=stale)
        world.github.people.push(pull, {UNIT: name})
        await world.settle()
        assert is_open(world, pull), name
        assert SAYS[name] in str(world.gate(pull.head_sha).summary), name
        pulls[name] = pull
    await world.pass_time(2)
    await world.pass_time(4)
    for name, pull in pulls.items():
        assert world.check("unit", pull.head_sha).status != "completed", name
        assert is_open(world, pull), name
    pull = pulls["an empty list"]
    world.github.fault("says", "GET", f"*/pulls/{pull.number}/files", times=99, change=lambda _: [])
    world.github.people.push(pull, {UNIT: "a list that never fits counts as truncated"})
    for _ in range(10):
        pull.updated_at = world.clock.now()  # a comment renews it, and must not renew the wait
        await world.pass_time(65)
        assert is_open(world, pull)
    await world.pass_time(300)
    assert "unit" in str(world.gate(pull.head_sha).summary)


def uncounted(data: Any) -> Any:
    return data | {"changed_files": 0}


# What GitHub lists, the number of files that the webhook tells, and what the pull request says.
UNCOUNTED: dict[str, tuple[Callable[[Any], Any], int | None, Callable[[Any], Any]]] = {
    "an empty list": (lambda _: [], 0, lambda data: data),
    "a short list": (short, None, lambda data: data),
    "an empty list that nothing counts": (lambda _: [], None, uncounted),
}


async def test_a_list_is_believed_only_if_the_number_of_files_is_known(world: World) -> None:
    pulls = {name: world.open_pull(path=f"docs/{name}.md") for name in UNCOUNTED}
    await world.settle()
    world.github.deliveries.hold()
    numbers = {}
    for name, pull in pulls.items():
        listed, numbers[pull.number], told = UNCOUNTED[name]
        address = f"*/pulls/{pull.number}"
        world.github.fault("says", "GET", f"{address}/files", times=2, change=listed)
        world.github.fault("says", "GET", address, times=2, change=told)
        world.github.people.push(pull, {UNIT: name})
    for delivery in world.github.deliveries.pending:
        payload = delivery.payload()
        if "pull_request" in payload:
            payload["pull_request"]["changed_files"] = numbers[payload["number"]]
            delivery.body = json.dumps(payload).encode()
    world.github.deliveries.release()
    await world.settle()
    for name, pull in pulls.items():
        assert is_open(world, pull), name
    await world.pass_time(3)
    await world.pass_time(5)
    for name, pull in pulls.items():
        assert world.check("unit", pull.head_sha).status != "completed", name


async def test_a_pull_request_without_any_file_is_green_ten_seconds_later(world: World) -> None:
    pull = world.open_pull(path="README.md", text="hello\n")
    await world.settle()
    assert is_open(world, pull)
    await world.pass_time(11)
    await world.pass_time(11)
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_of_two_heads_of_one_second_neither_is_believed_at_once(world: World) -> None:
    pull = world.open_pull()
    data = shapes.pull_json(world.github.state, pull)
    for files in ({}, {UNIT: "2"}):
        if files:
            world.github.people.push(pull, files)
        await world.github.deliveries.idle()
        while await world.bot.step("inbox")():
            pass
    path = f"*/pulls/{pull.number}"
    stale = world.github.fault("says", "GET", path, change=of_now(data))
    await world.settle()
    await world.pass_time(11)
    assert stale.hits == 1
    assert [run.inputs["sha"] for run in world.github.runs()] == [pull.head_sha]
    assert is_open(world, pull)


@pytest.mark.parametrize("asker", ["the dispatch", "a command", "the look at heads"])
async def test_a_head_never_goes_backwards(world: World, asker: str) -> None:
    pull = world.open_pull()
    await world.settle()
    world.github.actions.finish(runs_of(world, pull)[0], "success")
    await world.pass_time(100)
    data = shapes.pull_json(world.github.state, pull)
    stale = world.github.fault(
        "says", "GET", f"*/pulls/{pull.number}", times=3, change=of_now(data)
    )
    world.github.people.push(pull, {UNIT: "2"})
    if asker == "a command":
        world.github.people.comment(pull, "maintainer", "/ascend-e2e unit")
    await world.settle()
    if asker == "the look at heads":
        listed = of_now([shapes.pull_simple(world.github.state, pull) | {"head": data["head"]}])
        world.github.fault("says", "GET", "*/pulls", change=listed)
        await world.pass_time(301)
        await world.sweep()
    await world.pass_time(8)
    assert stale.hits > 0, asker
    assert len(runs_of(world, pull, pull.head_sha)) == 1, asker
    assert world.check("unit", pull.head_sha).status != "completed", asker
    assert is_open(world, pull), asker


async def test_a_newer_head_seen_at_the_dispatch_is_planned_at_once(world: World) -> None:
    pull = world.open_pull()
    old = pull.head_sha
    await world.github.deliveries.idle()
    while await world.bot.step("inbox")():
        pass
    world.github.deliveries.drop_if(lambda delivery: delivery.event == "pull_request")
    await world.clock.advance(5)
    world.github.people.push(pull, {UNIT: "2"})
    await world.settle()
    assert world.check("unit", old).conclusion == "cancelled"
    assert world.gate(old).conclusion == "cancelled"
    assert [run.inputs["sha"] for run in world.github.runs()] == [pull.head_sha]


async def test_a_run_that_is_deleted_on_github_ends_as_its_webhook_said_or_soon(
    world: World,
) -> None:
    told, unheard = world.open_pull(path="verl/a.py"), world.open_pull(path="verl/b.py")
    await world.settle()
    runs = {run.inputs["sha"]: run for run in world.github.runs()}
    for run in runs.values():
        world.github.actions.start(run)
    await world.settle()
    await world.pass_time(200)
    world.github.actions.finish(runs[told.head_sha], "success")
    for run in runs.values():
        del world.github.state.runs[run.id]
    await world.settle()
    await world.pass_time(61)
    assert world.gate(told.head_sha).conclusion == "success"
    for _ in range(2):
        await world.sweep()
        await world.pass_time(61)
    assert [run.inputs["sha"] for run in world.github.runs()] == [unheard.head_sha]
    said = world.check("unit", unheard.head_sha).summary or ""
    assert "attempt 1: it did not run as it should" in said
