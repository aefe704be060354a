"""JSON shapes of pull requests, their files, commits, issues, comments and reactions."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from bot.sim.clock import stamp, stamp_or_none
from bot.sim.git import ChangedFile, CommitInfo
from bot.sim.model import Comment, Pull, Reaction, Repo, User
from bot.sim.shapes import Json, app_json, repo_json, user_json
from bot.sim.state import State

EMOJI = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def association(state: State, repo: Repo, user: User) -> str:
    """Answer `author_association` as webhooks compute it: members look like strangers."""
    if user.login == repo.owner.login:
        return "OWNER"
    return "COLLABORATOR" if user.login.lower() in repo.levels else "CONTRIBUTOR"


def label_json(state: State, repo: Repo, name: str) -> Json:
    """Build a label."""
    number = sum(name.encode())
    return {
        "id": number,
        "node_id": state.node_id("LA", number),
        "url": f"{state.url}/repos/{repo.full_name}/labels/{quote(name)}",
        "name": name,
        "color": "ededed",
        "default": False,
        "description": None,
    }


def _side(state: State, pull: Pull, side: str) -> Json:
    repo = pull.repo if side == "base" else pull.head_repo
    ref = pull.base_ref if side == "base" else pull.head_ref
    sha = pull.base_sha if side == "base" else pull.head_sha
    owner = repo.owner if repo else None
    label = pull.head_label if side == "head" else f"{pull.repo.owner.login}:{ref}"
    return {
        "label": label,
        "ref": ref,
        "sha": sha,
        "user": user_json(state, owner) if owner else None,
        "repo": repo_json(state, repo) if repo else None,
    }


def _links(state: State, pull: Pull) -> Json:
    api = f"{state.url}/repos/{pull.repo.full_name}"
    page = f"{state.url}/{pull.repo.full_name}/pull/{pull.number}"
    one = f"{api}/pulls/{pull.number}"
    return {
        "url": one,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": f"{api}/issues/{pull.number}",
        "commits_url": f"{one}/commits",
        "review_comments_url": f"{one}/comments",
        "review_comment_url": f"{api}/pulls/comments{{/number}}",
        "comments_url": f"{api}/issues/{pull.number}/comments",
        "statuses_url": f"{api}/statuses/{pull.head_sha}",
    }


def _hal(links: Json) -> Json:
    names = {"self": "url", "html": "html_url", "issue": "issue_url", "comments": "comments_url"}
    names |= {"review_comments": "review_comments_url", "review_comment": "review_comment_url"}
    names |= {"commits": "commits_url", "statuses": "statuses_url"}
    return {name: {"href": links[key]} for name, key in names.items()}


def pull_simple(state: State, pull: Pull, *, webhook: bool = False) -> Json:
    """Build a pull request as lists show it; webhooks also carry the keys REST has dropped."""
    links = _links(state, pull)
    data = {
        **links,
        "_links": _hal(links),
        "id": pull.id,
        "node_id": state.node_id("PR", pull.id),
        "number": pull.number,
        "state": pull.state,
        "locked": False,
        "active_lock_reason": None,
        "title": pull.title,
        "user": user_json(state, pull.author),
        "body": pull.body,
        "labels": [label_json(state, pull.repo, name) for name in pull.labels],
        "milestone": None,
        "created_at": stamp(pull.created_at),
        "updated_at": stamp(pull.updated_at),
        "closed_at": stamp_or_none(pull.closed_at),
        "merged_at": stamp_or_none(pull.merged_at),
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": _side(state, pull, "head"),
        "base": _side(state, pull, "base"),
        "author_association": association(state, pull.repo, pull.author),
        "auto_merge": None,
        "draft": pull.draft,
    }
    return data | ({"assignee": None, "merge_commit_sha": pull.merge_sha} if webhook else {})


def pull_json(state: State, pull: Pull, *, webhook: bool = False) -> Json:
    """Build a pull request as its own page and webhooks show it."""
    git = pull.repo.git
    files = git.changes(pull.base_sha, pull.head_sha)
    return {
        **pull_simple(state, pull, webhook=webhook),
        "merged": pull.merged_at is not None,
        "mergeable": None if pull.state == "closed" else True,
        "rebaseable": None,
        "mergeable_state": "unknown",
        "merged_by": user_json(state, pull.merged_by) if pull.merged_by else None,
        "comments": len(state.comments_of(pull)),
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": len(git.between(pull.base_sha, pull.head_sha)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def pull_reference(state: State, pull: Pull) -> Json:
    """Build the `pull-request-minimal` shape that check runs carry."""

    def side(repo: Repo, ref: str, sha: str) -> Json:
        url = f"{state.url}/repos/{repo.full_name}"
        return {"ref": ref, "sha": sha, "repo": {"id": repo.id, "url": url, "name": repo.name}}

    return {
        "url": f"{state.url}/repos/{pull.repo.full_name}/pulls/{pull.number}",
        "id": pull.id,
        "number": pull.number,
        "head": side(pull.head_repo or pull.repo, pull.head_ref, pull.head_sha),
        "base": side(pull.repo, pull.base_ref, pull.base_sha),
    }


def file_json(state: State, repo: Repo, sha: str, file: ChangedFile) -> Json:
    """Build a `diff-entry` (without `patch`, which may always be missing)."""
    path = quote(file.path)
    data: Json = {
        "sha": file.blob,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{state.url}/{repo.full_name}/blob/{sha}/{path}",
        "raw_url": f"{state.url}/{repo.full_name}/raw/{sha}/{path}",
        "contents_url": f"{state.url}/repos/{repo.full_name}/contents/{path}?ref={sha}",
    }
    return data | ({"previous_filename": file.previous} if file.previous else {})


def commit_json(state: State, repo: Repo, commit: CommitInfo) -> Json:
    """Build the `commit` shape."""
    api = f"{state.url}/repos/{repo.full_name}"
    html = f"{state.url}/{repo.full_name}/commit"
    person = {"name": commit.author, "email": commit.email, "date": commit.date}
    user = state.users.get(commit.author.lower())
    shown: Any = user_json(state, user) if user else None
    parents = [
        {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{html}/{sha}"}
        for sha in commit.parents
    ]
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha[:12]}",
        "url": f"{api}/commits/{commit.sha}",
        "html_url": f"{html}/{commit.sha}",
        "comments_url": f"{api}/commits/{commit.sha}/comments",
        "commit": {
            "url": f"{api}/git/commits/{commit.sha}",
            "author": person,
            "committer": person,
            "message": commit.message,
            "comment_count": 0,
            "tree": {"sha": commit.tree, "url": f"{api}/git/trees/{commit.tree}"},
        },
        "author": shown,
        "committer": shown,
        "parents": parents,
    }


def _rollup(url: str, reactions: list[Reaction]) -> Json:
    counts = {name: sum(1 for one in reactions if one.content == name) for name in EMOJI}
    return {"url": url, "total_count": len(reactions), **counts}


def comment_json(state: State, comment: Comment) -> Json:
    """Build an `issue-comment`."""
    pull = comment.pull
    url = f"{state.url}/repos/{pull.repo.full_name}/issues/comments/{comment.id}"
    page = f"{state.url}/{pull.repo.full_name}/pull/{pull.number}"
    return {
        "id": comment.id,
        "node_id": state.node_id("IC", comment.id),
        "url": url,
        "html_url": f"{page}#issuecomment-{comment.id}",
        "issue_url": f"{state.url}/repos/{pull.repo.full_name}/issues/{pull.number}",
        "user": user_json(state, comment.user),
        "created_at": stamp(comment.created_at),
        "updated_at": stamp(comment.updated_at),
        "author_association": association(state, pull.repo, comment.user),
        "body": comment.body,
        "reactions": _rollup(f"{url}/reactions", comment.reactions),
        "performed_via_github_app": app_json(state, comment.app) if comment.app else None,
    }


def issue_json(state: State, pull: Pull) -> Json:
    """Build the issue side of a pull request, as comment webhooks carry it: no SHA, no branch."""
    repo = pull.repo
    url = f"{state.url}/repos/{repo.full_name}/issues/{pull.number}"
    links = _links(state, pull)
    link_names = ("url", "html_url", "diff_url", "patch_url")
    return {
        "url": url,
        "repository_url": f"{state.url}/repos/{repo.full_name}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": links["html_url"],
        "id": pull.id,
        "node_id": state.node_id("PR", pull.id),
        "number": pull.number,
        "title": pull.title,
        "user": user_json(state, pull.author),
        "labels": [label_json(state, repo, name) for name in pull.labels],
        "state": pull.state,
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(state.comments_of(pull)),
        "created_at": stamp(pull.created_at),
        "updated_at": stamp(pull.updated_at),
        "closed_at": stamp_or_none(pull.closed_at),
        "author_association": association(state, repo, pull.author),
        "active_lock_reason": None,
        "draft": pull.draft,
        "pull_request": {
            **{name: links[name] for name in link_names},
            "merged_at": stamp_or_none(pull.merged_at),
        },
        "body": pull.body,
        "reactions": _rollup(f"{url}/reactions", []),
        "performed_via_github_app": None,
    }


def reaction_json(state: State, reaction: Reaction) -> Json:
    """Build a `reaction`."""
    return {
        "id": reaction.id,
        "node_id": state.node_id("RE", reaction.id),
        "user": user_json(state, reaction.user),
        "content": reaction.content,
        "created_at": stamp(reaction.created_at),
    }
