"""JSON shapes of workflows, their runs and jobs."""

from __future__ import annotations

from datetime import datetime

from bot.sim.clock import stamp, stamp_or_none
from bot.sim.model import Job, Run, Step, Workflow
from bot.sim.shapes import Json, repo_minimal, simple_commit, user_json
from bot.sim.shapes_checks import pulls_at
from bot.sim.state import State


def workflow_json(state: State, workflow: Workflow) -> Json:
    """Build a `workflow`."""
    repo = workflow.repo
    page = f"{state.url}/{repo.full_name}"
    return {
        "id": workflow.id,
        "node_id": state.node_id("W", workflow.id),
        "name": workflow.name,
        "path": workflow.path,
        "state": workflow.state,
        "created_at": stamp(workflow.created_at),
        "updated_at": stamp(workflow.created_at),
        "url": f"{state.url}/repos/{repo.full_name}/actions/workflows/{workflow.id}",
        "html_url": f"{page}/blob/{repo.default_branch}/{workflow.path}",
        "badge_url": f"{page}/workflows/{workflow.name}/badge.svg",
    }


def run_json(state: State, run: Run) -> Json:
    """Build a `workflow-run` as it is now."""
    repo = run.repo
    api = f"{state.url}/repos/{repo.full_name}/actions"
    url = f"{api}/runs/{run.id}"
    previous = f"{url}/attempts/{run.attempt - 1}" if run.attempt > 1 else None
    return {
        "id": run.id,
        "name": run.workflow.name,
        "node_id": state.node_id("WFR", run.id),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": run.workflow.path,
        "display_title": run.title,
        "run_number": run.number,
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.workflow.id,
        "check_suite_id": run.suite.id,
        "check_suite_node_id": state.node_id("CS", run.suite.id),
        "url": url,
        "html_url": f"{state.url}/{repo.full_name}/actions/runs/{run.id}",
        "pull_requests": pulls_at(state, run.suite) if run.pull else [],
        "created_at": stamp(run.created_at),
        "updated_at": stamp(run.updated_at),
        "actor": user_json(state, run.actor),
        "run_attempt": run.attempt,
        "referenced_workflows": [],
        "run_started_at": stamp(run.started_at),
        "triggering_actor": user_json(state, run.triggering_actor),
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "check_suite_url": f"{state.url}/repos/{repo.full_name}/check-suites/{run.suite.id}",
        "artifacts_url": f"{url}/artifacts",
        "cancel_url": f"{url}/cancel",
        "rerun_url": f"{url}/rerun",
        "previous_attempt_url": previous,
        "workflow_url": f"{api}/workflows/{run.workflow.id}",
        "head_commit": simple_commit(repo.git.info(run.head_sha)),
        "repository": repo_minimal(state, repo),
        "head_repository": repo_minimal(state, repo),
    }


def _step_json(step: Step) -> Json:
    return {
        "name": step.name,
        "status": step.status,
        "conclusion": step.conclusion,
        "number": step.number,
        "started_at": stamp_or_none(step.started_at),
        "completed_at": stamp_or_none(step.completed_at),
    }


def job_json(state: State, job: Job) -> Json:
    """Build a `job`; the runner's fields are null until one has taken it."""
    run = job.run
    api = f"{state.url}/repos/{run.repo.full_name}"
    started: datetime = job.started_at or job.created_at
    assigned = job.runner_id is not None
    check = f"{api}/check-runs/{job.check.id}" if job.check else f"{api}/check-runs/0"
    return {
        "id": job.id,
        "run_id": run.id,
        "workflow_name": run.workflow.name,
        "head_branch": run.head_branch,
        "run_url": f"{api}/actions/runs/{run.id}",
        "run_attempt": job.attempt,
        "node_id": state.node_id("JOB", job.id),
        "head_sha": run.head_sha,
        "url": f"{api}/actions/jobs/{job.id}",
        "html_url": f"{state.url}/{run.repo.full_name}/actions/runs/{run.id}/job/{job.id}",
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": stamp(job.created_at),
        "started_at": stamp(started),
        "completed_at": stamp_or_none(job.completed_at),
        "name": job.name,
        "steps": [_step_json(step) for step in job.steps],
        "check_run_url": check,
        "labels": list(job.labels),
        "runner_id": job.runner_id,
        "runner_name": job.runner_name,
        "runner_group_id": 1 if assigned else None,
        "runner_group_name": "Default" if assigned else None,
    }
