"""Turns a webhook's payload into a typed event; only fields that are used are read.

Sources: GitHub's webhook documentation; the traps are named where they are met.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, reduce
from operator import getitem
from typing import Any, TypeGuard, TypeVar

from bot.core.github import events as e
from bot.core.github.events import Event, Ignored, Malformed
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun

_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")

# Of a job; no runner has more. Anybody's workflow may ask for thousands, each of which is a row.
_MOST_LABELS = 50

Payload = dict[str, Any]
Action = TypeVar("Action", bound=StrEnum)


class _WrongShapeError(Exception):
    """A field is missing or has another type."""


class _UnusedError(Exception):
    """The event changes nothing for us; says why."""


def parse(name: str, payload: Payload, app_id: int | None) -> Event | Ignored | Malformed:
    """Turn a payload into its event.

    ``app_id`` is ours: check events of other apps are ignored (None ignores none of them).
    """
    reader = _READERS.get(name)
    if reader is None:
        return Ignored(f"event {name} is not used")
    try:
        return reader(payload, app_id)
    except _UnusedError as error:
        return Ignored(str(error))
    except _WrongShapeError as error:
        return Malformed(str(error))


def _at(payload: Payload, path: str) -> Any:
    """Return what lies at a dotted path; a missing or null step on the way is an error."""
    try:
        return reduce(getitem, _steps(path), payload)
    except (KeyError, TypeError):  # of a dict; of what is none
        raise _WrongShapeError(f"{path} is missing") from None


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _text(payload: Payload, path: str) -> str:
    value = _at(payload, path)
    if not isinstance(value, str):
        raise _WrongShapeError(f"{path} is no text")
    if "\0" in value:  # a name with another character in its place would be another name
        raise _WrongShapeError(f"{path} holds a NUL")
    return value


def _fits(value: Any) -> TypeGuard[int]:
    """Return True if the value is a number that a row can hold; ``True`` is none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _number(payload: Payload, path: str) -> int:
    value = _at(payload, path)
    if not _fits(value):
        raise _WrongShapeError(f"{path} is no number")
    return value


def _maybe(payload: Payload, path: str) -> Any:
    """Return what lies at a dotted path, None when any step is missing or null."""
    try:
        return reduce(getitem, _steps(path), payload)
    except (KeyError, TypeError):
        return None


def _maybe_number(payload: Payload, path: str) -> int | None:
    """Return a number that a row can hold, None for all else."""
    value = _maybe(payload, path)
    return value if _fits(value) else None


def _maybe_text(payload: Payload, path: str) -> str:
    value = _maybe(payload, path)
    return _storable(value) if isinstance(value, str) else ""


def _account(payload: Payload, path: str) -> Account:
    """Return an account; nobody without one that GitHub knows."""
    number = _maybe_number(payload, f"{path}.id") or 0
    return Account(number, _maybe_text(payload, f"{path}.login"))


def _storable(text: str) -> str:
    """Return a text as a row can hold it: PostgreSQL knows no NUL."""
    return text.replace("\0", "\ufffd")


def _time(payload: Payload, path: str) -> datetime:
    try:
        value = datetime.fromisoformat(_text(payload, path))
    except ValueError as error:
        raise _WrongShapeError(f"{path} is no time") from error
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _sha(payload: Payload, path: str) -> Sha:
    value = _text(payload, path)
    if not _COMMIT.fullmatch(value):
        raise _WrongShapeError(f"{path} is no commit")
    return Sha(value)


def _repo(payload: Payload) -> Repo:
    return Repo(
        id=RepoId(_number(payload, "repository.id")),
        owner=_text(payload, "repository.owner.login")
        if _maybe(payload, "repository.owner.login")
        else _text(payload, "repository.full_name").partition("/")[0],
        name=_text(payload, "repository.name"),
        default_branch=_maybe_text(payload, "repository.default_branch") or "main",
        installation_id=_maybe_number(payload, "installation.id"),
        public=_maybe(payload, "repository.private") is False,
    )


def _action(payload: Payload, actions: type[Action], why: str) -> Action:
    """Return the action; one that is not used is ignored, ``why`` naming it as ``{action}``."""
    action = _text(payload, "action")
    try:
        return actions(action)
    except ValueError as error:
        raise _UnusedError(why.format(action=action)) from error


def _pull(payload: Payload, _app_id: int | None) -> Event | Ignored:
    unused = "pull_request.{action} changes nothing for us"
    action = _action(payload, e.PullRequestAction, unused)
    if action is e.PullRequestAction.EDITED and not _maybe_text(payload, "changes.base.ref.from"):
        return Ignored("only the text of the pull request was edited")
    repo = _repo(payload)
    return e.PullRequestEvent(
        repo=repo,
        pull=_pull_of(payload, repo.id),
        action=action,
        sender=_account(payload, "sender"),
        before=_sha(payload, "before") if action is e.PullRequestAction.SYNCHRONIZE else None,
    )


