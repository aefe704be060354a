"""The audit over HTTP: who decided what, on which commit, by which rule."""

import re
from collections.abc import Mapping
from datetime import datetime

from aiohttp import web

from bot.core.model.times import ago
from bot.ports.clock import Clock
from bot.store import Store
from bot.store.audit import AuditQuery
from bot.web import answers
from bot.web.api import MAX_LIMIT
from bot.web.guard import refuse

_REPO = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}|[0-9]{1,18}", re.ASCII).fullmatch
_NUMBER = re.compile(r"[0-9]{1,18}").fullmatch
_NAMES = ("repo", "pr", "who", "since", "limit")


class AuditApi:
    """The handler for audit rows."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, request: web.Request) -> web.Response:
        """Answer decisions, newest first, filtered by ``repo pr who since limit``."""
        query = _query(request.query, self._clock.now())
        if isinstance(query, str):
            return refuse(400, query)
        found = await self._store.audit.search(query)
        return web.json_response({"audit": [answers.audit_json(item) for item in found]})


def _query(given: Mapping[str, str], now: datetime) -> AuditQuery | str:
    """Return the query, or the error in it: a typo must not list everything."""
    flaws = [f"{name}: is none of {', '.join(_NAMES)}" for name in given if name not in _NAMES]
    repo, number, limit = given.get("repo"), given.get("pr"), given.get("limit", "50")
    said = given.get("since")
    # A plus sign in a URL means a space, so a space before an offset is a plus sign.
    since = ago(said.replace(" ", "+"), now) if said is not None else None
    if repo is not None and not _REPO(repo):
        flaws.append("repo: must be owner/name or the repository's number")
    if number is not None and not _NUMBER(number):
        flaws.append("pr: must be a number")
    if said is not None and since is None:
        flaws.append("since: must be a time like 2026-12-01T18:00Z, 18:00 or 2h")
    if not _NUMBER(limit) or not 1 <= int(limit) <= MAX_LIMIT:
        flaws.append(f"limit: must be a number from 1 to {MAX_LIMIT}")
    if flaws:
        return "; ".join(flaws)
    return AuditQuery(
        repo=repo,
        number=int(number) if number else None,
        who=given.get("who"),
        since=since,
        limit=int(limit),
    )
