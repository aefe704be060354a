"""The workflows as `init` installs them, executed for real, with a real submitter beside."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bot.adapters.clock import SystemClock
from bot.adapters.oidc import OidcIssuer
from bot.ports.oidc import Denial, Proof
from bot.sim import NewPull
from bot.submitter.backend import Limits
from bot.submitter.callers import Callers, digest_of
from bot.submitter.local import LocalBackend
from bot.submitter.web import Options, create_app
from tests.submitter.conftest import TOKEN
from tests.templates.site import ID, LABEL, SCRIPT, SIZES, Site, log, meeting, open_site, until

AUDIENCE = "ascend-ci-submitter"
MULTINODE = "octo/project/.github/workflows/ascend_multinode.yml@refs/heads/main"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture
def attacks() -> list[Callable[[], object]]:
    """Hold what is done when a commit is staged and its job is not yet submitted."""
    return []


@pytest.fixture
async def site(tmp_path: Path, attacks: list[Callable[[], object]]) -> AsyncIterator[Site]:
    @web.middleware
    async def between(request: web.Request, handler: Handler) -> web.StreamResponse:
        for attack in attacks if request.method == "POST" else ():
            attack()
        return await handler(request)

    work = {"ASCEND_CI_WORK_ROOT": str(tmp_path / "work"), "HOME": str(tmp_path)}
    backend = LocalBackend(tmp_path / "jobs", limits=Limits(grace_s=0.3), environ=work)
    issuer = _Issuer()
    callers = Callers(digest_of(TOKEN), issuer, frozenset({MULTINODE}))
    app = create_app(backend, Options(callers, stop_jobs_on_exit=True))
    app.middlewares.append(between)
    async with TestServer(app) as submitter:
        url = str(submitter.make_url("")).rstrip("/")
        async with open_site(tmp_path, url) as made, ClientSession() as http:
            issuer.is_real = OidcIssuer(http, made.github.url, AUDIENCE, SystemClock())
            yield made


class _Issuer:
    """The simulated GitHub's issuer, which the submitter needs before it listens."""

    is_real: OidcIssuer

    async def prove(self, token: str) -> Proof | Denial:
        return await self.is_real.prove(token)


async def test_a_workflow_needs_no_secret_where_the_submitter_takes_its_oidc_token(
    site: Site,
) -> None:
    site.github.state.repo().secrets.clear()
    run = await site.run("ascend_multinode.yml", "true\n", **SIZES, detach="false")
    assert run.conclusion == "failure"
    assert "HTTP 401" in log(run)
    site.github.state.repo().vars["SUBMITTER_AUDIENCE"] = AUDIENCE
    run = await site.run("ascend_multinode.yml", "true\n", **SIZES, detach="false")
    assert run.conclusion == "success", log(run)


@pytest.mark.parametrize(
    ("workflow", "inputs"),
    [
        ("ascend_multinode.yml", {**SIZES, "detach": "false"}),
        ("ascend_nightly.yml", {"job": "gspo-qwen3-8b"}),
    ],
)
async def test_where_the_apps_account_is_named_a_workflow_runs_nothing_for_anybody_else(
    site: Site, workflow: str, inputs: dict[str, str]
) -> None:
    run = await site.run(workflow, "echo trained\n", **inputs)
    assert run.conclusion == "success", log(run)
    assert "##[warning]Everybody with write may start this workflow" in log(run)
    app = site.github.create_app(None).bot
    assert app is not None
    site.github.state.repo().vars["ASCEND_CI_ACTOR"] = app.login
    for person in ("mia", "bob"):
        run = await site.run(workflow, "echo trained\n", site.github.user(person), **inputs)
        assert [(job.conclusion, job.log) for job in run.jobs] == [("skipped", [])]
        assert run.conclusion == "skipped"
    run = await site.run(workflow, "echo trained\n", app, **inputs)
    assert run.conclusion == "success", log(run)
    assert "trained" in log(run)
    assert "Everybody with write" not in log(run)


async def test_a_stranger_who_takes_the_concurrency_group_of_a_run_does_not_stop_it(
    site: Site,
) -> None:
    begun, go = site.folder / "begun", site.folder / "go"
    script = f"touch {begun}\nuntil [ -e {go} ]; do sleep 0.01; done\n"
    run = site.begin("ascend_nightly.yml", script, job="gspo-qwen3-8b")
    await until(begun.exists)
    thief = f"""
on: pull_request
concurrency: {{group: ascend-nightly-{ID}, cancel-in-progress: true}}
jobs: {{a: {{runs-on: {LABEL}, steps: [{{run: touch {go}}}]}}}}
"""
    files = {".github/workflows/ascend_nightly.yml": thief}
    pull = site.github.people.open_pull("bob", files, NewPull(fork=True))
    theirs = site.github.actions.native(pull, "ascend_nightly.yml")
    await site.github.engine.wait(theirs)
    await site.github.engine.wait(run)
    assert (theirs.conclusion, run.conclusion) == ("success", "success"), log(run)


async def test_a_detached_rayjob_is_announced_and_clears_up_itself(site: Site) -> None:
    go = site.folder / "go"
    script = f"until [ -e {go} ]; do sleep 0.01; done; pwd > {go}; touch {go}.done\n"
    run = await site.run("ascend_multinode.yml", script, **SIZES)
    assert run.conclusion == "success", log(run)
    ((path, body),) = site.announced
    assert path == f"/api/v1/runs/{ID}/rayjobs"
    assert f"ascend-ci: rayjob {body['job_id']}" in log(run)
    (staged,) = site.left()
    go.touch()
    await until(lambda: not site.left())
    assert go.read_text() == f"{site.folder}/work/ascend-ci-{staged.name}/work/project\n"


