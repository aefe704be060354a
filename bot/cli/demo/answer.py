"""What `ascend-ci demo --json` prints."""

from __future__ import annotations

from typing import Any

from bot.sim import SimGitHub
from bot.sim.clock import stamp
from bot.sim.model import Run


def answer(github: SimGitHub, seconds: float) -> dict[str, Any]:
    """Return what GitHub shows: check runs, comments, dispatched workflow runs."""
    return {
        "check_runs": [
            {
                "name": run.name,
                "head_sha": run.head_sha,
                "status": run.status,
                "conclusion": run.conclusion,
                "title": run.title,
            }
            for run in github.check_runs()
        ],
        "comments": [
            {
                "id": one.id,
                "pull": one.pull.number,
                "user": one.user.login,
                "body": one.body,
                "reactions": [reaction.content for reaction in one.reactions],
            }
            for one in github.state.comments.values()
        ],
        "dispatches": [_dispatch(run) for run in github.runs() if run.event == "workflow_dispatch"],
        "seconds": round(seconds, 1),
    }


def _dispatch(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "attempt": run.attempt,
        "workflow": run.workflow.path,
        "event": run.event,
        "title": run.title,
        "inputs": run.inputs,
        "status": run.status,
        "conclusion": run.conclusion,
        "head_sha": run.head_sha,
        "created_at": stamp(run.created_at),
        "jobs": [
            {"id": job.id, "key": job.key, "status": job.status, "conclusion": job.conclusion}
            for job in run.jobs
        ],
    }