def _pull_of(payload: Payload, repo_id: RepoId) -> Pull:
    created = "pull_request.created_at"
    return Pull(
        repo_id=repo_id,
        number=_number(payload, "pull_request.number"),
        head_sha=_sha(payload, "pull_request.head.sha"),
        head_repo_id=_maybe_number(payload, "pull_request.head.repo.id"),  # null: fork deleted
        base_ref=_text(payload, "pull_request.base.ref"),
        author=_account(payload, "pull_request.user"),
        open=_text(payload, "pull_request.state") == "open",
        draft=_maybe(payload, "pull_request.draft") is True,
        changed_files=_maybe_number(payload, "pull_request.changed_files") or 0,
        updated_at=_time(payload, "pull_request.updated_at"),
        head_ref=_maybe_text(payload, "pull_request.head.ref"),
        head_owner=_account(payload, "pull_request.head.repo.owner"),
        head_name=_maybe_text(payload, "pull_request.head.repo.name"),
        created_at=_time(payload, created) if _maybe(payload, created) else None,
    )


def _comment(payload: Payload, _app_id: int | None) -> Event | Ignored:
    if _text(payload, "action") != "created":
        return Ignored("only new comments can hold a command")
    if not _maybe(payload, "issue.pull_request"):
        return Ignored("a comment on an issue")
    if (
        _maybe(payload, "sender.type") == "Bot"
        or _maybe(payload, "comment.user.type") == "Bot"
        or _maybe(payload, "comment.performed_via_github_app")
    ):
        return Ignored("a comment by a bot or an app")
    if not _maybe(payload, "comment.user"):
        return Ignored("a comment by nobody GitHub knows")
    return e.IssueCommentEvent(
        repo=_repo(payload),
        number=_number(payload, "issue.number"),
        comment_id=_number(payload, "comment.id"),
        author=Account(_number(payload, "comment.user.id"), _text(payload, "comment.user.login")),
        body=_maybe_text(payload, "comment.body"),
        created_at=_time(payload, "comment.created_at"),
    )


def _check_run(payload: Payload, app_id: int | None) -> Event | Ignored:
    _refuse_other_app(payload, "check_run.app.id", app_id)
    unused = "check_run.{action} is an echo of our own write"
    action = _action(payload, e.CheckRunAction, unused)
    button = action is e.CheckRunAction.REQUESTED_ACTION
    return e.CheckRunEvent(
        repo=_repo(payload),
        action=action,
        external_id=_maybe_text(payload, "check_run.external_id"),
        name=_text(payload, "check_run.name"),
        sha=_sha(payload, "check_run.head_sha"),
        sender=_account(payload, "sender"),
        identifier=_text(payload, "requested_action.identifier") if button else "",
    )


def _check_suite(payload: Payload, app_id: int | None) -> Event | Ignored:
    _refuse_other_app(payload, "check_suite.app.id", app_id)
    action = _text(payload, "action")
    if action != "rerequested":
        return Ignored(f"check_suite.{action} is not used: pull_request drives everything")
    sha = _sha(payload, "check_suite.head_sha")
    return e.CheckSuiteEvent(_repo(payload), sha, _account(payload, "sender"))


def _refuse_other_app(payload: Payload, path: str, app_id: int | None) -> None:
    """Every app's check events reach us, GitHub Actions' included: most of the traffic."""
    if app_id is not None and _maybe(payload, path) != app_id:
        raise _UnusedError("another app's check")


def _workflow_run(payload: Payload, _app_id: int | None) -> Event | Ignored:
    action = _action(payload, e.WorkflowRunAction, "workflow_run.{action} is not used")
    created = "workflow_run.created_at"
    run = WorkflowRun(
        id=_number(payload, "workflow_run.id"),
        attempt=_maybe_number(payload, "workflow_run.run_attempt") or 1,
        status=action,
        conclusion=_maybe_text(payload, "workflow_run.conclusion") or None,
        display_title=_maybe_text(payload, "workflow_run.display_title"),
        event=_text(payload, "workflow_run.event"),
        path=_maybe_text(payload, "workflow_run.path"),
        head_sha=_sha(payload, "workflow_run.head_sha"),
        html_url=_maybe_text(payload, "workflow_run.html_url"),
        actor=_account(payload, "workflow_run.actor"),
        triggered_by=_account(payload, "workflow_run.triggering_actor"),
        head_repo_id=_maybe_number(payload, "workflow_run.head_repository.id"),
        head_branch=_maybe_text(payload, "workflow_run.head_branch"),
        pulls=_pulls_named(payload),
        created_at=_time(payload, created) if _maybe(payload, created) else None,
    )
    return e.WorkflowRunEvent(_repo(payload), run)


