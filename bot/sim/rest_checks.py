"""REST: check runs."""

from collections.abc import Mapping
from typing import Any

from bot.sim.errors import GitHubError, not_found, refuse
from bot.sim.model import App, CheckRun
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import check_json

REPO = "/repos/{owner}/{repo}"
ROUTES = Routes()


def _run(call: Call) -> CheckRun:
    run = call.state.checks.get(call.number("check_run_id"))
    if run is None or run.suite.repo is not call.repo:
        raise not_found()
    return run


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


def _fits(query: Mapping[str, str], shown: dict[str, Any]) -> bool:
    app_id = str(shown["app"]["id"])
    found = {"check_name": shown["name"], "app_id": app_id, "status": shown["status"]}
    return all(query.get(key, value) == value for key, value in found.items())


@ROUTES.on("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", "checks")
async def _annotations(call: Call) -> Answer:
    """List the annotations of a check run, of whichever app it is."""
    run = _run(call)
    blank = dict.fromkeys(("start_column", "end_column", "title", "raw_details"))
    blank["blob_href"] = f"{call.state.url}/{call.repo.full_name}/blob/{run.suite.head_sha}"
    return paged(call, [blank | annotation for annotation in run.annotations])


@ROUTES.on("GET", f"{REPO}/commits/{{ref:.+}}/check-runs", "checks")
async def _for_ref(call: Call) -> Answer:
    """List the check runs as they were `lag_s` ago, newest first."""
    sha = call.repo.git.resolve(call.params["ref"])
    if sha is None:
        refuse(f"No commit found for SHA: {call.params['ref']}")
    found: list[dict[str, Any]] = []
    for suite in call.state.suites.values():
        if suite.repo is call.repo and suite.head_sha == sha:
            looks = [(run.name, look) for run in suite.runs if (look := call.state.seen(run.past))]
            newest = call.query.get("filter", "latest") == "latest"
            found += dict(looks).values() if newest else (look for _, look in looks)
    shown = [one for one in found if _fits(call.query, one)]
    return paged(call, sorted(shown, key=lambda one: -one["id"]), "check_runs")
