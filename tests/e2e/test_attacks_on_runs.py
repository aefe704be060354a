"""Attacks on runs: somebody else's workflow run, shown as if the bot had started it."""

from bot.core.model.ids import RepoId, Sha
from bot.core.model.runs import Run as OurRun
from bot.sim.model import Run
from bot.sim.shapes import check_json, comment_json
from tests.e2e.world import LABEL, POLICY, World


def start_by_hand(world: World, dispatch_id: str, by: str = "writer") -> Run:
    """Start the unit workflow as *Run workflow* in the Actions tab does, with any id."""
    inputs = {"ascend_ci": dispatch_id, "sha": "0" * 40, "runner": LABEL, "timeout_minutes": "5"}
    actions, state = world.github.actions, world.github.state
    body = {"ref": "main", "inputs": inputs}
    return actions.dispatch(state.repo(), "unit.yml", body, state.user(by))


async def our_run(world: World, sha: str) -> OurRun:
    repo_id = RepoId(world.github.state.repo().id)
    [found] = await world.bot.parts.store.runs.at(repo_id, Sha(sha))
    return found.run


def shown(world: World) -> str:
    """Return everything that the bot has published."""
    state = world.github.state
    checks = [check_json(state, check) for check in world.github.check_runs()]
    return str([*checks, *(comment_json(state, one) for one in state.comments.values())])


async def test_the_id_of_a_dispatch_is_published_nowhere_before_its_run_exists(
    world: World,
) -> None:
    world.github.fault("drop", "POST", "*/dispatches", times=3)
    pull = world.open_pull()
    await world.settle()
    world.github.people.comment(pull, "writer", "/ascend-e2e status")
    await world.pass_time(1)
    run = await our_run(world, pull.head_sha)
    assert run.dispatch_id
    assert run.dispatch_id not in shown(world)
    assert world.check("unit", pull.head_sha).external_id != run.dispatch_id


async def test_a_run_that_somebody_else_started_with_our_id_is_not_taken_as_ours(
    world: World,
) -> None:
    world.github.fault("drop", "POST", "*/dispatches")
    pull = world.open_pull()
    await world.settle()
    known = [world.check("unit", pull.head_sha).external_id]
    run = await our_run(world, pull.head_sha)
    known.append(str(run.dispatch_id))  # as if it could be known
    foreign = [start_by_hand(world, one) for one in known]
    for one in foreign:
        world.github.actions.start(one)
        world.github.actions.finish(one, "success")
    for seconds in (3, 6, 16, 41, 11):
        await world.pass_time(seconds)
    assert world.gate(pull.head_sha).status == "in_progress"
    [ours] = [one for one in world.github.runs() if one not in foreign]
    assert (ours.inputs["sha"], ours.actor.type) == (pull.head_sha, "Bot")
    assert (await our_run(world, pull.head_sha)).actions_run_id == ours.id
    await world.finish("failure", "ValueError: x")
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_foreign_run_beside_ours_with_a_lower_number_does_not_replace_it(
    world: World,
) -> None:
    world.github.fault("drop", "POST", "*/dispatches")
    pull = world.open_pull()
    await world.settle()
    run = await our_run(world, pull.head_sha)
    foreign = start_by_hand(world, str(run.dispatch_id))
    world.github.fault("lost", "POST", "*/dispatches")
    for seconds in (3, 6, 16, 41, 3, 6):
        await world.pass_time(seconds)
    [_, ours] = world.github.runs()
    assert not ours.cancelled
    assert not foreign.cancelled  # it is theirs, as anything that they start by hand
    assert (await our_run(world, pull.head_sha)).actions_run_id == ours.id
    world.github.actions.start(foreign)
    await world.settle()
    world.github.actions.finish(foreign, "success")
    await world.pass_time(10)
    assert world.gate(pull.head_sha).status == "in_progress"
    await world.finish("failure", "ValueError: x")
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_re_run_in_the_actions_tab_gets_no_npus_that_its_person_may_not_have(
    world: World,
) -> None:
    world.github.people.push_branch(
        "maintainer", {".github/ascend-ci.yml": f"{POLICY}trust: {{standard: maintain}}\n"}
    )
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "ValueError: x")
    await world.pass_time(120)
    [run] = world.github.runs()
    world.github.people.rerun_actions(run, "writer")
    world.github.actions.start(run)
    await world.pass_time(10)
    assert (run.attempt, run.cancelled) == (2, True)
    check = world.check("unit", pull.head_sha)
    assert (check.conclusion, world.gate(pull.head_sha).conclusion) == ("failure", "failure")
    assert "needs maintain permission" in (check.summary or "")
    world.github.actions.finish(run, "cancelled")
    await world.pass_time(120)
    assert (await our_run(world, pull.head_sha)).attempt == 1
    world.github.people.rerun_actions(run, "maintainer")
    world.github.actions.start(run)
    await world.pass_time(10)
    world.github.actions.finish(run, "success")
    await world.pass_time(10)
    assert world.gate(pull.head_sha).conclusion == "success"
