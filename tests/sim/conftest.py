"""A simulated GitHub with one repository, the app installed, and a client for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import aiohttp
import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.sim import ManualClock, SimGitHub, SimOptions
from bot.sim.deliveries import sign
from tests.github.validator import Validator

REPO = "/repos/octo/project"
WORKFLOW = """
name: Two nodes
run-name: Two nodes ${{ inputs.ascend_ci }}
on:
  workflow_dispatch:
    inputs:
      ascend_ci: {required: true}
      sha: {required: true}
      level: {type: choice, options: [low, high], default: low}
jobs:
  train:
    runs-on: npu
    steps:
      - run: echo ${{ inputs.sha }}
"""
FILES = {
    "README.md": "hello\n",
    "docs/old name.md": "one\ntwo\nthree\nfour\n",
    ".github/workflows/e2e.yml": WORKFLOW,
    ".github/workflows/push.yml": "on: push\njobs:\n  a:\n    runs-on: npu\n"
    "    steps: [{run: 'true'}]\n",
}


@dataclass
class Reply:
    """An answer: status, headers, and the body parsed when it is JSON."""

    status: int
    headers: Any
    data: Any


@cache
def _loaded(pem: str) -> rsa.RSAPrivateKey:
    """Return a key; to read one takes longer than the rest of a test."""
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


@dataclass
class Client:
    """Calls the simulation as the app's installation does."""

    github: SimGitHub
    session: aiohttp.ClientSession
    token: str = ""
    version: str = "2026-03-10"

    def jwt(self, **changed: Any) -> str:
        """Sign an app JWT."""
        app = self.github.state.the_app()
        now = int(self.github.state.clock.now().timestamp())
        claims = {"iat": now - 60, "exp": now + 540, "iss": str(app.id)} | changed
        assert app.private_key is not None
        return jwt.encode(claims, _loaded(app.private_key), algorithm="RS256")

    async def sign_in(self, **body: Any) -> None:
        """Fetch an installation token."""
        number = next(iter(self.github.state.installations))
        path = f"/app/installations/{number}/access_tokens"
        reply = await self("POST", path, body, token=self.jwt())
        assert reply.status == 201
        self.token = reply.data["token"]

    async def __call__(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> Reply:
        """Make one call; redirects are not followed."""
        sent = {"Authorization": f"bearer {token or self.token}"}
        sent |= {"X-GitHub-Api-Version": self.version}
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        async with self.session.request(
            method, self.github.url + path, json=body, headers=sent, allow_redirects=False
        ) as answer:
            raw = await answer.read()
            is_json = "json" in answer.content_type and not answer.content_type.endswith("raw+json")
            data = await answer.json(content_type=None) if raw and is_json else raw
            return Reply(answer.status, answer.headers, data)


@dataclass
class Inbox:
    """What the app's webhook received, signatures checked."""

    url: str = ""
    got: list[tuple[str, str | None, Any]] = field(default_factory=list)
    guids: list[str] = field(default_factory=list)
    answer: int = 202

    async def take(self, request: web.Request) -> web.Response:
        """Store a delivery."""
        raw = await request.read()
        assert request.headers["X-Hub-Signature-256"] == sign("sim-webhook-secret", raw)
        data = await request.json()
        self.guids.append(request.headers["X-GitHub-Delivery"])
        self.got.append((request.headers["X-GitHub-Event"], data.get("action"), data))
        return web.Response(status=self.answer)

    def names(self) -> list[str]:
        """Answer `event.action` of each."""
        return [f"{event}.{action}" if action else event for event, action, _ in self.got]

    def last(self, name: str) -> Any:
        """Answer the newest body of that name."""
        return next(
            data for event, action, data in reversed(self.got) if name == f"{event}.{action}"
        )


@pytest.fixture
def clock() -> ManualClock:
    """Time that the test moves."""
    return ManualClock()


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    """Serve the webhook of the app under test."""
    box = Inbox()
    app = web.Application(client_max_size=2**25)
    app.router.add_post("/webhook", box.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    box.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    yield box
    await runner.cleanup()


def scene(github: SimGitHub, webhook_url: str | None) -> None:
    """Set up a repository with the app installed and a few people."""
    github.create_app(webhook_url)
    repo = github.create_repo("octo/project", FILES)
    github.install("octo")
    for login, level in (("mia", "maintain"), ("wes", "write"), ("tia", "triage")):
        github.grant(login, level, repo)
    github.user("bob")


@pytest.fixture
async def github(clock: ManualClock, inbox: Inbox) -> AsyncIterator[SimGitHub]:
    """Run the scripted simulation; whatever it saw must satisfy GitHub's description."""
    async with SimGitHub(clock, SimOptions(scripted=True)) as sim:
        sim.validate(Validator())
        scene(sim, inbox.url)
        yield sim
        assert sim.all_problems() == []


@pytest.fixture
async def api(github: SimGitHub) -> AsyncIterator[Client]:
    """Sign in as the installation."""
    async with aiohttp.ClientSession() as session:
        client = Client(github, session)
        await client.sign_in()
        github.calls.clear()
        yield client


@pytest.fixture
def check_body() -> Callable[..., dict[str, Any]]:
    """Build the body of a check run."""

    def build(sha: str, **more: Any) -> dict[str, Any]:
        return {"name": "Ascend / e2e", "head_sha": sha, **more}

    return build
