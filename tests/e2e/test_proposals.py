"""A pull request that changes the policy is told what it would change, and nothing of it counts."""

from tests.e2e.world import GATE, POLICY, World

NAME = f"{GATE} policy"
PATH = ".github/ascend-ci.yml"


async def test_a_loosening_is_called_out_and_the_old_policy_holds(world: World) -> None:
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
