"""RayJobs announced by their workflow, proven by tokens of the simulated GitHub's own issuer."""

from dataclasses import dataclass
from typing import Any

import aiohttp
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import func, select

from bot.core.model.rayjobs import RayJob
from bot.sim.auth import KEY_ID
from bot.sim.model import Run
from bot.store.tables import tokens
from tests.e2e.cluster import GOOD, JOB, RUNNING, Cluster
from tests.e2e.native_suites import FILE, NATIVE_POLICY, check, natives, pushed, started
from tests.e2e.world import World
from tests.submit.conftest import run as run_helper
from tests.submitter.faulty_submitter import Watch


@dataclass(frozen=True)
class Said:
    status: int
    data: dict[str, str]


def bot_url(world: World) -> str:
    return str(world.github.state.the_app().webhook_url).removesuffix("/webhook")


def dispatch_id(run: Run) -> str:
    return str(run.inputs["ascend_ci"])


def token(world: World, run: Run, **changed: Any) -> str:
    """Return what the run's newest job gets from the issuer; ``changed`` claims are forged."""
    return world.github.oidc.token(run.of_attempt(run.attempt)[-1], "ascend-ci", **changed)


async def announce(world: World, path_id: str, proof: str, job_id: str = JOB) -> Said:
    """Post as the helper does; without an id where GitHub has started the workflow."""
    of_run = f"runs/{path_id}/" if path_id else ""
    url = f"{bot_url(world)}/api/v1/{of_run}rayjobs"
    headers = {"Authorization": f"Bearer {proof}"} if proof else {}
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, json={"job_id": job_id}, headers=headers) as answer,
    ):
        return Said(answer.status, await answer.json())


async def begin(world: World, path: str) -> Run:
    """Open one more pull request and let its workflow start."""
    world.open_pull(path=path)
    await world.settle()
    run = world.github.runs()[-1]
    world.github.actions.start(run)
    await world.settle()
    return run


async def rayjobs(world: World, dispatched: str) -> tuple[RayJob, ...]:
    run = await world.bot.parts.store.runs.of_dispatch(dispatched)
    assert run is not None
    story = await world.bot.parts.store.runs.story(run.id)
    assert story is not None
    return story.rayjobs


async def tokens_kept(world: World) -> int:
    query = select(func.count()).select_from(tokens)
    return int(await world.bot.parts.store._db.read(lambda conn: conn.scalar(query)))


def signed(world: World, run: Run, key: Any, algorithm: str, kid: str = KEY_ID) -> str:
    """Return a token with the right claims that somebody else made."""
    claims = world.github.oidc.claims(run.jobs[-1], "ascend-ci")
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})


