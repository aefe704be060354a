"""What a pull request's events lead to, row by row."""

import pytest

from bot.sim import NewPull
from bot.sim.model import Pull, Run
from tests.e2e.people import say, stranger
from tests.e2e.world import POLICY, World

DISPATCH = "POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches"
PULL = "/repos/{owner}/{repo}/pulls/{pull_number}"
ONE_TRY = POLICY.replace("timeout_minutes: 60", "timeout_minutes: 60\n    infra_retries: 0")


def runs_of(world: World, pull: Pull, sha: str | None = None) -> list[Run]:
    """Return the workflow runs of a pull request, oldest first; of one commit, if given."""
    mine = [run for run in world.github.runs() if run.inputs["pr"] == str(pull.number)]
    return [run for run in mine if sha in {None, run.inputs["sha"]}]


async def new_policy(world: World, text: str, branch: str | None = None) -> None:
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text}, branch)
    await world.settle()


async def begun(world: World, path: str) -> Pull:
    """Open a pull request whose suite runs."""
    pull = world.open_pull(path=path, text=path)
    await world.settle()
    for run in runs_of(world, pull):
        world.github.actions.start(run)
    await world.settle()
    return pull


async def end(world: World, run: Run, conclusion: str = "success", log: str = "") -> None:
    world.github.actions.finish(run, conclusion, log=log)
    await world.settle()
    await world.pass_time(10)


def shown(world: World, pull: Pull, sha: str | None = None) -> tuple[str | None, str | None]:
    """Return the conclusions of the suite's newest check run and of the gate."""
    sha = sha or pull.head_sha
    return world.check("unit", sha).conclusion, world.gate(sha).conclusion


@pytest.mark.parametrize("merged", [True, False])
async def test_closing_stops_what_runs_and_what_waits(world: World, *, merged: bool) -> None:
    pulls = [await begun(world, f"verl/{number}.py") for number in range(3)]
    assert [len(runs_of(world, pull)) for pull in pulls] == [1, 1, 0]  # two slots
    for pull in pulls:
        if merged:
            world.github.people.merge(pull, "maintainer")
        else:
            world.github.people.close(pull)
    await world.settle()
    assert [run.cancelled for run in world.github.runs()] == [True, True]
    assert shown(world, pulls[2]) == ("cancelled", "cancelled")
    for run in world.github.runs():
        await end(world, run, "cancelled")
    assert [shown(world, pull) for pull in pulls] == [("cancelled", "cancelled")] * 3
    assert world.writes(DISPATCH) == 2  # the freed slots start nothing that nobody wants
    if merged:
        return
    world.github.people.reopen(pulls[0])
    await world.settle()
    assert len(runs_of(world, pulls[0])) == 2
    assert world.gate(pulls[0].head_sha).status == "in_progress"
    await world.finish("success")
    assert shown(world, pulls[0]) == ("success", "success")


