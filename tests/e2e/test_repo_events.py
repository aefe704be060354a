"""What lost webhooks and the events of repositories, installations and workflows lead to."""

from typing import Any

from bot.core.model.ids import RepoId
from bot.sim import NewPull
from bot.sim.model import Pull, Run
from bot.sim.shapes import installation_json
from bot.store.audit import AuditQuery
from tests.e2e.people import replay, say, stranger
from tests.e2e.test_pull_events import DISPATCH, begun, end, new_policy, runs_of, shown
from tests.e2e.world import FILES, POLICY, World

CANCEL = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/cancel"


async def test_a_webhook_that_never_arrived_is_asked_for_again(world: World) -> None:
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    pull = world.open_pull()
    fork = world.github.people.open_pull("maintainer", {"verl/b.py": "1"}, NewPull(fork=True))
    await world.settle()
    world.github.deliveries.drop_if(None)
    await world.clock.advance(301)
    await world.sweep()
    assert [len(runs_of(world, one)) for one in (pull, fork)] == [1, 1]  # the sender is told too
    await world.sweep()
    assert world.writes(DISPATCH) == 2


async def test_a_lost_webhook_is_asked_for_again_20_s_later_also_right_after_a_start(
    world: World,
) -> None:
    def lost(path: str) -> Pull:
        world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
        pull = world.open_pull(path=path)
        world.github.deliveries.drop_if(None)
        return pull

    world.open_pull(path="docs/a.md")
    await world.settle()
    await world.sweep()  # looks at heads, too, which is done once an hour
    first = lost("verl/a.py")
    await world.clock.advance(21)
    await world.sweep()
    assert len(runs_of(world, first)) == 1
    await world.clock.advance(6)
    second = lost("verl/b.py")
    await world.clock.advance(15)
    await world.sweep()  # too soon for this one, and the next look is in 20 s
    assert runs_of(world, second) == []
    await world.clock.advance(6)
    await world.restart()
    await world.sweep()
    assert len(runs_of(world, second)) == 1


async def test_a_redelivery_that_fails_too_is_asked_for_again_and_later_each_time(
    world: World,
) -> None:
    await world.sweep()
    app, asked = world.github.state.the_app(), "POST /app/hook/deliveries/{delivery_id}/attempts"
    door, app.webhook_url = app.webhook_url, "http://127.0.0.1:9/webhook"
    pull = world.open_pull()
    await world.settle()
    calls: list[int] = []
    for seconds in (21, 21, 21, 41, 41):
        if len(calls) == 4:
            app.webhook_url = door
        await world.clock.advance(seconds)
        await world.sweep()
        calls.append(world.writes(asked))
    assert calls[0] == calls[1] < calls[2] == calls[3] < calls[4]
    assert len(runs_of(world, pull)) == 1


async def test_a_lost_delivery_whose_redelivery_github_did_not_take_is_asked_for_again_soon(
    world: World,
) -> None:
    kinds = {"503": 4, "secondary": 2, "404": 2, "drop": 4}  # and how often
    for number, (kind, times) in enumerate(kinds.items()):
        world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
        pulls = [world.open_pull(path=f"verl/{number}-{name}.py") for name in "ab"]
        world.github.deliveries.drop_if(None)
        world.github.fault(kind, "POST", "/app/hook/*", times=times, retry_after_s=3)
        for _ in range(9):
            await world.clock.advance(21)
            await world.sweep()
        world.github.faults.clear()
        assert all(world.gate(pull.head_sha) for pull in pulls), kind


async def test_a_command_is_followed_although_the_pull_requests_webhook_was_lost(
    world: World,
) -> None:
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    pull = world.open_pull()
    await say(world, pull, "maintainer", "/ascend-e2e unit")
    assert len(runs_of(world, pull)) == 1


async def test_a_head_that_github_never_told_of_is_found_by_looking(world: World) -> None:
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    pull = world.open_pull()
    fork = world.github.people.open_pull("maintainer", {"verl/b.py": "1"}, NewPull(fork=True))
    pushed = await stranger(world)
    world.github.deliveries.drop_if(None)
    world.github.deliveries.sent.clear()  # so old that GitHub lists them no more
    await world.clock.advance(3601)
    await world.sweep()
    assert [len(runs_of(world, one)) for one in (pull, fork, pushed)] == [1, 1, 0]
    assert world.gate(pushed.head_sha).conclusion == "action_required"


async def test_a_look_at_heads_that_github_did_not_answer_is_made_again_after_a_minute(
    world: World,
) -> None:
    world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
    pull = world.open_pull()
    world.github.deliveries.drop_if(None)
    world.github.deliveries.sent.clear()  # so old that GitHub lists them no more
    world.github.fault("503", "GET", "/repos/*/pulls", times=3)
    for seconds in (3601, 1, 61):
        await world.clock.advance(seconds)
        await world.sweep()
    assert len(runs_of(world, pull)) == 1


