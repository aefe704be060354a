"""The runner executes workflow files for real, and refuses what it does not know."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest

from bot.sim import NewPull, RunnerOptions, SimGitHub, SimOptions
from bot.sim.model import Run

HEAD = """
name: Job
on:
  workflow_dispatch:
    inputs: {sha: {default: ""}, words: {default: "a b"}}
"""


@pytest.fixture
async def sim() -> AsyncIterator[SimGitHub]:
    """Serve an executing simulation whose steps are stopped fast."""
    options = SimOptions(lag_s=0, runner=RunnerOptions(term_s=0.3, kill_s=0.3, env={"HOST": "1"}))
    async with SimGitHub(options=options) as github:
        github.create_app()
        github.create_repo("octo/project", {"README.md": "main\n"})
        github.install("octo")
        github.grant("mia", "maintain")
        github.actions.runners.register("npu", 1)
        yield github


def begin(sim: SimGitHub, jobs: str, **inputs: str) -> Run:
    """Push a workflow with these jobs and dispatch it."""
    sim.people.push_branch("mia", {".github/workflows/job.yml": HEAD + jobs})
    repo, mia = sim.state.repo(), sim.user("mia")
    return sim.actions.dispatch(repo, "job.yml", {"ref": "main", "inputs": inputs}, mia)


async def run(sim: SimGitHub, jobs: str, **inputs: str) -> Run:
    """Do so and wait for the end."""
    started = begin(sim, jobs, **inputs)
    await sim.engine.wait(started)
    return started


def log(run: Run, job: int = 0) -> str:
    """Answer a job's log without its times."""
    return "\n".join(line.split(" ", 1)[1] for line in run.jobs[job].log)


def steps(*lines: str) -> str:
    """Build one job with these steps."""
    body = "\n".join(f"      - {line}" for line in lines)
    return f"jobs:\n  one:\n    runs-on: npu\n    steps:\n{body}\n"


async def until(test: Any) -> None:
    """Wait for something that a process outside brings about; give up after some 20 s."""
    for _ in range(2000):
        if test():
            return
        await asyncio.sleep(0.01)
    pytest.fail("what was waited for never came")


async def test_a_failing_step_ends_the_job_as_github_words_it(sim: SimGitHub) -> None:
    found = await run(sim, steps("run: echo one", "run: exit 3", "run: echo never"))
    assert (found.conclusion, found.jobs[0].conclusion) == ("failure", "failure")
    assert "##[error]Process completed with exit code 3." in log(found)
    shown = [(step.name, step.conclusion) for step in found.jobs[0].steps]
    assert shown[-2:] == [("Run exit 3", "failure"), ("Run echo never", "skipped")]
    assert "\nnever" not in log(found)
    assert found.jobs[0].log[0][19] == "."
    assert found.jobs[0].log[0].split(" ")[0].endswith("0Z")


async def test_pipefail_is_set_only_when_bash_is_asked_for(sim: SimGitHub) -> None:
    assert (await run(sim, steps("run: false | true"))).conclusion == "success"
    found = await run(sim, steps("{run: false | true, shell: bash}"))
    assert found.conclusion == "failure"
    assert "shell: bash --noprofile --norc -eo pipefail {0}" in log(found)


async def test_environments_files_and_outputs_reach_later_steps(sim: SimGitHub) -> None:
    found = await run(
        sim,
        """
env: {A: workflow, B: workflow}
jobs:
  one:
    runs-on: npu
    env: {B: job, C: "${{ inputs.words }}"}
    outputs: {n: "${{ steps.count.outputs.n }}"}
    steps:
      - id: count
        env: {C: step}
        run: |
          echo "$A $B $C $HOST"
          echo n=7 >> "$GITHUB_OUTPUT"
          { echo "D<<END"; echo one; echo two; echo END; } >> "$GITHUB_ENV"
          mkdir bin; printf '#!/bin/sh\\necho tool\\n' > bin/tool; chmod +x bin/tool
          echo "$PWD/bin" >> "$GITHUB_PATH"
      - run: echo "$C|$D|$GITHUB_RUN_ATTEMPT|$GITHUB_REF_NAME" && tool
  two:
    needs: one
    runs-on: npu
    steps: [{run: "echo got ${{ needs.one.outputs.n }} ${{ needs.one.result }}"}]
""",
    )
    assert found.conclusion == "success", log(found)
    assert "workflow job step 1" in log(found)
    assert "a b|one\ntwo|1|main\ntool" in log(found)
    assert "got 7 success" in log(found, 1)


