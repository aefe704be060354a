"""REST: check runs and check suites."""

from collections.abc import Mapping
from typing import Any

from bot.sim.errors import GitHubError, not_found, refuse
from bot.sim.model import App, CheckRun, CheckSuite
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import check_json, suite_rest

REPO = "/repos/{owner}/{repo}"
ROUTES = Routes()


def _run(call: Call) -> CheckRun:
    run = call.state.checks.get(call.number("check_run_id"))
    if run is None or run.suite.repo is not call.repo:
        raise not_found()
    return run


def _suite(call: Call) -> CheckSuite:
    suite = call.state.suites.get(call.number("check_suite_id"))
    if suite is None or suite.repo is not call.repo:
        raise not_found()
    return suite


def _app(call: Call) -> App:
    assert call.token is not None
    return call.token.installation.app


@ROUTES.on("POST", f"{REPO}/check-runs", "checks", "write")
async def _create(call: Call) -> Answer:
    run = call.sim.checks.create(call.repo, _app(call), call.fields(), call.me)
    return Answer(check_json(call.state, run), 201)


@ROUTES.on("PATCH", f"{REPO}/check-runs/{{check_run_id}}", "checks", "write")
async def _update(call: Call) -> Answer:
    """Change a check run; only the app that owns it may."""
    run = _run(call)
    if run.suite.app is not _app(call):
        raise GitHubError(403, "Invalid app_id - check run can only be modified by its app.")
    call.sim.checks.update(run, call.fields(), call.me)
    return Answer(check_json(call.state, run))


@ROUTES.on("GET", f"{REPO}/check-runs/{{check_run_id}}", "checks")
async def _get(call: Call) -> Answer:
    return Answer(check_json(call.state, _run(call)))


@ROUTES.on("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", "checks")
async def _list_annotations(call: Call) -> Answer:
    run = _run(call)
    blank: dict[str, Any] = {"start_column": None, "end_column": None, "title": None}
    blank["raw_details"] = None
    base = f"{call.state.url}/{call.repo.full_name}/blob/{run.head_sha}"
    return paged(
        call,
        [{**blank, **one, "blob_href": f"{base}/{one['path']}"} for one in run.annotations],
    )


def _fits(query: Mapping[str, str], shown: dict[str, Any]) -> bool:
    app_id = str(shown["app"]["id"])
    found = {"check_name": shown["name"], "app_id": app_id, "status": shown["status"]}
    return all(query.get(key, value) == value for key, value in found.items())


def _listed(call: Call, suites: list[CheckSuite]) -> Answer:
    """List the check runs as they were `lag_s` ago, newest first."""
    query, found = call.query, []
    for suite in suites:
        looks = [(run.name, look) for run in suite.runs if (look := call.state.seen(run.past))]
        newest = query.get("filter", "latest") == "latest"
        found += list(dict(looks).values()) if newest else [look for _, look in looks]
    shown = [one for one in found if _fits(query, one)]
    return paged(call, sorted(shown, key=lambda one: -one["id"]), "check_runs")


def _sha(call: Call) -> str:
    sha = call.repo.git.resolve(call.params["ref"])
    if sha is None:
        refuse(f"No commit found for SHA: {call.params['ref']}")
    return sha


def _suites_at(call: Call) -> list[CheckSuite]:
    sha = _sha(call)
    suites = call.state.suites.values()
    return [one for one in suites if one.repo is call.repo and one.head_sha == sha]


@ROUTES.on("GET", f"{REPO}/commits/{{ref:.+}}/check-runs", "checks")
async def _for_ref(call: Call) -> Answer:
    return _listed(call, _suites_at(call))


@ROUTES.on("GET", f"{REPO}/check-suites/{{check_suite_id}}", "checks")
async def _get_suite(call: Call) -> Answer:
    return Answer(suite_rest(call.state, _suite(call)))
