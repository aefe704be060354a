"""Translate GitHub's errors and lost answers into the two errors of the ports."""

from typing import Any

import aiohttp
import gidgethub
from gidgethub import sansio

from bot.adapters.github.wire import Response
from bot.ports.errors import Lost, Permanent, Transient

UNAUTHORISED_RETRY_S = 60.0  # temporary while a key is rotated or a clock is set
READ = ("content-type", "link")
WORDS = 300  # characters of a body that is not JSON


def decipher(operation: str, response: Response, *, repeat: bool) -> tuple[Any, str | None]:
    """Return decoded data and the next page's URL; raise for anything but success."""
    try:
        # Without the quota's headers: the budget reads them and recognises a limit.
        headers = {key: response.headers[key] for key in READ if key in response.headers}
        data, _, next_url = sansio.decipher_response(response.status, headers, response.body)
    except gidgethub.BadRequest as exc:
        raise _refused(operation, response, str(exc)) from exc
    except gidgethub.HTTPException as exc:
        raise _unclear(f"{operation}: {response.status} {exc}", repeat=repeat) from exc
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        # Broken JSON, bytes that are not text, a 422 without a message, an unnamed status.
        words = response.body[:WORDS].decode(errors="replace")
        if 400 <= response.status < 500:
            raise _refused(operation, response, words) from exc
        message = f"{operation}: {response.status} with a body that is no JSON: {words}"
        raise _unclear(message, repeat=repeat) from exc
    return data, next_url


def lost(operation: str, exc: Exception, *, repeat: bool) -> Transient:
    """Describe a network error; ``Lost`` if GitHub may have carried out the call."""
    message = f"{operation}: no answer from GitHub ({type(exc).__name__}: {exc})"
    never_sent = isinstance(exc, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    return Transient(message) if never_sent else _unclear(message, repeat=repeat)


def _refused(operation: str, response: Response, words: str) -> Transient | Permanent:
    message = f"{operation}: {response.status} {words}"
    if response.status == 401:
        return Transient(message, retry_after_s=UNAUTHORISED_RETRY_S)
    if response.status == 408:
        return Transient(message)
    wanted = response.headers.get("x-accepted-github-permissions")
    if response.status == 403 and wanted:
        message = f"{message} (GitHub wants the permission {wanted})"
    return Permanent(message, status=response.status)


def _unclear(message: str, *, repeat: bool) -> Transient:
    return Transient(message) if repeat else Lost(message)
