"""Attacks by cost: policies and logs that are dear to read delay nobody but their authors."""

import asyncio
from dataclasses import replace

from bot.app import Parts
from bot.services.policies import PolicyChecker
from tests.e2e.people import stands, unharmed
from tests.e2e.world import GATE, POLICY, World
from tests.services.scripted_sandbox import ScriptedSandbox

PATH = ".github/ascend-ci.yml"
DEAR = r"{name: a%d, class: unknown, match: '(?i)[\pL\pN]{1,1000}|abc%d', example: abc}"


def dear_policy() -> str:
    """Return a policy whose check took 20 s."""
    signatures = ", ".join(DEAR % (n, n) for n in range(200))
    return POLICY.replace("log: {", f"log: {{signatures: [{signatures}], ")


async def test_a_strangers_dear_policy_names_its_patterns_and_nothing_waits_for_it(
    world: World,
) -> None:
    sandbox = ScriptedSandbox()
    sandbox.may_end.clear()

    def held(parts: Parts) -> Parts:
        return replace(parts, sandbox=sandbox, checker=PolicyChecker(sandbox))

    world.wrap = held
    await world.restart()
    theirs = world.github.people.open_pull("stranger", {PATH: dear_policy()})
    settling = asyncio.create_task(world.settle())
    await sandbox.begun.wait()
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
    assert {owner for owner, _ in sandbox.calls} == {f"pull {world.github.state.repo().id}/1"}
    await unharmed(world)