async def test_nobody_but_the_dispatched_workflow_names_its_rayjob(cluster: Cluster) -> None:
    world = cluster.world
    _, run = await cluster.begin()
    other = await begin(world, "multi/b.py")
    await cluster.finish(other)  # the label has two slots
    unit = await begin(world, "verl/b.py")
    ours, theirs = dispatch_id(run), dispatch_id(other)
    now = int(world.clock.now().timestamp())
    ref = "octo/project/.github/workflows/multinode.yml@refs/heads/main"
    forged: list[tuple[dict[str, Any], int, str]] = [
        ({"repository_id": "999"}, 403, "another repository"),
        ({"run_id": str(other.id)}, 403, "another run of this workflow"),
        ({"run_id": "1"}, 403, "another run of this workflow"),
        ({"run_attempt": "0"}, 403, "an attempt before"),
        ({"workflow_ref": ref.replace("multinode", "unit")}, 403, "not of the workflow"),
        ({"workflow_ref": ref.replace("main", "evil")}, 403, "not of the workflow"),
        ({"workflow_ref": "evil/" + ref}, 403, "not of the workflow"),
        ({"repository": "evil/project"}, 403, "not of the workflow"),
        ({"event_name": "pull_request"}, 403, "nobody dispatched"),
        ({"aud": "https://github.com/octo"}, 403, "audience"),
        ({"iss": "https://token.actions.githubusercontent.com"}, 403, "issuer"),
        ({"iat": now - 500, "exp": now - 200}, 403, "expired"),
        ({"nbf": now + 200}, 403, "clocks differ"),
        ({"jti": None}, 403, "lacks the claim jti"),
        ({"run_attempt": "2"}, 409, "not known here yet"),
    ]
    cases = [(ours, token(world, run, **claims), code, why) for claims, code, why in forged]
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    cases += [
        (ours, "", 401, "OIDC token"),
        (ours, "rubbish", 403, "no JSON web token"),
        (ours, signed(world, run, "", "none"), 403, "RS256"),
        (ours, signed(world, run, "k" * 64, "HS256"), 403, "RS256"),
        (ours, signed(world, run, stranger, "RS256"), 403, "signature"),
        (ours, signed(world, run, stranger, "RS256", "k-2"), 403, "does not publish"),
        (theirs, token(world, run), 403, "another run of this workflow"),
        ("01NOBODY", token(world, run), 403, "nothing was dispatched"),
        (dispatch_id(unit), token(world, unit), 403, "rayjob: true"),
        (dispatch_id(unit), token(world, run), 403, "not of the workflow"),
    ]
    world.github.calls.clear()
    for path_id, proof, status, words in cases:
        said = await announce(world, path_id, proof)
        assert said.status == status, (words, said)
        assert words in said.data["error"], said
        assert not proof or proof not in said.data["error"]
    assert [await rayjobs(world, path_id) for path_id in (ours, theirs)] == [(), ()]
    assert world.github.calls.by_route().total() == 0


async def test_an_announced_rayjob_is_followed_at_once_and_for_no_call(cluster: Cluster) -> None:
    world = cluster.world
    pull, run = await cluster.begin()
    ours = dispatch_id(run)
    cluster.server.calls.clear()
    cluster.add(run, GOOD, state="RUNNING", watches=[Watch(events=3, end="hang"), Watch()])
    proof = token(world, run)
    world.github.calls.clear()
    assert await announce(world, ours, proof) == Said(202, {"result": "accepted"})
    assert world.github.calls.by_route().total() == 0
    await world.until(lambda: bool(cluster.server.named("watch")))
    assert not [call for call in cluster.server.named("list") if str(run.id) in call.path]
    [job] = await rayjobs(world, ours)
    assert (job.seen, job.confirmed) == ("announcement", True)
    known = Said(200, {"result": "known"})
    assert await announce(world, ours, proof) == known, "the answer was lost"
    assert await announce(world, ours, token(world, run)) == known, "the helper asks anew"
    replayed = await announce(world, ours, proof, "rj-2")
    assert (replayed.status, replayed.data) == (
        403,
        {"error": "the token has proved another RayJob: ask for a new one"},
    )
    cluster.server.release.set()
    await cluster.finish(run)
    assert (await cluster.ended(pull)).conclusion == "success"
    assert [item.job_id for item in await rayjobs(world, ours)] == [JOB]
    assert (await announce(world, ours, token(world, run), "rj-3")).status == 410
    assert await announce(world, ours, proof) == known
    assert await tokens_kept(world) == 1
    await world.clock.advance(3600)
    await world.sweep()
    assert await tokens_kept(world) == 0


async def test_an_announcement_before_our_own_dispatch_answer_waits_for_it(
    cluster: Cluster,
) -> None:
    world = cluster.world
    world.github.fault("lost", "POST", "*/dispatches")
    _, run = await cluster.begin()
    proof = token(world, run)
    said = await announce(world, dispatch_id(run), proof)
    assert (said.status, said.data["error"].split(":")[0]) == (
        409,
        "this run attempt is not known here yet",
    )
    await world.pass_time(10)  # the search finds it
    assert (await announce(world, dispatch_id(run), proof)).status == 202


