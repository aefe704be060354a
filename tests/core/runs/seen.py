"""An Actions run that GitHub started by itself."""

from bot.core.model.workflow_runs import WorkflowRun
from tests.core.building import SHA, at

SEEN = WorkflowRun(
    id=50,
    attempt=1,
    event="pull_request",
    path=".github/workflows/own.yml",
    head_sha=SHA,
    status="in_progress",
    html_url="https://x/50",
    created_at=at(),
)
