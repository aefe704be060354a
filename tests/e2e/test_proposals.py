"""A pull request that changes the policy is told what it would change, and nothing of it counts."""

from tests.e2e.world import FILES, GATE, POLICY, World

NAME = f"{GATE} policy"
PATH = ".github/ascend-ci.yml"


async def test_a_loosening_is_called_out_and_the_old_policy_holds(world: World) -> None:
    world.sandbox = None  # compared in a process of its own, as it is in the service
    await world.restart()
    looser = POLICY.replace("version: 1", "version: 1\ntrust: {auto: triage, approve: triage}")
    pull = world.open_pull("stranger", PATH, looser)
    await world.settle()
    check = world.github.check(NAME, pull.head_sha)
    assert check is not None
    assert (check.status, check.conclusion) == ("completed", "neutral")
    assert check.title == "Loosens 2 rules (2 changes in all)"
    assert "`trust.auto`" in str(check.summary)
    assert world.github.runs() == []


async def test_errors_stand_at_their_lines(world: World) -> None:
    broken = POLICY.replace("timeout_minutes: 60", "timeout_minutes: never")
    pull = world.open_pull("maintainer", PATH, broken)
    await world.settle()
    check = world.github.check(NAME, pull.head_sha)
    assert check is not None
    assert check.conclusion == "failure"
    line = 1 + broken[: broken.index("timeout_minutes: never")].count("\n")
    assert [(item["path"], item["start_line"]) for item in check.annotations] == [(PATH, line)]
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_each_push_is_compared_once_whatever_tells_of_it(world: World) -> None:
    pull = world.open_pull("maintainer", PATH, POLICY.replace("slots: 2", "slots: 1"))
    await world.settle()
    world.github.people.label(pull, "ci")
    world.github.people.close(pull)
    await world.settle()
    world.github.people.reopen(pull)
    await world.settle()
    assert len([one for one in world.github.check_runs(pull.head_sha) if one.name == NAME]) == 1
    world.github.people.push(pull, {PATH: POLICY})
    await world.settle()
    check = world.github.check(NAME, pull.head_sha)
    assert check is None or "same" in str(check.title).lower()


async def test_a_policy_that_mends_a_broken_one_says_so(world: World) -> None:
    broken = POLICY.replace("slots: 2", "slots: many")
    world.github.people.push_branch("maintainer", {PATH: broken}, None)
    await world.settle()
    pull = world.open_pull("maintainer", PATH, POLICY)
    await world.settle()
    check = world.github.check(NAME, pull.head_sha)
    assert check is not None
    assert check.conclusion == "success"
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_pull_request_that_leaves_the_policy_alone_has_no_such_check(
    world: World,
) -> None:
    pull = world.open_pull(path="docs/a.md")
    await world.settle()
    assert world.github.check(NAME, pull.head_sha) is None


FOLDER = ".github/workflows"
NIGHT = """
on: {schedule: [{cron: "0 17 * * *"}]}
jobs:
  night: {runs-on: linux-aarch64-a3-16, timeout-minutes: 60, steps: [{run: "true"}]}
"""


async def test_workflows_that_no_suite_covers_are_told_and_only_so_many_are_read(
    world: World,
) -> None:
    files = {f"{FOLDER}/n{number:02}.yml": NIGHT for number in range(12)}
    pull = world.github.people.open_pull("stranger", files)
    await world.settle()
    check = world.github.check(NAME, pull.head_sha)
    assert check is not None
    assert (check.status, check.conclusion) == ("completed", "neutral")
    assert check.title == (
        "This pull request adds 10 NPU workflows that no suite covers, n00.yml first"
    )
    assert "2 more changed workflows were not read." in str(check.summary)
    lines = [(item["path"], item["start_line"]) for item in check.annotations]
    assert lines[:2] == [(f"{FOLDER}/n00.yml", 4), (f"{FOLDER}/n01.yml", 4)]


async def test_a_policy_that_takes_the_workflow_in_has_nothing_left_to_say(world: World) -> None:
    suite = """
  night:
    workflow: night.yml
    start: native
    triggers: [schedule]
    runners: [linux-aarch64-a3-16]
    timeout_minutes: 60
limits:"""
    files = {f"{FOLDER}/night.yml": NIGHT, PATH: POLICY.replace("\nlimits:", suite)}
    pull = world.github.people.open_pull("maintainer", files)
    touched = {f"{FOLDER}/unit.yml": FILES[f"{FOLDER}/unit.yml"] + "\n"}
    other = world.github.people.open_pull("maintainer", touched)
    gone = world.github.people.open_pull("maintainer", {f"{FOLDER}/multinode.yml": None})
    await world.settle()
    await world.pass_time(11)  # a list that only removes is believed some seconds later
    check = world.github.check(NAME, pull.head_sha)
    assert check is not None
    assert (check.conclusion, check.title) == ("success", "1 change, none loosens a rule")
    assert world.github.check(NAME, other.head_sha) is None
    check = world.github.check(NAME, gone.head_sha)
    assert check is not None
    assert check.title == "1 difference between the policy and a changed workflow"
    assert f"`{FOLDER}/multinode.yml`: suite `multinode` names" in str(check.summary)
    assert check.annotations == []
