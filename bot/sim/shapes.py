"""JSON shapes of GitHub's objects, as REST and webhooks show them."""

from typing import Any
from urllib.parse import quote

from bot.sim import model as m
from bot.sim.clock import stamp
from bot.sim.git import ChangedFile, CommitInfo
from bot.sim.merging import merge_of
from bot.sim.payloads import Json, example, fields


def user_json(state: m.State, user: m.User) -> Json:
    """Build the `simple-user` shape."""
    return example("user", state.url, login=user.login, id=user.id) | {"type": user.type}


def app_json(state: m.State, app: m.App) -> Json:
    """Build the `integration` shape."""
    return example("app", state.url, id=app.id, slug=app.slug) | {
        "client_id": f"Iv1.{app.id:016x}",
        "owner": user_json(state, app.owner),
        "created_at": stamp(app.created_at),
        "updated_at": stamp(app.created_at),
        **fields(app, "permissions", "events"),
    }


def installation_json(state: m.State, installation: m.Installation) -> Json:
    """Build the `installation` shape."""
    app, account = installation.app, installation.account
    return example("installation", state.url, id=installation.id, slug=app.slug) | {
        "account": user_json(state, account),
        "app_id": app.id,
        "target_id": account.id,
        "target_type": account.type,
        "created_at": stamp(installation.created_at),
        "updated_at": stamp(installation.created_at),
        "suspended_at": stamp(state.clock.now()) if installation.suspended else None,
        **fields(app, "permissions", "events"),
    }


def repo_minimal(state: m.State, repo: m.Repo) -> Json:
    """Build the `minimal-repository` shape, with every link."""
    return example("minimal_repository", state.url, repo=repo.full_name, id=repo.id) | {
        "owner": user_json(state, repo.owner),
        "fork": repo.parent is not None,
        "name": repo.name,
    }


def repo_json(state: m.State, repo: m.Repo) -> Json:
    """Build the full repository, which satisfies both REST and webhook shapes."""
    opened = sum(1 for pull in state.pulls_of(repo) if pull.state == "open")
    when = stamp(repo.created_at)
    return {
        **repo_minimal(state, repo),
        **example("repository", state.url, repo=repo.full_name),
        **dict.fromkeys(("open_issues", "open_issues_count"), opened),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), when),
        "default_branch": repo.default_branch,
    }


def simple_commit(commit: CommitInfo) -> Json:
    """Build the `simple-commit` shape."""
    person = {"name": commit.author, "email": commit.email}
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": commit.date,
        "author": person,
        "committer": person,
    }


EMOJI = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def association(repo: m.Repo, user: m.User) -> str:
    """Return `author_association` as webhooks compute it: members look like strangers."""
    if user.login == repo.owner.login:
        return "OWNER"
    return "COLLABORATOR" if user.login.lower() in repo.levels else "CONTRIBUTOR"


def label_json(state: m.State, repo: m.Repo, name: str) -> Json:
    """Build a label."""
    words = {"repo": repo.full_name, "id": sum(name.encode()), "label": quote(name)}
    return example("label", state.url, **words) | {"name": name}


def _side(state: m.State, label: str, repo: m.Repo | None, ref: str, sha: str) -> Json:
    return {
        "label": label,
        "ref": ref,
        "sha": sha,
        "user": user_json(state, repo.owner) if repo else None,
        "repo": repo_json(state, repo) if repo else None,
    }


def _both(state: m.State, pull: m.Pull) -> Json:
    """Build the part that a pull request shares with its issue side."""
    return {
        **fields(pull, "title", "body", "state", "draft", "created_at", "updated_at", "closed_at"),
        "user": user_json(state, pull.author),
        "labels": [label_json(state, pull.repo, name) for name in pull.labels],
        "author_association": association(pull.repo, pull.author),
    }


def _words(pull: m.Pull) -> Json:
    return {"repo": pull.repo.full_name, "number": pull.number, "id": pull.id}


