"""Operators beside the service: pauses, cancels, retries, and an audit of every decision."""

from dataclasses import dataclass
from typing import Any

from bot.core.planning.plan import BY_ITSELF
from bot.core.queue.state import Pause
from bot.services.operator import No, Operator, Retried
from bot.store.audit import AuditQuery
from bot.store.run_reads import RunQuery
from tests.e2e.native_suites import ended, natives, pushed, started
from tests.e2e.people import press, say, stands, stranger
from tests.e2e.world import LABEL, World

_ALL = RunQuery()


@dataclass(frozen=True)
class Row:
    """A decision, without its time and place."""

    who: str
    what: str
    allowed: bool
    rule: str


def kim(world: World) -> Operator:
    """Return an operator at the service's database."""
    parts = world.bot.parts
    return Operator(parts.store, parts.clock, parts.new_id, "kim")


async def audit(world: World, **query: Any) -> list[Row]:
    """Return what was decided, oldest first."""
    found = await world.bot.parts.store.audit.search(AuditQuery(limit=200, **query))
    rows = [item.entry for item in reversed(found)]
    return [Row(row.who, row.what, row.allowed, row.rule) for row in rows]


async def test_a_paused_label_says_who_why_and_until_and_runs_again_when_resumed(
    world: World,
) -> None:
    operator = kim(world)
    runnable = world.open_pull(path="verl/going.py")
    await world.settle()
    until = world.clock.now().replace(hour=23, minute=0, second=0, microsecond=0)
    assert await operator.pause(f"label:{LABEL}", "maintenance", until) is None
    pull = world.open_pull(path="verl/b.py", text="b")
    await world.settle()
    said = f"{LABEL} is paused by kim until 23:00 UTC (maintenance)"
    assert world.check("unit", pull.head_sha).title == f"Queued: {said}"
    await world.pass_time(70)
    assert said in (world.gate(pull.head_sha).summary or "")
    await operator.pause(f"label:{LABEL}", "a new driver", None)
    await world.pass_time(70)
    said = f"{LABEL} is paused by kim (a new driver)"
    assert world.check("unit", pull.head_sha).title == f"Queued: {said}"
    assert said in (world.gate(pull.head_sha).summary or "")
    assert [run.inputs["sha"] for run in world.github.runs()] == [runnable.head_sha]
    await world.finish("success")  # what runs goes on
    assert world.check("unit", runnable.head_sha).conclusion == "success"
    assert isinstance(await operator.resume(f"label:{LABEL}"), Pause)
    await world.settle()  # no time passes: those who wait were poked
    assert [run.inputs["sha"] for run in world.github.runs()][1:] == [pull.head_sha]
    rows = await audit(world)
    assert Row(BY_ITSELF, "start unit", False, "pause") in rows
    assert [row.what for row in rows if row.who == "kim"] == [
        f"pause label:{LABEL} until {until:%Y-%m-%dT23:00Z}: maintenance",
        f"pause label:{LABEL}: a new driver",
        f"resume label:{LABEL}",
    ]


async def test_an_operator_cancels_and_retries_like_a_person(world: World) -> None:
    operator = kim(world)
    pull = world.open_pull()
    await world.settle()
    [listed] = await world.bot.parts.store.runs.search(_ALL)
    first = listed.run
    assert not isinstance(await operator.cancel(first.id[:-1], "node is down"), No)
    again = await operator.cancel(first.id, "once more")
    assert isinstance(again, No)
    assert "is already being stopped: cancelled by kim: node is down" in again.why
    await world.settle()
    await world.pass_time(10)
    await world.finish("cancelled")
    check = world.check("unit", pull.head_sha)
    assert check.conclusion == "cancelled"
    assert "kim" in (check.title or "")
    over = await operator.cancel(first.id, "late")
    assert isinstance(over, No)
    assert "is done: cancelled" in over.why
    made = await operator.retry(first.id.lower())
    assert isinstance(made, Retried)
    assert (made.attempt, made.sources) == (2, (f"pr:{pull.number}",))
    still = await operator.retry(first.id)
    assert isinstance(still, No)
    assert "attempt 2 of unit is not done" in still.why
    await world.settle()
    await world.pass_time(10)
    assert world.gate(pull.head_sha).status == "in_progress"
    await world.finish("success")
    await world.pass_time(10)
    assert world.gate(pull.head_sha).conclusion == "success"
    assert "kim, operator" in (world.check("unit", pull.head_sha).summary or "")
    old = pull.head_sha
    world.github.people.push(pull, {"README.md": "x"})
    await world.settle()
    made = await operator.retry(made.run_id)  # its commit is no head any more
    assert isinstance(made, Retried)
    assert made.sources == (f"pin:operator-{made.run_id}",)
    await world.settle()
    assert [run.inputs["sha"] for run in world.github.runs()].count(old) == 3


