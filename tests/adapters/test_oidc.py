"""Only a token that its issuer signed for us and for now proves anything."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import aiohttp
import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.adapters.oidc import ASK_EVERY, FAILED_FOR, KEYS_FOR, LEEWAY_S, MAX_AGE_S, OidcIssuer
from bot.ports.oidc import Denial, IssuerSilent, Proof, Why
from bot.sim import ManualClock

AUDIENCE = "ascend-ci"
OURS, OTHER = "ours", "another"


@cache
def key_of(_whom: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(whose: str) -> bytes:
    return (
        key_of(whose)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def jwk(whose: str, kid: str, **more: Any) -> dict[str, Any]:
    made = jwt.algorithms.RSAAlgorithm.to_jwk(key_of(whose).public_key(), as_dict=True)
    return {**made, "kid": kid, "alg": "RS256", "use": "sig", **more}


@dataclass
class Issuer:
    """An issuer whose documents a test may spoil."""

    clock: ManualClock
    url: str = ""
    keys: list[Any] = field(default_factory=lambda: [jwk(OURS, "k1")])
    discovery: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    body: bytes | None = None
    asked: int = 0  # for its keys

    async def describe(self, _: web.Request) -> web.Response:
        jwks_uri = f"{self.url}/.well-known/jwks"
        return web.json_response({"issuer": self.url, "jwks_uri": jwks_uri, **self.discovery})

    async def publish(self, _: web.Request) -> web.Response:
        self.asked += 1
        body = json.dumps({"keys": self.keys}).encode() if self.body is None else self.body
        return web.Response(body=body, status=self.status)

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(self.clock.now().timestamp())
        made = {
            "iss": self.url,
            "aud": AUDIENCE,
            "jti": "j-1",
            "iat": now,
            "nbf": now - 60,
            "exp": now + 300,
            "repository": "octo/project",
            "repository_id": "7",
            "run_id": "99",
            "run_attempt": "2",
            "workflow_ref": "octo/project/.github/workflows/e2e.yml@refs/heads/main",
            "event_name": "workflow_dispatch",
            **changed,
        }
        return {name: value for name, value in made.items() if value is not None}

    def token(
        self, *, whose: str = OURS, kid: Any = "k1", alg: str = "RS256", **changed: Any
    ) -> str:
        headers = {} if kid is None else {"kid": kid}
        return jwt.encode(self.claims(**changed), key_of(whose), algorithm=alg, headers=headers)


@dataclass
class Scene:
    issuer: Issuer
    clock: ManualClock
    prover: OidcIssuer

    async def refused(self, token: str) -> str:
        answer = await self.prover.prove(token)
        assert isinstance(answer, Denial), answer
        assert answer.why is Why.UNPROVEN
        assert token not in answer.reason
        return answer.reason


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    clock = ManualClock()
    issuer = Issuer(clock)
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", issuer.describe)
    app.router.add_get("/.well-known/jwks", issuer.publish)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        issuer.url = str(server.make_url("")).rstrip("/")
        yield Scene(issuer, clock, OidcIssuer(session, issuer.url, AUDIENCE, clock))


async def test_a_token_of_the_issuer_proves_which_run_calls(scene: Scene) -> None:
    proof = await scene.prover.prove(scene.issuer.token())
    assert isinstance(proof, Proof)
    assert (proof.repo_id, proof.repository, proof.jti) == (7, "octo/project", "j-1")
    assert (proof.actions_run_id, proof.actions_attempt) == (99, 2)
    assert (proof.until - scene.clock.now()).total_seconds() == pytest.approx(330, abs=1)
    await scene.prover.prove(scene.issuer.token(jti="j-2"))
    assert scene.issuer.asked == 1, "the keys are kept"


def hs256(issuer: Issuer) -> str:
    """Sign with the public key as if it were a shared secret."""
    header = {"alg": "HS256", "typ": "JWT", "kid": "k1"}
    coded = [
        jwt.utils.base64url_encode(json.dumps(part).encode()) for part in (header, issuer.claims())
    ]
    signer = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = signer.sign(b".".join(coded), public_pem(OURS))
    return b".".join([*coded, jwt.utils.base64url_encode(signature)]).decode()


def unsigned(issuer: Issuer) -> str:
    return jwt.encode(issuer.claims(), "", algorithm="none", headers={"kid": "k1"})


def relabelled(issuer: Issuer) -> str:
    """Take a good token's signature for other claims."""
    head, _, signature = issuer.token().split(".")
    claims = json.dumps(issuer.claims(run_id="1")).encode()
    return ".".join([head, jwt.utils.base64url_encode(claims).decode(), signature])


async def test_forged_tokens_prove_nothing(scene: Scene) -> None:
    issuer = scene.issuer
    cases = [
        ("no JSON web token", "a.b"),
        ("no JSON web token", "a.b.c"),
        ("no JSON web token", issuer.token() + "\udcff"),
        ("not signed with RS256", hs256(issuer)),
        ("not signed with RS256", unsigned(issuer)),
        ("not signed with RS256", issuer.token(alg="RS512")),
        ("signature is wrong", issuer.token(whose=OTHER)),
        ("signature is wrong", relabelled(issuer)),
        ("does not name its key", issuer.token(kid=None)),
        ("does not publish", issuer.token(whose=OTHER, kid="k2")),
    ]
    for words, token in cases:
        assert words in await scene.refused(token), words


