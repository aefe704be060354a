"""The read API for runs, and the application for everything under /api/v1."""

import re
from collections.abc import Iterable, Mapping

from aiohttp import web

from bot.core.model.ids import RunId, Sha
from bot.core.model.runs import State
from bot.store import Store
from bot.store.run_reads import RunQuery
from bot.web import answers
from bot.web.guard import errors_as_json, refuse

MAX_LIMIT = 200  # rows of one answer: about 200 kB
RUN = r"{id:[0-9A-Za-z]{1,40}}"
"""A run's id, or the one it was dispatched with, in a path."""
_REPO = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}|[0-9]{1,18}", re.ASCII).fullmatch
_SHA = re.compile(r"[0-9a-f]{7,40}").fullmatch
_NUMBER = re.compile(r"[0-9]{1,18}").fullmatch
_NAMES = ("repo", "sha", "pr", "state", "limit")


def api_app(routes: Iterable[web.AbstractRouteDef]) -> web.Application:
    """Return the application for /api/v1; its own errors are JSON, too."""
    app = web.Application(middlewares=[errors_as_json])
    app.add_routes(routes)
    return app


class RunsApi:
    """The handlers for runs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, request: web.Request) -> web.Response:
        """Answer runs, newest first, filtered by ``repo sha pr state limit``."""
        query = _query(request.query)
        if isinstance(query, str):
            return refuse(400, query)
        found = await self._store.runs.search(query)
        return web.json_response({"runs": [answers.run_json(item) for item in found]})

    async def show(self, request: web.Request) -> web.Response:
        """Answer one run with its claimants, timeline and RayJobs."""
        told = await self._store.runs.story(RunId(request.match_info["id"]))
        if told is None:
            return refuse(404, "there is no such run (any more)")
        return web.json_response(answers.story_json(told))


def _query(given: Mapping[str, str]) -> RunQuery | str:
    """Return the query, or the error in it: a typo must not list everything."""
    flaws = [f"{name}: is none of {', '.join(_NAMES)}" for name in given if name not in _NAMES]
    repo, sha = given.get("repo"), given.get("sha", "").lower() or None
    number, limit = given.get("pr"), given.get("limit", "50")
    state = given.get("state")
    if repo is not None and not _REPO(repo):
        flaws.append("repo: must be owner/name or the repository's number")
    if sha is not None and not _SHA(sha):
        flaws.append("sha: must be 7 to 40 hexadecimal digits")
    if number is not None and not _NUMBER(number):
        flaws.append("pr: must be a number")
    if state is not None and state not in list(State):
        flaws.append(f"state: must be one of {', '.join(State)}")
    if not _NUMBER(limit) or not 1 <= int(limit) <= MAX_LIMIT:
        flaws.append(f"limit: must be a number from 1 to {MAX_LIMIT}")
    if flaws:
        return "; ".join(flaws)
    return RunQuery(
        repo=repo,
        sha=Sha(sha) if sha else None,
        number=int(number) if number else None,
        state=State(state) if state else None,
        limit=int(limit),
    )
