"""Reports as GitHub takes them: refused for now, unknown there, or shown as they are already."""

from bot.core.model.ids import RepoId, Sha
from bot.core.model.views import GateDue
from bot.core.planning.plan import Plan
from bot.sim.model import CheckRun, Pull
from tests.e2e.test_pull_events import runs_of
from tests.e2e.world import GATE, World

POST, PATCH = ("POST", "*/check-runs"), ("PATCH", "*/check-runs/*")
REFUSALS = ("403", "404", "422")


def shown(world: World, pull: Pull) -> list[str | None]:
    """Return the state of the gate and of the suite, None for what GitHub does not show."""
    names = (GATE, "Ascend / unit")
    found = [world.github.check(name, pull.head_sha) for name in names]
    return [(check.conclusion or check.status) if check else None for check in found]


async def test_a_refused_report_comes_later_and_with_a_new_state_at_once(world: World) -> None:
    for status in REFUSALS:
        pull = world.open_pull(path=f"verl/{status}.py")
        world.github.fault(status, *POST, times=3)
        await world.settle()
        assert None in shown(world, pull), status
        health = await world.bot.parts.store.health.counts(world.clock.now())
        assert health.checks_refused, status
        await world.pass_time(10)
        await world.pass_time(20)
        assert shown(world, pull) == ["in_progress", "queued"], status
        run = runs_of(world, pull)[0]
        refused = world.github.fault(status, *PATCH, times=99)
        world.github.actions.start(run)
        await world.settle()
        assert refused.hits, status
        await world.pass_time(10)
        await world.pass_time(20)
        assert shown(world, pull) == ["in_progress", "queued"], status
        world.github.faults.clear()
        world.github.actions.finish(run, "success")
        await world.settle()
        assert shown(world, pull) == ["success", "success"], status
        health = await world.bot.parts.store.health.counts(world.clock.now())
        assert not health.checks_refused, status


async def test_what_stays_refused_is_asked_less_and_less_often_and_a_day_at_most(
    world: World,
) -> None:
    pull = world.open_pull()
    await world.settle()
    refused = world.github.fault("403", *PATCH, times=999)
    world.github.actions.finish(runs_of(world, pull)[0], "success")
    hits = []
    for hour in range(30):
        before = refused.hits
        for _ in range(60 if hour == 0 else 1):
            await world.pass_time(60 if hour == 0 else 3600)
        hits.append(refused.hits - before)
    assert 8 <= hits[0] <= 24  # of two check runs
    assert set(hits[2:20]) == {2}
    assert hits[-1] == 0
    assert shown(world, pull)[0] == "in_progress"
    world.github.faults.clear()
    (installation,) = world.github.state.installations.values()
    for suspended in (True, False):  # as after new permissions were accepted
        world.github.suspend(installation, suspended=suspended)
        await world.settle()
    assert shown(world, pull) == ["success", "success"]


