"""Calls on check runs: created once, rewritten completely, annotated without repetition.

GitHub says characters but counts bytes (422 ``summary exceeds a maximum bytesize of 65535``). It
answers 422 to a null ``conclusion`` or ``completed_at``. Rendering respects the limits already.
The body's limits are the last guard, because a pull request waits for ever for a refused result.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cachetools import LRUCache

from bot.adapters.github import decode
from bot.adapters.github.api import MANY, Api, get, named
from bot.adapters.github.budget import Priority
from bot.adapters.github.channel import Call
from bot.core.github import limits
from bot.core.github.markdown import cut_bytes
from bot.core.model.ids import Sha
from bot.core.model.repos import Repo
from bot.core.model.views import Annotation, Button, CheckWrite, Image
from bot.ports.errors import Permanent, Transient

Json = dict[str, Any]

BUTTONS = 3
_INVALID = 422
LABEL_CHARS, DESCRIPTION_CHARS, IDENTIFIER_CHARS = 20, 40, 20
MARK = "\n\n… (cut: more than GitHub shows)"
SHORT_MARK = "…"
RUNS = "/repos/{owner}/{repo}/check-runs"
RUN = RUNS + "/{id}"


class CheckCalls(Api):
    """The calls on check runs.

    GitHub appends annotations and can't remove one. The number of a check run's annotations is kept
    from each answer. If it is unknown (an answer was lost, another process wrote), it is read
    first.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._annotated: LRUCache[int, int] = LRUCache(MANY)
        self._refused: LRUCache[int, frozenset[Annotation]] = LRUCache(MANY)

    async def create_check(self, repo: Repo, check: CheckWrite) -> int:
        """Create a check run; return its id. Not repeated: it raises ``Lost``."""
        annotations = check.annotations if completes(check) else ()
        batch = annotations[: limits.ANNOTATIONS_A_REQUEST]
        try:
            github_id = await self._post(repo, check, batch)
        except Permanent as exc:
            if not _blames_annotations(exc, batch):
                raise
            github_id = await self._post(repo, check, ())
        try:
            await self._append(repo, github_id, check)
        except (Transient, Permanent) as exc:
            # The check run exists. A failed annotation must not lose its id.
            self._log.warning("annotations left out", check=github_id, error=str(exc))
        return github_id

    async def _post(self, repo: Repo, check: CheckWrite, batch: Sequence[Annotation]) -> int:
        body = body_of(check, batch)
        priority = Priority.FINAL if completes(check) else Priority.CREATE
        call = Call("create_check", "POST", RUNS, named(repo), body, priority=priority)
        github_id = await self._read(repo, call, lambda data: int(data["id"]))
        self._annotated[github_id] = len(batch)
        return github_id

    async def update_check(self, repo: Repo, github_id: int, check: CheckWrite) -> None:
        """Rewrite a check run; the completing write sends the annotations, each once.

        A refused annotation is left out: the result must not wait for it.
        """
        batch = await self._unsent(repo, github_id, check)
        priority = Priority.FINAL if completes(check) else Priority.PROGRESS
        body = body_of(check)
        del body["head_sha"]  # a check run never moves to another commit
        with_batch = body | {"output": output_of(check, batch)}
        try:
            await self._patch(repo, github_id, with_batch, priority)
        except Permanent as exc:
            if not _blames_annotations(exc, batch):
                raise
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
        call = get(repo, "find_check", url, sha=sha, check_name=name, app_id=app)
        async for page in self._pages(repo, call, "check_runs", dict[str, Any]):
            for run in page:
                if run.get("external_id") == external_id and decode.is_ours(
                    run.get("app"), self._app_id
                ):
                    return int(run["id"])
        return None

    async def _append(self, repo: Repo, github_id: int, check: CheckWrite) -> None:
        """Send the annotations that the first write had no room for, or that came to grief."""
        while batch := await self._unsent(repo, github_id, check):
            await self._send(repo, github_id, check, batch)

    async def _send(
        self, repo: Repo, github_id: int, check: CheckWrite, batch: Sequence[Annotation]
    ) -> None:
        """Send annotations; of refused ones each alone, to find out which GitHub does not take."""
        buttons = body_of(check).get("actions")
        body = {"output": output_of(check, batch)} | ({"actions": buttons} if buttons else {})
        try:
            await self._patch(repo, github_id, body, Priority.FINAL)
        except Permanent as exc:
            if not _blames_annotations(exc, batch):
                raise
            if len(batch) == 1:
                self._log.warning("an annotation was refused", check=github_id, error=str(exc))
                refused = self._refused.get(github_id, frozenset())
                self._refused[github_id] = refused | set(batch)
                return
            for one in batch:
                await self._send(repo, github_id, check, (one,))

    async def _unsent(
        self, repo: Repo, github_id: int, check: CheckWrite
    ) -> tuple[Annotation, ...]:
        """Return the annotations that one request can add now."""
        if not _annotates(check):
            return ()
        there = await self._count(repo, github_id)
        refused = self._refused.get(github_id, frozenset())
        taken = tuple(item for item in check.annotations if item not in refused)
        return taken[there : there + limits.ANNOTATIONS_A_REQUEST]

    async def _patch(
        self, repo: Repo, github_id: int, body: dict[str, Any], priority: Priority
    ) -> None:
        """Send an update; one with annotations is not repeated."""
        added = len(body["output"].get("annotations", ()))
        there = self._annotated.pop(github_id, None) if added else None
        values, again = named(repo, id=github_id), not added
        call = Call("update_check", "PATCH", RUN, values, body, repeat=again, priority=priority)
        try:
            told = await self._read(repo, call, _annotations_of)
        except Permanent:
            if there is not None:
                self._annotated[github_id] = there
            raise
        if added:  # after a lost answer the number is unknown
            self._annotated[github_id] = (there or 0) + added
        elif github_id not in self._annotated:
            self._annotated[github_id] = told

    async def _count(self, repo: Repo, github_id: int) -> int:
        """Return the number of annotations, from memory if that is certain."""
        known = self._annotated.get(github_id)
        if known is None:
            known = await self._read(repo, get(repo, "check", RUN, id=github_id), _annotations_of)
            self._annotated[github_id] = known
        return known


