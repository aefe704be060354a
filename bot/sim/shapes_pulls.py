"""JSON shapes of pull requests, their files, commits, issues, comments and reactions."""

from __future__ import annotations

from urllib.parse import quote

from bot.sim.clock import stamp_or_none
from bot.sim.git import ChangedFile, CommitInfo
from bot.sim.model import Comment, Pull, Reaction, Repo, User
from bot.sim.payloads import Json, example, fields
from bot.sim.shapes import app_json, repo_json, user_json
from bot.sim.state import State

EMOJI = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def association(repo: Repo, user: User) -> str:
    """Return `author_association` as webhooks compute it: members look like strangers."""
    if user.login == repo.owner.login:
        return "OWNER"
    return "COLLABORATOR" if user.login.lower() in repo.levels else "CONTRIBUTOR"


def label_json(state: State, repo: Repo, name: str) -> Json:
    """Build a label."""
    words = {"repo": repo.full_name, "id": sum(name.encode()), "label": quote(name)}
    return example("label", state.url, **words) | {"name": name}


def _side(state: State, label: str, repo: Repo | None, ref: str, sha: str) -> Json:
    return {
        "label": label,
        "ref": ref,
        "sha": sha,
        "user": user_json(state, repo.owner) if repo else None,
        "repo": repo_json(state, repo) if repo else None,
    }


def _both(state: State, pull: Pull) -> Json:
    """Build the part that a pull request shares with its issue side."""
    return {
        **fields(pull, "title", "body", "state", "draft", "created_at", "updated_at", "closed_at"),
        "user": user_json(state, pull.author),
        "labels": [label_json(state, pull.repo, name) for name in pull.labels],
        "author_association": association(pull.repo, pull.author),
    }


def _words(pull: Pull) -> Json:
    return {"repo": pull.repo.full_name, "number": pull.number, "id": pull.id}


def pull_simple(state: State, pull: Pull, *, webhook: bool = False) -> Json:
    """Build a pull request as lists show it; webhooks also carry the keys REST has dropped."""
    label = f"{pull.repo.owner.login}:{pull.base_ref}"
    data = example("pull_request", state.url, sha=pull.head_sha, **_words(pull)) | {
        **_both(state, pull),
        "merged_at": stamp_or_none(pull.merged_at),
        "head": _side(state, pull.head_label, pull.head_repo, pull.head_ref, pull.head_sha),
        "base": _side(state, label, pull.repo, pull.base_ref, pull.base_sha),
    }
    return data | ({"assignee": None, "merge_commit_sha": pull.merge_sha} if webhook else {})


def pull_json(state: State, pull: Pull, *, webhook: bool = False) -> Json:
    """Build a pull request as its own page and webhooks show it."""
    git = pull.repo.git
    files = git.changes(pull.base_sha, pull.head_sha)
    return {
        **pull_simple(state, pull, webhook=webhook),
        **example("pull_request_details", state.url),
        "merged": pull.merged_at is not None,
        "mergeable": None if pull.state == "closed" else True,
        "merged_by": user_json(state, pull.merged_by) if pull.merged_by else None,
        "comments": len(state.comments_of(pull)),
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
        **fields(pull, "id", "number"),
        "head": side(pull.head_repo or pull.repo, pull.head_ref, pull.head_sha),
        "base": side(pull.repo, pull.base_ref, pull.base_sha),
    }


def file_json(state: State, repo: Repo, sha: str, file: ChangedFile) -> Json:
    """Build a `diff-entry` (without `patch`, which may always be missing)."""
    words = {"repo": repo.full_name, "sha": sha, "path": quote(file.path)}
    data = example("file", state.url, **words) | {
        **fields(file, "status", "additions", "deletions"),
        "sha": file.blob,
        "filename": file.path,
        "changes": file.additions + file.deletions,
    }
    return data | ({"previous_filename": file.previous} if file.previous else {})


def commit_json(state: State, repo: Repo, commit: CommitInfo) -> Json:
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


def comment_json(state: State, comment: Comment) -> Json:
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


def issue_json(state: State, pull: Pull) -> Json:
    """Build the issue side of a pull request, as comment webhooks carry it: no SHA, no branch."""
    data = example("issue", state.url, **_words(pull))
    return data | {
        **_both(state, pull),
        "comments": len(state.comments_of(pull)),
        "pull_request": data["pull_request"] | {"merged_at": stamp_or_none(pull.merged_at)},
    }


def reaction_json(state: State, reaction: Reaction) -> Json:
    """Build a `reaction`."""
    return {
        **fields(reaction, "id", "content", "created_at"),
        "node_id": state.node_id("RE", reaction.id),
        "user": user_json(state, reaction.user),
    }
