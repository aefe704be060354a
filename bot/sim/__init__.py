"""A stateful GitHub over real HTTP, for demo and tests; it imports nothing else of `bot`.

**Models**: REST (app JWTs, expiring narrowed installation tokens, pulls, files, contents, compare,
check runs, Actions dispatch/runs/jobs/logs/re-run/cancel, comments, reactions, permissions, teams,
hook deliveries, rate limit, ETag) for the API versions 2026-03-10 and 2022-11-28; signed webhooks;
an OIDC issuer; runners that execute workflow files for real; people.

**Disagrees with wishful code**: a completed check run never reopens (PATCH answers 200) · buttons
on completed runs only · Re-run queues the suite, leaves the run, and of a lone check sends the
suite event · our own writes and Actions' jobs come back as check events · forks give
`pull_requests: []` and a null branch · dispatch wants a branch, text inputs, declared inputs, a
trigger · `head_sha` is the dispatched ref's tip · lists of runs and checks trail by `lag_s` · a
job's log is 404 until the job is over, then a 302 · byte limits · maintain shows as write, triage
as read.

**Refuses loudly** (the job fails with `##[error]` lines): any `uses:` but actions/checkout and
actions/upload-artifact (a no-op), unknown keys (strategy, services, environment, job-level
concurrency), shells but bash, sh and python, unknown contexts and functions. `container:` runs on
the host and says so. **Leaves out**: reviews, issues that are no pull requests, branch
protection, artifacts, caches, `patch` in file lists, automatic `on:` triggers (see
`actions.native`), 301s for renamed repositories, what `GITHUB_TOKEN` may do.

Use in a process::

    async with SimGitHub(clock, SimOptions(scripted=True, lag_s=1.5)) as sim:  # sim.url serves
        app = sim.create_app("http://127.0.0.1:8080/webhook", secret="…")  # app.private_key: PEM
        repo = sim.create_repo("octo/project", Path("checkout"))  # or {path: text}
        installation = sim.install("octo")                                     # webhooks flow
        sim.grant("mia", "maintain"); sim.user("bob"); sim.team("octo", "npu", {"mia": "active"})
        sim.actions.runners.register("linux-aarch64-a3-8", 2)
        pull = sim.people.open_pull("bob", {"a.py": "1"}, NewPull(title="…", fork=True))
        sim.people.push(pull, {"a.py": None}); sim.people.force_push(pull, earlier_sha)
        sim.people.close/reopen/draft/ready/delete_fork(pull); .merge(pull, "mia")
        sim.people.retarget(pull, "v0.1"); .edit_title(pull, "…"); .label(pull, "x"); .unlabel(…)
        comment = sim.people.comment(pull, "mia", "/ascend-e2e"); .edit_comment(comment, "…", "mia")
        sim.people.push_branch("mia", {".github/ascend-ci.yml": "…"}, branch=None)
        sim.people.press(check, "approve", "mia"); .rerun_check(check, "mia"); .rerun_suite(…)
        sim.people.rerun_actions(run, "mia", failed_only=True)
        group = sim.people.merge_group(pull, "mia"); .destroy_group(group, "mia", "merged")
        run = sim.actions.native(pull, "file.yml"); sim.actions.cancel(run, force=False)
        night = sim.actions.triggered("file.yml", "schedule", user, fields={"schedule": "…"})
        sim.actions.start_job(run, "unit (a2)"); .finish_job(run, "unit (a2)", "failure")
        sim.actions.start(run); sim.actions.finish(run, "failure", log="…", jobs={"a": "success"})
        await sim.engine.wait(run)                                             # executing runs
        sim.deliveries.hold(); .release(); await .flush(); await .idle()
        sim.deliveries.drop(n); .drop_if(test); .duplicate(n); .shuffle(seed); .delay_s = 3
        sim.fault("lost", "POST", "*/dispatches", times=1, skip=0, retry_after_s=60)
        sim.expire_tokens(); sim.suspend(installation); sim.rename_repo("new", "mia")
        sim.check("Ascend / x", sha); sim.check_runs(sha); sim.comments(pull); sim.runs()
        sim.calls.by_route(); sim.calls.assert_at_most(11)
        sim.validate(validator); sim.all_problems()

Faults are listed in `bot.sim.limits.Fault`.
"""

from bot.sim.clock import Clock, ManualClock, RealClock
from bot.sim.engine import RunnerOptions
from bot.sim.errors import CannotError
from bot.sim.hub import SimGitHub
from bot.sim.limits import Fault
from bot.sim.people import NewPull
from bot.sim.simulation import SimOptions

__all__ = [
    "CannotError",
    "Clock",
    "Fault",
    "ManualClock",
    "NewPull",
    "RealClock",
    "RunnerOptions",
    "SimGitHub",
    "SimOptions",
]
