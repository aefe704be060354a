"""Verify the OIDC tokens of GitHub Actions: they prove which workflow run is calling.

Only keys from the issuer's discovery document count, and only RS256. Keys are cached. Invalid
tokens can't make us ask the issuer more than once a minute.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import aiohttp
import jwt
import msgspec
from yarl import URL

from bot.core.model.ids import RepoId
from bot.ports.clock import Clock
from bot.ports.oidc import Denial, IssuerSilent, Proof, Why

ALGORITHM = "RS256"  # GitHub Actions signs with it; no other one is accepted
LEEWAY_S = 30  # clocks differ by less than this
MAX_AGE_S = 600  # a job gets its token when it needs it; some issuers let one live for hours
KEYS_FOR = timedelta(hours=1)  # a withdrawn key is valid no longer than this
ASK_EVERY = timedelta(minutes=1)  # the pause before asking for an unknown key again
FAILED_FOR = timedelta(seconds=5)  # the pause after an issuer did not answer
_TIMEOUT = aiohttp.ClientTimeout(total=10)
_MAX_DOCUMENT = 256 * 1024  # GitHub's keys have about 10 kB
_DISCOVERY = "/.well-known/openid-configuration"
_REQUIRED = ["exp", "iat", "nbf", "jti", "aud", "iss"]
_OPTIONS: Any = {
    # Times are compared below, with the application's clock.
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "require": _REQUIRED,
}
_token = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII).fullmatch
_Number = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,18}$")]
_Plain = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e]{1,128}$")]
_Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**40)]


class _Claims(msgspec.Struct):
    """The claims that are checked; all are text except the times, as GitHub sends them."""

    jti: _Plain
    exp: _Seconds
    iat: _Seconds
    nbf: _Seconds
    repository_id: _Number
    repository: str
    run_id: _Number
    run_attempt: _Number
    workflow_ref: str
    event_name: str


class _Discovered(msgspec.Struct):
    issuer: str
    jwks_uri: str


class OidcIssuer:
    """Verifies the tokens of one issuer over a shared session; implements `Prover`."""

    def __init__(
        self, session: aiohttp.ClientSession, issuer: str, audience: str, clock: Clock
    ) -> None:
        self._session = session
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: datetime | None = None
        self._failure: tuple[datetime, str] | None = None
        self._lock = asyncio.Lock()

    async def prove(self, token: str) -> Proof | Denial:
        """Verify a token; raise `IssuerSilent` if the issuer's keys are unavailable."""
        key_id = _key_id(token)
        if isinstance(key_id, Denial):
            return key_id
        key = await self._key(key_id)
        if key is None:
            return _refused("the token is signed with a key that its issuer does not publish")
        try:
            said = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=self._audience,
                issuer=self._issuer,
                options=_OPTIONS,
            )
            claims = msgspec.convert(said, _Claims)
        except jwt.InvalidTokenError as error:
            return _refused(self._words(error))
        except msgspec.ValidationError:
            return _refused("the token lacks a claim that Actions sends, or one is malformed")
        return self._in_time(claims)

    def _words(self, error: jwt.InvalidTokenError) -> str:
        """Describe the error in our own words: the library's text may quote the token."""
        match error:
            case jwt.InvalidSignatureError():
                return "the token's signature is wrong"
            case jwt.InvalidAudienceError():
                return f"the token is not for the audience {self._audience}"
            case jwt.InvalidIssuerError():
                return f"the token is not of the issuer {self._issuer}"
            case jwt.MissingRequiredClaimError():
                return f"the token lacks the claim {error.claim}"
        return "the token can't be read"

    def _in_time(self, claims: _Claims) -> Proof | Denial:
        now = self._clock.now().timestamp()
        until = min(claims.exp, claims.iat + MAX_AGE_S) + LEEWAY_S
        if now >= until:
            return _refused("the token has expired: ask for a new one")
        if now < max(claims.nbf, claims.iat) - LEEWAY_S:
            return _refused("the token is of the future: the clocks differ")
        return Proof(
            jti=claims.jti,
            repo_id=RepoId(int(claims.repository_id)),
            repository=claims.repository,
            actions_run_id=int(claims.run_id),
            actions_attempt=int(claims.run_attempt),
            workflow_ref=claims.workflow_ref,
            event=claims.event_name,
            until=datetime.fromtimestamp(until, UTC),
        )

    # -- keys --------------------------------------------------------------------------------------

    async def _key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the issuer's key of that id; concurrent callers share one fetch."""
        if key_id in self._keys and self._is_fresh(KEYS_FOR):
            return self._keys[key_id]
        async with self._lock:
            known = key_id in self._keys
            if not self._is_fresh(KEYS_FOR if known else ASK_EVERY):
                await self._fetch()
            return self._keys.get(key_id)

    def _is_fresh(self, age: timedelta) -> bool:
        return self._fetched_at is not None and self._clock.now() - self._fetched_at < age

    async def _fetch(self) -> None:
        """Replace the keys; raise `IssuerSilent`, also shortly after a failed try."""
        now = self._clock.now()
        if self._failure is not None and now - self._failure[0] < FAILED_FOR:
            raise IssuerSilent(self._failure[1])
        try:
            self._keys = await self._published()
        except IssuerSilent as error:
            self._failure = (now, str(error))
            raise
        self._fetched_at, self._failure = now, None

    async def _published(self) -> dict[str, jwt.PyJWK]:
        """Read the discovery document and its keys."""
        with _translated(self._issuer):
            document = await self._get(self._issuer + _DISCOVERY)
            found = msgspec.json.decode(document, type=_Discovered)
            if found.issuer != self._issuer or not self._may_be_asked(found.jwks_uri):
                raise IssuerSilent(f"the issuer {self._issuer} describes another one")
            published = msgspec.json.decode(await self._get(found.jwks_uri), type=dict[str, Any])
            return _usable(published.get("keys"))

    def _may_be_asked(self, uri: str) -> bool:
        """Return True if keys may come from there: over TLS, if the issuer uses TLS."""
        scheme = URL(uri).scheme
        return scheme == "https" or (scheme == "http" == URL(self._issuer).scheme)

    async def _get(self, url: str) -> bytes:
        async with self._session.get(url, timeout=_TIMEOUT, allow_redirects=False) as answer:
            if answer.status != 200:
                raise IssuerSilent(f"the issuer {self._issuer} answered {answer.status}")
            body = b""
            async for chunk in answer.content.iter_any():
                body += chunk
                if len(body) > _MAX_DOCUMENT:
                    raise IssuerSilent(f"the issuer {self._issuer} answered with too much")
            return body


