"""JSON shapes of check runs and suites, and of workflows, their runs and jobs."""

from __future__ import annotations

from typing import Any

from bot.sim.clock import stamp
from bot.sim.model import CheckRun, CheckSuite, Job, Run, Workflow
from bot.sim.payloads import Json, example, fields
from bot.sim.shapes import app_json, repo_minimal, simple_commit, user_json
from bot.sim.shapes_pulls import pull_reference
from bot.sim.state import State

STATE = ("status", "conclusion")
TIMES = ("started_at", "completed_at")


def pulls_at(state: State, suite: CheckSuite) -> list[Json]:
    """Return the open pull requests GitHub names: those of same-repository branches only."""
    return [
        pull_reference(state, pull)
        for pull in state.pulls_of(suite.repo)
        if pull.state == "open" and not pull.is_fork and pull.head_sha == suite.head_sha
    ]


def suite_json(state: State, suite: CheckSuite, *, full: bool = True) -> Json:
    """Build a `check-suite`; `full=False` is the part that webhooks nest in a check run."""
    words = {"repo": suite.repo.full_name, "id": suite.id}
    data = example("check_suite", state.url, sha=suite.head_sha, **words) | {
        **fields(suite, *STATE, "head_branch", "before", "created_at", "updated_at"),
        "pull_requests": pulls_at(state, suite),
        "app": app_json(state, suite.app),
    }
    if full:
        data |= example("check_suite_details", state.url, **words) | {
            "latest_check_runs_count": len(suite.runs),
            "head_commit": simple_commit(suite.repo.git.info(suite.head_sha)),
        }
    return data


def suite_rest(state: State, suite: CheckSuite) -> Json:
    """Build a `check-suite` as REST answers it, with its repository."""
    return suite_json(state, suite) | {"repository": repo_minimal(state, suite.repo)}


def check_json(state: State, run: CheckRun, *, webhook: bool = False) -> Json:
    """Build a `check-run`. Buttons are never echoed."""
    repo = run.suite.repo.full_name
    data = example("check_run", state.url, repo=repo, id=run.id, sha=run.head_sha)
    suite: Any = suite_json(state, run.suite, full=False) if webhook else {"id": run.suite.id}
    output = fields(run, "title", "summary", "text") | {"annotations_count": len(run.annotations)}
    return data | {
        **fields(run, *STATE, *TIMES, "name", "external_id"),
        "details_url": run.details_url or data["html_url"],
        "output": data["output"] | output,
        "check_suite": suite,
        "app": app_json(state, run.suite.app),
        "pull_requests": pulls_at(state, run.suite),
    }


def workflow_json(state: State, workflow: Workflow) -> Json:
    """Build a `workflow`."""
    repo = workflow.repo
    page = f"{state.url}/{repo.full_name}"
    return example("workflow", state.url, repo=repo.full_name, id=workflow.id) | {
        **fields(workflow, "name", "path", "state", "created_at"),
        "updated_at": stamp(workflow.created_at),
        "html_url": f"{page}/blob/{repo.default_branch}/{workflow.path}",
        "badge_url": f"{page}/workflows/{workflow.name}/badge.svg",
    }


def run_json(state: State, run: Run) -> Json:
    """Build a `workflow-run` as it is now."""
    words = {"repo": run.repo.full_name, "suite": run.suite.id, "workflow": run.workflow.id}
    data = example("workflow_run", state.url, id=run.id, sha=run.head_sha, **words)
    earlier = f"{data['url']}/attempts/{run.attempt - 1}" if run.attempt > 1 else None
    return data | {
        **fields(run, *STATE, "head_branch", "event", "created_at", "updated_at"),
        **fields(run.workflow, "name", "path"),
        "display_title": run.title,
        "run_number": run.number,
        "run_attempt": run.attempt,
        "run_started_at": stamp(run.started_at),
        "previous_attempt_url": earlier,
        "pull_requests": pulls_at(state, run.suite) if run.pull else [],
        "actor": user_json(state, run.actor),
        "triggering_actor": user_json(state, run.triggering_actor),
        "head_commit": simple_commit(run.repo.git.info(run.head_sha)),
        "repository": repo_minimal(state, run.repo),
        "head_repository": repo_minimal(state, run.repo),
    }


def job_json(state: State, job: Job) -> Json:
    """Build a `job`; the runner's fields are null until one has taken it."""
    run = job.run
    words = {"repo": run.repo.full_name, "run": run.id, "id": job.id, "sha": run.head_sha}
    data = example("workflow_job", state.url, **words)
    assigned = job.runner_id is not None
    number = job.check.id if job.check else 0
    return data | {
        **fields(job, *STATE, *TIMES, "created_at", "name", "labels", "runner_id", "runner_name"),
        "started_at": stamp(job.started_at or job.created_at),
        "workflow_name": run.workflow.name,
        "head_branch": run.head_branch,
        "run_attempt": job.attempt,
        "steps": [fields(step, *STATE, *TIMES, "name", "number") for step in job.steps],
        "check_run_url": f"{state.url}/repos/{run.repo.full_name}/check-runs/{number}",
        "runner_group_id": 1 if assigned else None,
        "runner_group_name": "Default" if assigned else None,
    }
