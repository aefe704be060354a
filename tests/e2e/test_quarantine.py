"""A suite or tests in quarantine, from the policy to the gate, over the end of the quarantine."""

from bot.sim.model import Pull, Run
from tests.e2e.test_pull_events import new_policy, runs_of
from tests.e2e.world import GATE, POLICY, WORKFLOW, World

PATH = ".github/ascend-ci.yml"
BASE = POLICY.replace("timeout_minutes: 60", "timeout_minutes: 60\n    infra_retries: 0")
REST = "owner: amy, reason: hangs now and then, issue: 12"
FLAKY = "tests/a.py::test_b[npu-0]"
REPORT = f"""\
==== test session starts ====
==== FAILURES ====
____ test_b[npu-0] ____
E       RuntimeError: the device hangs
tests/a.py:7: RuntimeError
==== short test summary info ====
FAILED {FLAKY} - RuntimeError: the device hangs
==== 1 failed, 3 passed in 3.21s ====
##[error]Process completed with exit code 1.
"""


def quarantined(until: str, what: str = "suite: unit") -> str:
    return f"{BASE}quarantine: [{{{what}, until: {until}, {REST}}}]\n"


async def opened(world: World, path: str) -> tuple[Pull, Run]:
    """Open a pull request; return it with its workflow run, which has started."""
    pull = world.open_pull(path=path, text=path)
    await world.settle()
    (run,) = runs_of(world, pull)
    world.github.actions.start(run)
    await world.settle()
    return pull, run


async def ended(world: World, run: Run, log: str = "") -> None:
    await world.clock.advance(30)
    world.github.actions.finish(run, "failure", log=log)
    await world.settle()


def gate(world: World, pull: Pull) -> tuple[str | None, str | None]:
    found = world.gate(pull.head_sha)
    return found.conclusion, found.title


async def test_a_quarantine_holds_until_its_day_and_a_result_as_it_was_when_it_came(
    world: World,
) -> None:
    await new_policy(world, quarantined("2026-09-02"))
    await world.clock.advance((11 * 60 + 50) * 60)  # 23:50
    early, run = await opened(world, "verl/a.py")
    excused = ("success", "Not counted, in quarantine: unit")
    assert gate(world, early) == excused
    await ended(world, run)
    check = world.check("unit", early.head_sha)
    assert check.conclusion == "failure"
    assert str(check.title).startswith("In quarantine: ")
    assert "in quarantine until 2026-09-02 (UTC)" in str(world.gate(early.head_sha).summary)
    late, run = await opened(world, "verl/b.py")
    assert gate(world, late) == excused
    for minutes in (5, 10):  # by now nothing else has to be shown
        await world.pass_time(minutes * 60)
    assert gate(world, late) == excused
    await world.bot.step("schedules")()
    await world.settle()
    assert world.gate(late.head_sha).status == "in_progress"
    assert gate(world, early) == excused
    await ended(world, run)
    assert gate(world, late)[0] == "failure"
    assert "ended today" in str(world.gate(late.head_sha).summary)
    calls = world.github.calls.by_route().total()
    await world.bot.step("schedules")()
    await world.settle()
    assert world.github.calls.by_route().total() == calls  # a day has one end


async def test_a_quarantine_of_tests_excuses_a_job_that_only_they_failed(world: World) -> None:
    await new_policy(world, quarantined("2026-09-08", 'suite: unit, test: "tests/a.py::test_b[*"'))
    for path, log, found in (
        ("verl/a.py", REPORT, "success"),
        ("verl/b.py", REPORT.replace("test_b", "test_c"), "failure"),
    ):
        pull, run = await opened(world, path)
        assert gate(world, pull)[0] is None
        await ended(world, run, log)
        assert gate(world, pull)[0] == found, path
    two = WORKFLOW + "  other:\n    runs-on: ${{ inputs.runner }}\n    steps: [{run: echo b}]\n"
    world.github.people.push_branch("maintainer", {".github/workflows/unit.yml": two}, None)
    pull, run = await opened(world, "verl/c.py")
    await ended(world, run, REPORT)  # what made the other job fail is not known
    assert gate(world, pull)[0] == "failure"


async def test_the_quarantine_of_a_pull_request_is_named_and_does_not_hold_for_itself(
    world: World,
) -> None:
    await new_policy(world, BASE)
    own = {PATH: quarantined("2026-09-08"), "verl/a.py": "x"}
    pull = world.github.people.open_pull("maintainer", own)
    await world.settle()
    policy = world.github.check(f"{GATE} policy", pull.head_sha)
    assert policy is not None
    assert policy.title == "Loosens 1 rule (1 change in all)"
    assert "`quarantine.unit` (adds a quarantine" in str(policy.summary)
    await world.finish("failure", log=REPORT)
    assert gate(world, pull)[0] == "failure"
    await new_policy(world, quarantined("2026-09-08"))  # as merged: a re-run is judged by it
    world.github.people.comment(pull, "maintainer", "/ascend-e2e rerun unit")
    await world.settle()
    assert gate(world, pull) == ("success", "Not counted, in quarantine: unit")
    longer = world.github.people.open_pull("maintainer", {PATH: quarantined("2026-11-08")})
    await world.settle()
    policy = world.github.check(f"{GATE} policy", longer.head_sha)
    assert policy is not None
    assert policy.conclusion == "failure"
    assert "until 2026-10-01 or earlier" in str(policy.summary)
