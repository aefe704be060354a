"""REST: workflows, dispatch, runs, jobs, logs, re-run, cancel."""

from typing import Any
from urllib.parse import quote

from bot.sim.clock import stamp
from bot.sim.errors import not_found
from bot.sim.model import Job, Run, Workflow
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import job_json, run_json, workflow_json

ACTIONS = "/repos/{owner}/{repo}/actions"
RUN = f"{ACTIONS}/runs/{{run_id}}"
WORKFLOW = f"{ACTIONS}/workflows/{{workflow_id}}"
ROUTES = Routes()


def _workflow(call: Call) -> Workflow:
    return call.sim.actions.workflows.find(call.repo, call.params["workflow_id"])


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


@ROUTES.on("GET", f"{ACTIONS}/workflows", "actions")
async def _list_workflows(call: Call) -> Answer:
    known = call.sim.actions.workflows.of(call.repo)
    return paged(call, [workflow_json(call.state, one) for one in known], "workflows")


def _run(call: Call) -> Run:
    run = call.state.runs.get(call.number("run_id"))
    if run is None or run.repo is not call.repo:
        raise not_found()
    return run


def _fits(call: Call, shown: dict[str, Any]) -> bool:
    """Return True if a run fits the query; `created` may be `>=SINCE` or `SINCE..UNTIL`."""
    query = call.query
    if query.get("status", shown["status"]) not in {shown["status"], shown["conclusion"]}:
        return False
    since, _, until = query.get("created", ">=").removeprefix(">=").partition("..")
    inside: bool = since <= shown["created_at"] <= (until or "9")  # in one form they sort as text
    return inside and query.get("event", shown["event"]) == shown["event"]


def _list(call: Call, workflow: Workflow | None) -> Answer:
    """List the runs as they were `lag_s` ago, newest first."""
    looks = [
        call.state.seen(run.past)
        for run in reversed(call.sim.actions.runs(call.repo))
        if workflow is None or run.workflow is workflow
    ]
    shown = [look for look in looks if look is not None and _fits(call, look)]
    return paged(call, shown[: call.state.most_listed], "workflow_runs")


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


@ROUTES.on("GET", f"{RUN}/attempts/{{attempt_number}}/jobs", "actions")
async def _attempt_jobs(call: Call) -> Answer:
    jobs = _run(call).of_attempt(call.number("attempt_number"))
    return paged(call, [job_json(call.state, job) for job in jobs], "jobs")


@ROUTES.on("GET", f"{RUN}/jobs", "actions")
async def _jobs(call: Call) -> Answer:
    """Show the jobs of the newest attempt alone, or with `filter=all` those of every attempt."""
    run = _run(call)
    jobs = run.jobs if call.query.get("filter") == "all" else run.of_attempt(run.attempt)
    return paged(call, [job_json(call.state, job) for job in jobs], "jobs")


@ROUTES.on("POST", f"{ACTIONS}/jobs/{{job_id}}/rerun", "actions", "write")
async def _rerun_job(call: Call) -> Answer:
    job = call.state.job(call.number("job_id"))
    if job is None or job.run.repo is not call.repo:
        raise not_found()
    call.sim.actions.rerun_job(job, call.me)
    return Answer({}, 201)


@ROUTES.on("GET", f"{ACTIONS}/jobs/{{job_id}}/logs", "actions")
async def _job_logs(call: Call) -> Answer:
    """Answer 404 until the job is completed, then 302 to a one-minute link."""
    job = call.state.job(call.number("job_id"))
    if job is None or job.run.repo is not call.repo or job.status != "completed":
        raise not_found()
    made = quote(stamp(call.state.clock.now()))
    return Answer(None, 302, {"Location": f"{call.sim.url}/_logs/job-{job.id}.txt?made={made}"})


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