async def test_a_rerun_speaks_of_the_id_it_was_first_dispatched_with(cluster: Cluster) -> None:
    world = cluster.world
    pull, run = await cluster.begin()
    ours = dispatch_id(run)
    await cluster.finish(run, "failure", "ValueError: of the change\n")
    await cluster.ended(pull)
    world.github.people.rerun_actions(run, "maintainer")
    await world.settle()
    world.github.actions.start(run)
    await world.settle()
    cluster.add(run, GOOD, state="SUCCEEDED", attempt="2")
    assert (await announce(world, ours, token(world, run))).status == 202
    assert await rayjobs(world, ours) == ()
    await cluster.finish(run)
    assert (await cluster.ended(pull)).conclusion == "success"


async def test_an_announced_rayjob_of_another_run_makes_nothing_green(cluster: Cluster) -> None:
    world = cluster.world
    pull, run = await cluster.begin()
    cluster.server.add(GOOD, JOB, run_id="12345", state="SUCCEEDED")
    assert (await announce(world, dispatch_id(run), token(world, run))).status == 202
    await cluster.finish(run)
    await world.pass_time(300)
    check = cluster.check(pull)
    assert check.conclusion != "success"
    [job] = await rayjobs(world, dispatch_id(run))
    assert (job.confirmed, job.final) == (False, None)


async def test_a_workflow_that_github_started_announces_its_rayjob_without_an_id(
    cluster: Cluster,
) -> None:
    world = cluster.world
    policy = NATIVE_POLICY.replace("start: native\n", "start: native\n    rayjob: true\n", 1)
    await natives(world, policy)
    bots = await begin(world, "multi/b.py")
    pull = pushed(world, path="npu/ray.py")
    await world.settle()
    run = world.github.actions.native(pull, FILE)
    world.github.actions.start(run)
    early = await announce(world, "", token(world, run))
    await world.settle()
    other = await started(world, pushed(world, path="other/a.py"), "npu_other.yml")
    assert early.status == 409
    for one, changes, code, why in (
        (run, {"repository_id": "999"}, 403, "not known here"),
        (run, {"run_id": "1"}, 409, "not known here yet"),
        (run, {"workflow_ref": f"octo/project/.github/workflows/{FILE}x@main"}, 403, "workflow"),
        (other, {}, 403, "`rayjob: true`"),
        (bots, {}, 403, "with its id"),
    ):
        said = await announce(world, "", token(world, one, **changes))
        assert (said.status, why in said.data["error"]) == (code, True), why
    cluster.add(run, GOOD, state="SUCCEEDED")
    assert (await announce(world, "", token(world, run))).status == 202
    await cluster.finish(run)
    await world.until(lambda: check(world, pull).status == "completed", every_s=15)
    assert check(world, pull).conclusion == "success"


async def test_the_helper_of_the_workflows_announces_what_it_submitted(cluster: Cluster) -> None:
    world = cluster.world
    pull, run = await cluster.begin()
    job = run.jobs[-1]
    job.oidc_secret = "proof"
    cluster.server.next_events = [RUNNING, *GOOD[1:]]
    environ = {
        "GITHUB_RUN_ID": str(run.id),
        "GITHUB_RUN_ATTEMPT": "1",
        "ASCEND_CI_DETACH": "true",
        "ASCEND_CI_URL": bot_url(world),
        "ASCEND_CI_RUN": dispatch_id(run),
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{world.github.url}/_oidc/token/{job.id}?api-version=2.0",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "proof",
    }
    done = await run_helper(cluster.server.url, **environ)
    assert (done.code, done.said) == (0, "")
    [announced] = await rayjobs(world, dispatch_id(run))
    assert (announced.seen, [announced.job_id]) == ("announcement", list(cluster.server.jobs))
    await cluster.finish(run)
    assert (await cluster.ended(pull)).conclusion == "success"
