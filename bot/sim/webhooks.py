"""Builds the webhooks of each change and queues them for delivery."""

import json
import uuid
from typing import Any

from bot.sim import shapes
from bot.sim.deliveries import Deliveries, Delivery
from bot.sim.git import ZERO, CommitInfo
from bot.sim.model import CheckRun, CheckSuite, Comment, Job, Pull, Push, Repo, Run, State, User
from bot.sim.payloads import Json, example

NEEDS = {
    "check_run": "checks",
    "check_suite": "checks",
    "issue_comment": "issues",
    "merge_group": "merge_queues",
    "pull_request": "pull_requests",
    "push": "contents",
    "repository": "metadata",
    "workflow_job": "actions",
    "workflow_run": "actions",
}


class Webhooks:
    """One method for each event. It builds the body from the state as it is now."""

    def __init__(self, state: State, deliveries: Deliveries) -> None:
        self._state = state
        self._deliveries = deliveries

    def send(self, event: str, data: Json, repo: Repo | None = None) -> None:
        """Send an event to the app under test if it is installed, allowed and subscribed."""
        app = self._state.app
        if app is None or not self._wanted(event, repo):
            return
        installation = self._state.installation_for(repo) if repo else None
        if repo is not None:
            data["repository"] = shapes.repo_json(self._state, repo)
            if repo.owner.type == "Organization":
                words = {"login": repo.owner.login, "id": repo.owner.id}
                data["organization"] = example("organization", self._state.url, **words)
        if installation is not None:
            node = self._state.node_id("I", installation.id)
            data["installation"] = {"id": installation.id, "node_id": node}
        number = self._state.new_id()
        self._deliveries.emit(
            Delivery(
                id=number,
                guid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"delivery-{number}")),
                event=event,
                action=data.get("action"),
                body=json.dumps(data).encode(),
                app=app,
                created_at=self._state.clock.now(),
                installation_id=(data.get("installation") or {}).get("id"),
                repository_id=repo.id if repo else None,
            )
        )

    def _wanted(self, event: str, repo: Repo | None) -> bool:
        app = self._state.the_app()
        needed = NEEDS.get(event)
        if needed is None:
            return True
        installation = self._state.installation_for(repo) if repo else None
        allowed = installation is not None and not installation.suspended
        subscribed = event in app.events or event in {"check_run", "check_suite"}
        return allowed and subscribed and needed in {*app.permissions, "metadata"}

    def _tell(self, event: str, repo: Repo, action: str, by: User, data: Json) -> None:
        self.send(event, {"action": action, **data, "sender": self.sender(by)}, repo)

    def sender(self, user: User) -> Json:
        """Return the `sender` of an event."""
        return shapes.user_json(self._state, user)

    def pull_request(self, pull: Pull, action: str, by: User, **more: Any) -> None:
        """Send `pull_request`."""
        shown = shapes.pull_json(self._state, pull, webhook=True)
        data = {"number": pull.number, "pull_request": shown}
        self._tell("pull_request", pull.repo, action, by, data | more)

    def issue_comment(self, comment: Comment, action: str, by: User, **more: Any) -> None:
        """Send `issue_comment`."""
        shown = shapes.comment_json(self._state, comment)
        data = {"issue": shapes.issue_json(self._state, comment.pull), "comment": shown}
        self._tell("issue_comment", comment.pull.repo, action, by, data | more)

    def check_run(self, run: CheckRun, action: str, by: User, **more: Any) -> None:
        """Send `check_run`."""
        data = {"check_run": shapes.check_json(self._state, run, webhook=True)}
        self._tell("check_run", run.suite.repo, action, by, data | more)

    def check_suite(self, suite: CheckSuite, action: str, by: User) -> None:
        """Send `check_suite`."""
        data = {"check_suite": shapes.suite_json(self._state, suite)}
        self._tell("check_suite", suite.repo, action, by, data)

    def workflow_run(self, run: Run, action: str) -> None:
        """Send `workflow_run`."""
        workflow = shapes.workflow_json(self._state, run.workflow)
        data = {"workflow_run": shapes.run_json(self._state, run), "workflow": workflow}
        self._tell("workflow_run", run.repo, action, run.triggering_actor, data)

    def workflow_job(self, job: Job, action: str) -> None:
        """Send `workflow_job`: no inputs, no display title, no pull request in it."""
        data = {"workflow_job": shapes.job_json(self._state, job)}
        self._tell("workflow_job", job.run.repo, action, job.run.triggering_actor, data)

    def push(self, push: Push) -> None:
        """Send `push`."""
        git, state = push.repo.git, self._state
        gone = push.after == ZERO
        shas = [] if gone or push.before == ZERO else git.between(push.before, push.after)
        commits = [_push_commit(state, push.repo, git.info(sha)) for sha in shas[-20:]]
        head = None if gone else _push_commit(state, push.repo, git.info(push.after))
        url = f"{state.url}/{push.repo.full_name}/compare/{push.before[:12]}...{push.after[:12]}"
        data = {
            "ref": push.ref,
            "before": push.before,
            "after": push.after,
            "created": push.before == ZERO,
            "deleted": gone,
            "forced": push.forced,
            "base_ref": None,
            "compare": url,
            "commits": commits,
            "head_commit": head,
            "pusher": {"name": push.by.login, "email": f"{push.by.login}@example.org"},
            "sender": self.sender(push.by),
        }
        self.send("push", data, push.repo)

    def merge_group(self, repo: Repo, group: Json, action: str, by: User, **more: Any) -> None:
        """Send `merge_group`."""
        self._tell("merge_group", repo, action, by, {"merge_group": group, **more})

    def installation(self, installation_id: int, action: str, by: User) -> None:
        """Send `installation`, which every app gets."""
        installation = self._state.installations[installation_id]
        names = ("id", "node_id", "name", "full_name", "private")
        repos = [
            {name: shapes.repo_json(self._state, repo)[name] for name in names}
            for repo in self._state.repos.values()
            if repo.owner is installation.account and repo.parent is None
        ]
        data = {
            "action": action,
            "installation": shapes.installation_json(self._state, installation),
            "repositories": repos,
            "sender": self.sender(by),
        }
        self.send("installation", data)


def _push_commit(state: State, repo: Repo, commit: CommitInfo) -> Json:
    person = {"name": commit.author, "email": commit.email, "username": commit.author}
    parent = commit.parents[0] if commit.parents else None
    changed = repo.git.changes(parent, commit.sha) if parent else []
    return {
        **shapes.simple_commit(commit),
        "distinct": True,
        "url": f"{state.url}/{repo.full_name}/commit/{commit.sha}",
        "author": person,
        "committer": person,
        "added": [file.path for file in changed if file.status in {"added", "renamed"}],
        "removed": [
            file.previous or file.path
            for file in changed
            if file.status not in {"modified", "added"}
        ],
        "modified": [file.path for file in changed if file.status == "modified"],
    }