async def test_a_check_run_that_github_does_not_know_any_more_is_made_anew(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    lost: list[CheckRun] = [world.gate(pull.head_sha), world.check("unit", pull.head_sha)]
    for check in lost:
        check.suite.runs.remove(check)
        del world.github.state.checks[check.id]
    world.github.actions.finish(runs_of(world, pull)[0], "success")
    await world.settle()
    await world.pass_time(10)
    assert shown(world, pull) == ["success", "success"]
    new = world.check("unit", pull.head_sha)
    assert new.id != lost[1].id
    await world.pass_time(60)
    assert f"/runs/{new.id}" in (world.gate(pull.head_sha).summary or "")


async def test_a_refused_reply_and_a_refused_reaction_come_later(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    world.github.fault("403", "POST", "*/reactions")
    world.github.fault("403", "POST", "*/issues/*/comments", times=2)
    comment = world.github.people.comment(pull, "maintainer", "/ascend-e2e status")
    await world.settle()
    await world.pass_time(10)
    assert len(world.github.comments(pull)) == 1
    await world.pass_time(20)
    assert len(world.github.comments(pull)) == 2
    assert [one.content for one in comment.reactions] == ["eyes"]


async def test_a_look_that_github_refuses_shows_at_once_a_gate_that_says_what_is_unknown(
    world: World,
) -> None:
    docs = world.open_pull(path="docs/a.md")
    world.github.people.push_branch("maintainer", {"c": "1"}, "other")
    await world.settle()
    assert shown(world, docs)[0] == "success"
    for status, base in (("403", "other"), ("404", "main"), ("500", "other")):
        refused = world.github.fault(status, "GET", "*/pulls/*/files", times=99)
        pull = world.open_pull("stranger", path=f"verl/{status}.py")
        world.github.people.retarget(docs, base)
        await world.settle()
        assert refused.hits, status
        for one in (pull, docs):
            gate = world.gate(one.head_sha)
            assert gate.status == "in_progress", status
            assert f"GitHub's answer was: {status}" in str(gate.summary)
        world.github.faults.clear()
        await world.pass_time(60)
        assert shown(world, pull) == ["action_required", None], status
        assert shown(world, docs)[0] == "success", status


async def test_what_github_shows_already_costs_no_call_not_even_after_a_restart(
    world: World,
) -> None:
    pulls = [world.open_pull(), world.open_pull(path="docs/a.md")]
    await world.settle()
    await world.finish("success")
    for restart in (False, True):
        if restart:
            await world.restart()
        await world.clock.advance(61)
        world.github.calls.clear()
        for pull in pulls:
            gate = GateDue(RepoId(pull.repo.id), Sha(pull.head_sha), pull.number)
            await world.bot.parts.store.commit(Plan(gates=(gate,)), world.clock.now(), done=None)
        await world.settle()
        world.github.calls.assert_at_most(0)


async def test_what_stays_refused_is_planned_by_a_command_or_by_the_next_look(world: World) -> None:
    pulls = [world.open_pull(path=f"docs/{number}.md") for number in range(2)]
    world.github.people.push_branch("maintainer", {"c": "1"}, "other")
    await world.settle()
    world.github.fault("403", "GET", "*/pulls/*/files", times=99)
    for pull in pulls:
        world.github.people.retarget(pull, "other")
    left, ended = (world.open_pull(path=f"docs/{name}.md") for name in ("left", "ended"))
    for _ in range(10):
        await world.pass_time(300)
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert health.deliveries_parked == 4
    world.github.faults.clear()
    unread = [left.head_sha, ended.head_sha]
    assert {world.gate(sha).status for sha in unread} == {"in_progress"}
    world.github.people.push(left, {"docs/b.md": "1"})
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    world.github.people.push(ended, {"docs/b.md": "2"})
    world.github.deliveries.drop_if(None)
    world.github.people.close(ended)
    await world.settle()
    assert {world.gate(sha).conclusion for sha in unread} == {"cancelled"}
    world.github.people.comment(pulls[0], "maintainer", "/ascend-e2e status")
    await world.settle()
    assert [shown(world, pull)[0] for pull in pulls] == ["success", "in_progress"]
    await world.clock.advance(3601)
    await world.sweep()
    assert shown(world, pulls[1])[0] == "success"


async def test_a_check_run_that_comes_late_does_not_hide_that_of_a_later_attempt(
    world: World,
) -> None:
    world.github.fault("502", "POST", "*/check-runs", times=1000)
    pull = world.open_pull()
    await world.settle()
    world.github.people.close(pull)
    await world.settle()
    world.github.faults.clear()
    world.github.people.reopen(pull)
    await world.settle()
    await world.pass_time(60)
    await world.finish()
    await world.pass_time(60)
    assert world.check("unit", pull.head_sha).conclusion == "success"
    shown = [check.name for check in world.github.state.checks.values()]
    assert shown.count("Ascend / unit") == 1


async def test_a_new_state_right_after_a_lost_answer_makes_no_second_check_run(
    world: World,
) -> None:
    world.github.fault("lost", *POST, times=2)
    pull = world.open_pull()
    await world.settle()
    world.github.actions.start(world.only_run())
    await world.settle()
    await world.restart()
    await world.settle()
    await world.pass_time(15)
    assert shown(world, pull) == ["in_progress", "in_progress"]
    await world.finish()
    made = [one.external_id for one in world.github.state.checks.values() if one.external_id]
    assert len(made) == len(set(made)) == 2
