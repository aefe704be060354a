"""The JSON that `ascend-ci demo --json` prints."""

from __future__ import annotations

from typing import Any

from bot.sim import SimGitHub
from bot.sim.model import Run
from bot.sim.payloads import fields


def answer(github: SimGitHub, seconds: float) -> dict[str, Any]:
    """Return the check runs, comments and dispatched workflow runs of GitHub."""
    shown = ("name", "head_sha", "status", "conclusion", "title")
    return {
        "check_runs": [fields(run, *shown) for run in github.check_runs()],
        "comments": [
            {
                **fields(one, "id", "body"),
                "pull": one.pull.number,
                "user": one.user.login,
                "reactions": [reaction.content for reaction in one.reactions],
            }
            for one in github.state.comments.values()
        ],
        "dispatches": [_dispatch(run) for run in github.runs() if run.event == "workflow_dispatch"],
        "seconds": round(seconds, 1),
    }


def _dispatch(run: Run) -> dict[str, Any]:
    names = ("id", "attempt", "event", "title", "inputs", "status", "conclusion", "head_sha")
    return {
        **fields(run, *names, "created_at"),
        "workflow": run.workflow.path,
        "jobs": [fields(job, "id", "key", "status", "conclusion") for job in run.jobs],
    }
