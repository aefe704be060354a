"""Every named call against the simulated GitHub, which disagrees with wishful code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import aiohttp
import pytest

from bot.adapters.github import GitHubClient
from bot.adapters.github.outages import Outages
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.model.views import Annotation, Button, CheckWrite
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile
from bot.ports.errors import Lost, Permanent, Transient
from bot.sim import ManualClock, NewPull, SimGitHub, SimOptions
from tests.github.validator import Validator

WORKFLOW = """
name: e2e
run-name: suite ${{ inputs.ascend_ci }}
on:
  workflow_dispatch:
    inputs:
      ascend_ci: {type: string}
      sha: {type: string}
jobs:
  test:
    runs-on: linux-aarch64-a3-8
    steps:
      - name: run
        run: echo hello
"""
FILES = {".github/workflows/e2e.yml": WORKFLOW, "a.py": "a = 1\n", "docs/b.md": "b\n"}
# Where the description is narrower than GitHub: `created` takes a range (`>=…`) of its search
# syntax, and a path of contents may hold slashes.
LOOSE = (
    "is not a 'date-time'",
    "Path not found for https://api.github.com/repos/acme/verl/contents",
)
INPUTS = {"ascend_ci": "01ABC", "sha": "a" * 40}


@pytest.fixture
async def sim() -> AsyncIterator[SimGitHub]:
    sim = SimGitHub(ManualClock(), SimOptions(scripted=True, lag_s=0))
    async with sim:
        sim.create_app()
        sim.create_repo("acme/verl", FILES)
        sim.install("acme")
        for login in ("ann", "eve"):
            sim.user(login)
        sim.validate(Validator(answers=False))
        yield sim
        # Every request that was accepted is one that GitHub describes.
        assert [one for one in sim.problems if not any(text in one for text in LOOSE)] == []


@pytest.fixture
async def client(sim: SimGitHub) -> AsyncIterator[GitHubClient]:
    app = sim.state.the_app()
    assert app.private_key is not None
    async with aiohttp.ClientSession() as session:
        yield GitHubClient(
            session,
            app_id=str(app.id),
            private_key=app.private_key,
            api_url=sim.url,
            api_version="2026-03-10",
            clock=sim.state.clock,
            outages=Outages(sim.state.clock),
        )


@pytest.fixture
def repo(sim: SimGitHub) -> Repo:
    return Repo(RepoId(sim.state.repo(None).id), "acme", "verl", "main")


async def test_a_pull_request_of_a_fork_and_its_files(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    made = sim.people.open_pull("ann", {"a.py": "a = 2\n", "c.py": "c\n"}, NewPull(fork=True))
    pull = await client.pull(repo, made.number)
    assert (pull.author.login, pull.from_fork, pull.changed_files) == ("ann", True, 2)
    assert await client.open_pulls(repo) != ()

    files = await client.pull_files(repo, made.number, pull.changed_files)
    assert set(files.files) == {
        ChangedFile("a.py", status="modified"),
        ChangedFile("c.py", status="added"),
    }

    sim.people.delete_fork(made.number)
    assert (await client.pull(repo, made.number)).head_repo_id is None


async def test_a_commit_is_of_who_pushed_it_first(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    made = sim.people.open_pull("ann", {"a.py": "a = 2\n"}, NewPull(fork=True, pusher="eve"))
    first = made.head_sha
    second = sim.people.push(made, {"a.py": "a = 3\n"})
    sim.people.force_push(made, first, by="ann")
    pull = await client.pull(repo, made.number)
    assert (await client.pusher(repo, pull, Sha(first))).login == "eve"
    assert (await client.pusher(repo, pull, Sha(second))).login == "ann"
    assert not await client.pusher(repo, pull, Sha("f" * 40))
    sim.people.delete_fork(made)
    assert not await client.pusher(repo, pull, Sha(first))


async def test_files_between_two_commits(sim: SimGitHub, client: GitHubClient, repo: Repo) -> None:
    made = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    found = await client.compare_files(repo, "main", made.head_sha)
    assert [item.path for item in found.files] == ["a.py"]


async def test_a_file_at_a_branch(client: GitHubClient, repo: Repo) -> None:
    found = await client.file(repo, "docs/b.md", "main")
    assert found is not None
    assert found.text == b"b\n"
    assert len(found.blob_sha) == 40
    assert await client.file(repo, "docs", "main") is None
    assert await client.file(repo, "missing.yml", "main") is None


async def test_levels_and_teams(sim: SimGitHub, client: GitHubClient, repo: Repo) -> None:
    top, tri = (
        Account(user.id, user.login)
        for user in (sim.grant("max", "maintain"), sim.grant("tri", "triage"))
    )
    sim.team("acme", "ci", {"max": "active", "tri": "pending"})
    assert await client.permission(repo, top) is Level.MAINTAIN
    assert await client.permission(repo, tri) is Level.TRIAGE
    assert await client.permission(repo, Account(1, "nobody-at-all")) in (Level.NONE, Level.READ)
    assert await client.in_team(repo, "ci", top)
    assert not await client.in_team(repo, "ci", tri)


async def test_a_check_run_from_creation_to_its_end(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"}, NewPull(fork=True))
    sha = Sha(pull.head_sha)
    queued = CheckWrite("Ascend / a", sha, "x1", "queued", "queued", "it waits")
    lines = tuple(Annotation("a.py", number + 1, "broken", "E1") for number in range(70))
    done = CheckWrite(
        "Ascend / a",
        sha,
        "x1",
        "completed",
        "failed",
        "昇" * 30_000,
        conclusion="failure",
        text="é" * 60_000,
        annotations=lines,
        buttons=(Button("rerun", "Re-run", "Run it again"),),
    )
    github_id = await client.create_check(repo, queued)
    await client.update_check(repo, github_id, done)

    (run,) = sim.check_runs(sha)
    assert (run.id, run.status, run.conclusion) == (github_id, "completed", "failure")
    assert len(run.annotations) == 70
    assert await client.find_check(repo, sha, "Ascend / a", "x1") == github_id
    assert await client.find_check(repo, sha, "Ascend / a", "x2") is None


async def test_an_answer_lost_after_the_deed_is_found_by_our_id(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    sha = Sha(pull.head_sha)
    sim.fault("lost", "POST", "*/check-runs")
    with pytest.raises(Lost):
        await client.create_check(repo, CheckWrite("n", sha, "x1", "queued", "t", "s"))
    assert len(sim.check_runs(sha)) == 1
    assert await client.find_check(repo, sha, "n", "x1") == sim.check_runs(sha)[0].id

    sim.fault("lost", "POST", "*/dispatches")
    since = sim.state.clock.now()
    with pytest.raises(Lost):
        await client.dispatch(repo, "e2e.yml", "main", INPUTS)
    (run,) = await client.runs_of_workflow(repo, "e2e.yml", since)
    assert run.display_title == "suite 01ABC"


async def test_a_run_from_dispatch_to_its_log(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    since = sim.state.clock.now() - timedelta(minutes=1)
    started = await client.dispatch(repo, "e2e.yml", "main", INPUTS)
    assert started is not None
    event, later = "workflow_dispatch", since + timedelta(hours=1)
    [[listed]] = [page async for page in client.started_runs(repo, event, since)]
    assert (listed.id, listed.display_title) == (started.id, "suite 01ABC")
    for span, expected in (((later,), []), ((since, since), []), ((since, later), [listed])):
        assert [page async for page in client.started_runs(repo, event, *span)] == [expected]

    (job,) = await client.jobs(repo, started.id, 1)
    assert (job.status, job.runner, job.labels) == ("queued", "", ("linux-aarch64-a3-8",))
    with pytest.raises(Transient):
        [chunk async for chunk in client.job_log(repo, job.id)]

    (run,) = sim.runs()
    sim.actions.finish(run, "failure", log="one\ntwo")
    found = await client.actions_run(repo, started.id)
    assert (found.status, found.conclusion, found.attempt) == ("completed", "failure", 1)
    text = b"".join([chunk async for chunk in client.job_log(repo, job.id)])
    assert b"two" in text

    assert await client.cancel(repo, started.id) is False
    await client.rerun(repo, started.id, failed_only=True)
    assert (await client.actions_run(repo, started.id)).attempt == 2
    assert await client.cancel(repo, started.id) is True


async def test_a_workflow_refuses_in_githubs_words(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    with pytest.raises(Permanent) as missing:
        await client.dispatch(repo, "none.yml", "main", {})
    with pytest.raises(Permanent, match="No ref found") as ref:
        await client.dispatch(repo, "e2e.yml", "a" * 40, INPUTS)
    with pytest.raises(Permanent, match="Unexpected inputs") as unexpected:
        await client.dispatch(repo, "e2e.yml", "main", {"other": "1"})
    found = (missing.value.status, ref.value.status, unexpected.value.status)
    assert found == (404, 422, 422)


async def test_an_older_api_version_does_not_tell_the_run(sim: SimGitHub, repo: Repo) -> None:
    app = sim.state.the_app()
    assert app.private_key is not None
    async with aiohttp.ClientSession() as session:
        client = GitHubClient(
            session,
            app_id=f"Iv1.{app.id:016x}",
            private_key=app.private_key,
            api_url=sim.url + "/",
            api_version="2022-11-28",
            clock=sim.state.clock,
            outages=Outages(sim.state.clock),
        )
        assert await client.dispatch(repo, "e2e.yml", "main", INPUTS) is None


async def test_a_comment_is_posted_found_edited_and_answered(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    since = sim.state.clock.now()
    theirs = sim.people.comment(pull, "eve", "<!-- reply 1 -->")
    await client.react(repo, theirs.id, "eyes")
    ours = await client.comment(repo, pull.number, "hello <!-- reply 1 -->")
    assert await client.find_comment(repo, pull.number, "<!-- reply 1 -->", since) == ours
    assert await client.edit_comment(repo, ours, "bye") is True
    assert sim.comments(pull)[-1] == "bye"
    assert await client.edit_comment(repo, 1, "gone") is False


async def test_an_expired_token_is_renewed_on_the_way(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    await client.pull(repo, pull.number)
    sim.expire_tokens()
    assert await client.dispatch(repo, "e2e.yml", "main", INPUTS) is not None
    assert len(sim.runs()) == 1


async def test_what_did_not_change_costs_no_quota(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    first = await client.pull(repo, pull.number)
    assert await client.pull(repo, pull.number) == first
    assert [call.status for call in sim.calls if call.path.endswith("/pulls/1")] == [200, 304]


@pytest.mark.parametrize("kind", ["rate_limit", "429", "secondary"])
async def test_a_limit_holds_everything_back_until_it_is_over(
    sim: SimGitHub, client: GitHubClient, repo: Repo, kind: str
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    await client.pull(repo, pull.number)
    sim.fault(kind, "GET")
    with pytest.raises(Transient) as caught:
        await client.pull(repo, pull.number)
    wait_s = caught.value.retry_after_s
    assert wait_s is not None
    asked = len(sim.calls)
    with pytest.raises(Transient):
        await client.cancel(repo, 1)
    assert len(sim.calls) == asked

    clock = sim.state.clock
    assert isinstance(clock, ManualClock)
    await clock.advance(wait_s)
    assert (await client.pull(repo, pull.number)).number == pull.number


async def test_a_renamed_repository_is_followed(
    sim: SimGitHub, client: GitHubClient, repo: Repo
) -> None:
    pull = sim.people.open_pull("ann", {"a.py": "a = 2\n"})
    sim.rename_repo("verl2", "ann")
    new = Repo(repo.id, "acme", "verl2", "main")
    assert (await client.pull(new, pull.number)).number == pull.number
    now = replace(repo, name="verl2", public=True)
    assert await client.repo_now(repo) == now, "nothing has its old name"
    sim.create_repo("acme/verl", {"README.md": "another"})
    assert await client.repo_now(repo) == now
    other = replace(repo, id=RepoId(1))
    assert await client.repo_now(other) is None
    with pytest.raises(Permanent):
        await client.repo_now(replace(other, name="nothing"))