def _blames_annotations(exc: Permanent, batch: Sequence[Annotation]) -> bool:
    """Return True if the write may succeed without its annotations."""
    return exc.status == _INVALID and bool(batch)


def _annotates(check: CheckWrite) -> bool:
    return completes(check) and bool(check.annotations)


def _annotations_of(data: dict[str, Any]) -> int:
    """Return the number of a check run's annotations, as GitHub reports it."""
    return int((data.get("output") or {}).get("annotations_count") or 0)


def body_of(check: CheckWrite, annotations: Sequence[Annotation] = ()) -> Json:
    """Build the body of a create; an update sends the same without ``head_sha``."""
    body: Json = {
        "name": check.name,
        "head_sha": check.head_sha,
        "external_id": check.external_id,
        "status": check.status,
        "details_url": check.details_url or None,
        "started_at": stamp(check.started_at),
        "output": output_of(check, annotations),
    }
    if completes(check):
        body["conclusion"] = check.conclusion
        body["completed_at"] = stamp(check.completed_at)
        # GitHub shows buttons only on completed runs, and drops buttons that are not sent.
        body["actions"] = [_button(button) for button in check.buttons[:BUTTONS]] or None
    return {key: value for key, value in body.items() if value is not None}


def output_of(check: CheckWrite, annotations: Sequence[Annotation] = ()) -> Json:
    """Build the whole output: GitHub does not document whether it keeps a missing part."""
    output: Json = {
        "title": cut_chars(check.title, limits.TITLE_CHARS) or check.name,
        "summary": cut_bytes(check.summary, limits.TEXT_BYTES, MARK),
    }
    if check.text:
        output["text"] = cut_bytes(check.text, limits.TEXT_BYTES, MARK)
    if annotations:
        output["annotations"] = [_annotation(item) for item in annotations]
    if check.images:
        output["images"] = [_image(item) for item in check.images]
    return output


def completes(check: CheckWrite) -> bool:
    """Return True if this write ends the check run."""
    return check.status == "completed"


def stamp(when: datetime | None) -> str | None:
    """Return a time in GitHub's form, in whole seconds of UTC."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


def cut_chars(text: str, limit: int) -> str:
    """Cut to ``limit`` characters with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + SHORT_MARK


def _annotation(item: Annotation) -> Json:
    line = max(item.line, 1)
    body = {
        "path": item.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": item.level,
        "message": cut_bytes(item.message, limits.ANNOTATION_BYTES, MARK),
    }
    if item.title:
        body["title"] = cut_chars(item.title, limits.TITLE_CHARS)
    return body


def _image(item: Image) -> Json:
    return {"alt": item.alt, "image_url": item.url, "caption": item.caption}


def _button(button: Button) -> Json:
    return {
        "label": cut_chars(button.label, LABEL_CHARS),
        "description": cut_chars(button.description, DESCRIPTION_CHARS),
        # Without an ellipsis: GitHub sends it back, and we look it up.
        "identifier": button.identifier[:IDENTIFIER_CHARS],
    }