def _pulls_named(payload: Payload) -> tuple[int, ...]:
    found = _maybe(payload, "workflow_run.pull_requests")
    items = found if isinstance(found, list) else []
    numbers = (item.get("number") for item in items if isinstance(item, dict))
    return tuple(number for number in numbers if _fits(number))


def _workflow_job(payload: Payload, _app_id: int | None) -> Event | Ignored:
    action = _action(payload, e.WorkflowJobAction, "workflow_job.{action} is not used")
    labels = _maybe(payload, "workflow_job.labels")
    return e.WorkflowJobEvent(
        repo=_repo(payload),
        job_id=_number(payload, "workflow_job.id"),
        run_id=_number(payload, "workflow_job.run_id"),
        attempt=_maybe_number(payload, "workflow_job.run_attempt") or 1,
        action=action,
        name=_maybe_text(payload, "workflow_job.name"),
        conclusion=_maybe_text(payload, "workflow_job.conclusion") or None,
        labels=tuple(_storable(str(item)) for item in labels[:_MOST_LABELS])
        if isinstance(labels, list)
        else (),
        runner=_maybe_text(payload, "workflow_job.runner_name"),
        sha=Sha(_maybe_text(payload, "workflow_job.head_sha")),
    )


_WORKFLOWS = ".github/workflows/"


def _push(payload: Payload, _app_id: int | None) -> Event | Ignored:
    ref = _text(payload, "ref")
    if not ref.startswith("refs/heads/"):
        return Ignored("a push of something that is no branch")
    return e.PushEvent(
        repo=_repo(payload),
        branch=ref.removeprefix("refs/heads/"),
        after=_sha(payload, "after"),
        deleted=_maybe(payload, "deleted") is True,
        sender=_account(payload, "sender"),
        before=_before(payload),
        workflows=_before(payload) is None or _touches_workflows(payload),
    )


def _touches_workflows(payload: Payload) -> bool:
    """Return True if a commit of a push changes a workflow, or if its commits are not told."""
    commits = _maybe(payload, "commits")
    if not isinstance(commits, list) or not commits:
        return True
    lists = (
        commit.get(key)
        for commit in commits
        if isinstance(commit, dict)
        for key in ("added", "removed", "modified")
    )
    names = (name for found in lists if isinstance(found, list) for name in found)
    return any(isinstance(name, str) and name.startswith(_WORKFLOWS) for name in names)


def _before(payload: Payload) -> Sha | None:
    """Return the commit that a push can be compared with."""
    before = _sha(payload, "before") if _maybe(payload, "before") else None
    usable = before is not None and set(before) != {"0"} and _maybe(payload, "forced") is not True
    return before if usable else None


def _merge_group(payload: Payload, _app_id: int | None) -> Event | Ignored:
    action = _action(payload, e.MergeGroupAction, "merge_group.{action} is not used")
    return e.MergeGroupEvent(
        repo=_repo(payload),
        action=action,
        head_sha=_sha(payload, "merge_group.head_sha"),
        head_ref=_text(payload, "merge_group.head_ref"),
        base_sha=_sha(payload, "merge_group.base_sha"),
        base_ref=_text(payload, "merge_group.base_ref"),
        tree=_maybe_text(payload, "merge_group.head_commit.tree_id"),
        reason=_maybe_text(payload, "reason"),
    )


def _repository(payload: Payload, _app_id: int | None) -> Event | Ignored:
    repo = _repo(payload)
    if _text(payload, "action") == "deleted":
        return e.InstallationEvent(repo.installation_id or 0, gone=(repo.id,), deleted=True)
    return e.RepositoryEvent(repo)


def _installation(payload: Payload, _app_id: int | None) -> Event | Ignored:
    action = _text(payload, "action")
    active = action not in {"deleted", "suspend"}
    return e.InstallationEvent(
        installation_id=_number(payload, "installation.id"),
        active=active,
        back=_listed(payload, "repositories") if active else (),  # not there at `unsuspend`
    )


def _installation_repositories(payload: Payload, _app_id: int | None) -> Event | Ignored:
    return e.InstallationEvent(
        installation_id=_number(payload, "installation.id"),
        gone=_listed(payload, "repositories_removed"),
        back=_listed(payload, "repositories_added"),
    )


def _listed(payload: Payload, name: str) -> tuple[RepoId, ...]:
    found = _maybe(payload, name)
    items = found if isinstance(found, list) else []
    return tuple(RepoId(_number(item, "id")) for item in items)


_READERS: dict[str, Callable[[Payload, int | None], Event | Ignored]] = {
    "pull_request": _pull,
    "issue_comment": _comment,
    "check_run": _check_run,
    "check_suite": _check_suite,
    "workflow_run": _workflow_run,
    "workflow_job": _workflow_job,
    "push": _push,
    "merge_group": _merge_group,
    "repository": _repository,
    "installation": _installation,
    "installation_repositories": _installation_repositories,
}
