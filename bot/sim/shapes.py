"""JSON shapes of accounts, apps and repositories, as REST and webhooks show them."""

from __future__ import annotations

from bot.sim.clock import stamp
from bot.sim.git import CommitInfo
from bot.sim.model import App, Installation, Repo, User
from bot.sim.payloads import Json, example, fields
from bot.sim.state import State


def user_json(state: State, user: User) -> Json:
    """Build the `simple-user` shape."""
    return example("user", state.url, login=user.login, id=user.id) | {"type": user.type}


def organization_json(state: State, user: User) -> Json:
    """Build the `organization-simple-webhooks` shape."""
    return example("organization", state.url, login=user.login, id=user.id)


def app_json(state: State, app: App) -> Json:
    """Build the `integration` shape."""
    return example("app", state.url, id=app.id, slug=app.slug) | {
        "client_id": f"Iv1.{app.id:016x}",
        "owner": user_json(state, app.owner),
        "created_at": stamp(app.created_at),
        "updated_at": stamp(app.created_at),
        **fields(app, "permissions", "events"),
    }


def installation_json(state: State, installation: Installation) -> Json:
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


def repo_minimal(state: State, repo: Repo) -> Json:
    """Build the `minimal-repository` shape, with every link."""
    return example("minimal_repository", state.url, repo=repo.full_name, id=repo.id) | {
        "owner": user_json(state, repo.owner),
        "fork": repo.parent is not None,
        **fields(repo, "name", "private"),
    }


def repo_json(state: State, repo: Repo) -> Json:
    """Build the full repository, which satisfies both REST and webhook shapes."""
    opened = sum(1 for pull in state.pulls_of(repo) if pull.state == "open")
    when = stamp(repo.created_at)
    return {
        **repo_minimal(state, repo),
        **example("repository", state.url, repo=repo.full_name),
        **dict.fromkeys(("open_issues", "open_issues_count"), opened),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), when),
        "default_branch": repo.default_branch,
        "visibility": "private" if repo.private else "public",
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
