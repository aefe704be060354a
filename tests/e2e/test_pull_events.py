"""What a pull request's events lead to, row by row."""

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


async def test_closing_stops_what_runs_and_what_waits_and_reopening_runs_it_again(
    world: World,
) -> None:
    people = world.github.people
    closed, merged, waiting = pulls = [
        await begun(world, f"verl/{number}.py") for number in range(3)
    ]
    assert [len(runs_of(world, pull)) for pull in pulls] == [1, 1, 0]  # two slots
    people.close(closed)
    people.merge(merged, "maintainer")
    people.close(waiting)
    await world.settle()
    assert [run.cancelled for run in world.github.runs()] == [True, True]
    assert shown(world, waiting) == ("cancelled", "cancelled")
    await all_end(world, "cancelled")
    assert [shown(world, pull) for pull in pulls] == [("cancelled", "cancelled")] * 3
    assert world.writes(DISPATCH) == 2  # the freed slots start nothing that nobody wants
    people.reopen(closed)
    await world.settle()
    assert len(runs_of(world, closed)) == 2
    assert world.gate(closed.head_sha).status == "in_progress"
    await world.finish("success")
    assert shown(world, closed) == ("success", "success")

    pull = await begun(world, "verl/under-way.py")
    people.close(pull)
    await world.settle()
    people.reopen(pull)
    await world.settle()
    (run,) = runs_of(world, pull)  # its cancel is under way
    await end(world, run, "cancelled")
    assert len(runs_of(world, pull)) == 2
    await world.finish("success")
    assert shown(world, pull) == ("success", "success")


