"""Attacks by cost: policies and logs that are dear to read delay nobody but their authors."""

import asyncio
from dataclasses import replace

from bot.app import Parts
from bot.ports.sandbox import StoppedBy
from bot.services.events.cpu_shares import CpuShares
from bot.services.events.long_lists import LongLists
from bot.services.policies import CHEAP_SELECTION, PolicyChecker
from bot.sim import NewPull
from tests.e2e.job_suites import begun, jobs_world
from tests.e2e.people import say, stands, started, unharmed
from tests.e2e.world import GATE, POLICY, World
from tests.services.scripted_sandbox import ScriptedSandbox

PATH = ".github/ascend-ci.yml"
DEAR = r"{name: a%d, class: unknown, match: '(?i)[\pL\pN]{1,1000}|abc%d', example: abc}"


def dear_policy() -> str:
    """Return a policy whose check took 20 s."""
    signatures = ", ".join(DEAR % (n, n) for n in range(200))
    return POLICY.replace("log: {", f"log: {{signatures: [{signatures}], ")


async def held(
    world: World, *ends: StoppedBy | float, cheap: int = CHEAP_SELECTION
) -> ScriptedSandbox:
    """Restart the bot with a sandbox whose calls begin, and end only when they may."""
    sandbox = ScriptedSandbox(*ends)
    sandbox.may_end.clear()

    def inside(parts: Parts) -> Parts:
        return replace(parts, sandbox=sandbox, checker=PolicyChecker(sandbox, cheap))

    world.wrap = inside
    await world.restart()
    return sandbox


async def begins(sandbox: ScriptedSandbox) -> None:
    """Wait until something is done in the sandbox; done anywhere else it would never begin."""
    async with asyncio.timeout(60):
        await sandbox.begun.wait()


async def test_a_strangers_dear_policy_names_its_patterns_and_nothing_waits_for_it(
    world: World,
) -> None:
    sandbox = await held(world)
    theirs = world.github.people.open_pull("stranger", {PATH: dear_policy()})
    settling = asyncio.create_task(world.settle())
    await begins(sandbox)
    good = world.open_pull()  # while the check goes on
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()
    while await world.bot.step("runner")():
        pass
    assert world.only_run().inputs["sha"] == good.head_sha
    assert not settling.done()
    sandbox.may_end.set()
    await settling
    await stands(world)
    check = world.github.check(f"{GATE} policy", theirs.head_sha)
    assert check is not None
    assert check.conclusion == "failure"
    assert "log.signatures&#91;0&#93;.match" in str(check.summary)
    assert "becomes too large when it is compiled" in str(check.summary)
    assert {owner for owner, _ in sandbox.calls} == {f"account {theirs.author.id}"}
    await unharmed(world)


async def with_shares(world: World) -> ScriptedSandbox:
    """Restart the bot with a sandbox whose calls take too long, and the shares of people."""
    sandbox = ScriptedSandbox(*[StoppedBy.TIME] * 40)

    def inside(parts: Parts) -> Parts:
        checker = PolicyChecker(sandbox, shares=CpuShares(parts.clock))
        return replace(parts, sandbox=sandbox, checker=checker)

    world.wrap = inside
    await world.restart()
    return sandbox


async def test_dear_policies_in_many_pull_requests_of_a_stranger_take_only_their_share(
    world: World,
) -> None:
    sandbox = await with_shares(world)
    for number in range(6):
        text = f"{dear_policy()}# {number}\n"
        theirs = world.github.people.open_pull("stranger", {PATH: text}, NewPull(fork=True))
    await stands(world)
    assert len(sandbox.calls) == 2
    check = world.github.check(f"{GATE} policy", theirs.head_sha)
    assert check is not None
    assert check.conclusion == "failure"
    assert "of this author took too much processor time" in str(check.summary)
    sandbox.calls.clear()
    good = world.github.people.open_pull("writer", {PATH: f"{POLICY}# &\n"})
    await stands(world)
    assert {owner for owner, _ in sandbox.calls} == {f"account {good.author.id}"}
    await unharmed(world)


async def test_dear_workflows_in_many_pull_requests_of_a_stranger_take_only_their_share(
    world: World,
) -> None:
    sandbox = await with_shares(world)
    await jobs_world(world)
    for number in range(6):
        files = {f"npu/{number}.py": "1"}
        theirs = world.github.people.open_pull("stranger", files, NewPull(fork=True))
        await world.settle()
        run = await begun(world, theirs)
    read = [owner for owner, work in sandbox.calls if work == "jobs_of_run"]
    assert read == [f"account {theirs.author.id}"] * 2
    world.github.actions.finish(run, "success")  # nothing is known of its jobs but their names
    await stands(world)
    assert world.check("train", theirs.head_sha).conclusion == "success"
    await unharmed(world)


