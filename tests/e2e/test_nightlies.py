"""Nights: suites on the head of a branch at a time, once, each with a check run and a row."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from click.testing import CliRunner

from bot.cli import main
from bot.core.planning.schedule import (
    WAIT_FOR,
    Firing,
    FiringState,
    firing_source,
    latest_attempts,
)
from bot.services.operator import Operator
from bot.sim.limits import Fault
from tests.e2e.people import say
from tests.e2e.world import POLICY, World

TIMES = """
nightly:
  - {name: a2, cron: "0 17 * * *", suites: ["*"]}
"""
NIGHTLY = (
    POLICY.replace("    timeout_minutes: 60\n", "    triggers: [pull_request, nightly]\n", 1)
    + TIMES
)


async def policy(world: World, text: str) -> str:
    """Push a policy and let the times follow."""
    sha = world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text})
    await world.settle()
    await nightlies(world, 61)
    return sha


async def nightlies(world: World, seconds: float = 0) -> None:
    """Let time pass, and the loop of the schedules look."""
    await world.clock.advance(seconds)
    await world.bot.step("schedules")()
    await world.settle()


async def at_hour(world: World, hour: int = 17, later: timedelta = timedelta()) -> None:
    """Go to the next time of that hour and so much later."""
    now = world.clock.now()
    then = now.replace(hour=hour, minute=0, second=0, microsecond=0)
    then += timedelta(days=1) if then <= now else timedelta()
    await nightlies(world, (then + later - now).total_seconds())


async def firings(world: World) -> list[Firing]:
    """Return the nights of all names, oldest first."""
    told = await world.bot.parts.store.schedules.listing(each=9)
    return sorted(
        (firing for item in told for firing in item.firings), key=lambda firing: firing.at
    )


async def end(world: World, suite: str, conclusion: str) -> None:
    """End what runs of a suite."""
    (run,) = [
        run
        for run in world.github.runs()
        if run.status != "completed" and run.inputs["runner"].endswith(suite)
    ]
    world.github.actions.start(run)
    await world.settle()
    world.github.actions.finish(run, conclusion, log="ValueError: x")
    await world.pass_time(10)


async def test_a_night_runs_its_suites_on_the_head_of_its_branch(world: World) -> None:
    sha = await policy(world, NIGHTLY)
    assert world.github.runs() == []
    await at_hour(world)
    assert {run.inputs["sha"] for run in world.github.runs()} == {sha}
    (firing,) = await firings(world)
    assert (firing.state, firing.sha, firing.note) == ("started", sha, "2 suites started")
    await end(world, "a2b3-8", "success")
    await end(world, "a3-16", "failure")
    assert world.check("unit", sha).conclusion == "success"
    failed = world.check("nightly-grpo", sha)
    assert failed.conclusion == "failure"
    assert f"Started by the nightly schedule `a2` ({firing.at:%Y-%m-%d} 17:00 UTC)." in (
        failed.summary or ""
    )
    assert world.github.check("ascend-ci", sha) is None
    await nightlies(world, 61)
    (firing,) = await firings(world)
    assert firing.state is FiringState.DONE
    assert firing.note == "2 suites started; 1 of 2 suites passed"
    source = firing_source(firing.name, firing.at)
    found = latest_attempts(
        firing, await world.bot.parts.store.schedules.runs_of(firing.repo_id, source)
    )
    assert {name: str(run.outcome) for name, run in found.items()} == {
        "unit": "success",
        "nightly-grpo": "failure",
    }
    world.github.people.rerun_check(failed.id, "writer")
    await world.pass_time(10)
    await end(world, "a3-16", "success")
    assert world.check("nightly-grpo", sha).conclusion == "success"


async def test_the_next_night_measures_the_same_commit_anew_and_joins_what_is_open(
    world: World,
) -> None:
    sha = await policy(world, NIGHTLY.replace("0 17 *", "0 17,20 *"))
    await at_hour(world)
    await end(world, "a2b3-8", "success")
    first = world.check("nightly-grpo", sha)
    await at_hour(world, 20)
    firing = (await firings(world))[-1]
    assert "1 suite started" in firing.note
    assert "joined an open attempt: nightly-grpo" in firing.note
    assert world.check("nightly-grpo", sha).id == first.id
    summary = world.check("unit", sha).summary or ""
    assert "runs it anew: attempt 1 passed on this commit" in summary
    assert "ttempt 2 of" in summary


async def test_a_night_that_still_waits_gives_way_to_the_next_one_at_a_newer_head(
    world: World,
) -> None:
    old = await policy(world, NIGHTLY.replace("0 17 *", "0 17,20 *"))
    holder = world.open_pull("maintainer", "docs/a.md")
    await say(world, holder, "maintainer", "/ascend-e2e nightly-grpo")
    await at_hour(world)
    await end(world, "a2b3-8", "success")
    new = world.github.people.push_branch("maintainer", {"verl/n.py": "1"})
    await at_hour(world, 20)
    await world.pass_time(10)
    left = world.check("nightly-grpo", old)
    assert left.conclusion == "cancelled"
    assert left.title == f"Superseded: the schedule a2 has started its next run, at {new[:7]}"
    assert world.check("nightly-grpo", new).status == "queued"
    assert world.check("unit", old).conclusion == "success"
    assert [run.inputs["sha"] for run in world.github.runs()] == [holder.head_sha, old, new]


async def test_a_night_that_waits_for_a_day_is_skipped(world: World) -> None:
    sha = await policy(world, NIGHTLY.replace("0 17 * * *", "0 17 */2 * *"))
    parts = world.bot.parts
    operator = Operator(parts.store, parts.clock, parts.new_id, "kim")
    await operator.pause("all", "maintenance", None)
    for _ in range(3):  # days until the next one with a firing
        if not await firings(world):
            await at_hour(world)
    await nightlies(world, WAIT_FOR.total_seconds() - 60)
    assert world.check("nightly-grpo", sha).status == "queued"
    await nightlies(world, 61)
    await world.pass_time(10)
    left = world.check("nightly-grpo", sha)
    assert left.conclusion == "cancelled"
    assert left.title == "Superseded: a run of the schedule a2 is skipped after 24 h in the queue"


async def test_a_short_absence_is_caught_up_once_and_a_long_one_is_said(world: World) -> None:
    sha = await policy(world, NIGHTLY)
    await world.clock.advance(2 * 24 * 3600)
    await world.restart()
    await at_hour(world, later=timedelta(hours=1, minutes=30))
    await nightlies(world)
    (firing,) = await firings(world)
    assert (firing.state, firing.sha) == (FiringState.STARTED, sha)
    assert "caught up 1 h 30 min late, for all times missed" in firing.note
    assert len(world.github.runs()) == 2
    await end(world, "a2b3-8", "success")
    await end(world, "a3-16", "success")
    await at_hour(world, later=timedelta(hours=2, minutes=1))
    firing = (await firings(world))[-1]
    assert (firing.state, firing.sha) == (FiringState.SKIPPED, "")
    assert firing.note == "the service was away: not caught up 2 h 1 min late"
    assert len(world.github.runs()) == 2


async def test_a_clock_that_ran_a_day_ahead_for_a_while_loses_no_night(world: World) -> None:
    await policy(world, NIGHTLY)
    await at_hour(world, 18)  # the night is over
    store, before = world.bot.parts.store, len(await firings(world))
    (told,) = await store.schedules.listing(each=1)
    await store.schedules.move_back(
        told.schedule, replace(told.schedule, next=told.schedule.next + timedelta(days=2))
    )
    await nightlies(world, 61)
    await at_hour(world, 17)
    assert len(await firings(world)) == before + 1


async def test_whatever_starts_nothing_is_a_row_that_says_why(world: World) -> None:
    two = NIGHTLY.replace('suites: ["*"]', 'ref: REF, suites: ["nightly-*"]')
    other = POLICY.replace(", command, nightly]", ", command]")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": other}, "v0.9")
    listed = 'branches: ["v0.*"]\n' + two.replace("REF", "v0.9")
    await policy(world, two.replace("REF", "gone"))
    for hour, text, state, note in (
        (17, None, "refused", "there is no branch gone"),
        (18, f"{two}mode: dry_run\n", "skipped", "dry run: would run nightly-grpo on main"),
        (19, listed, "refused", "it names no suite with the trigger nightly"),
        (20, two, "started", "1 suite started"),
    ):
        if text:
            await policy(world, text.replace("REF", "main").replace("0 17 *", f"0 {hour} *"))
        await at_hour(world, hour)
        firing = (await firings(world))[-1]
        assert (firing.at.hour, firing.state.value) == (hour, state)
        assert note in firing.note
    assert len(world.github.runs()) == 1
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": "suites: 3\n"})
    await world.settle()
    await at_hour(world, 20)
    assert ((await firings(world))[-1].note) == "the policy has errors"
    await policy(world, POLICY)
    assert await world.bot.parts.store.schedules.listing(each=1) == ()


async def test_a_suspended_repository_has_its_nights_skipped(world: World) -> None:
    await policy(world, NIGHTLY)
    (installation,) = world.github.state.installations.values()
    world.github.suspend(installation)
    await world.settle()
    world.github.calls.clear()
    await at_hour(world)
    (firing,) = await firings(world)
    assert (firing.state.value, firing.note) == (
        "skipped",
        "the app may not act in this repository now",
    )
    assert world.github.calls.by_route().total() == 0


async def test_a_lost_push_and_an_unreachable_github_change_no_night(world: World) -> None:
    await policy(world, NIGHTLY)
    world.github.deliveries.drop_if(lambda one: one.event == "push")
    moved = NIGHTLY.replace("0 17 *", "30 17 *")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": moved})
    await world.settle()
    await at_hour(world)
    assert await firings(world) == []
    world.github.faults.inject(Fault("502", "GET", "*/branches/main", times=99))
    await at_hour(world, later=timedelta(minutes=31))
    assert await firings(world) == []
    world.github.faults.clear()
    await nightlies(world, 61)
    (firing,) = await firings(world)
    assert (firing.at.minute, firing.state) == (30, FiringState.STARTED)


async def test_a_policy_that_github_did_not_give_is_read_for_its_nights_a_minute_later(
    world: World,
) -> None:
    await policy(world, POLICY)
    world.github.deliveries.drop_if(lambda one: one.event == "push")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": NIGHTLY})
    world.github.faults.inject(Fault("502", "GET", "*/ascend-ci.yml", times=99))
    await nightlies(world, 6 * 3600 + 61)
    world.github.faults.clear()
    await nightlies(world, 121)
    (timed,) = await world.bot.parts.store.schedules.by_repo()
    assert [schedule.name for schedule in timed.schedules] == ["a2"]


async def test_a_night_that_an_operator_asks_for_starts_now_and_its_time_stays(
    world: World,
) -> None:
    sha = await policy(world, NIGHTLY)
    (before,) = await world.bot.parts.store.schedules.listing(each=1)
    env = {"DATABASE_URL": world.settings.database_url}
    words = ["nightly", "run", "a2", "--by", "ann"]
    answer = await asyncio.to_thread(CliRunner().invoke, main, words, env=env)
    assert answer.exit_code == 0, answer.output
    for _ in range(2):
        await nightlies(world)
    (told,) = await world.bot.parts.store.schedules.listing(each=9)
    assert told.schedule == before.schedule
    (firing,) = told.firings
    assert (firing.state, firing.sha) == (FiringState.STARTED, sha)
    assert firing.note == "asked for by ann (command line); 2 suites started"
    assert len(world.github.runs()) == 2