async def test_what_was_lost_comes_again_in_its_order(world: World) -> None:
    await begun(world, "verl/0.py")  # the repository is known
    (installation,) = world.github.state.installations.values()
    world.github.deliveries.sent.clear()  # the installing came before the bot
    world.github.deliveries.drop_if(lambda one: one.event == "installation")
    for suspended in (True, False):
        world.github.suspend(installation, suspended=suspended)
        await world.clock.advance(60)
    world.github.deliveries.drop_if(None)
    await world.clock.advance(301)
    await world.sweep()
    assert len(runs_of(world, await begun(world, "verl/a.py"))) == 1


def dispatch_again(world: World, run: Run) -> Run:
    """Dispatch a workflow once more in the app's name: a person's copy is none of ours."""
    state, app = world.github.state, world.github.state.the_app().bot
    assert app is not None
    body = {"ref": "main", "inputs": dict(run.inputs)}
    return world.github.actions.dispatch(state.repo(), "unit.yml", body, app)


async def test_a_double_of_a_run_is_cancelled_and_a_late_word_of_one_changes_nothing(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    run = world.only_run()
    double = dispatch_again(world, run)
    await world.settle()
    assert (double.cancelled, run.cancelled) == (True, False)
    told = [one for one in world.github.deliveries.sent if one.event == "workflow_run"]
    told = [one for one in told if one.payload()["workflow_run"]["id"] == run.id]
    await end(world, run)
    late = dispatch_again(world, run)
    await world.settle()
    assert late.cancelled
    before, audited = world.writes(CANCEL), await cancels(world)
    for one in told:
        one.guid = f"again-{one.guid}"
        world.github.deliveries.emit(one)
    await world.settle()
    assert told
    assert world.writes(CANCEL) == before
    assert shown(world, pull) == ("success", "success")
    assert await cancels(world) == audited


async def cancels(world: World) -> list[str]:
    """Return the audit's rows of cancels."""
    audit = await world.bot.parts.store.audit.search(AuditQuery())
    return [row.entry.what for row in audit if "cancel" in row.entry.what]


async def test_a_renamed_repository_goes_on_and_a_push_makes_its_policy_count_at_once(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    world.github.rename_repo("renamed", "maintainer")
    await world.settle()
    await end(world, world.only_run())
    assert shown(world, pull) == ("success", "success")
    assert len(runs_of(world, await begun(world, "verl/b.py"))) == 1
    await new_policy(world, POLICY.replace('paths: ["verl/**"', 'paths: ["src/**"'))
    assert runs_of(world, await begun(world, "verl/c.py")) == []
    assert len(runs_of(world, await begun(world, "src/c.py"))) == 1


def only_as_app(world: World) -> bool:
    """Return True if only the app itself has called, not an installation of it."""
    routes = {call.route for call in world.github.calls.counted()}
    return all(route.startswith("/app/") or route.endswith("/installation") for route in routes)


async def test_a_suspended_installation_ends_its_runs_and_is_not_called(world: World) -> None:
    pulls = [await begun(world, f"verl/{number}.py") for number in range(3)]
    (installation,) = world.github.state.installations.values()
    # The installing came before the bot, so it is asked for again, after the suspension.
    (installing,) = [one for one in world.github.deliveries.sent if one.event == "installation"]
    world.github.deliveries.sent[:] = [installing]
    world.github.deliveries.hold()
    world.github.people.push(pulls[0], {"verl/0.py": "late"})
    late = world.github.deliveries.pending
    world.github.deliveries.pending = []
    world.github.deliveries.release()
    world.github.suspend(installation)
    await world.settle()
    world.github.calls.clear()
    world.github.deliveries.pending += late  # sent before, delivered after
    world.github.deliveries.release()
    for _ in range(3):
        await world.pass_time(61)
        await world.sweep()
    assert only_as_app(world)
    assert installing.guid in [one.guid for one in world.github.deliveries.sent if one.redelivery]
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert health.runs_by_state == {}
    world.github.suspend(installation, suspended=False)
    await world.settle()
    await world.pass_time(10)
    check = world.check("unit", pulls[1].head_sha)
    assert (check.conclusion, str(check.title)[:15]) == ("failure", "Not your change")
    for run in world.github.runs():
        await end(world, run)  # their jobs held the label's slots all the while
    assert len(runs_of(world, await begun(world, "verl/n.py"))) == 1


def removed(world: World, *numbers: int) -> None:
    """Take repositories out of the installation."""
    state = world.github.state
    (installation,) = state.installations.values()
    installation.without |= set(numbers)
    repo: Any = {"node_id": "R_x", "name": "x", "full_name": "octo/x", "private": False}
    body: dict[str, Any] = {
        "action": "removed",
        "repository_selection": "selected",
        "repositories_added": [],
        "repositories_removed": [{**repo, "id": number} for number in numbers],
        "requester": None,
    }
    body["sender"] = world.github.hooks.sender(state.user("maintainer"))
    body["installation"] = installation_json(state, installation)
    world.github.hooks.send("installation_repositories", body)


async def test_a_repository_taken_out_ends_its_runs_and_stays_out(world: World) -> None:
    await begun(world, "verl/a.py")
    world.github.deliveries.sent.clear()  # the installing came before the bot
    removed(world, world.github.state.repo().id)
    await world.settle()
    removed(world, 999_999)  # another one; ours does not come back by that
    await world.settle()
    world.github.calls.clear()
    await world.pass_time(3601)
    await world.sweep()
    assert only_as_app(world)
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert health.runs_by_state == {}


async def test_a_removal_that_comes_again_after_its_repository_is_back_stops_nothing(
    world: World,
) -> None:
    await begun(world, "verl/a.py")
    (installation,) = world.github.state.installations.values()
    removed(world, world.github.state.repo().id)
    installation.without.clear()  # it is given again, before that is told or after
    await world.settle()
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert health.runs_by_state != {}
    assert len(runs_of(world, await begun(world, "verl/b.py"))) == 1


async def test_reports_refused_before_the_word_of_a_suspension_are_shown_after_it(
    world: World,
) -> None:
    (installation,) = world.github.state.installations.values()
    pull = world.open_pull()
    await world.github.deliveries.idle()
    while await world.bot.step("inbox")():
        pass
    world.github.deliveries.hold()
    world.github.suspend(installation)
    await world.settle()
    assert world.github.check("Ascend / unit", pull.head_sha) is None
    world.github.deliveries.release()
    await world.settle()
    world.github.suspend(installation, suspended=False)
    await world.settle()
    assert shown(world, pull) == ("failure", "failure")


async def renamed_and_replaced(world: World) -> Pull:
    """Rename the repository, and let another one get its old name; no webhook tells of it."""
    pull = await begun(world, "verl/a.py")
    world.github.deliveries.drop_if(lambda _: True)
    world.github.rename_repo("renamed", "maintainer")
    taken = world.github.create_repo("octo/project", FILES)
    assert world.github.state.repo("octo/project") is taken
    world.github.deliveries.drop_if(None)
    world.github.deliveries.sent.clear()  # so old that GitHub lists them no more
    return pull


async def test_who_takes_a_repositorys_old_name_gets_nothing_that_is_its_own(world: World) -> None:
    pull = await renamed_and_replaced(world)
    world.github.calls.clear()
    await world.clock.advance(301)
    await world.sweep()
    row = await world.bot.parts.store.repos.get(RepoId(pull.repo.id))
    assert row is not None
    assert row.full_name == "octo/renamed"
    await end(world, runs_of(world, pull)[0])
    assert shown(world, pull) == ("success", "success")
    await world.clock.advance(3601)
    await world.sweep()
    known = await world.bot.parts.store.pulls.open(RepoId(pull.repo.id))
    assert [one.number for one in known] == [pull.number], "it is not taken for a closed one"


async def test_a_webhook_from_before_a_rename_brings_no_old_name_back(world: World) -> None:
    world.github.deliveries.hold()
    old = world.open_pull(path="docs/a.md")
    (late,) = [one for one in world.github.deliveries.pending if one.event == "pull_request"]
    world.github.deliveries.release()
    pull = await renamed_and_replaced(world)
    await world.clock.advance(301)
    await world.sweep()
    replay(world, late, "late")
    await world.settle()
    row = await world.bot.parts.store.repos.get(RepoId(pull.repo.id))
    assert row is not None
    assert (row.full_name, old.repo.full_name) == ("octo/renamed", "octo/renamed")


async def test_a_webhook_from_before_brings_no_former_default_branch_back(
    world: World,
) -> None:
    world.github.deliveries.hold()
    pull = world.open_pull(path="docs/a.md")
    (late,) = [one for one in world.github.deliveries.pending if one.event == "pull_request"]
    world.github.deliveries.release()
    await world.settle()
    world.github.people.push_branch("maintainer", {"docs/b.md": "1"}, "trunk")
    pull.repo.default_branch = "trunk"
    for told in (False, True):  # by a webhook, or found by looking
        await world.clock.advance(301)
        await world.sweep()
        if told:
            replay(world, late, "late")
            await world.settle()
        row = await world.bot.parts.store.repos.get(RepoId(pull.repo.id))
        assert row is not None
        assert row.default_branch == "trunk"
