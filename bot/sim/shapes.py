"""JSON shapes of accounts, apps and repositories, as REST and webhooks show them."""

from __future__ import annotations

from typing import Any

from bot.sim.clock import stamp
from bot.sim.git import CommitInfo
from bot.sim.model import App, Installation, Repo, User
from bot.sim.state import State

Json = dict[str, Any]

USER_LINKS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
REPO_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def user_json(state: State, user: User) -> Json:
    """Build the `simple-user` shape."""
    url = f"{state.url}/users/{user.login}"
    data: Json = {
        "login": user.login,
        "id": user.id,
        "node_id": state.node_id("U", user.id),
        "avatar_url": f"{state.url}/_avatars/{user.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{state.url}/{user.login}",
        "type": user.type,
        "user_view_type": "public",
        "site_admin": False,
    }
    return data | {key: url + tail for key, tail in USER_LINKS.items()}


def organization_json(state: State, user: User) -> Json:
    """Build the `organization-simple-webhooks` shape."""
    url = f"{state.url}/orgs/{user.login}"
    return {
        "login": user.login,
        "id": user.id,
        "node_id": state.node_id("O", user.id),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": f"{state.url}/_avatars/{user.id}",
        "description": "",
    }


def app_json(state: State, app: App) -> Json:
    """Build the `integration` shape."""
    return {
        "id": app.id,
        "slug": app.slug,
        "node_id": state.node_id("A", app.id),
        "client_id": f"Iv1.{app.id:016x}",
        "owner": user_json(state, app.owner),
        "name": app.slug,
        "description": "",
        "external_url": "https://example.org",
        "html_url": f"{state.url}/apps/{app.slug}",
        "created_at": stamp(app.created_at),
        "updated_at": stamp(app.created_at),
        "permissions": dict(app.permissions),
        "events": list(app.events),
    }


def installation_json(state: State, installation: Installation) -> Json:
    """Build the `installation` shape."""
    url = f"{state.url}/app/installations/{installation.id}"
    suspended = stamp(state.clock.now()) if installation.suspended else None
    return {
        "id": installation.id,
        "account": user_json(state, installation.account),
        "repository_selection": "all",
        "access_tokens_url": f"{url}/access_tokens",
        "repositories_url": f"{state.url}/installation/repositories",
        "html_url": f"{state.url}/settings/installations/{installation.id}",
        "app_id": installation.app.id,
        "app_slug": installation.app.slug,
        "target_id": installation.account.id,
        "target_type": installation.account.type,
        "permissions": dict(installation.app.permissions),
        "events": list(installation.app.events),
        "created_at": stamp(installation.created_at),
        "updated_at": stamp(installation.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None,
        "suspended_at": suspended,
    }


def repo_minimal(state: State, repo: Repo) -> Json:
    """Build the `minimal-repository` shape, with every link."""
    url = f"{state.url}/repos/{repo.full_name}"
    data: Json = {
        "id": repo.id,
        "node_id": state.node_id("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user_json(state, repo.owner),
        "html_url": f"{state.url}/{repo.full_name}",
        "description": None,
        "fork": repo.parent is not None,
        "url": url,
    }
    return data | {key: url + tail for key, tail in REPO_LINKS.items()}


def repo_json(state: State, repo: Repo) -> Json:
    """Build the full repository, which satisfies both REST and webhook shapes."""
    html = f"{state.url}/{repo.full_name}"
    when = stamp(repo.created_at)
    opened = sum(1 for pull in state.pulls_of(repo) if pull.state == "open")
    zeros = ("forks", "forks_count", "size", "stargazers_count", "watchers", "watchers_count")
    flags = ("has_issues", "has_projects", "has_wiki", "allow_forking")
    off = ("has_pages", "has_downloads", "has_discussions", "archived", "disabled", "is_template")
    return {
        **repo_minimal(state, repo),
        **dict.fromkeys(zeros, 0),
        **dict.fromkeys(flags, True),
        **dict.fromkeys(off, False),
        "clone_url": f"{html}.git",
        "git_url": f"{html}.git",
        "ssh_url": f"git@simulated:{repo.full_name}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": repo.default_branch,
        "open_issues": opened,
        "open_issues_count": opened,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "web_commit_signoff_required": False,
        "custom_properties": {},
        "network_count": 0,
        "subscribers_count": 0,
        "created_at": when,
        "updated_at": when,
        "pushed_at": when,
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
