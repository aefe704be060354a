"""Decode GitHub's JSON into the port's values; only this module tolerates nulls.

A missing key raises ``KeyError``, a wrong type ``TypeError``. ``Api`` turns both into
``Transient``.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bot.core.github.grants import Grants
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile
from bot.ports.github import ActionsJob, HookDelivery

Json = dict[str, Any]

# From the highest level down: the first true one counts.
GRANTS = (
    ("admin", Level.ADMIN),
    ("maintain", Level.MAINTAIN),
    ("push", Level.WRITE),
    ("triage", Level.TRIAGE),
    ("pull", Level.READ),
)
# For servers that do not send `user.permissions`.
WORDS = {"admin": Level.ADMIN, "write": Level.WRITE, "read": Level.READ}


def time(text: str) -> datetime:
    """Read an ISO time as aware UTC."""
    when = datetime.fromisoformat(text)
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def optional_time(text: str | None) -> datetime | None:
    """Read a time that may be null."""
    return time(text) if text else None


def repo_now(repo: Repo, data: Json) -> Repo:
    """Read a repository as it is now."""
    return replace(
        repo,
        id=RepoId(int(data["id"])),
        owner=data["owner"]["login"],
        name=data["name"],
        default_branch=data["default_branch"],
        public=data["private"] is False,
    )


def pull(repo: Repo, data: Json) -> Pull:
    """Read a pull request; one of a list lacks ``changed_files``.

    Raise ``ValueError`` if it is of another repository: its name may be that one's now.
    """
    if int(data["base"]["repo"]["id"]) != repo.id:
        raise ValueError(f"{repo.full_name} is another repository now")
    head_repo = data["head"].get("repo")  # null if the fork was deleted
    return Pull(
        repo_id=repo.id,
        number=int(data["number"]),
        head_sha=Sha(data["head"]["sha"]),
        head_repo_id=int(head_repo["id"]) if head_repo else None,
        base_ref=data["base"]["ref"],
        author=account(data.get("user")),
        open=data["state"] == "open",
        draft=bool(data.get("draft")),
        changed_files=int(data.get("changed_files") or 0),
        updated_at=optional_time(data.get("updated_at")),
        head_ref=data["head"].get("ref") or "",
        head_owner=account(head_repo.get("owner")) if head_repo else NOBODY,
        head_name=(head_repo.get("name") or "") if head_repo else "",
        created_at=optional_time(data.get("created_at")),
    )


def grants(data: Json) -> Grants:
    """Read what an app asks for, or what its installation has."""
    return Grants(dict(data["permissions"]), frozenset(data["events"]))


def account(user: Json | None) -> Account:
    """Read an account; nobody for a deleted one."""
    return Account(int(user["id"]), user.get("login") or "") if user else NOBODY


def changed_file(data: Json) -> ChangedFile:
    """Read a file of a diff."""
    return ChangedFile(
        path=data["filename"],
        status=data.get("status") or "modified",
        previous_path=data.get("previous_filename"),
    )


_COMMIT = re.compile("[0-9a-f]{40}")


def listed_head(data: Json) -> str:
    """Return the head commit of a listed file, "" if the list does not tell it.

    GitHub puts the commit into the file's address. A removed file is not in the head.
    """
    address = data.get("contents_url") or ""
    refs = parse_qs(urlsplit(address).query).get("ref", [""])
    told = data.get("status") != "removed" and _COMMIT.fullmatch(refs[-1])
    return refs[-1] if told else ""


def pusher(activities: list[Json], sha: str) -> Account:
    """Return who first brought a commit to a branch, from the branch's activities, newest first."""
    brought = [item for item in activities if item["after"] == sha]
    return account(brought[-1].get("actor")) if brought else NOBODY


def level(data: Json) -> Level:
    """Read a level from ``user.permissions``: ``permission`` shows maintain as write."""
    grants = (data.get("user") or {}).get("permissions")
    if grants is None:
        return WORDS.get(data["permission"], Level.NONE)
    return next((found for key, found in GRANTS if grants.get(key) is True), Level.NONE)


def actions_run(data: Json) -> WorkflowRun:
    """Read a workflow run."""
    return WorkflowRun(
        id=int(data["id"]),
        attempt=int(data.get("run_attempt") or 1),
        status=data["status"] or "",
        conclusion=data.get("conclusion"),
        display_title=data.get("display_title") or "",
        event=data.get("event") or "",
        path=data.get("path") or "",
        head_sha=Sha(data.get("head_sha") or ""),
        html_url=data.get("html_url") or "",
        created_at=time(data["created_at"]),
        actor=account(data.get("actor")),
        triggered_by=account(data.get("triggering_actor")),
        head_repo_id=(data.get("head_repository") or {}).get("id"),
        head_branch=data.get("head_branch") or "",
        pulls=tuple(int(item["number"]) for item in data.get("pull_requests") or ()),
    )


def dispatched(data: Json, now: datetime) -> WorkflowRun:
    """Read a dispatch's answer: it has an id and a link, the rest is that of a new run."""
    return WorkflowRun(
        id=int(data["workflow_run_id"]),
        attempt=1,
        status="queued",
        event="workflow_dispatch",
        head_sha=Sha(""),
        html_url=data.get("html_url") or "",
        created_at=now,
    )


def actions_job(data: Json) -> ActionsJob:
    """Read a job; its runner is "" before it has one."""
    failed = [step for step in data.get("steps") or () if step.get("conclusion") == "failure"]
    return ActionsJob(
        id=int(data["id"]),
        name=data.get("name") or "",
        status=data["status"] or "",
        conclusion=data.get("conclusion"),
        runner=data.get("runner_name") or "",
        labels=tuple(data.get("labels") or ()),
        html_url=data.get("html_url") or "",
        started_at=optional_time(data.get("started_at")),
        completed_at=optional_time(data.get("completed_at")),
        failed_step=(failed[0].get("name") or "") if failed else "",
        check_id=int((data.get("check_run_url") or f"{data['id']}").rpartition("/")[2]),
        attempt=int(data.get("run_attempt") or 1),
    )


def delivery_attempt(data: Json) -> HookDelivery:
    """Read one attempt of a delivery."""
    at = time(data["delivered_at"])
    return HookDelivery(
        id=int(data["id"]),
        guid=data["guid"],
        delivered_at=at,
        ok=arrived(data),
        event=data.get("event") or "",
        tries=1,
        tried_at=at,
    )


def delivery(attempts: list[HookDelivery]) -> HookDelivery:
    """Join all attempts with one GUID: the delivery succeeded if any attempt got a 2xx."""
    return replace(
        max(attempts, key=lambda item: item.id),
        delivered_at=min(item.delivered_at for item in attempts),
        ok=any(item.ok for item in attempts),
        tries=len(attempts),
    )


def arrived(attempt: Json) -> bool:
    """Return True if an attempt was answered; ``status`` is a word, "OK" for every 2xx."""
    return attempt.get("status") == "OK" or 200 <= int(attempt.get("status_code") or 0) < 300


def is_ours(app: Json | None, app_id: str) -> bool:
    """Return True for our own app, by its number or its client id."""
    return app is not None and app_id in (str(app.get("id")), app.get("client_id"))