async def test_checkout_fetches_a_forks_commit_by_sha_and_leaves_the_trusted_tree_alone(
    sim: SimGitHub,
) -> None:
    sim.user("bob")
    pull = sim.people.open_pull("bob", {"README.md": "fork\n"}, NewPull(fork=True))
    found = await run(
        sim,
        steps(
            "{uses: actions/checkout@v6, with: {path: trusted}}",
            "{uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd, "
            'with: {ref: "${{ inputs.sha }}", path: pr, persist-credentials: false}}',
            "{run: cat README.md ../trusted/README.md, working-directory: pr}",
            "run: git -C pr rev-parse HEAD",
        ),
        sha=pull.head_sha,
    )
    assert found.conclusion == "success", log(found)
    assert "fork\nmain" in log(found)
    assert pull.head_sha in log(found)


async def test_checkout_of_an_unknown_ref_fails(sim: SimGitHub) -> None:
    found = await run(sim, steps("{uses: actions/checkout@v6, with: {ref: nope}}"))
    assert "##[error]A branch or tag with the name 'nope' could not be found" in log(found)


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        (steps("uses: actions/cache@v4"), "`uses: actions/cache@v4` is not simulated"),
        (steps("uses: actions/checkout"), "is not simulated"),
        (steps("{run: 'true', shell: pwsh}"), "shell 'pwsh' is not simulated"),
        (steps("{run: 'true', when: now}"), "key 'when' is not simulated"),
        (steps("run: echo ${{ hashFiles('x') }}"), "function 'hashFiles' is not known"),
        (steps("{uses: actions/checkout@v6, with: {sparse-checkout: a}}"), "'sparse-checkout'"),
        (steps("{run: 'true', if: matrix.a}"), "context 'matrix' is not known"),
        (steps("run: echo bad > $GITHUB_OUTPUT"), "Invalid format 'bad'"),
        ("jobs:\n  a:\n    runs-on: npu\n    strategy: {}\n    steps: [{run: 'true'}]\n",
         "key 'strategy' is not simulated"),
        ("jobs:\n  a:\n    runs-on: ${{ matrix.x }}\n    steps: [{run: 'true'}]\n", "'matrix'"),
        ("jobs:\n  a:\n    runs-on: npu\n    if: matrix.x\n    steps: [{run: x}]\n", "'matrix'"),
        ("defaultz: 1\n" + steps("run: 'true'"), "key 'defaultz' is not simulated"),
        ("jobs: {}\n", "needs jobs"),
    ],
)  # fmt: skip
async def test_what_is_not_simulated_fails_the_run_loudly(
    sim: SimGitHub, jobs: str, why: str
) -> None:
    found = await run(sim, jobs)
    assert found.conclusion == "failure"
    line = next(line for line in log(found).splitlines() if why in line)
    assert line.startswith("##[error]")


async def test_upload_artifact_and_container_do_nothing_and_say_so(sim: SimGitHub) -> None:
    jobs = steps("uses: actions/upload-artifact@v4").replace(
        "    steps", "    container: {image: x, env: {IN: box}}\n    steps"
    )
    found = await run(sim, jobs)
    assert found.conclusion == "success"
    assert "upload-artifact does nothing" in log(found)
    assert "runs on the host" in log(found)


