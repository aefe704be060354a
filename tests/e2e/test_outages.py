"""GitHub behaves oddly for a while: the log, the health and the check run say so, once each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from tests.e2e.world import World, start_bot

OTHERS = ("run moved", "stamina.retry_scheduled")  # the second is off in the service

# The fault and its answer, the path of the calls that it strikes, and the operation.
ODD: dict[str, tuple[str, str, str, Any]] = {
    "an error": ("500", "*/files", "pull_files", None),
    "an error that few have": ("501", "*/pulls/*/files", "pull_files", None),
    "an empty answer": ("says", "*/permission", "permission", {}),
    "a list without the names": ("says", "*/pulls/*/files", "pull_files", [{"sha": "a"}]),
    "a refused token": ("401", "*/access_tokens", "token", None),
}


@contextmanager
def lines_of_the_bot() -> Iterator[list[Any]]:
    """Collect the lines that an operator sees by default."""
    lines: list[Any] = []
    with capture_logs(processors=[merge_contextvars]) as logs:
        yield lines
    seen = [line for line in logs if line["log_level"] != "debug"]
    lines += [line for line in seen if line["event"] not in OTHERS]


def failing(world: World) -> dict[str, Any]:
    """Return what the health says of GitHub."""
    state = world.bot.parts.heard.state()
    assert state["ok"] is (not state["failing"])
    return {item["operation"]: item["why"] for item in state["failing"]}


@pytest.mark.parametrize("odd", ODD)
async def test_what_fails_for_a_while_is_a_line_at_its_begin_and_one_at_its_end(
    world: World, odd: str
) -> None:
    kind, path, operation, answer = ODD[odd]
    await world.pass_time(3600)  # the token is older than its hour
    with lines_of_the_bot() as lines:
        world.github.fault(kind, "*", path, times=99, change=lambda _: answer)
        world.open_pull()
        await world.settle()
        for _ in range(3):
            await world.pass_time(11)
        assert list(failing(world)) == [operation]
        world.github.faults.clear()
        for _ in range(3):
            await world.pass_time(61)
        assert failing(world) == {}
    world.github.problems.clear()  # of the shape of odd answers
    begin, end = lines
    assert (begin["log_level"], begin["event"]) == ("warning", "GitHub fails")
    assert (end["log_level"], end["event"]) == ("info", "GitHub works again")
    for line in lines:
        assert line["operation"] == operation
        assert line.get("delivery")
        assert line["repo"] == (None if operation == "token" else "octo/project")
    assert begin["why"].startswith(f"{operation}: ")


async def test_what_the_app_lacks_on_github_is_named_at_the_start_and_daily(world: World) -> None:
    app = world.github.state.the_app()
    for hours, lacks in (
        (0, []),
        (1, []),
        (24, ["event workflow_job", "permission checks: write"]),
    ):
        await world.clock.advance(hours * 3600)
        if hours == 1:
            app.events.remove("workflow_job")
            app.permissions["checks"] = "read"
        with lines_of_the_bot() as lines:
            await world.bot.step("grants")()
        told = world.bot.parts.heard.state()["lacking"]
        assert sorted(item["lacks"] for item in told) == lacks
        assert sorted(line["lacks"] for line in lines) == lacks
    by_name = {item["lacks"]: item["feature"] for item in told}
    assert by_name["permission checks: write"] == "check runs and the gate"
    await world.restart()
    await world.bot.step("grants")()
    assert len(world.bot.parts.heard.state()["lacking"]) == 2


async def shares(world: World) -> list[float]:
    """Let each replica look once; return the parts of the pace that they have."""
    for bot in world.bots:
        await bot.step("shares")()
    return [bot.parts.github.part for bot in world.bots]


def rates(world: World) -> set[float]:
    """Return how many writes a second replicas let themselves do for an installation."""
    channels = [one for bot in world.bots for one in bot.parts.github._channels.values()]
    return {channel._pace._rate_per_s for channel in channels}


async def test_replicas_know_of_each_other_and_share_the_pace_and_what_strangers_may_do(
    world: World,
) -> None:
    def counted() -> set[int]:
        parts = [bot.parts for bot in world.bots]
        return {its.living for one in parts for its in (one.strangers, one.long_lists)}

    world.bots.append(await start_bot(world))
    await shares(world)
    assert (await shares(world), counted()) == ([0.5, 0.5], {2})
    world.open_pull(path="docs/a.md")  # only now there is an installation to write for
    await world.settle()
    assert rates(world) == {0.5}
    await world.bots.pop().close()
    await world.clock.advance(61)
    assert (await shares(world), counted(), rates(world)) == ([1.0], {1}, {1.0})


async def test_a_busy_replica_borrows_the_pace_of_an_idle_one_and_never_too_early(
    world: World,
) -> None:
    world.open_pull()
    await world.settle()
    pace = next(iter(world.bot.parts.github._channels.values()))._pace
    world.bots.append(await start_bot(world))
    await shares(world)
    found = []
    for seconds in range(0, 200, 5):
        pace.has_waited = seconds < 60
        await world.clock.advance(5)
        found.append(await shares(world))
        assert sum(found[-1]) <= 1
    taken = found.index([0.875, 0.125])
    assert found[taken - 4 : taken] == [[0.5, 0.125]] * 4, "not before all know of it"
    assert found[-1] == [0.5, 0.5], "given back"


@pytest.mark.parametrize(
    ("status", "said", "looks"),
    [("500", "Server Error", 4), ("403", "This cannot be done", 2), ("404", "Not Found", 2)],
)
async def test_a_dispatch_that_github_does_not_take_is_told_by_its_check_run(
    world: World, status: str, said: str, looks: int
) -> None:
    with lines_of_the_bot() as lines:
        world.github.fault(status, "POST", "*/dispatches", times=2)
        pull = world.open_pull()
        await world.settle()
        since = f"{world.clock.now():%H:%M}"
        words = f"GitHub has failed to start the workflow since {since} UTC ({status} {said})"
        for _ in range(looks):
            assert words in str(world.check("unit", pull.head_sha).title)
            assert list(failing(world)) == ["dispatch"]
            await world.pass_time(20)
        assert failing(world) == {}
    begin, end = lines
    assert (begin["suite"], begin["repo"], begin["run"]) == ("unit", "octo/project", end["run"])
    assert world.only_run().status == "queued"


async def test_a_refusal_after_minutes_of_failures_has_its_own_minute(world: World) -> None:
    world.github.fault("500", "POST", "*/dispatches", times=99)
    pull = world.open_pull()
    await world.settle()
    for _ in range(8):
        await world.pass_time(20)
    world.github.faults.clear()
    refused = world.github.fault("403", "POST", "*/dispatches", times=1)
    for _ in range(4):
        await world.pass_time(20)
    assert refused.hits == 1
    assert world.check("unit", pull.head_sha).status == "queued"
    assert world.only_run().status == "queued"


async def test_what_stays_refused_ends_a_run_after_a_minute(world: World) -> None:
    refused = world.github.fault("422", "POST", "*/dispatches", times=99)
    pull = world.open_pull()
    await world.settle()
    for wait in (10, 10, 20, 39):
        await world.pass_time(wait)
        assert world.check("unit", pull.head_sha).status == "queued"
    await world.pass_time(1)
    assert "GitHub refused to start unit.yml" in str(world.check("unit", pull.head_sha).title)
    assert refused.hits == 5
    world.github.faults.clear()
    logs = {"once": 1, "for good": 99}
    pulls = {name: world.open_pull(path=f"verl/{name}.py") for name in logs}
    await world.settle()
    runs = {run.inputs["sha"]: run for run in world.github.runs()}
    for name, pull in pulls.items():
        run = runs[pull.head_sha]
        for job in run.jobs:
            world.github.fault("403", "GET", f"*/jobs/{job.id}/logs", times=logs[name])
        world.github.actions.finish(run, "failure", log="ValueError: x")
    await world.settle()
    await world.pass_time(61)
    said = {name: str(world.check("unit", pulls[name].head_sha).title) for name in logs}
    assert said == {"once": "ValueError: x", "for good": "Failed, and its log could not be read"}


async def test_a_run_whose_reads_fail_before_its_dispatch_says_so(world: World) -> None:
    world.github.deliveries.hold()
    pull = world.open_pull()
    await world.github.deliveries.flush()
    world.github.fault("502", "GET", f"*/pulls/{pull.number}", times=99)
    await world.settle()
    assert "GitHub has failed since" in str(world.check("unit", pull.head_sha).title)
    world.github.faults.clear()
    await world.pass_time(11)
    await world.pass_time(61)
    assert "GitHub has failed" not in str(world.check("unit", pull.head_sha).title)
    assert world.only_run().status == "queued"


async def test_what_waits_for_the_pace_of_writes_makes_no_line(world: World) -> None:
    with lines_of_the_bot() as lines:
        for number in range(8):
            world.open_pull(path=f"verl/{number}.py")
        await world.settle()
        await world.pass_time(61)
    assert lines == []