async def test_a_reopened_pull_request_runs_again_after_the_cancel_that_was_under_way(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    world.github.people.close(pull)
    await world.settle()
    world.github.people.reopen(pull)
    await world.settle()
    assert len(runs_of(world, pull)) == 1
    await end(world, world.only_run(), "cancelled")
    assert len(runs_of(world, pull)) == 2
    await world.finish("success")
    assert shown(world, pull) == ("success", "success")


async def test_pushes_in_order_are_taken_as_told_and_others_are_read_again(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    first = world.only_run()
    world.github.calls.clear()
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    reads = [call for call in world.github.calls if call.route == PULL and call.method == "GET"]
    assert len(reads) == 1  # before the dispatch; the payload was believed
    assert first.cancelled
    world.github.deliveries.hold()
    world.github.people.push(pull, {"verl/a.py": "3"})
    world.github.people.push(pull, {"verl/a.py": "4"})
    waiting = world.github.deliveries.pending
    pushes = [one for one in waiting if one.event == "pull_request"]
    world.github.deliveries.pending = [pushes[1], pushes[0]]
    await world.github.deliveries.flush()
    world.github.deliveries.release()
    await world.settle()
    for run in runs_of(world, pull)[:-1]:
        await end(world, run, "cancelled")
    await world.finish("success")
    assert shown(world, pull) == ("success", "success")
    dispatched = [run.inputs["sha"] for run in runs_of(world, pull)]
    assert dispatched[-1] == pull.head_sha
    assert len(dispatched) == 3  # the head that was passed over never started


async def test_a_new_base_selects_anew_and_approvals_stay(world: World) -> None:
    other = POLICY.replace("  unit:\n", "  older:\n")
    await new_policy(world, other, "v0.1")
    await new_policy(world, POLICY.replace("version: 1", 'version: 1\nbranches: [main, "v0.*"]'))
    pull = await stranger(world)
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    first = world.only_run()
    world.github.actions.start(first)
    await world.settle()
    world.github.people.retarget(pull, "v0.1", "stranger")
    await world.settle()
    assert first.cancelled
    assert len(world.github.runs()) == 2
    await end(world, first, "cancelled")
    assert "does not select this suite" in (world.check("unit", pull.head_sha).title or "")
    assert world.gate(pull.head_sha).status == "in_progress"
    await world.finish("success")
    assert world.check("older", pull.head_sha).conclusion == "success"
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_what_changes_neither_head_nor_base_is_ignored_and_counted(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    world.github.calls.clear()
    people = world.github.people
    people.edit_title(pull, "Better")
    people.label(pull, "npu")
    people.unlabel(pull, "npu")
    await world.settle()
    assert world.github.calls.counted() == []
    assert not world.only_run().cancelled
    labels = {"event": "pull_request", "result": "ignored"}
    registry = world.bot.parts.metrics.registry
    assert registry.get_sample_value("ascend_ci_deliveries_total", labels) == 3


async def test_a_draft_starts_nothing_and_a_running_suite_of_one_goes_on(world: World) -> None:
    pulls = [await begun(world, f"verl/{number}.py") for number in range(3)]
    running, _, queued = pulls
    for pull in (running, queued):
        world.github.people.draft(pull)
    await world.settle()
    assert not any(run.cancelled for run in world.github.runs())
    assert shown(world, queued) == ("cancelled", "action_required")
    assert world.gate(queued.head_sha).title == "Draft: nothing started"
    first, second = world.github.runs()
    await end(world, first)
    assert shown(world, running) == ("success", "success")
    await end(world, second)
    assert runs_of(world, queued) == []  # though a slot is free
    world.github.people.push(queued, {"verl/2.py": "more"})
    await world.settle()
    assert runs_of(world, queued) == []
    assert world.gate(queued.head_sha).title == "Draft: nothing started"
    world.github.people.ready(queued)
    await world.settle()
    await world.finish("success")
    assert shown(world, queued) == ("success", "success")
    new = world.github.people.open_pull("maintainer", {"verl/n.py": "1"}, NewPull(draft=True))
    await world.settle()
    assert world.gate(new.head_sha).title == "Draft: nothing started"
    world.github.people.ready(new)
    await world.settle()
    assert len(runs_of(world, new)) == 1


@pytest.mark.parametrize("deed", ["push", "close"])
async def test_a_head_that_moved_while_we_worked_starts_nothing(world: World, deed: str) -> None:
    pull = world.open_pull()
    old = pull.head_sha
    await world.github.deliveries.idle()
    while await world.bot.step("inbox")():
        pass
    world.github.deliveries.hold()
    if deed == "push":
        world.github.people.push(pull, {"verl/a.py": "2"})
    else:
        world.github.people.close(pull)
    await world.settle()
    assert world.github.runs() == []
    assert world.check("unit", old).conclusion == "cancelled"
    world.github.deliveries.release()
    await world.settle()
    assert world.gate(old).conclusion == "cancelled"
    assert [run.inputs["sha"] for run in world.github.runs()] == (
        [pull.head_sha] if deed == "push" else []
    )


COUNT_AGAIN = {
    "success": ("success", ""),
    "failure": ("failure", "ValueError: x"),
}
RUN_AGAIN = {
    "superseded": ("cancelled", ""),
    "cancelled": ("cancelled", ""),
}


async def test_pushing_back_to_a_commit_counts_its_ends_and_runs_its_stops_again(
    world: World,
) -> None:
    await new_policy(world, ONE_TRY)
    for outcome, (conclusion, text) in {**COUNT_AGAIN, **RUN_AGAIN}.items():
        pull = await begun(world, f"verl/{outcome}.py")
        old = pull.head_sha
        run = runs_of(world, pull)[0]
        if outcome == "cancelled":
            await say(world, pull, "maintainer", "/ascend-e2e cancel")
        if outcome != "superseded":
            await end(world, run, conclusion, text)
        world.github.people.push(pull, {f"verl/{outcome}.py": "2"})
        await world.settle()
        if outcome == "superseded":
            await end(world, run, "cancelled")
        before = world.check("unit", old)
        await end(world, runs_of(world, pull)[-1])
        world.github.people.force_push(pull, old)
        await world.settle()
        again = runs_of(world, pull, old)
        if outcome in COUNT_AGAIN:
            assert len(again) == 1, outcome
            assert shown(world, pull)[1] == ("success" if outcome == "success" else "failure")
            continue
        assert len(again) == 2, outcome
        assert world.gate(old).status == "in_progress"
        assert world.check("unit", old).id != before.id
        await end(world, again[1])
        assert shown(world, pull) == ("success", "success")


async def test_an_approval_holds_for_a_commit_that_comes_back(world: World) -> None:
    pull = await stranger(world)
    old = pull.head_sha
    await say(world, pull, "writer", f"/ascend-e2e approve --sha {old[:12]}")
    world.github.actions.start(world.only_run())
    world.github.people.push(pull, {"verl/a.py": "evil"})
    await world.pass_time(300)
    assert world.gate(pull.head_sha).conclusion == "action_required"
    await end(world, world.only_run(), "cancelled")
    world.github.people.force_push(pull, old)
    await world.settle()
    assert [run.inputs["sha"] for run in world.github.runs()] == [old, old]


async def test_a_commit_of_two_pull_requests_runs_until_nobody_wants_it(world: World) -> None:
    one = await begun(world, "verl/a.py")
    two = world.open_pull(path="docs/b.md")
    await world.settle()
    world.github.people.force_push(two, one.head_sha)
    await world.settle()
    run = world.only_run()
    world.github.people.close(one)
    await world.settle()
    assert not run.cancelled
    assert world.gate(two.head_sha).status == "in_progress"
    world.github.people.close(two)
    await world.settle()
    assert run.cancelled
    await end(world, run, "cancelled")
    assert shown(world, two) == ("cancelled", "cancelled")


async def test_a_push_waits_a_moment_for_further_ones_but_its_check_does_not(
    world: World,
) -> None:
    await new_policy(world, POLICY.replace("debounce_seconds: 0", "debounce_seconds: 60"))
    pull = await begun(world, "verl/a.py")
    assert len(world.github.runs()) == 1  # an opening does not wait
    await end(world, world.only_run())
    shas = []
    for text in "23":
        world.github.people.push(pull, {"verl/a.py": text})
        await world.settle()
        shas.append(pull.head_sha)
        assert world.check("unit", pull.head_sha).status == "queued"
        await world.pass_time(40)
        assert len(world.github.runs()) == 1
    await world.pass_time(25)
    assert [run.inputs["sha"] for run in world.github.runs()[1:]] == [shas[1]]
    assert world.check("unit", shas[0]).conclusion == "cancelled"


async def test_a_commit_that_comes_back_to_a_changed_suite_runs_again(world: World) -> None:
    pull = await begun(world, "verl/a.py")
    old = pull.head_sha
    await end(world, world.only_run())
    await new_policy(world, POLICY.replace("timeout_minutes: 60", "timeout_minutes: 90"))
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    world.github.people.force_push(pull, old)
    await world.settle()
    assert [run.inputs["timeout_minutes"] for run in runs_of(world, pull, old)] == ["60", "90"]


@pytest.mark.parametrize("text", [None, "version: 0"], ids=["no policy", "a broken policy"])
async def test_a_push_stops_the_old_commit_whatever_became_of_the_policy(
    world: World, text: str | None
) -> None:
    pull = await begun(world, "verl/a.py")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text})
    await world.settle()
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    assert world.only_run().cancelled