def pull_simple(state: m.State, pull: m.Pull, *, webhook: bool = False) -> Json:
    """Build a pull request as lists show it; webhooks also carry the keys REST has dropped."""
    label = f"{pull.repo.owner.login}:{pull.base_ref}"
    data = example("pull_request", state.url, sha=pull.head_sha, **_words(pull)) | {
        **_both(state, pull),
        **fields(pull, "merged_at"),
        "head": _side(state, pull.head_label, pull.head_repo, pull.head_ref, pull.head_sha),
        "base": _side(state, label, pull.repo, pull.base_ref, pull.base_sha),
    }
    return data | ({"assignee": None, "merge_commit_sha": pull.merge_sha} if webhook else {})


def _mergeable(state: m.State, pull: m.Pull, *, webhook: bool) -> Json:
    """Build what is known of the merge; a webhook comes before GitHub has tried it."""
    if webhook or pull.state == "closed":
        return {"mergeable": None, "mergeable_state": "unknown"}
    merges = merge_of(pull, state.clock.now()) is not None
    return {"mergeable": merges, "mergeable_state": "clean" if merges else "dirty"}


def pull_json(state: m.State, pull: m.Pull, *, webhook: bool = False) -> Json:
    """Build a pull request as its own page and webhooks show it."""
    git = pull.repo.git
    files = git.changes(pull.base_sha, pull.head_sha)
    return {
        **pull_simple(state, pull, webhook=webhook),
        **example("pull_request_details", state.url),
        "merged": pull.merged_at is not None,
        **_mergeable(state, pull, webhook=webhook),
        "merged_by": user_json(state, pull.merged_by) if pull.merged_by else None,
        "comments": len(state.comments_of(pull)),
        "commits": len(git.between(pull.base_sha, pull.head_sha)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def pull_reference(state: m.State, pull: m.Pull) -> Json:
    """Build the `pull-request-minimal` shape that check runs carry."""

    def side(repo: m.Repo, ref: str, sha: str) -> Json:
        url = f"{state.url}/repos/{repo.full_name}"
        return {"ref": ref, "sha": sha, "repo": {"id": repo.id, "url": url, "name": repo.name}}

    return {
        "url": f"{state.url}/repos/{pull.repo.full_name}/pulls/{pull.number}",
        **fields(pull, "id", "number"),
        "head": side(pull.head_repo or pull.repo, pull.head_ref, pull.head_sha),
        "base": side(pull.repo, pull.base_ref, pull.base_sha),
    }


def file_json(state: m.State, repo: m.Repo, sha: str, file: ChangedFile) -> Json:
    """Build a `diff-entry` (without `patch`, which may always be missing)."""
    words = {"repo": repo.full_name, "sha": sha, "path": quote(file.path)}
    data = example("file", state.url, **words) | {
        **fields(file, "status", "additions", "deletions"),
        "sha": file.blob,
        "filename": file.path,
        "changes": file.additions + file.deletions,
    }
    return data | ({"previous_filename": file.previous} if file.previous else {})


def commit_json(state: m.State, repo: m.Repo, commit: CommitInfo) -> Json:
    """Build the `commit` shape."""
    api = f"{state.url}/repos/{repo.full_name}"
    page = f"{state.url}/{repo.full_name}/commit"
    person = {"name": commit.author, "email": commit.email, "date": commit.date}
    tree = {"sha": commit.tree, "url": f"{api}/git/trees/{commit.tree}"}
    user = state.users.get(commit.author.lower())
    data = example("commit", state.url, repo=repo.full_name, sha=commit.sha)
    inner = {"author": person, "committer": person, "message": commit.message, "tree": tree}
    return data | {
        "commit": data["commit"] | inner,
        **dict.fromkeys(("author", "committer"), user_json(state, user) if user else None),
        "parents": [
            {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{page}/{sha}"}
            for sha in commit.parents
        ],
    }


def comment_json(state: m.State, comment: m.Comment) -> Json:
    """Build an `issue-comment`."""
    pull, reactions = comment.pull, comment.reactions
    data = example("issue_comment", state.url, **_words(pull) | {"id": comment.id})
    counts = {name: sum(1 for one in reactions if one.content == name) for name in EMOJI}
    return data | {
        **fields(comment, "created_at", "updated_at", "body"),
        "user": user_json(state, comment.user),
        "author_association": association(pull.repo, comment.user),
        "reactions": data["reactions"] | {"total_count": len(reactions)} | counts,
        "performed_via_github_app": app_json(state, comment.app) if comment.app else None,
    }


def issue_json(state: m.State, pull: m.Pull) -> Json:
    """Build the issue side of a pull request, as comment webhooks carry it: no SHA, no branch."""
    data = example("issue", state.url, **_words(pull))
    return data | {
        **_both(state, pull),
        "comments": len(state.comments_of(pull)),
        "pull_request": data["pull_request"] | fields(pull, "merged_at"),
    }


def reaction_json(state: m.State, reaction: m.Reaction) -> Json:
    """Build a `reaction`."""
    return {
        **fields(reaction, "id", "content", "created_at"),
        "node_id": state.node_id("RE", reaction.id),
        "user": user_json(state, reaction.user),
    }


STATE = ("status", "conclusion")
TIMES = ("started_at", "completed_at")


def pulls_at(state: m.State, suite: m.CheckSuite) -> list[Json]:
    """Return the open pull requests GitHub names: those of same-repository branches only."""
    return [
        pull_reference(state, pull)
        for pull in state.pulls_of(suite.repo)
        if pull.state == "open" and not pull.is_fork and pull.head_sha == suite.head_sha
    ]


def suite_json(state: m.State, suite: m.CheckSuite, *, full: bool = True) -> Json:
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


def check_json(state: m.State, run: m.CheckRun, *, webhook: bool = False) -> Json:
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


def workflow_json(state: m.State, workflow: m.Workflow) -> Json:
    """Build a `workflow`."""
    repo = workflow.repo
    page = f"{state.url}/{repo.full_name}"
    return example("workflow", state.url, repo=repo.full_name, id=workflow.id) | {
        **fields(workflow, "name", "path", "state", "created_at"),
        "updated_at": stamp(workflow.created_at),
        "html_url": f"{page}/blob/{repo.default_branch}/{workflow.path}",
        "badge_url": f"{page}/workflows/{workflow.name}/badge.svg",
    }


def run_json(state: m.State, run: m.Run) -> Json:
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
        "pull_requests": pulls_at(state, run.suite) if run.pull and not run.pull.is_fork else [],
        "actor": user_json(state, run.actor),
        "triggering_actor": user_json(state, run.triggering_actor),
        "head_commit": simple_commit(run.repo.git.info(run.head_sha)),
        "repository": repo_minimal(state, run.repo),
        "head_repository": repo_minimal(state, _head_repo(run)),
    }


def _head_repo(run: m.Run) -> m.Repo:
    return (run.pull.head_repo if run.pull else None) or run.repo


def job_json(state: m.State, job: m.Job) -> Json:
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


def run_context(run: m.Run) -> dict[str, str]:
    """Return what the `github` context and the OIDC claims of a run's jobs both say."""
    repo = run.repo
    ref = run.ref if run.ref.startswith("refs/") else f"refs/heads/{run.ref}"
    return {
        "repository": repo.full_name,
        "repository_id": str(repo.id),
        "repository_owner": repo.owner.login,
        "run_id": str(run.id),
        "run_number": str(run.number),
        "sha": run.head_sha,
        "ref": ref,
        "ref_type": "branch",
        "head_ref": run.pull.head_ref if run.pull else "",
        "base_ref": run.pull.base_ref if run.pull else "",
        "event_name": run.event,
        "workflow": run.workflow.name,
        "workflow_ref": f"{repo.full_name}/{run.workflow.path}@{ref}",
    }
