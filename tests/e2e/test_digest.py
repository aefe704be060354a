"""The digest where people meet it: a repository's own signature names the cause of its failure."""

from bot.store.run_reads import RunQuery
from bot.web.answers import run_json
from tests.e2e.world import POLICY, World

OWN = """
    - name: lab-licence
      class: environment
      match: 'LICENCE SERVER (\\S+) refused'
      infra: true
      title: The licence server refused
      hint: Ask the lab to renew the licence.
      source: our lab
      example: LICENCE SERVER lab-3 refused the seat
"""


async def test_a_policys_own_signature_names_the_cause_and_is_retried(world: World) -> None:
    policy = POLICY.replace('log: {repo_roots: ["/verl"]}', f"log:\n  signatures:{OWN}")
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy})
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "step 1\nLICENCE SERVER lab-7 refused the seat\nbye\n")
    await world.pass_time(10)
    first = next(
        check for check in world.github.check_runs(pull.head_sha) if check.name == "Ascend / unit"
    )
    assert "The licence server refused" in (first.title or "")
    assert "Ask the lab to renew the licence" in (first.summary or "")
    assert "LICENCE SERVER lab-7 refused the seat" in (first.text or "")
    assert len(world.github.runs()) == 2


async def test_lists_and_tables_name_the_cause_that_the_check_run_names(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "bash: line 3: foo: command not found\n")
    await world.pass_time(10)
    cause = "A command is missing"
    assert cause in (world.check("unit", pull.head_sha).title or "")
    assert f"failed: {cause}" in (world.gate(pull.head_sha).summary or "")
    [row] = await world.bot.parts.store.runs.search(RunQuery())
    assert (row.run.cause, row.run.why) == (cause, "The Actions run failed")
    assert run_json(row)["cause"] == cause
