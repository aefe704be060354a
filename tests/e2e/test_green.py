"""A green Actions run whose log shows that its training died is no plain green."""

import pytest

from tests.e2e.world import POLICY, World

DIED = """\
step:6 - actor/lr:1e-6
Training Progress:  40%|████      | 6/15 [01:00<01:30, 10.0s/it]
step:7 - actor/lr:1e-6
Error executing job with overrides: ['trainer.device=npu']
Traceback (most recent call last):
  File "/verl/verl/trainer/main_ppo.py", line 42, in main
    run_ppo(config)
ValueError: no free token
Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.
"""
CAUGHT = "Traceback (most recent call last):\n  File \"a.py\", line 3, in load\nKeyError: 'x'\nok\n"


@pytest.mark.parametrize(
    ("rule", "conclusion", "title", "gate"),
    [
        (
            "warn",
            "success",
            "Passed, but the training died at step 7 of 15 (no free token)",
            "unit passed, but the training died at step 7 of 15 (no free token)",
        ),
        (
            "fail",
            "failure",
            "ValueError in verl/trainer/main_ppo.py:42: no free token",
            "unit failed: no free token",
        ),
        ("ignore", "success", "Passed in 30 s", "unit passed"),
    ],
)
async def test_a_training_that_died_in_a_green_job_is_told_by_the_policys_rule(
    world: World, rule: str, conclusion: str, title: str, gate: str
) -> None:
    text = f"{POLICY}\non_hidden_failure: {rule}\n"
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": text})
    pull = world.open_pull()
    await world.settle()
    await world.finish("success", log=DIED)
    check = world.check("unit", pull.head_sha)
    assert (check.conclusion, check.title) == (conclusion, title)
    found = world.gate(pull.head_sha)
    assert (found.conclusion, found.title) == (conclusion, gate)
    assert ("set -o pipefail" in str(check.summary)) == (rule != "ignore")


async def test_an_exception_that_was_caught_in_a_green_job_is_no_alarm(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("success", log=CAUGHT)
    check = world.check("unit", pull.head_sha)
    assert (check.conclusion, check.title) == ("success", "Passed in 30 s")


async def test_a_failure_is_shown_beside_the_versions_of_the_last_green_run(world: World) -> None:
    listed = "Package   Version\n--------- -------\ntorch_npu 2.7.1\nray       2.5\n"
    green = world.open_pull(path="verl/a.py")
    await world.settle()
    await world.finish("success", log=listed)
    red = world.open_pull(path="verl/b.py")
    await world.settle()
    await world.finish("failure", log=listed.replace("2.7.1", "2.8.0") + DIED)
    said = str(world.check("unit", red.head_sha).summary)
    assert f"last green run (`{green.head_sha[:7]}`, " in said
    assert "`torch-npu` `2.7.1` → `2.8.0`." in said
    assert f"/compare/{green.head_sha}...{red.head_sha}" in said
