"""Check runs and suites: how they are made, changed, summed up, run again and pressed."""

from datetime import datetime
from typing import Any

from bot.sim.errors import CannotError, GitHubError, refuse
from bot.sim.model import App, CheckRun, CheckSuite, Repo, State, User
from bot.sim.shapes import check_json
from bot.sim.webhooks import Webhooks

MAX_OUTPUT_BYTES = 65_535
MAX_ANNOTATIONS = 50
STATUSES = ("queued", "in_progress", "completed")
CONCLUSIONS = {"action_required", "cancelled", "failure", "neutral", "success", "skipped"}
CONCLUSIONS |= {"timed_out"}
# A suite takes the first of these conclusions that one of its runs has.
PRIORITY = ("failure", "timed_out", "action_required", "cancelled", "stale", "success")
ACTION_LIMITS = {"label": 20, "description": 40, "identifier": 20}
LEVELS = ("notice", "warning", "failure")


class Checks:
    """The check runs of every app.

    `single_sends_suite`: *Re-run* on the only check of a suite sends the event of the suite.
    """

    def __init__(self, state: State, hooks: Webhooks) -> None:
        self._state = state
        self._hooks = hooks
        self.single_sends_suite = True

    def suite_for(
        self, repo: Repo, app: App, sha: str, branch: str | None = None, *, fresh: bool = False
    ) -> CheckSuite:
        """Return the app's suite on a commit, a new one if there is none or it must be `fresh`."""
        for suite in self._state.suites.values():
            if not fresh and suite.repo is repo and suite.app is app and suite.head_sha == sha:
                return suite
        now = self._state.clock.now()
        suite = CheckSuite(self._state.new_id(), repo, app, sha, branch, now, now)
        if branch is None:
            heads = repo.git.refs("refs/heads").items()
            at = (ref.removeprefix("refs/heads/") for ref, tip in heads if tip == sha)
            suite.head_branch = next(at, None)
        self._state.suites[suite.id] = suite
        return suite

    def announce(self, repo: Repo, sha: str, branch: str, before: str | None, by: User) -> None:
        """Make the app's suite for a push to a branch of the repository and send its event."""
        app = self._state.app
        if app is None or self._state.installation_for(repo) is None:
            return
        suite = self.suite_for(repo, app, sha, branch)
        suite.before = before
        self._hooks.check_suite(suite, "requested", by)

    def create(self, repo: Repo, app: App, body: dict[str, Any], by: User) -> CheckRun:
        """Make a check run as `POST …/check-runs` does. Raises 422s like GitHub's."""
        check_fields(body)
        sha = str(body["head_sha"])
        if len(sha) != 40 or repo.git.tip(sha) is None:
            refuse(f"No commit found for SHA: {sha}")
        return self.open_in(self.suite_for(repo, app, sha), body, by)

    def open_in(self, suite: CheckSuite, body: dict[str, Any], by: User) -> CheckRun:
        """Make a check run in a suite. Each workflow run of Actions has a suite of its own."""
        run = CheckRun(self._state.new_id(), suite, body["name"], suite.head_sha)
        self._state.checks[run.id] = run
        suite.runs.append(run)
        self._fill(run, body)
        self._recount(suite)
        self.note(run)
        self._hooks.check_run(run, "created", by)
        if run.status == "completed":
            self._completed(run, by)
        return run

    def update(self, run: CheckRun, body: dict[str, Any], by: User) -> None:
        """Change a check run as PATCH does. A completed one that should reopen stays as it is."""
        check_fields(body, creating=False)
        status = _status_in(body)
        was = run.status
        if was == "completed" and status not in {None, "completed"}:
            return
        self._fill(run, body)
        self._recount(run.suite)
        self.note(run)
        if run.status == "completed" and was != "completed":
            self._completed(run, by)

    def _completed(self, run: CheckRun, by: User) -> None:
        self._hooks.check_run(run, "completed", by)
        if run.suite.status == "completed":
            self._hooks.check_suite(run.suite, "completed", by)

    def _fill(self, run: CheckRun, body: dict[str, Any]) -> None:
        for key in ("name", "external_id", "details_url"):
            if key in body:
                setattr(run, key, body[key])
        status = _status_in(body) or run.status
        now = self._state.clock.now()
        run.status = status
        run.started_at = _time(body.get("started_at")) or run.started_at or now
        if status == "completed":
            run.conclusion = body.get("conclusion", run.conclusion)
            run.completed_at = _time(body.get("completed_at")) or run.completed_at or now
        run.actions = list(body.get("actions", []))
        output = body.get("output") or {}
        for key in ("title", "summary", "text"):
            if key in output:
                setattr(run, key, output[key])
        run.annotations += output.get("annotations", [])
        run.images = output.get("images", run.images)

    def note(self, run: CheckRun) -> None:
        """Remember the run as it is now, for the lists that lag."""
        run.past.append((self._state.clock.now(), check_json(self._state, run)))

    def latest(self, suite: CheckSuite) -> list[CheckRun]:
        """Return the newest run of each name."""
        return list({run.name: run for run in suite.runs}.values())

    def _recount(self, suite: CheckSuite) -> None:
        runs = self.latest(suite)
        suite.updated_at = self._state.clock.now()
        if not suite.open_run and all(run.status == "completed" for run in runs):
            suite.status = "completed"
            found = {run.conclusion for run in runs}
            suite.conclusion = next((one for one in PRIORITY if one in found), "neutral")
        else:
            started = any(run.status != "queued" for run in runs)
            suite.status, suite.conclusion = ("in_progress" if started else "queued"), None

    def open_suite(self, suite: CheckSuite, *, still: bool, by: User) -> None:
        """Note if a workflow run may still add checks. The suite ends with the run."""
        suite.open_run = still
        self._recount(suite)
        if suite.status == "completed":
            self._hooks.check_suite(suite, "completed", by)

    def rerun(self, run: CheckRun, by: User) -> None:
        """Press *Re-run* on a check. The suite is queued again, the run stays as it was."""
        if run.status != "completed":
            raise CannotError("Re-run is offered on completed checks only")
        self._requeue(run.suite)
        if self.single_sends_suite and len(self.latest(run.suite)) == 1:
            self._hooks.check_suite(run.suite, "rerequested", by)
        else:
            self._hooks.check_run(run, "rerequested", by)

    def rerun_suite(self, suite: CheckSuite, by: User) -> None:
        """Press *Re-run all checks* or *Re-run failed checks*. The event is the same."""
        self._requeue(suite)
        self._hooks.check_suite(suite, "rerequested", by)

    def _requeue(self, suite: CheckSuite) -> None:
        suite.status, suite.conclusion = "queued", None
        suite.updated_at = self._state.clock.now()

    def press(self, run: CheckRun, identifier: str, by: User) -> None:
        """Press one of the app's own buttons, which GitHub shows on completed runs only."""
        if run.status != "completed":
            raise CannotError("buttons are shown on completed check runs only")
        if identifier not in {action["identifier"] for action in run.actions}:
            raise CannotError(f"check run {run.id} has no button {identifier!r}")
        self._hooks.check_run(
            run, "requested_action", by, requested_action={"identifier": identifier}
        )