def _key_id(token: str) -> str | Denial:
    """Return the id of the key that a token names; nothing else in it is trusted yet."""
    if not _token(token):
        return _refused("the token is no JSON web token")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, RecursionError):
        return _refused("the token is no JSON web token")
    if header.get("alg") != ALGORITHM:
        return _refused(f"the token is not signed with {ALGORITHM}")
    key_id = header.get("kid")
    if not isinstance(key_id, str):
        return _refused("the token does not name its key")
    return key_id


def _usable(keys: object) -> dict[str, jwt.PyJWK]:
    """Return the keys that can sign tokens, by id."""
    usable = {}
    for key in keys if isinstance(keys, list) else []:
        if not isinstance(key, dict) or key.get("kty") != "RSA" or "kid" not in key:
            continue
        if key.get("use", "sig") != "sig" or key.get("alg", ALGORITHM) != ALGORITHM:
            continue
        try:
            usable[str(key["kid"])] = jwt.PyJWK(key, algorithm=ALGORITHM)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
    if not usable:
        raise IssuerSilent("the issuer publishes no key that can be used")
    return usable


def _refused(reason: str) -> Denial:
    return Denial(Why.UNPROVEN, reason)


@contextmanager
def _translated(issuer: str) -> Iterator[None]:
    """Raise `IssuerSilent` for an issuer that can't be reached or answers nonsense."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        reason = f"the issuer {issuer} can't be reached: {type(error).__name__}"
        raise IssuerSilent(reason) from error
    except (ValueError, RecursionError) as error:  # not JSON, not a URL
        raise IssuerSilent(f"the issuer {issuer} answers something else than its keys") from error