async def test_every_decision_has_its_row_and_its_delivery(world: World) -> None:
    """A stranger's head waits, is refused, approved, run, cancelled and run again."""
    pull = await stranger(world)
    await say(world, pull, "triager", "/ascend-e2e unit")
    await say(world, pull, "writer", "/ascend-e2e unti")
    await say(world, pull, "stranger", "/ascend-e2e approve")
    await press(world, pull.head_sha, "writer")
    await say(world, pull, "reader", "/ascend-e2e cancel unit")
    await say(world, pull, "writer", "/ascend-e2e cancel unit")
    await world.finish("cancelled")
    await world.pass_time(10)
    await press(world, pull.head_sha, "writer", "rerun_failed")
    await stands(world)
    rows = await audit(world, number=pull.number)
    strangers = "trust: the author may not start runs here"
    for row in (
        Row(BY_ITSELF, "start unit", False, strangers),
        Row("triager", "/ascend-e2e unit", False, "command"),
        Row("triager", "start unit", False, "trust"),
        Row("writer", "/ascend-e2e unti", False, "command"),
        Row("stranger", "approve", False, "approve"),
        Row("writer", "approve", True, "approve"),
        Row(BY_ITSELF, "start unit", True, "trust: approved by writer"),
        Row("reader", "cancel unit", False, "trust"),
        Row("writer", "cancel unit", True, "trust"),
        Row("writer", "rerun unit", True, "trust"),
    ):
        assert row in rows, "\n".join(map(repr, rows))
    assert len(set(rows)) == len(rows)
    found = await world.bot.parts.store.audit.search(AuditQuery(limit=200))
    sent = {one.guid for one in world.github.deliveries.sent}
    assert {item.entry.delivery for item in found} <= sent


async def test_a_broken_policy_is_audited_once_a_commit_and_kept_for_a_year(
    world: World,
) -> None:
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": "version: 7\n"})
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    world.github.people.close(pull)
    world.github.people.reopen(pull)
    await world.settle()
    [row] = await audit(world, number=pull.number)
    assert (row.who, row.what, row.allowed) == (BY_ITSELF, "start nothing", False)
    assert row.rule.startswith("policy: ")
    await world.clock.advance(364 * 24 * 3600)
    await world.bot.step("sweeper")()
    assert row in await audit(world, who=BY_ITSELF, since=None)
    await world.clock.advance(2 * 24 * 3600)
    await world.bot.step("sweeper")()
    assert await audit(world, who=BY_ITSELF, since=None) == []


async def test_a_retry_of_what_github_starts_runs_githubs_own_run_again(world: World) -> None:
    world = await natives(world)
    pull = pushed(world)
    await world.settle()
    run = await started(world, pull)
    await ended(world, run, "failure", "AssertionError: 1 != 2\n")
    rows = [item.run for item in await world.bot.parts.store.runs.search(_ALL)]
    row = next(row for row in rows if row.actions_run_id == run.id)
    assert isinstance(await kim(world).retry(row.id), Retried)
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    assert world.github.runs()[0].attempt == 2
