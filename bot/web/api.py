"""The read API for runs and the audit, and the application for everything under /api/v1."""

import re
from collections.abc import Callable, Iterable, Mapping

from aiohttp import web

from bot.core.model.ids import RunId, Sha
from bot.core.model.runs import State
from bot.core.model.times import ago
from bot.ports.clock import Clock
from bot.store import Store
from bot.store.audit import AuditQuery
from bot.store.run_reads import RunQuery
from bot.web import answers
from bot.web.guard import errors_as_json, refuse

MAX_LIMIT = 200  # rows of one answer: about 200 kB
RUN = r"{id:[0-9A-Za-z]{1,40}}"
"""A run's id, or the one it was dispatched with, in a path."""

# What a parameter of a query has to pass, and the words for one that does not.
_Check = tuple[Callable[[str], object], str]
_REPO: _Check = (
    re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}|[0-9]{1,18}", re.ASCII).fullmatch,
    "must be owner/name or the repository's number",
)
_is_number = re.compile(r"[0-9]{1,18}").fullmatch
_NUMBER: _Check = (_is_number, "must be a number")
_LIMIT: _Check = (
    lambda text: _is_number(text) and 1 <= int(text) <= MAX_LIMIT,
    f"must be a number from 1 to {MAX_LIMIT}",
)
_OF_RUNS: dict[str, _Check] = {
    "repo": _REPO,
    "sha": (
        re.compile(r"(?:[0-9a-f]{7,40})?", re.IGNORECASE | re.ASCII).fullmatch,
        "must be 7 to 40 hexadecimal digits",
    ),
    "pr": _NUMBER,
    "state": (list(State).__contains__, f"must be one of {', '.join(State)}"),
    "before": (re.compile(r"[0-9A-Za-z]{4,40}").fullmatch, "must be the id of a run"),
    "limit": _LIMIT,
}


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
        """Answer runs, newest first, filtered by ``repo sha pr state before limit``."""
        given = request.query
        if flaws := _flaws(given, _OF_RUNS):
            return refuse(400, flaws)
        query = RunQuery(
            repo=given.get("repo"),
            sha=Sha(given["sha"].lower()) if given.get("sha") else None,
            number=int(given["pr"]) if "pr" in given else None,
            state=State(given["state"]) if "state" in given else None,
            before=given.get("before"),
            limit=int(given.get("limit", 50)),
        )
        found = await self._store.runs.search(query)
        return web.json_response({"runs": [answers.run_json(item) for item in found]})

    async def show(self, request: web.Request) -> web.Response:
        """Answer one run with its claimants, timeline and RayJobs."""
        told = await self._store.runs.story(RunId(request.match_info["id"]))
        if told is None:
            return refuse(404, "there is no such run (any more)")
        return web.json_response(answers.story_json(told))


class AuditApi:
    """The handler for audit rows: who decided what, on which commit, by which rule."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, request: web.Request) -> web.Response:
        """Answer decisions, newest first, filtered by ``repo pr who since limit``."""
        given = request.query
        # A plus sign in a URL means a space, so a space before an offset is a plus sign.
        since = ago(given.get("since", "").replace(" ", "+"), self._clock.now())
        checks: dict[str, _Check] = {
            "repo": _REPO,
            "pr": _NUMBER,
            "who": (lambda text: "\0" not in text, "must be a login"),
            "since": (lambda _: since, "must be a time like 2026-12-01T18:00Z, 18:00 or 2h"),
            "limit": _LIMIT,
        }
        if flaws := _flaws(given, checks):
            return refuse(400, flaws)
        query = AuditQuery(
            repo=given.get("repo"),
            number=int(given["pr"]) if "pr" in given else None,
            who=given.get("who"),
            since=since,
            limit=int(given.get("limit", 50)),
        )
        found = await self._store.audit.search(query)
        return web.json_response({"audit": [answers.audit_json(item) for item in found]})


def _flaws(given: Mapping[str, str], checks: Mapping[str, _Check]) -> str:
    """Return the errors in a query, "" without one: a typo must not list everything."""
    flaws = [f"{name}: is none of {', '.join(checks)}" for name in given if name not in checks]
    flaws += [
        f"{name}: {words}"
        for name, (passes, words) in checks.items()
        if name in given and not passes(given[name])
    ]
    return "; ".join(flaws)
