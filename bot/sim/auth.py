"""Who calls: the app by its JWT, an installation by its token; and the OIDC issuer of Actions."""

import secrets
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.sim.errors import GitHubError, refuse
from bot.sim.model import App, Installation, Job, Repo, State, Token
from bot.sim.shapes import run_context

TOKEN_LIFE = timedelta(hours=1)
JWT_LIFE_S = 600
RANKS = {"read": 1, "write": 2, "admin": 3}


@cache
def _key(_of: str) -> rsa.RSAPrivateKey:
    """Return the key of the app, or of the issuer; a process makes each once."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def key_pair() -> tuple[str, str]:
    """Return the private and the public half of the app's RSA key as PEM."""
    key = _key("app")
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


def bearer(header: str | None) -> str | None:
    """Return the credential of an `Authorization` header."""
    scheme, _, value = (header or "").partition(" ")
    return value.strip() if scheme.lower() in {"bearer", "token"} and value else None


def app_of(state: State, credential: str) -> App:
    """Return the app that signed a JWT. Raises GitHub's 401s."""
    app = state.the_app()
    if app.public_key is None:
        raise GitHubError(401, "A JSON web token could not be decoded")
    options: Any = {"verify_exp": False, "verify_iat": False, "require": ["iat", "exp", "iss"]}
    try:
        claims = jwt.decode(credential, app.public_key, algorithms=["RS256"], options=options)
    except jwt.PyJWTError as error:
        raise GitHubError(401, "A JSON web token could not be decoded") from error
    _check_times(claims, state.clock.now())
    if str(claims["iss"]) not in {str(app.id), f"Iv1.{app.id:016x}"}:
        raise GitHubError(401, "'Issuer' claim ('iss') must be the App's ID or client ID")
    return app


def _check_times(claims: dict[str, Any], now: datetime) -> None:
    seconds = now.timestamp()
    if claims["exp"] <= seconds:
        text = "'Expiration time' claim ('exp') must be a numeric value in the future"
        raise GitHubError(401, text)
    if claims["exp"] - seconds > JWT_LIFE_S + 1:
        raise GitHubError(401, "'Expiration time' claim ('exp') is too far in the future")
    if claims["iat"] > seconds + 1:
        text = "'Issued at' claim ('iat') must be an Integer representing the time in the past"
        raise GitHubError(401, text)


def issue_token(state: State, installation: Installation, body: dict[str, Any]) -> Token:
    """Make an installation token, narrowed as asked. Asking for more than the app has is a 422."""
    permissions = dict(installation.app.permissions)
    for name, level in (body.get("permissions") or {}).items():
        if RANKS.get(level, 9) > RANKS.get(permissions.get(name, ""), 0):
            refuse("The permissions requested are not granted to this installation.")
    if body.get("permissions"):
        permissions = dict(body["permissions"]) | {"metadata": "read"}
    number = state.new_id()
    # Newer tokens are far longer than 40 characters; no fixed length may be relied on.
    value = f"ghs_{installation.app.id}_{number}_{secrets.token_hex(60)}"
    expires = (state.clock.now() + TOKEN_LIFE).astimezone(UTC).replace(microsecond=0)
    token = Token(value, installation, expires, permissions, _repositories(state, body))
    state.tokens[value] = token
    return token


def _repositories(state: State, body: dict[str, Any]) -> set[int] | None:
    if "repository_ids" in body:
        return set(body["repository_ids"])
    if "repositories" in body:
        names = set(body["repositories"])
        return {repo.id for repo in state.repos.values() if repo.name in names}
    return None


def token_of(state: State, credential: str) -> Token:
    """Return a live token. An unknown or expired one is a 401."""
    token = state.tokens.get(credential)
    if token is None or token.expires_at <= state.clock.now():
        raise GitHubError(401, "Bad credentials")
    if token.installation.suspended:
        raise GitHubError(403, "This installation has been suspended")
    return token


def demand(token: Token, permission: str, level: str) -> None:
    """Raise a 403 that names the missing permission, unless the token has it."""
    if RANKS.get(token.permissions.get(permission, ""), 0) < RANKS[level]:
        raise GitHubError(
            403,
            "Resource not accessible by integration",
            headers={"X-Accepted-GitHub-Permissions": f"{permission}={level}"},
        )


def covers(state: State, token: Token, repo: Repo) -> bool:
    """Return True if a token reaches a repository."""
    base = repo.parent or repo
    if state.installation_for(base) is not token.installation:
        return False
    return token.repository_ids is None or base.id in token.repository_ids


KEY_ID = "sim-key-1"
LIFE_S = 300


class Oidc:
    """Signs tokens. The key is made when it is first needed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._count = 0

    def key(self) -> rsa.RSAPrivateKey:
        """Return the signing key."""
        return _key("issuer")

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
        shared = run_context(run)
        owner, name = f"{repo.owner.login}@{repo.owner.id}", f"{repo.name}@{repo.id}"
        self._count += 1
        return {
            **shared,
            "jti": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job.id}/{self._count}")),
            "sub": f"repo:{owner}/{name}:ref:{shared['ref']}",
            "aud": audience or f"{self._state.url}/{repo.owner.login}",
            "iss": self._state.url,
            "repository_owner_id": str(repo.owner.id),
            "repository_visibility": "public",
            "run_attempt": str(job.attempt),
            "actor": run.triggering_actor.login,
            "actor_id": str(run.triggering_actor.id),
            "ref_protected": str(repo.is_protected(run.ref)).lower(),
            "workflow_sha": run.head_sha,
            "job_workflow_ref": shared["workflow_ref"],
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