@pytest.mark.parametrize(("last", "conclusion"), [("true", "success"), ("exit 3", "failure")])
async def test_without_detaching_the_verdict_is_the_rayjobs(
    site: Site, last: str, conclusion: str
) -> None:
    script = f"echo $NNODES x $NPUS_PER_NODE\n{last}\n"
    run = await site.run("ascend_multinode.yml", script, **SIZES, detach="false")
    assert run.conclusion == conclusion, log(run)
    assert run.title == f"Ascend multinode {ID}"
    assert "2 x 4" in log(run)
    assert site.left() == []


async def test_without_a_bot_the_job_stays_with_its_rayjob(site: Site) -> None:
    del site.github.state.repo().vars["ASCEND_CI_URL"]
    run = await site.run("ascend_multinode.yml", "echo trained\n", **SIZES)
    assert run.conclusion == "success"
    assert "ascend-ci: final SUCCEEDED" in log(run)


async def test_a_cancelled_job_deletes_its_rayjob_and_its_folder(site: Site) -> None:
    script = f"touch {site.folder}/begun; sleep 60\n"
    run = site.begin("ascend_multinode.yml", script, **SIZES, detach="false")
    await until((site.folder / "begun").exists)
    site.github.actions.cancel(run)
    await site.github.engine.wait(run)
    assert run.conclusion == "cancelled"
    assert "no RayJob of this attempt is left" in log(run)
    assert site.left() == []


async def test_a_script_that_the_commit_lacks_submits_nothing(site: Site) -> None:
    run = await site.run("ascend_multinode.yml", "true\n", **SIZES | {"script": "none.sh"})
    assert run.conclusion == "failure"
    assert "the commit has no script 'none.sh'" in log(run)
    assert "rayjob" not in log(run)
    assert site.left() == []


@pytest.mark.parametrize(("last", "conclusion"), [("true", "success"), ("exit 3", "failure")])
async def test_a_nightly_runs_the_commit_and_holds_nothing(
    site: Site, last: str, conclusion: str
) -> None:
    script = f"echo here: $(git rev-parse HEAD)\nenv | grep -c ID_TOKEN\n{last}\n"
    run = await site.run("ascend_nightly.yml", script, job="gspo-qwen3-8b")
    assert run.conclusion == conclusion, log(run)
    assert run.title == f"Ascend nightly gspo-qwen3-8b {ID}"
    assert f"here: {run.inputs['sha']}\n0\n" in log(run)


async def test_two_runs_at_once_see_their_own_commits(site: Site) -> None:
    runs = []
    for name in ("one", "two"):
        script = f"cat marker\n{meeting(site.folder, name)}cat marker\n"
        files = {"marker": f"of {name}\n"}
        more = {**SIZES, "detach": "false", "ascend_ci": f"{ID[:-3]}{name.upper()}"}
        runs.append(site.begin("ascend_multinode.yml", script, files, **more))
    await asyncio.gather(*(site.github.engine.wait(run) for run in runs))
    for name, run in zip(("one", "two"), runs, strict=True):
        assert run.conclusion == "success", log(run)
        assert log(run).count(f"of {name}\n") == 2
    assert "of two" not in log(runs[0])
    assert site.left() == []


async def test_a_pull_request_that_replaces_what_submits_changes_nothing_of_it(site: Site) -> None:
    evil = f"touch {site.folder}/evil\n"
    program = f"open({str(site.folder / 'evil')!r}, 'w')\n"
    files = {
        path: evil if path.endswith(".sh") else program
        for path in (
            ".github/scripts/ascend_ci_submit.py",
            ".github/scripts/ascend_ci_stage.py",
            ".github/scripts/ascend_ci_launch.sh",
            ".github/scripts/ascend_ci_node.py",
            ".github/scripts/ascend_ci_nodes.py",
            ".github/scripts/ascend_ci_environment.py",
        )
    }
    files[".github/workflows/ascend_multinode.yml"] = "name: evil\non: workflow_dispatch\n"
    run = site.begin("ascend_multinode.yml", "echo trained\n", files, **SIZES, detach="false")
    await site.github.engine.wait(run)
    assert run.conclusion == "success", log(run)
    assert "trained" in log(run)
    assert not (site.folder / "evil").exists()


@pytest.mark.parametrize(
    ("file", "said"),
    [(f"repo/{SCRIPT}", "than were submitted"), ("ascend_ci_launch.sh", "was changed after")],
)
async def test_what_somebody_changes_between_staging_and_launch_does_not_run(
    site: Site, attacks: list[Callable[[], object]], file: str, said: str
) -> None:
    evil = site.folder / "evil"

    def attack() -> None:
        (staged,) = site.left()
        (staged / file).write_text(f"touch {evil}\n")

    attacks.append(attack)
    run = await site.run("ascend_multinode.yml", "echo trained\n", **SIZES, detach="false")
    assert not evil.exists()
    assert run.conclusion == "failure"
    assert said in log(run)
    assert site.left() == []


async def test_somebody_who_occupies_a_runs_folder_stops_no_run(site: Site) -> None:
    run = site.begin("ascend_multinode.yml", "echo trained\n", **SIZES, detach="false")
    for name in (f"{run.id}-1", f"{run.id}-1.part"):
        (site.shared / name / "occupied").mkdir(parents=True)
    await site.github.engine.wait(run)
    assert run.conclusion == "success", log(run)