async def test_pushes_in_order_are_taken_as_told_others_are_read_again_and_edits_ignored(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    first, old = world.only_run(), pull.head_sha
    await edits_are_ignored(world, pull)
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    reads = [call for call in world.github.calls if call.route == PULL and call.method == "GET"]
    assert len(reads) == 1  # before the dispatch; the payload was believed
    assert first.cancelled
    new = pull.head_sha
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
        world.github.actions.finish(run, "cancelled")
    await world.pass_time(10)
    await world.finish("success")
    assert shown(world, pull) == ("success", "success")
    assert shown(world, pull, old) == ("cancelled", "cancelled")
    assert new[:7] in (world.check("unit", old).title or "")
    dispatched = [run.inputs["sha"] for run in runs_of(world, pull)]
    assert dispatched == [old, new, pull.head_sha]  # the head passed over never started


async def edits_are_ignored(world: World, pull: Pull) -> None:
    """Change neither head nor base: it costs no call, and is counted."""
    people = world.github.people
    world.github.calls.clear()
    people.edit_title(pull, "Better")
    people.label(pull, "npu")
    people.unlabel(pull, "npu")
    await world.settle()
    assert world.github.calls.counted() == []
    assert not world.only_run().cancelled
    labels = {"event": "pull_request", "result": "ignored"}
    registry = world.bot.parts.metrics.registry
    assert registry.get_sample_value("ascend_ci_deliveries_total", labels) == 3


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
    assert "no longer selects this suite" in (world.check("unit", pull.head_sha).title or "")
    assert world.gate(pull.head_sha).status == "in_progress"
    await world.finish("success")
    assert world.check("older", pull.head_sha).conclusion == "success"
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_a_draft_starts_nothing_and_a_running_suite_of_one_goes_on(world: World) -> None:
    pulls = [await begun(world, f"verl/{number}.py") for number in range(3)]
    running, _, queued = pulls
    for pull in (running, queued):
        world.github.people.draft(pull)
    await world.settle()
    assert not any(run.cancelled for run in world.github.runs())
    assert shown(world, queued) == ("cancelled", "action_required")
    assert world.gate(queued.head_sha).title == "Draft, not started: unit"
    first, second = world.github.runs()
    await end(world, first)
    assert shown(world, running) == ("success", "success")
    await end(world, second)
    assert runs_of(world, queued) == []  # though a slot is free
    world.github.people.push(queued, {"verl/2.py": "more"})
    await world.settle()
    assert runs_of(world, queued) == []
    assert world.gate(queued.head_sha).title == "Draft, not started: unit"
    world.github.people.ready(queued)
    await world.settle()
    await world.finish("success")
    assert shown(world, queued) == ("success", "success")
    new = world.github.people.open_pull("maintainer", {"verl/n.py": "1"}, NewPull(draft=True))
    await world.settle()
    assert world.gate(new.head_sha).title == "Draft, not started: unit"
    world.github.people.ready(new)
    await world.settle()
    assert len(runs_of(world, new)) == 1


async def test_a_head_that_moved_while_we_worked_starts_nothing(world: World) -> None:
    people, deliveries = world.github.people, world.github.deliveries
    pushed, closed = (world.open_pull(path=f"verl/{name}.py", text=name) for name in "ab")
    old = pushed.head_sha
    await deliveries.idle()
    while await world.bot.step("inbox")():
        pass
    deliveries.hold()
    await world.clock.advance(1)
    people.push(pushed, {"verl/a.py": "2"})
    people.close(closed)
    await world.settle()
    assert runs_of(world, pushed, old) == []
    for sha in (old, closed.head_sha):
        assert world.check("unit", sha).conclusion == "cancelled"
    deliveries.release()
    await world.settle()
    for sha in (old, closed.head_sha):
        assert world.gate(sha).conclusion == "cancelled"
    assert [run.inputs["sha"] for run in world.github.runs()] == [pushed.head_sha]


ENDS = {  # how a commit's run ended, and what its gate shows when the commit comes back
    "success": ("success", "", "success"),
    "failure": ("failure", "ValueError: x", "failure"),
    "cancelled": ("cancelled", "", None),  # it runs again
    "superseded": ("cancelled", "", None),
}


async def test_pushing_back_to_a_commit_counts_its_ends_and_runs_its_stops_again(
    world: World,
) -> None:
    people = world.github.people
    await new_policy(world, ONE_TRY.replace("slots: 2", "slots: 4"))
    pulls = {outcome: world.open_pull(path=f"verl/{outcome}.py") for outcome in ENDS}
    await world.settle()
    heads = {outcome: pull.head_sha for outcome, pull in pulls.items()}
    firsts = {outcome: runs_of(world, pull)[0] for outcome, pull in pulls.items()}
    await say(world, pulls["cancelled"], "maintainer", "/ascend-e2e cancel")
    for outcome in ("success", "failure", "cancelled"):
        world.github.actions.finish(firsts[outcome], *ENDS[outcome][:1], log=ENDS[outcome][1])
    await world.settle()
    await world.pass_time(10)
    for outcome, pull in pulls.items():
        people.push(pull, {f"verl/{outcome}.py": "2"})
    await world.settle()
    await end(world, firsts["superseded"], "cancelled")
    before = {outcome: world.check("unit", sha).id for outcome, sha in heads.items()}
    await all_end(world)
    for outcome, pull in pulls.items():
        people.force_push(pull, heads[outcome])
    await world.settle()
    for outcome, (_, _, gate) in ENDS.items():
        again = runs_of(world, pulls[outcome], heads[outcome])
        assert world.gate(heads[outcome]).conclusion == gate, outcome
        assert len(again) == (1 if gate else 2), outcome
        assert (world.check("unit", heads[outcome]).id == before[outcome]) is bool(gate), outcome
    await all_end(world)
    for outcome in ("cancelled", "superseded"):
        assert shown(world, pulls[outcome]) == ("success", "success"), outcome


async def all_end(world: World, conclusion: str = "success") -> None:
    """Let all that runs end."""
    for run in world.github.runs():
        if run.status != "completed":
            world.github.actions.finish(run, conclusion)
    await world.settle()
    await world.pass_time(10)


async def test_what_holds_for_a_commit_that_comes_back_or_is_of_two_pull_requests(
    world: World,
) -> None:
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
    assert [run.inputs["sha"] for run in world.github.runs()] == [old, old]  # approved once
    await until_nobody_wants_it(world)


async def until_nobody_wants_it(world: World) -> None:
    """Close the pull requests of one commit, whose run goes on until the last one."""
    one = await begun(world, "verl/one.py")
    two = world.open_pull(path="docs/b.md")
    await world.settle()
    world.github.people.force_push(two, one.head_sha)
    await world.settle()
    run = world.github.runs()[-1]
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
        await world.github.deliveries.idle()
        # The check run may be there first: its reason is shown as soon as it is known.
        for loop in ("inbox", "reporter", "runner", "reporter"):
            await world.bot.step(loop)()
        await world.pass_time(2)  # writes are paced
        shas.append(pull.head_sha)
        check = world.check("unit", pull.head_sha)
        assert (check.status, check.title) == (
            "queued",
            "Queued: it starts in a moment unless another push comes",
        )
        table = str(world.gate(pull.head_sha).summary)
        assert "queued: it starts in a moment unless another push comes" in table
        await world.settle()
        await world.pass_time(40)
        assert len(world.github.runs()) == 1
    await world.pass_time(25)
    assert [run.inputs["sha"] for run in world.github.runs()[1:]] == [shas[1]]
    assert world.check("unit", shas[0]).conclusion == "cancelled"


async def test_pushes_after_the_policy_changed_run_the_new_suite_and_stop_the_old_commit(
    world: World,
) -> None:
    pull = await begun(world, "verl/a.py")
    old = pull.head_sha
    await end(world, world.only_run())
    await new_policy(world, POLICY.replace("timeout_minutes: 60", "timeout_minutes: 90"))
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    world.github.people.force_push(pull, old)
    await world.settle()
    assert [run.inputs["timeout_minutes"] for run in runs_of(world, pull, old)] == ["60", "90"]
    for text in (None, "version: 0"):
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": POLICY})
        await world.settle()
        await all_end(world, "cancelled")
        pull = await begun(world, f"verl/{text}.py")
        (run,) = runs_of(world, pull)
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text})
        await world.settle()
        world.github.people.push(pull, {"verl/a.py": "2"})
        await world.settle()
        assert run.cancelled, text
