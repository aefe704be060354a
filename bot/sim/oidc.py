"""The OIDC issuer of Actions: discovery, keys, and tokens for jobs with `id-token: write`."""

from __future__ import annotations

import uuid
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.sim.auth import bearer
from bot.sim.model import Job
from bot.sim.state import State

KEY_ID = "sim-key-1"
LIFE_S = 300


class Oidc:
    """Signs tokens. The key is made when it is first needed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._key: rsa.RSAPrivateKey | None = None
        self._count = 0

    def key(self) -> rsa.RSAPrivateKey:
        """Return the signing key."""
        if self._key is None:
            self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return self._key

    def keys(self) -> dict[str, Any]:
        """Return the JWKS."""
        jwk = jwt.algorithms.RSAAlgorithm.to_jwk(self.key().public_key(), as_dict=True)
        return {"keys": [jwk | {"kid": KEY_ID, "alg": "RS256", "use": "sig"}]}

    def discovery(self) -> dict[str, Any]:
        """Return the discovery document."""
        return {
            "issuer": self._state.url,
            "jwks_uri": f"{self._state.url}/.well-known/jwks",
            "subject_types_supported": ["public", "pairwise"],
            "response_types_supported": ["id_token"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid"],
        }

    def claims(self, job: Job, audience: str | None = None) -> dict[str, Any]:
        """Return the claims of a job's token. All are text, except the times."""
        run, repo = job.run, job.run.repo
        now = int(self._state.clock.now().timestamp())
        ref = run.ref if run.ref.startswith("refs/") else f"refs/heads/{run.ref}"
        workflow_ref = f"{repo.full_name}/{run.workflow.path}@{ref}"
        owner, name = f"{repo.owner.login}@{repo.owner.id}", f"{repo.name}@{repo.id}"
        self._count += 1
        return {
            "jti": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job.id}/{self._count}")),
            "sub": f"repo:{owner}/{name}:ref:{ref}",
            "aud": audience or f"{self._state.url}/{repo.owner.login}",
            "iss": self._state.url,
            "ref": ref,
            "sha": run.head_sha,
            "repository": repo.full_name,
            "repository_id": str(repo.id),
            "repository_owner": repo.owner.login,
            "repository_owner_id": str(repo.owner.id),
            "repository_visibility": "private" if repo.private else "public",
            "run_id": str(run.id),
            "run_number": str(run.number),
            "run_attempt": str(job.attempt),
            "actor": run.triggering_actor.login,
            "actor_id": str(run.triggering_actor.id),
            "workflow": run.workflow.name,
            "head_ref": run.pull.head_ref if run.pull else "",
            "base_ref": run.pull.base_ref if run.pull else "",
            "event_name": run.event,
            "ref_protected": "false",
            "ref_type": "branch",
            "workflow_ref": workflow_ref,
            "workflow_sha": run.head_sha,
            "job_workflow_ref": workflow_ref,
            "job_workflow_sha": run.head_sha,
            "check_run_id": str(job.check.id) if job.check else "",
            "runner_environment": "self-hosted",
            "iat": now,
            "nbf": now - 60,
            "exp": now + LIFE_S,
        }

    def token(self, job: Job, audience: str | None = None, **changed: Any) -> str:
        """Sign a token. A test can forge one by `changed` claims."""
        claims = self.claims(job, audience) | changed
        return jwt.encode(claims, self.key(), algorithm="RS256", headers={"kid": KEY_ID})


def add_routes(app: web.Application, oidc: Oidc, state: State) -> None:
    """Serve the issuer."""

    async def discovery(_: web.Request) -> web.Response:
        return web.json_response(oidc.discovery())

    async def keys(_: web.Request) -> web.Response:
        return web.json_response(oidc.keys())

    async def token(request: web.Request) -> web.Response:
        job = state.job(int(request.match_info["job"]))
        secret = bearer(request.headers.get("Authorization"))
        if job is None or not job.oidc_secret or job.oidc_secret != secret:
            return web.json_response({"message": "Unauthorized"}, status=401)
        value = oidc.token(job, request.query.get("audience"))
        return web.json_response({"count": len(value), "value": value})

    app.router.add_get("/.well-known/openid-configuration", discovery)
    app.router.add_get("/.well-known/jwks", keys)
    app.router.add_get(r"/_oidc/token/{job:\d+}", token)