async def test_tokens_for_others_prove_nothing(scene: Scene) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("audience ascend-ci", {"aud": "https://github.com/octo"}),
        ("audience ascend-ci", {"aud": ["a", "b"]}),
        ("lacks the claim aud", {"aud": None}),
        ("issuer http", {"iss": "https://token.actions.githubusercontent.com"}),
        ("issuer http", {"iss": scene.issuer.url + "/"}),
        ("lacks the claim iss", {"iss": None}),
        ("lacks the claim jti", {"jti": None}),
        ("lacks the claim exp", {"exp": None}),
        ("lacks the claim iat", {"iat": None}),
        ("lacks the claim nbf", {"nbf": None}),
        ("lacks a claim", {"run_id": None}),
        ("malformed", {"run_id": 99}),
        ("malformed", {"repository_id": "-7"}),
        ("malformed", {"run_attempt": "²"}),
        ("malformed", {"exp": 1e400}),
        ("malformed", {"jti": "a b"}),
        ("can't be read", {"jti": 7}),
        ("malformed", {"jti": "j" * 129}),
    ]
    for words, changed in cases:
        assert words in await scene.refused(scene.issuer.token(**changed)), changed


async def test_the_times_of_a_token_are_compared_with_our_clock(scene: Scene) -> None:
    now = int(scene.clock.now().timestamp())
    far = now + 10**6
    taken: list[dict[str, Any]] = [
        {"exp": now - LEEWAY_S + 2},
        {"nbf": now + LEEWAY_S - 1},
        {"iat": now + LEEWAY_S - 1},
        {"exp": far, "iat": now - MAX_AGE_S},
    ]
    for changed in taken:
        assert isinstance(await scene.prover.prove(scene.issuer.token(**changed)), Proof), changed
    refused: list[tuple[str, dict[str, Any]]] = [
        ("expired", {"exp": now - LEEWAY_S - 1}),
        ("expired", {"exp": far, "iat": now - MAX_AGE_S - LEEWAY_S - 1}),
        ("clocks differ", {"nbf": now + LEEWAY_S + 2}),
        ("clocks differ", {"iat": now + LEEWAY_S + 2}),
    ]
    for words, changed in refused:
        assert words in await scene.refused(scene.issuer.token(**changed)), changed


async def test_an_unknown_key_is_asked_for_once_a_minute_whoever_sends_it(scene: Scene) -> None:
    issuer = scene.issuer
    await scene.prover.prove(issuer.token())
    issuer.keys.append(jwk(OTHER, "k2"))
    new = issuer.token(whose=OTHER, kid="k2")
    for _ in range(50):
        assert "does not publish" in await scene.refused(issuer.token(kid="nonsense"))
    assert issuer.asked == 1
    await scene.clock.advance(ASK_EVERY.total_seconds())
    assert isinstance(await scene.prover.prove(new), Proof)
    assert issuer.asked == 2


async def test_a_key_that_was_withdrawn_counts_no_longer(scene: Scene) -> None:
    issuer = scene.issuer
    assert isinstance(await scene.prover.prove(issuer.token()), Proof)
    issuer.keys[:] = [jwk(OTHER, "k2")]
    await scene.clock.advance(KEYS_FOR.total_seconds() - 1)
    assert isinstance(await scene.prover.prove(issuer.token()), Proof)
    await scene.clock.advance(1)
    assert "does not publish" in await scene.refused(issuer.token())


async def test_an_issuer_that_is_out_of_order_proves_nothing_and_is_left_alone(
    scene: Scene,
) -> None:
    issuer = scene.issuer
    faults: list[tuple[str, dict[str, Any]]] = [
        ("answered 503", {"status": 503}),
        ("answered 302", {"status": 302}),
        ("something else", {"body": b"<html>"}),
        ("something else", {"body": b"[]"}),
        ("too much", {"body": b" " * 300_000}),
        ("no key", {"body": b'{"keys": 1}'}),
        ("no key", {"keys": [1, {"kty": "oct", "kid": "k1", "k": "AAAA"}]}),
        ("no key", {"keys": [jwk(OURS, "k1", use="enc"), jwk(OURS, "k1", alg="RS512")]}),
        ("no key", {"keys": [{"kty": "RSA", "kid": "k1", "n": "?", "e": "AQAB"}]}),
        ("another one", {"discovery": {"issuer": "https://elsewhere.example"}}),
        ("another one", {"discovery": {"jwks_uri": "file:///etc/passwd"}}),
        ("can't be reached", {"discovery": {"jwks_uri": "http://127.0.0.1:9/"}}),
        ("something else", {"discovery": {"jwks_uri": 7}}),
    ]
    good = dict(vars(issuer))
    for words, spoilt in faults:
        vars(issuer).update({**good, "asked": 0, **spoilt})
        for _ in range(3):
            with pytest.raises(IssuerSilent, match=words):
                await scene.prover.prove(issuer.token())
        assert issuer.asked <= 1, words
        await scene.clock.advance(FAILED_FOR.total_seconds())
    vars(issuer).update(good)
    assert isinstance(await scene.prover.prove(issuer.token()), Proof)