def _status_in(body: dict[str, Any]) -> str | None:
    return "completed" if "conclusion" in body else body.get("status")


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def check_fields(body: dict[str, Any], *, creating: bool = True) -> None:
    """Raise a 422 for a check run's body that GitHub refuses."""
    for key in ("name", "conclusion", "completed_at", "status"):
        if key in body and body[key] is None:
            refuse("Invalid request.", f"For '{key}', nil is not a string.")
    for key in ("name", "head_sha") if creating else ():
        if not isinstance(body.get(key), str) or not body[key]:
            refuse("Invalid request.", f'"{key}" wasn\'t supplied.')
    if body.get("status", "queued") not in STATUSES:
        refuse("Invalid request.", f"{body['status']} is not included in the list")
    if "conclusion" in body and body["conclusion"] not in CONCLUSIONS:
        refuse("Invalid request.", f"{body['conclusion']} is not included in the list")
    if (body.get("status") == "completed" or "completed_at" in body) and "conclusion" not in body:
        refuse("Invalid request.", "conclusion is required when status is completed")
    _check_output(body.get("output"), creating=creating)
    _check_actions(body.get("actions", []))


def _check_output(output: dict[str, Any] | None, *, creating: bool) -> None:
    if output is None:
        return
    for key in ("title", "summary") if creating else ("summary",):
        if not isinstance(output.get(key), str):
            refuse("Invalid request.", f'"{key}" wasn\'t supplied.')
    for key in ("summary", "text"):
        if len((output.get(key) or "").encode()) > MAX_OUTPUT_BYTES:
            raise GitHubError(
                422,
                "Validation Failed",
                errors=[_custom(key, f"{key} exceeds a maximum bytesize of {MAX_OUTPUT_BYTES}")],
            )
    annotations = output.get("annotations", [])
    if len(annotations) > MAX_ANNOTATIONS:
        refuse("Invalid request.", f"No more than {MAX_ANNOTATIONS} items are allowed")
    for annotation in annotations:
        _check_annotation(annotation)
    _check_images(output.get("images", []))


def _custom(field: str, message: str) -> dict[str, str]:
    return {"resource": "CheckRun", "code": "custom", "field": field, "message": message}


def _check_annotation(annotation: dict[str, Any]) -> None:
    for key in ("path", "start_line", "end_line", "annotation_level", "message"):
        if key not in annotation:
            refuse("Invalid request.", f'"{key}" wasn\'t supplied.')
    if annotation["annotation_level"] not in LEVELS:
        refuse("Invalid request.", "annotation_level is not included in the list")
    if annotation["start_line"] < 1 or annotation["end_line"] < annotation["start_line"]:
        refuse("Invalid request.", "line numbers start at 1 and end_line is not before")
    one_line = annotation["start_line"] == annotation["end_line"]
    if not one_line and {"start_column", "end_column"} & set(annotation):
        refuse("Invalid request.", "columns need start_line and end_line to be the same")
    for key, limit in (("message", 65_536), ("raw_details", 65_536), ("title", 255)):
        if len((annotation.get(key) or "").encode()) > limit:
            raise GitHubError(422, "Validation Failed", errors=[_custom(key, f"{key} is too long")])


def _check_images(images: list[dict[str, str]]) -> None:
    for image in images:
        for key in ("alt", "image_url"):
            if not image.get(key):
                refuse("Invalid request.", f'"{key}" wasn\'t supplied.')


def _check_actions(actions: list[dict[str, str]]) -> None:
    if len(actions) > 3:
        refuse("Invalid request.", "No more than 3 items are allowed; actions")
    for action in actions:
        for key, limit in ACTION_LIMITS.items():
            if not action.get(key):
                refuse("Invalid request.", f'"{key}" wasn\'t supplied.')
            if len(action[key]) > limit:
                refuse("Invalid request.", f"{key} is longer than {limit} characters")
