"""Calls on check runs: created once, rewritten completely, annotated without repetition."""

from typing import Any

from cachetools import LRUCache

from bot.adapters.github import decode
from bot.adapters.github.api import MANY, Api, get, named, understood
from bot.adapters.github.budget import Priority
from bot.adapters.github.channel import Call
from bot.adapters.github.checkbody import (
    body_of,
    completes,
    output_of,
)
from bot.core.github.limits import ANNOTATIONS_A_REQUEST
from bot.core.model.ids import Sha
from bot.core.model.repos import Repo
from bot.core.model.views import Annotation, CheckWrite
from bot.ports.errors import Permanent, Transient

RUNS = "/repos/{owner}/{repo}/check-runs"
RUN = RUNS + "/{id}"


class Checks(Api):
    """The calls on check runs.

    GitHub appends annotations and can't remove one. The number of a check run's annotations is kept
    from each answer. If it is unknown (an answer was lost, another process wrote), it is read
    first.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._annotated: LRUCache[int, int] = LRUCache(MANY)

    async def create_check(self, repo: Repo, check: CheckWrite) -> int:
        """Create a check run; return its id. Not repeated: it raises ``Lost``."""
        annotations = check.annotations if completes(check) else ()
        body = body_of(check, annotations[:ANNOTATIONS_A_REQUEST])
        priority = Priority.FINAL if completes(check) else Priority.CREATE
        call = Call("create_check", "POST", RUNS, named(repo), body, priority=priority)
        answer = await self._call(repo, call)
        with understood(call):
            github_id = int(answer.data["id"])
        self._annotated[github_id] = min(len(annotations), ANNOTATIONS_A_REQUEST)
        try:
            await self._append(repo, github_id, check)
        except (Transient, Permanent) as exc:
            # The check run exists. A failed annotation must not lose its id.
            self._log.warning("annotations left out", check=github_id, error=str(exc))
        return github_id

    async def update_check(self, repo: Repo, github_id: int, check: CheckWrite) -> None:
        """Rewrite a check run; the completing write sends the annotations, each once."""
        batch: tuple[Annotation, ...] = ()
        if _annotates(check):
            there = await self._count(repo, github_id)
            batch = check.annotations[there : there + ANNOTATIONS_A_REQUEST]
        body = body_of(check, batch)
        del body["head_sha"]  # a check run never moves to another commit
        priority = Priority.FINAL if completes(check) else Priority.PROGRESS
        await self._patch(repo, github_id, body, priority)
        await self._append(repo, github_id, check)

    async def find_check(self, repo: Repo, sha: Sha, name: str, external_id: str) -> int | None:
        """Return our check run with the id that we gave it."""
        # The filter takes only the App ID; a client id is compared below.
        app = self._app_id if self._app_id.isdecimal() else None
        url = (
            "/repos/{owner}/{repo}/commits/{sha}/check-runs"
            "{?check_name,app_id}&filter=all&per_page=100"
        )
        call = get("find_check", url, named(repo, sha=sha, check_name=name, app_id=app))
        async for page in self._pages(repo, call, "check_runs", dict[str, Any]):
            for run in page:
                if run.get("external_id") == external_id and decode.is_ours(
                    run.get("app"), self._app_id
                ):
                    return int(run["id"])
        return None

    async def _append(self, repo: Repo, github_id: int, check: CheckWrite) -> None:
        """Send the annotations beyond those that fit in one request."""
        if not _annotates(check):
            return
        while rest := check.annotations[await self._count(repo, github_id) :]:
            body = {"output": output_of(check, rest[:ANNOTATIONS_A_REQUEST])}
            buttons = body_of(check).get("actions")
            again = {"actions": buttons} if buttons else {}
            await self._patch(repo, github_id, body | again, Priority.FINAL)

    async def _patch(
        self, repo: Repo, github_id: int, body: dict[str, Any], priority: Priority
    ) -> None:
        """Send an update; one with annotations is not repeated."""
        added = len(body["output"].get("annotations", ()))
        there = self._annotated.pop(github_id, None) if added else None
        call = Call(
            "update_check",
            "PATCH",
            RUN,
            named(repo, id=github_id),
            body,
            repeat=not added,
            priority=priority,
        )
        answer = await self._call(repo, call)
        if added:  # after a lost answer the number is unknown
            self._annotated[github_id] = (there or 0) + added
        elif github_id not in self._annotated:
            with understood(call):
                self._annotated[github_id] = _annotations_of(answer.data)

    async def _count(self, repo: Repo, github_id: int) -> int:
        """Return the number of annotations, from memory if that is certain."""
        known = self._annotated.get(github_id)
        if known is None:
            call = get("check", RUN, named(repo, id=github_id))
            known = await self._read(repo, call, _annotations_of)
            self._annotated[github_id] = known
        return known


def _annotates(check: CheckWrite) -> bool:
    return completes(check) and bool(check.annotations)


def _annotations_of(data: dict[str, Any]) -> int:
    """Return the number of a check run's annotations, as GitHub reports it."""
    return int((data.get("output") or {}).get("annotations_count") or 0)
