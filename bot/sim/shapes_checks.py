"""JSON shapes of check runs and check suites."""

from __future__ import annotations

from typing import Any

from bot.sim.clock import stamp, stamp_or_none
from bot.sim.model import CheckRun, CheckSuite
from bot.sim.shapes import Json, app_json, repo_minimal, simple_commit
from bot.sim.shapes_pulls import pull_reference
from bot.sim.state import State


def pulls_at(state: State, suite: CheckSuite) -> list[Json]:
    """Return the open pull requests GitHub names: those of same-repository branches only."""
    return [
        pull_reference(state, pull)
        for pull in state.pulls_of(suite.repo)
        if pull.state == "open" and not pull.is_fork and pull.head_sha == suite.head_sha
    ]


def suite_url(state: State, suite: CheckSuite) -> str:
    """Return the suite's API address."""
    return f"{state.url}/repos/{suite.repo.full_name}/check-suites/{suite.id}"


def suite_json(state: State, suite: CheckSuite, *, full: bool = True) -> Json:
    """Build a `check-suite`; `full=False` is the part that webhooks nest in a check run."""
    data: Json = {
        "id": suite.id,
        "node_id": state.node_id("CS", suite.id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": suite.status,
        "conclusion": suite.conclusion,
        "url": suite_url(state, suite),
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": pulls_at(state, suite),
        "app": app_json(state, suite.app),
        "created_at": stamp(suite.created_at),
        "updated_at": stamp(suite.updated_at),
    }
    if full:
        data |= {
            "latest_check_runs_count": len(suite.runs),
            "check_runs_url": f"{suite_url(state, suite)}/check-runs",
            "head_commit": simple_commit(suite.repo.git.info(suite.head_sha)),
            "rerequestable": True,
            "runs_rerequestable": True,
        }
    return data


def suite_rest(state: State, suite: CheckSuite) -> Json:
    """Build a `check-suite` as REST answers it, with its repository."""
    return suite_json(state, suite) | {"repository": repo_minimal(state, suite.repo)}


def check_json(state: State, run: CheckRun, *, webhook: bool = False) -> Json:
    """Build a `check-run`. Buttons are never echoed."""
    repo = run.suite.repo
    url = f"{state.url}/repos/{repo.full_name}/check-runs/{run.id}"
    page = f"{state.url}/{repo.full_name}/runs/{run.id}"
    suite: Any = suite_json(state, run.suite, full=False) if webhook else {"id": run.suite.id}
    return {
        "id": run.id,
        "node_id": state.node_id("CR", run.id),
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "url": url,
        "html_url": page,
        "details_url": run.details_url or page,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": stamp_or_none(run.started_at),
        "completed_at": stamp_or_none(run.completed_at),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": run.name,
        "check_suite": suite,
        "app": app_json(state, run.suite.app),
        "pull_requests": pulls_at(state, run.suite),
    }
