"""REST: workflows, dispatch, runs, jobs, logs, re-run, cancel."""

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.sim.errors import GitHubError, not_found
from bot.sim.model import Job, Run, Workflow
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import job_json, run_json, workflow_json

LOG_LINK_S = 60
MAX_FILTERED = 1000

ACTIONS = "/repos/{owner}/{repo}/actions"
RUN = f"{ACTIONS}/runs/{{run_id}}"
JOB = f"{ACTIONS}/jobs/{{job_id}}"
WORKFLOW = f"{ACTIONS}/workflows/{{workflow_id}}"
ROUTES = Routes()


def _workflow(call: Call) -> Workflow:
    return call.sim.actions.workflows.find(call.repo, call.params["workflow_id"])


@ROUTES.on("GET", WORKFLOW, "actions")
async def _get_workflow(call: Call) -> Answer:
    return Answer(workflow_json(call.state, _workflow(call)))


@ROUTES.on("POST", f"{WORKFLOW}/dispatches", "actions", "write")
async def _dispatch(call: Call) -> Answer:
    """Answer 200 with the run's id in the newer version, 204 in the older one."""
    body = call.fields()
    run = call.sim.actions.dispatch(call.repo, call.params["workflow_id"], body, call.me)
    version = call.headers.get("X-GitHub-Api-Version", "2022-11-28")
    if version == "2022-11-28" and body.get("return_run_details") is not True:
        return Answer(None, 204)
    shown = run_json(call.state, run)
    data = {"workflow_run_id": run.id, "run_url": shown["url"], "html_url": shown["html_url"]}
    return Answer(data)


def _run(call: Call) -> Run:
    run = call.state.runs.get(call.number("run_id"))
    if run is None or run.repo is not call.repo:
        raise not_found()
    return run


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _created(text: str, value: str) -> bool:
    """Return True if a run's creation time fits `>=T`, `<T`, `A..B` or a plain date."""
    when = datetime.fromisoformat(value)
    if ".." in text:
        low, _, high = text.partition("..")
        return (low == "*" or when >= _moment(low)) and (high == "*" or when <= _moment(high))
    for sign, test in COMPARE.items():
        if text.startswith(sign):
            return test(when, _moment(text.removeprefix(sign)))
    return value.startswith(text)


def _moment(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise GitHubError(422, f"Invalid created filter {text!r}") from error
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _fits(call: Call, shown: dict[str, Any]) -> bool:
    query = call.query
    if "status" in query and query["status"] not in {shown["status"], shown["conclusion"]}:
        return False
    found = {key: shown[key] for key in ("event", "head_sha")} | {
        "branch": shown["head_branch"],
        "actor": shown["actor"]["login"],
        "check_suite_id": str(shown["check_suite_id"]),
    }
    if any(query.get(key, value) != value for key, value in found.items()):
        return False
    return "created" not in query or _created(query["created"], shown["created_at"])


def _list(call: Call, workflow: Workflow | None) -> Answer:
    """List the runs as they were `lag_s` ago, newest first."""
    looks = [
        call.state.seen(run.past)
        for run in reversed(call.sim.actions.runs(call.repo))
        if workflow is None or run.workflow is workflow
    ]
    shown = [look for look in looks if look is not None and _fits(call, look)]
    return paged(call, shown[:MAX_FILTERED], "workflow_runs")


@ROUTES.on("GET", f"{ACTIONS}/runs", "actions")
async def _list_runs(call: Call) -> Answer:
    return _list(call, None)


@ROUTES.on("GET", f"{WORKFLOW}/runs", "actions")
async def _workflow_runs(call: Call) -> Answer:
    return _list(call, _workflow(call))


@ROUTES.on("GET", RUN, "actions")
async def _get_run(call: Call) -> Answer:
    return Answer(run_json(call.state, _run(call)))


@ROUTES.on("GET", f"{RUN}/attempts/{{attempt_number}}", "actions")
async def _get_attempt(call: Call) -> Answer:
    """Show an earlier attempt as it ended."""
    run, number = _run(call), call.number("attempt_number")
    if number == run.attempt:
        return Answer(run_json(call.state, run))
    looks = [look for _, look in run.past if look["run_attempt"] == number]
    if not looks:
        raise not_found()
    return Answer(looks[-1])


@ROUTES.on("GET", f"{RUN}/jobs", "actions")
async def _run_jobs(call: Call) -> Answer:
    run = _run(call)
    jobs = run.jobs if call.query.get("filter") == "all" else run.latest()
    return paged(call, [job_json(call.state, job) for job in jobs], "jobs")


@ROUTES.on("GET", f"{RUN}/attempts/{{attempt_number}}/jobs", "actions")
async def _attempt_jobs(call: Call) -> Answer:
    jobs = _run(call).of_attempt(call.number("attempt_number"))
    return paged(call, [job_json(call.state, job) for job in jobs], "jobs")


def _job(call: Call) -> Job:
    job = call.state.job(call.number("job_id"))
    if job is None or job.run.repo is not call.repo:
        raise not_found()
    return job


@ROUTES.on("GET", JOB, "actions")
async def _get_job(call: Call) -> Answer:
    return Answer(job_json(call.state, _job(call)))


@ROUTES.on("GET", f"{JOB}/logs", "actions")
async def _job_logs(call: Call) -> Answer:
    """Answer 404 until the job is completed, then 302 to a one-minute link."""
    job = _job(call)
    if job.status != "completed":
        raise not_found()
    return Answer(None, 302, {"Location": call.sim.log_link(f"job-{job.id}.txt")})


def log_text(job: Job) -> bytes:
    """Return a job's log. It begins with a byte order mark, as the real ones do."""
    return b"\xef\xbb\xbf" + "".join(f"{line}\n" for line in job.log).encode()


@ROUTES.on("POST", f"{RUN}/rerun", "actions", "write")
@ROUTES.on("POST", f"{RUN}/rerun-failed-jobs", "actions", "write")
async def _rerun(call: Call) -> Answer:
    call.sim.actions.rerun(_run(call), call.me, failed_only=call.path.endswith("-failed-jobs"))
    return Answer({}, 201)


@ROUTES.on("POST", f"{RUN}/cancel", "actions", "write")
@ROUTES.on("POST", f"{RUN}/force-cancel", "actions", "write")
async def _cancel(call: Call) -> Answer:
    call.sim.actions.cancel(_run(call), force=call.path.endswith("/force-cancel"))
    return Answer({}, 202)


def link_expired(call_at: str, now: datetime) -> bool:
    """Return True if a log link made at that time (text of `stamp`) is too old."""
    return now - datetime.fromisoformat(call_at) > timedelta(seconds=LOG_LINK_S + 1)