async def test_a_strangers_many_files_are_compared_aside_and_nothing_waits_for_it(
    world: World,
) -> None:
    sandbox = await held(world, StoppedBy.TIME, cheap=10_000)  # 50 files are many
    files = {f"verl/{n}.py": "1" for n in range(50)}
    theirs = world.github.people.open_pull("stranger", files)
    settling = asyncio.create_task(world.settle())
    async with asyncio.timeout(20):
        await begins(sandbox)
    good = world.open_pull()  # while the comparison goes on
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()
    while await world.bot.step("runner")():
        pass
    assert world.only_run().inputs["sha"] == good.head_sha
    assert not settling.done()
    sandbox.may_end.set()
    await settling
    await stands(world)
    assert {owner for owner, _ in sandbox.calls} == {f"account {theirs.author.id}"}
    gate = world.gate(theirs.head_sha)
    assert gate.conclusion == "action_required"
    assert "more processor time or memory than it may, so all paths count" in str(gate.summary)
    await unharmed(world)


async def test_a_dear_log_is_partly_read_and_no_other_run_waits_for_it(world: World) -> None:
    theirs = world.open_pull()
    await world.settle()
    sandbox = await held(world, 0.1, StoppedBy.TIME)
    oom = "RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB\n"
    log = oom + "".join(f"[rank{n}]: RuntimeError: boom {n}\n" for n in range(4000))
    ending = asyncio.create_task(world.finish("failure", log))
    await begins(sandbox)
    good = world.open_pull(path="verl/b.py")
    await world.github.deliveries.idle()
    await world.bot.step("inbox")()
    while await world.bot.step("runner")():
        pass
    assert [run.inputs["sha"] for run in world.github.runs()] == [theirs.head_sha, good.head_sha]
    assert not ending.done()
    sandbox.may_end.set()
    await ending
    await stands(world)
    check = world.check("unit", theirs.head_sha)
    assert check.conclusion == "failure"
    assert "Out of NPU memory" in str(check.summary)
    assert "The log is only partly read" in str(check.summary)
    assert "more processor time than one log may" in str(check.summary)
    assert [name for _, name in sandbox.calls] == ["_read", "_read", "_conclude"]
    await unharmed(world)


async def test_a_long_list_of_files_that_a_stranger_has_read_without_end_leaves_calls_for_others(
    world: World,
) -> None:
    world.wrap = lambda parts: replace(parts, long_lists=LongLists(parts.clock, 12))
    await world.restart()
    files = {f"docs/{n}.md": "1" for n in range(401)}
    theirs = world.github.people.open_pull("stranger", files, NewPull(fork=True))
    await stands(world)

    def pages() -> int:
        return sum(call.route.endswith("/files") for call in world.github.calls)

    read = pages()
    for number in range(3):
        world.github.people.push(theirs, {"docs/0.md": f"{number}"}, by="stranger")
        await stands(world)
        await say(world, theirs, "stranger", "/ascend-e2e explain")
    assert pages() - read <= 5
    gate = world.gate(theirs.head_sha)
    assert gate.conclusion == "action_required"
    assert "long lists of files were read too often" in str(gate.summary)
    good = world.open_pull("writer")
    await world.settle()
    assert started(world) == [good.head_sha]
    told = await say(world, theirs, "maintainer", "/ascend-e2e explain unit")
    assert "none of 401 changed files matches" in told
    await world.pass_time(3600)
    world.github.people.push(theirs, {"docs/0.md": "later"}, by="stranger")
    await stands(world)
    assert world.gate(theirs.head_sha).conclusion == "success"
    await unharmed(world)


async def test_a_list_of_files_that_github_never_makes_is_asked_for_more_and_more_seldom(
    world: World,
) -> None:
    theirs = world.github.people.open_pull("stranger", {"verl/a.py": "1"}, NewPull(fork=True))
    fault = world.github.fault("500", "GET", f"*/pulls/{theirs.number}/files", times=1000)
    await world.settle()
    for _ in range(30):
        await world.pass_time(4)
    assert fault.hits <= 40
    asked = fault.hits
    world.github.faults.clear()
    await world.pass_time(60)  # half of what it has waited for
    assert (world.gate(theirs.head_sha).conclusion, asked > 20) == ("action_required", True)
    await unharmed(world)