async def test_a_cancel_interrupts_then_terminates_then_kills_and_always_steps_run(
    sim: SimGitHub,
) -> None:
    stubborn = "trap 'echo got INT' INT; trap 'echo got TERM' TERM; echo ready; "
    stubborn += "while true; do sleep 0.05 || true; done"
    found = begin(
        sim, steps(f'run: "{stubborn}"', "{run: echo cleaned up, if: always()}", "run: x")
    )
    await until(lambda: log(found).endswith("ready"))
    sim.actions.cancel(found)
    await sim.engine.wait(found)
    text = log(found)
    assert (found.conclusion, found.jobs[0].conclusion) == ("cancelled", "cancelled")
    assert (
        text.index("The operation was canceled.")
        < text.index("\ngot INT")
        < text.index("\ngot TERM")
    )
    assert "\ncleaned up" in text
    assert [step.conclusion for step in found.jobs[0].steps] == [
        "success", "cancelled", "success", "skipped",
    ]  # fmt: skip


async def test_a_forced_cancel_leaves_no_process_and_runs_no_step(sim: SimGitHub) -> None:
    script = "sleep 300 & echo pid $! ; trap '' INT TERM; sleep 300"
    found = begin(sim, steps(f'run: "{script}"', "{run: echo cleaned up, if: always()}"))
    await until(lambda: "\npid " in log(found))
    pid = int(log(found).rsplit("pid ", 1)[1].split()[0])
    sim.actions.cancel(found, force=True)
    await sim.engine.wait(found)
    assert "\ncleaned up" not in log(found)
    await until(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    path = Path(f"/proc/{pid}/stat")
    stat = path.read_text() if path.exists() else ""
    return bool(stat) and stat.rsplit(")", 1)[1].split()[0] != "Z"


async def test_what_a_step_left_in_the_background_ends_with_the_job(sim: SimGitHub) -> None:
    found = await run(sim, steps("run: sleep 300 >/dev/null 2>&1 & echo pid $!", "run: 'true'"))
    assert found.conclusion == "success"
    pid = int(log(found).rsplit("\npid ", 1)[1].split()[0])
    await until(lambda: not _alive(pid))


async def test_a_bad_time_limit_fails_the_job(sim: SimGitHub) -> None:
    found = await run(sim, steps("run: x").replace("    st", "    timeout-minutes: soon\n    st"))
    assert found.conclusion == "failure"
    assert "##[error]timeout-minutes: " in log(found)


async def test_a_job_over_its_time_is_cancelled_with_githubs_words(sim: SimGitHub) -> None:
    jobs = steps("run: sleep 300").replace("    steps", "    timeout-minutes: 0.005\n    steps")
    found = await run(sim, jobs)
    assert found.conclusion == "cancelled"
    assert "has exceeded the maximum execution time of 0.005 minutes." in log(found)
    assert "##[error]The operation was canceled." in log(found)


async def test_a_step_over_its_time_fails(sim: SimGitHub) -> None:
    found = await run(sim, steps("{name: Slow, run: sleep 300, timeout-minutes: 0.005}"))
    assert found.conclusion == "failure"
    assert "The action 'Slow' has timed out after 0.005 minutes." in log(found)


async def test_a_forgiven_step_does_not_fail_the_job(sim: SimGitHub) -> None:
    found = await run(
        sim,
        steps("{id: a, run: exit 1, continue-on-error: true}", "run: echo ${{ steps.a.outcome }}"),
    )
    assert found.conclusion == "success"
    assert "\nfailure" in log(found)


async def test_jobs_wait_for_a_free_runner_of_their_label(sim: SimGitHub) -> None:
    blocked = begin(sim, steps("run: while [ ! -e $RUNNER_TEMP/go ]; do sleep 0.02; done"))
    await until(lambda: blocked.status == "in_progress")
    second = begin(sim, steps("run: echo second"))
    await until(lambda: second.id in sim.state.runs)
    assert second.status == "queued"
    (sim.folder / "jobs" / str(blocked.jobs[0].id) / "temp" / "go").write_text("")
    await sim.engine.wait(blocked)
    await sim.engine.wait(second)
    assert (blocked.conclusion, second.conclusion) == ("success", "success")


async def test_a_run_cancelled_while_it_waits_never_gets_a_runner(sim: SimGitHub) -> None:
    found = begin(sim, steps("run: echo x").replace("npu", "nothing-has-this"))
    await asyncio.sleep(0)
    sim.actions.cancel(found)
    await sim.engine.wait(found)
    assert (found.conclusion, found.jobs[0].runner_name) == ("cancelled", None)


async def test_a_failed_need_skips_a_job_unless_it_says_always(sim: SimGitHub) -> None:
    found = await run(
        sim,
        """
jobs:
  one: {runs-on: npu, steps: [{run: exit 1}]}
  two: {runs-on: npu, needs: one, steps: [{run: echo two}]}
  three: {runs-on: npu, needs: [one, two], if: always(), steps: [{run: echo three}]}
""",
    )
    assert {job.key: job.conclusion for job in found.jobs} == {
        "one": "failure",
        "two": "skipped",
        "three": "success",
    }
    sim.actions.rerun(found, sim.user("mia"), failed_only=True)
    await sim.engine.wait(found)
    assert {job.key for job in found.of_attempt(2)} == {"one", "two", "three"}


async def test_a_newer_waiting_run_of_a_group_cancels_the_older(sim: SimGitHub) -> None:
    wait = "while [ ! -e $RUNNER_TEMP/go ]; do sleep 0.02; done"
    jobs = "concurrency: {group: one}\n" + steps(f"run: {wait}")
    first = begin(sim, jobs)
    await until(lambda: first.status == "in_progress")
    second = begin(sim, jobs)
    await asyncio.sleep(0)
    third = begin(sim, jobs)
    await sim.engine.wait(second)
    assert (second.conclusion, third.status) == ("cancelled", "queued")
    sim.actions.cancel(first)
    await until(lambda: third.status == "in_progress")
    sim.actions.cancel(third)
    await sim.engine.wait(third)


async def test_secrets_are_masked_and_commands_carried_out(sim: SimGitHub) -> None:
    sim.state.repo().secrets["KEY"] = "hunter2"
    sim.state.repo().vars["ASCEND_CI_URL"] = "http://bot"
    found = await run(
        sim,
        steps(
            'run: "echo ${{ secrets.KEY }} ${{ vars.ASCEND_CI_URL }}"',
            'run: "echo ::error file=a.py,line=3::broken"',
        ),
    )
    assert "hunter2" not in log(found)
    assert "\n*** http://bot" in log(found)
    assert "\n##[error]broken" in log(found)


TOKEN = (
    'curl -s -H "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" '
    '"$ACTIONS_ID_TOKEN_REQUEST_URL&audience=ascend-ci"'
)


async def test_only_a_job_that_may_sign_gets_an_oidc_token(sim: SimGitHub) -> None:
    without = await run(sim, steps("run: test -z $ACTIONS_ID_TOKEN_REQUEST_URL"))
    assert without.conclusion == "success"
    found = await run(sim, "permissions: {id-token: write}\n" + steps(f"run: |\n          {TOKEN}"))
    assert found.conclusion == "success", log(found)
    token = log(found).rsplit('"value": "', 1)[1].split('"')[0]
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{sim.url}/.well-known/openid-configuration") as answer:
            about = await answer.json()
        async with session.get(about["jwks_uri"]) as answer:
            keys = jwt.PyJWKSet.from_dict(await answer.json())
    key = keys[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(
        token, key, algorithms=["RS256"], audience="ascend-ci", issuer=sim.url, leeway=30
    )
    assert claims["run_id"] == str(found.id)
    assert claims["workflow_ref"] == "octo/project/.github/workflows/job.yml@refs/heads/main"
    assert claims["repository_id"] == str(sim.state.repo().id)
    assert {type(claims[key]) for key in claims if key not in {"iat", "nbf", "exp"}} == {str}


async def test_closing_kills_what_runs() -> None:
    async with SimGitHub() as sim:
        sim.create_app()
        sim.create_repo("octo/project", {"a": "1"})
        sim.grant("mia", "write")
        sim.actions.runners.register("npu", 1)
        found = begin(sim, steps("run: echo pid $$; trap '' INT TERM; sleep 300"))
        await until(lambda: "\npid " in log(found))
        pid = int(log(found).rsplit("pid ", 1)[1].split()[0])
    assert not _alive(pid)
